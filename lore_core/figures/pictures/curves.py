"""Lines: local errors against the bandwidth and over rows, rewards against costs, batches."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lore_core.comparison.tables import stacked
from lore_core.data.abstention import AnswerThreshold
from lore_core.data.arrays import Floats
from lore_core.data.errors import counted
from lore_core.data.number_text import batches_words, percent, with_points
from lore_core.figures.chart import Chart, PanelPicture
from lore_core.figures.pictures.picture import (
    Axis,
    Dots,
    Hover,
    Line,
    Mark,
    Panel,
    Rule,
    Tint,
    band_around,
    chance_band,
    labelled_line,
    truncate,
    value_marker,
)
from lore_core.figures.style import method_color
from lore_core.inference.simulation import NullBand, NullErrors
from lore_core.metrics.bandwidth import BandwidthCurve, BandwidthSuggestion
from lore_core.metrics.catalogue import ALCE, CATALOGUE, CURVES, ECE, MLCE_SUPPORTED
from lore_core.metrics.metric import CurveKey, OverBandwidths
from lore_core.metrics.rewards import RewardCurve

GAMMA = Axis("bandwidth γ (log scale)", log=True, brief="bandwidth γ")
#: Steps of a distribution drawn at most; the exported table holds as many.
_MAX_STEPS = 400
#: Two lines closer to zero than this share of the axis leave no room on their left.
_ROOM = 0.08
#: Names of batches that are written, and their letters.
_MAX_NAMES, _MAX_LETTERS = 10, 14
#: Metrics of each panel of the movement, from the top, with their colours.
_MOVING = ({MLCE_SUPPORTED.name: 0}, {ALCE.name: 1, ECE.name: 2})
#: Many bands on top of one another turn grey.
_FEW_BANDS = 4


def bandwidth_figure(
    curves: Mapping[str, BandwidthCurve],
    *,
    metric: CurveKey = "mlce_supported",
    rows: str,
    gamma: float | None = None,
    null: tuple[str, NullBand] | None = None,
) -> Chart:
    """One curve for each feature map or method, with both limits (Luo et al. 2022, fig. 1).

    ``curves``: by name; of many runs the mean in a band of one standard deviation, of sums the
    bounds. ``metric``: "mlce_supported", "alce" or "mlce". ``rows``: which these are, in words.
    ``gamma``: the bandwidth in use. ``null``: name of a curve, and what calibrated data with its
    confidences would show, drawn as a band.
    """
    about = CURVES[metric]
    marks: list[Mark] = []
    heights: list[float] = []
    tables = [item.frame().assign(curve=label) for label, item in curves.items()]
    if null is not None:
        name, chance = null
        low, high = chance.band(metric)
        of = f", {name}" if len(curves) > 1 else ""
        marks.append(chance_band(chance.gamma, low, high, f"if calibrated{of} (95 %)"))
        columns = {"gamma": chance.gamma, f"{metric}_low": low, f"{metric}_high": high}
        tables.append(pd.DataFrame(columns).assign(curve=f"{name}, if calibrated"))
    alpha = 0.12 if len(curves) <= _FEW_BANDS else 0.07
    hover = "γ {x:.3g}", f"{about.title} {{y:.1f}} points", "median {0:.0f} effective neighbours"
    for position, (label, curve) in enumerate(curves.items()):
        color, band = method_color(label, position), _band(curve, metric)
        value, support = getattr(curve, metric), [curve.median_effective_size]
        around = None if band is None else band_around(label, *band, Tint(color, alpha))
        look: dict[str, Any] = {"dots": True, "columns": support}
        marks += labelled_line(label, color, curve.gamma, value, hover, band=around, **look)
        marks += _limits(curve, about, color, in_words=len(curves) == 1)
        heights += [*value, getattr(curve, f"{metric}_zero", math.nan)]
    if gamma is not None:
        marks.append(value_marker(gamma, f"γ = {gamma:g}"))
    top = max((height for height in heights if np.isfinite(height)), default=1.0) or 0.01
    y = Axis(about.title, "points", from_zero=True, span=(0, 1.1 * float(top)))
    return PanelPicture(
        title=f"{about.title} against bandwidth",
        subtitle=rows,
        how_to_read=_how_to_read(about, curves, null),
        alt=f"{about.title} against bandwidth for {', '.join(curves)}",
        name=f"{metric.replace('_', '-')}-vs-bandwidth",
        table=pd.concat(tables, ignore_index=True),
        panels=(Panel(GAMMA, y, marks),),
        legend=len(curves) > 1 or null is not None,
    )


def _band(curve: BandwidthCurve, metric: CurveKey) -> tuple[str, Floats, Floats, Floats] | None:
    """Return label, bandwidths and ends of the band of a curve, if it has one."""
    if curve.bounds is None:
        return None
    label = "guaranteed" if curve.n_runs == 1 else "± 1 SD"
    return label, curve.gamma, *curve.bounds[metric]


def _limits(
    curve: BandwidthCurve, about: OverBandwidths, color: str, *, in_words: bool
) -> list[Rule]:
    """Draw a stub at each side where a limit is reached."""
    sides = (
        (about.at_zero, getattr(curve, f"{about.key}_zero", math.nan), (0.0, 0.15)),
        (about.at_infinity, getattr(curve, f"{about.key}_infinity", math.nan), (0.85, 1.0)),
    )
    return [
        Rule(
            value,
            Tint(color, 0.8),
            level=True,
            part=part,
            width=1.5,
            dash="dot",
            text=f"{what} = {with_points(value, 1)}" if in_words else "",
        )
        for what, value, part in sides
        if what and math.isfinite(value)
    ]


def _how_to_read(
    about: OverBandwidths, curves: Mapping[str, BandwidthCurve], null: tuple[str, NullBand] | None
) -> str:
    left = (
        "Far left each row stands alone (its own right or wrong)"
        if about.at_zero
        else "Further left no row has so many"
    )
    text = f"{about.title}: {about.meaning}. {left}; far right all rows of a bin count alike."
    text += " Read it in between; dotted stubs are limits."
    n_runs = [of.n_runs for of in curves.values() if of.bounds]
    if n_runs and max(n_runs) > 1:
        text += f" Bands: mean ± one standard deviation over {max(n_runs):,} runs."
    elif n_runs:
        text += " Bands: guaranteed bounds of the exact curve."
    if null is not None:
        text += (
            f" Grey: where the whole curve stays, with 95 %, if every confidence is right "
            f"({null[1].n_draws} simulations)."
        )
    return text


def suggestion_figure(
    suggestion: BandwidthSuggestion, *, rows: str, in_use: tuple[float, int] | None = None
) -> Chart:
    """Leave-one-out NLL against γ, one line for each number of bins, the minimum marked.

    ``rows``: which it was chosen on, in words. ``in_use``: γ and number of bins in use.
    """
    gammas, best = suggestion.gammas, suggestion.gamma
    marks: list[Mark] = []
    tables = []
    for bins, loss in zip(suggestion.tried_bins, suggestion.loss, strict=True):
        is_best, used = bins == suggestion.n_bins, in_use is not None and bins == in_use[1]
        name = counted(bins, "bin")
        marks.append(
            Line(
                gammas,
                loss,
                Tint("m2") if is_best else Tint("quiet", 1.0 if used else 0.75),
                name=f"{name} (in use)" if used else name,
                width=2.4 if is_best else 1.4,
                dash="solid" if is_best or used else "dot",
                dots=is_best,
                hover=Hover("", lines=(name, "γ {x:.3g}", "NLL {y:.4f}")),
            )
        )
        tables.append(pd.DataFrame({"n_bins": bins, "gamma": gammas, "loo_nll": loss}))
    least = np.array([best]), np.array([suggestion.loss.min()])
    marks.append(Dots(*least, Tint("ink"), 11, "ring", listed=False))
    marks.append(value_marker(best, f"best γ = {best:.3g}"))
    return PanelPicture(
        title="Which settings predict best",
        subtitle=rows,
        how_to_read=(
            "Each row's outcome is predicted from its neighbours without itself; lower is better. "
            "A dip in the middle means there is something local to learn."
        ),
        alt=(
            f"Leave-one-out likelihood against bandwidth, best at {best:.3g} with "
            f"{suggestion.n_bins} bins"
        ),
        name="suggested-bandwidth",
        table=pd.concat(tables, ignore_index=True),
        panels=(Panel(GAMMA, Axis("leave-one-out NLL, nats"), marks),),
        legend=len(suggestion.tried_bins) > 1,
        height=320,
    )


def cdf_figure(
    errors: Mapping[str, Floats],
    *,
    rows: str,
    global_error: float | None = None,
    null: NullErrors | None = None,
    highlighted: str = "",
    title: str = "How much of the data is off by how much",
) -> Chart:
    """Cumulative distribution of the LCE (Luo et al. 2022, fig. 2).

    ``errors``: LCE of the rows, by method; with one entry its mean is marked too. ``rows``: which
    these are, in words. ``global_error``: |conf(B) − acc(B)| of the bin. ``null``: band of what
    calibrated rows would show. ``highlighted``: the entry compared with the others.
    """
    ordered = {name: np.sort(values[np.isfinite(values)]) for name, values in errors.items()}
    means = {name: float(values.mean()) for name, values in ordered.items() if values.size}
    single = len(errors) == 1
    marks: list[Mark] = []
    tables = [pd.DataFrame(columns=["method", "lce", "share_of_rows"])] if not means else []
    how_to_read = "The further left a curve, the smaller the local errors."
    if global_error is not None:
        how_to_read += (
            " Rows right of the dotted line are worse off than the bin's average error says."
        )
    if null is not None:
        low, high = null.band()
        name = "if calibrated (5–95 %)"
        marks.append(chance_band(null.share, low, high, name, sideways=True))
        columns = {"lce_low": low, "lce_high": high, "share_of_rows": null.share}
        tables.append(pd.DataFrame({"method": "if calibrated", **columns}))
        how_to_read += (
            f" Grey: the middle 90 % of {null.n_draws} simulations in which every confidence is "
            "right."
        )
    hover = Hover("", lines=("{y:.0f} % of the rows have an LCE of {x:.1f} points or less",))
    for position, (name, values) in enumerate(ordered.items()):
        n = len(values)
        if n == 0:
            continue
        take = np.unique(np.linspace(0, n - 1, min(_MAX_STEPS, n)).astype(int))
        x, share = values[take], (take + 1) / n
        color = "accent" if single or name == highlighted else method_color(name, position)
        tint = Tint("quiet" if highlighted and name != highlighted else color)
        marks.append(Line(x, share, tint, name=name, width=2, steps=True, hover=hover))
        tables.append(pd.DataFrame({"method": name, "lce": x, "share_of_rows": share}))
    rules = []
    if single:
        dashed = {f"mean LCE {with_points(mean, 1)}": mean for mean in means.values()}
        rules += [
            Rule(at, Tint("ink"), name=name, width=1.5, dash="dash") for name, at in dashed.items()
        ]
    if global_error is not None:
        name = f"bin's global error {with_points(global_error, 1)}"
        rules.append(Rule(global_error, Tint("quiet"), name=name, width=1.5, dash="dot"))
    if len(rules) == 2:
        # Where they lie close together each is written on its outer side, if there is room.
        first = 0 if rules[0].at <= rules[1].at else 1
        widest = max(float(values.max(initial=0.0)) for values in ordered.values())
        if rules[first].at > _ROOM * widest:
            rules[first] = replace(rules[first], text_side="left")
    text = ", ".join(f"{name} {ALCE.text(mean)}" for name, mean in means.items())
    x_axis = Axis("local error (LCE)", "points", from_zero=True)
    y_axis = Axis("share of rows", "share", span=(0, 1.02))
    return PanelPicture(
        title=title,
        subtitle=rows,
        how_to_read=how_to_read,
        alt=f"Cumulative distribution of the local calibration error; mean in points: {text}",
        name="lce-cdf",
        table=pd.concat(tables, ignore_index=True),
        panels=(Panel(x_axis, y_axis, [*marks, *rules]),),
        legend=not single,
        free_corner=True,
        height=300,
    )


def reward_figure(
    curves: Mapping[str, RewardCurve], *, rows: str, ratio: float | None = None
) -> Chart:
    """Gain over the first method against the cost ratio, above the share of rows answered.

    ``curves``: by method. ``rows``: which these are, in words. ``ratio``: the reader's own cost
    ratio, marked from 1 to 100.
    """
    baseline = next(iter(curves))
    gains: list[Mark] = []
    answers: list[Mark] = []
    for position, (label, curve) in enumerate(curves.items()):
        color, at = method_color(label, position), curve.ratio
        low, high = curve.gain_low, curve.gain_high
        band = band_around(label, "95 %", at, low, high, Tint(color, 0.15))
        text = ("w/u {x:.3g}", "gain {y:+.3f} u a row ({0:+.3f} to {1:+.3f})")
        own = None if label == baseline else band
        gains += labelled_line(label, color, at, curve.gain, text, columns=[low, high], band=own)
        share = ("answers {y:.1f} % of the rows",)
        answers += labelled_line(label, color, at, curve.answered, share, width=1.8, listed=False)
    gains.append(Rule(0.0, Tint("quiet"), level=True))
    if ratio is not None and 1 <= ratio <= 100:
        gains.append(value_marker(ratio, f"your w/u = {ratio:g}"))
        answers.append(value_marker(ratio, ""))
    cost = "cost of wrong ÷ cost of unsure"
    x = Axis(f"{cost}, w/u (log scale)", log=True, brief=cost)
    y = Axis("gain a row, in units of u", brief="gain a row, in u")
    y_answered = Axis("answered", "share", span=(0, 1.02))
    return PanelPicture(
        title=f"Reward gained over “{baseline}”",
        subtitle=rows,
        how_to_read=(
            "A row is answered where the confidence reaches 1 − u/w, else it costs u. Above zero a "
            "method saves more than the baseline at that cost ratio; bands are paired 95 % "
            "intervals."
        ),
        alt=f"Reward against cost ratio for {', '.join(curves)}, relative to {baseline}",
        name="reward-vs-cost-ratio",
        table=stacked({label: curve.frame() for label, curve in curves.items()}),
        panels=(Panel(x, y, gains, 0.66), Panel(x, y_answered, answers, 0.34)),
        gap=0.06,
        legend=True,
        height=560,
    )


def risk_figure(
    curves: Mapping[str, pd.DataFrame], thresholds: Mapping[str, AnswerThreshold], *, rows: str
) -> Chart:
    """Error rate among the rows answered against their share, and the guaranteed thresholds.

    ``curves``, ``thresholds``: by method. ``rows``: which these are, in words.
    """
    marks: list[Mark] = []
    risk = next(iter(thresholds.values())).risk
    text = ("answers {x:.1f} % of the rows, {y:.1f} % wrong", "confidence {0:.2%} or more")
    columns = ["coverage", "risk", "low", "high", "threshold"]
    for position, (label, curve) in enumerate(curves.items()):
        color, found = method_color(label, position), thresholds[label]
        at, y, low, high, least = curve[columns].to_numpy().T
        band = band_around(label, "95 %", at, low, high, Tint(color, 0.12))
        marks += labelled_line(label, color, at, y, text, columns=[least], band=band)
        share, wrong = np.array([found.n_answered / found.n_rows]), np.array([found.wrong])
        marks.append(Dots(share, wrong, Tint(color), 12, "ring", group=label, listed=False))
    marks.append(Rule(risk, Tint("ink"), level=True, width=1.2, dash="dash"))
    most = max(3 * risk, *(1.2 * curve["risk"].iloc[-1] for curve in curves.values()))
    x = Axis("rows answered", "share", span=(0, 1.02))
    y_axis = Axis("wrong among them", "share", span=(0, float(most)))
    return PanelPicture(
        title="Wrong answers against rows answered",
        subtitle=rows,
        how_to_read=(
            "The rows of highest confidence are answered first. Bands hold at all thresholds at "
            "once (95 %); rings: thresholds that guarantee the error rate."
        ),
        alt=f"Error rate among rows answered against their share, for {', '.join(curves)}",
        name="risk-vs-coverage",
        table=stacked(curves),
        panels=(Panel(x, y_axis, marks),),
        legend=True,
        height=420,
    )


def movement_figure(movement: pd.DataFrame, *, level: float, rows: str) -> Chart:
    """Supported MLCE over ALCE and ECE, batch by batch, and which batches are marked.

    ``movement``: of :func:`~lore_core.mergeable.movement_frame`. ``level``: largest p of a marked
    batch. ``rows``: which these are, in words.
    """
    at = np.arange(len(movement), dtype=np.float64)
    names = [truncate(name, _MAX_LETTERS) for name in movement["batch"]]
    step = -(-len(at) // _MAX_NAMES)
    ticks = tuple((float(k), names[k]) for k in range(0, len(at), step))
    x = Axis("batch", span=(-0.5, len(at) - 0.5), ticks=ticks, grid=False)
    changed = at[movement["p_value"].to_numpy(np.float64, na_value=np.nan) <= level]
    panels = []
    for metrics in _MOVING:
        marks: list[Mark] = [Rule(float(where), Tint("ink"), dash="dot") for where in changed]
        for name, position in metrics.items():
            title, color, band = CATALOGUE[name].title, method_color(name, position), None
            if f"{name} at least" in movement:
                ends = (movement[f"{name} {end}"] for end in ("at least", "at most"))
                low, high = (end.to_numpy(np.float64) for end in ends)
                band = band_around(title, "guaranteed", at, low, high, Tint(color, 0.15))
            y, text = movement[name].to_numpy(np.float64), ("{y:.1f} points",)
            marks += labelled_line(title, color, at, y, text, dots=True, band=band)
        titles = " and ".join(CATALOGUE[name].title for name in metrics)
        panels.append(Panel(x, Axis(titles, "points", from_zero=True), marks, share=0.5))
    return PanelPicture(
        title="How the errors move",
        subtitle=rows,
        how_to_read=(
            "Dotted: batches that differ significantly from those before (by chance at most "
            f"{percent(level, 0)} do). ALCE and MLCE are larger where a batch has few rows. "
            "Bands: guaranteed bounds of the exact number."
        ),
        alt=f"Supported MLCE, ALCE and ECE of {batches_words(len(at))}; marked: {len(changed)}",
        name="movement",
        table=movement,
        panels=tuple(panels),
        gap=0.08,
        legend=True,
        height=460,
    )
