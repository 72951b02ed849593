"""Curves over rows, costs and batches: the distribution of errors, rewards, movement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from lore_core.comparison.tables import stacked
from lore_core.data.arrays import Floats
from lore_core.data.number_text import batches_words, percent, with_points
from lore_core.figures.chart import Chart
from lore_core.figures.pictures.picture import (
    Axis,
    Hover,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
    band_around,
    chance_band,
    chosen_value,
    shortened,
)
from lore_core.figures.style import Mode, method_color
from lore_core.inference.simulation import NullErrors
from lore_core.metrics.catalogue import ALCE, CATALOGUE, ECE, MLCE_SUPPORTED
from lore_core.metrics.rewards import RewardCurve

#: Steps of a distribution drawn at most; the exported table holds as many.
_MAX_STEPS = 400
#: Two lines closer to zero than this share of the axis leave no room on their left.
_ROOM = 0.08
#: Names of batches that are written, and their letters.
_MAX_NAMES, _MAX_LETTERS = 10, 14
#: The metrics of each panel of the movement, from top to bottom, with their colours.
_MOVING = ({MLCE_SUPPORTED.name: 0}, {ALCE.name: 1, ECE.name: 2})


def cdf_figure(
    errors: Mapping[str, Floats],
    *,
    rows: str,
    global_error: float | None = None,
    null: NullErrors | None = None,
    marked: str = "",
    mode: Mode = "light",
    height: int = 300,
    title: str = "How much of the data is off by how much",
) -> Chart:
    """Cumulative distribution of the LCE (Luo et al. 2022, fig. 2).

    ``errors``: LCE of the rows, by method; with one entry its mean is marked too. ``rows``: which
    these are, in words. ``global_error``: |conf(B) − acc(B)| of the bin, drawn as a line. ``null``:
    what calibrated rows would show, drawn as a band. ``marked``: the entry that is held against the
    others. ``mode``, ``height``, ``title``: look.
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
        color = "accent" if single or name == marked else method_color(name, position)
        tint = Tint("quiet" if marked and name != marked else color)
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
        # They may lie close together: each is written on its outer side, if there is room.
        first = 0 if rules[0].at <= rules[1].at else 1
        widest = max(float(values.max(initial=0.0)) for values in ordered.values())
        if rules[first].at > _ROOM * widest:
            rules[first] = replace(rules[first], text_side="left")
    text = ", ".join(f"{name} {ALCE.text(mean)}" for name, mean in means.items())
    # (As short as a narrow chart has room for.)
    x_axis = Axis("local error (LCE)", "points", from_zero=True)
    y_axis = Axis("share of rows", "share", span=(0, 1.02))
    picture = PanelPicture(
        title=title,
        subtitle=rows,
        how_to_read=how_to_read,
        alt=f"Cumulative distribution of the local calibration error; mean in points: {text}",
        name="lce-cdf",
        table=pd.concat(tables, ignore_index=True),
        panels=(Panel(x_axis, y_axis, [*marks, *rules]),),
        legend=not single,
        free_corner=True,
    )
    return Chart(picture, mode, height)


def reward_figure(
    curves: Mapping[str, RewardCurve],
    *,
    rows: str,
    baseline: str,
    ratio: float | None = None,
    mode: Mode = "light",
    height: int = 560,
) -> Chart:
    """Gain over the baseline against the cost ratio, above the share of rows answered.

    ``curves``: by method. ``rows``: which these are, in words. ``baseline``: the method the others
    are held against. ``ratio``: the reader's own cost ratio, marked. ``mode``, ``height``: look.
    """
    gains: list[Mark] = []
    answers: list[Mark] = []
    for position, (label, curve) in enumerate(curves.items()):
        color = method_color(label, position)
        if label != baseline:
            ends = curve.gain_low, curve.gain_high
            tint = Tint(color, 0.15)
            gains.append(band_around(label, "95 %", curve.ratio, *ends, tint, detail=True))
        text = ("w/u {x:.3g}", "gain {y:+.3f} u a row ({0:+.3f} to {1:+.3f})")
        gain = Line(
            curve.ratio,
            curve.gain,
            Tint(color),
            name=label,
            group=label,
            hover=Hover(label, lines=text),
            columns=[curve.gain_low, curve.gain_high],
        )
        answered = replace(
            gain,
            y=curve.answered,
            width=1.8,
            hover=Hover(label, lines=("answers {y:.1f} % of the rows",)),
            columns=(),
            listed=False,
        )
        gains.append(gain)
        answers.append(answered)
    gains.append(Rule(0, Tint("quiet"), level=True))
    if ratio is not None:
        gains.append(chosen_value(ratio, f"your w/u = {ratio:g}"))
        answers.append(chosen_value(ratio, ""))
    cost = "cost of wrong ÷ cost of unsure"
    x = Axis(f"{cost}, w/u (log scale)", log=True, brief=cost)
    y = Axis("gain a row, in units of u", brief="gain a row, in u")
    y_answered = Axis("answered", "share", span=(0, 1.02))
    picture = PanelPicture(
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
        panels=(Panel(x, y, gains, 0.66), Panel(x, y_answered, answers, 0.34, detail=True)),
        gap=0.06,
        legend=True,
    )
    return Chart(picture, mode, height)


def movement_figure(
    movement: pd.DataFrame,
    *,
    level: float,
    rows: str,
    mode: Mode = "light",
) -> Chart:
    """Supported MLCE over ALCE and ECE, batch by batch, and which batches are marked.

    ``movement``: of :func:`~lore_core.mergeable.partitions.batches.movement_frame`, a row a batch.
    ``level``: batches with p up to this are marked. ``rows``: which these are, in words. ``mode``:
    theme.
    """
    at = np.arange(len(movement), dtype=np.float64)
    names = [shortened(name, _MAX_LETTERS) for name in movement["batch"]]
    step = -(-len(at) // _MAX_NAMES)
    ticks = tuple((float(k), names[k]) for k in range(0, len(at), step))
    x = Axis("batch", span=(-0.5, len(at) - 0.5), ticks=ticks, grid=False)
    changed = at[movement["p_value"].to_numpy(np.float64, na_value=np.nan) <= level]
    panels = []
    for metrics in _MOVING:
        marks: list[Mark] = [Rule(float(where), Tint("ink"), dash="dot") for where in changed]
        for name, position in metrics.items():
            title, color = CATALOGUE[name].title, method_color(name, position)
            if f"{name} at least" in movement:
                ends = (movement[f"{name} {end}"] for end in ("at least", "at most"))
                low, high = (end.to_numpy(np.float64) for end in ends)
                marks.append(band_around(title, "surely", at, low, high, Tint(color, 0.15)))
            y, hover = movement[name].to_numpy(np.float64), Hover(title, lines=("{y:.1f} points",))
            tint = Tint(color)
            marks.append(Line(at, y, tint, name=title, group=title, dots=True, hover=hover))
        titles = " and ".join(CATALOGUE[name].title for name in metrics)
        panels.append(Panel(x, Axis(titles, "points", from_zero=True), marks, share=0.5))
    picture = PanelPicture(
        title="How the errors move",
        subtitle=rows,
        how_to_read=(
            "Dotted: a place changed since all earlier batches by more than chance does in "
            f"{percent(level, 0)} of batches. ALCE and MLCE are larger where a batch has few rows. "
            "Bands: where the exact number surely is."
        ),
        alt=f"Supported MLCE, ALCE and ECE of {batches_words(len(at))}; marked: {len(changed)}",
        name="movement",
        table=movement,
        panels=tuple(panels),
        gap=0.08,
        legend=True,
        height=460,
    )
    return Chart(picture, mode)
