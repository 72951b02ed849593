"""Local errors against the bandwidth; the bandwidth that predicts best."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from lore_core.data.number_text import with_points
from lore_core.figures.chart import PanelChart
from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Dots,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
)
from lore_core.figures.pictures.picture import Hover
from lore_core.figures.style import Mode, method_color
from lore_core.inference.simulation import NullBand
from lore_core.inference.whole_vector import VectorBand
from lore_core.mergeable.cell_sums.summaries import BoundedCurve
from lore_core.metrics.bandwidth import BandwidthCurve, BandwidthSpread, VectorCurve
from lore_core.metrics.bandwidth_choice import BandwidthSuggestion
from lore_core.metrics.catalogue import CURVES, VECTOR_CURVES
from lore_core.metrics.metric import CurveKey, OverBandwidths

#: Bandwidths, as every chart over them has them.
GAMMA = Axis("bandwidth γ (log scale)", log=True, brief="bandwidth γ")
Curve = BandwidthCurve | BandwidthSpread | BoundedCurve | VectorCurve
Null = NullBand | VectorBand
#: Many bands on top of one another turn grey.
_FEW_BANDS = 4


def marked(value: float, text: str) -> Rule:
    """Mark a value of the axis that the reader has chosen."""
    return Rule(value, Tint("ink"), width=1.2, dash="dash", text=text)


def bandwidth_figure(
    curves: Mapping[str, Curve],
    *,
    metric: CurveKey = "mlce_supported",
    rows: str,
    gamma: float | None = None,
    null: tuple[str, Null] | None = None,
    mode: Mode = "light",
    height: int = 420,
) -> PanelChart:
    """One curve for each feature map or method, with both limits (Luo et al. 2022, fig. 1).

    Parameters
    ----------
    curves : mapping of str to BandwidthCurve, BandwidthSpread, BoundedCurve or VectorCurve
        By name; of many runs the mean is drawn, in a band of one standard deviation, of sums the
        bounds are.
    metric : {"mlce_supported", "alce", "mlce", "average", "largest"}
        What to draw; the last two of the whole vector.
    rows : str
        Which rows these are, in words.
    gamma : float, optional
        The bandwidth in use, marked.
    null : (str, NullBand or VectorBand), optional
        Name of a curve, and what calibrated data with its confidences would show: drawn as a band.
    mode, height
        Look.
    """
    about = (CURVES | VECTOR_CURVES)[metric]
    means = {label: _line_of(item) for label, item in curves.items()}
    marks: list[Mark] = []
    tables = [_table(item, metric).assign(curve=label) for label, item in curves.items()]
    if null is not None:
        name, chance = null
        low, high = chance.band(metric)
        known, of = np.isfinite(low), f", {name}" if len(curves) > 1 else ""
        around = chance.gamma[known], low[known], high[known]
        marks.append(Band(*around, Tint("quiet", 0.28), name=f"if calibrated{of} (95 %)"))
        columns = {"gamma": chance.gamma, f"{metric}_low": low, f"{metric}_high": high}
        tables.append(pd.DataFrame(columns).assign(curve=f"{name}, if calibrated"))
    heights = [*high] if null is not None and metric in VECTOR_CURVES else []
    for position, (label, curve) in enumerate(means.items()):
        color, value = method_color(label, position), getattr(curve, metric)
        item = curves[label]
        faint = Tint(color, 0.12 if len(curves) <= _FEW_BANDS else 0.07)
        if isinstance(item, BandwidthSpread):
            marks.append(_spread(item, metric, label, faint))
        elif isinstance(item, BoundedCurve):
            marks.append(_bounds(item, metric, label, faint))
        lines = (
            "γ {x:.3g}",
            f"{about.title} {{y:.1f}} points",
            "median {0:.0f} effective neighbours",
        )
        marks.append(
            Line(
                curve.gamma,
                value,
                Tint(color),
                name=label,
                group=label,
                dots=True,
                hover=Hover(label, lines=lines),
                columns=[curve.median_effective_size],
            )
        )
        marks += _limits(curve, about, color, in_words=len(curves) == 1)
        heights += [*value, getattr(curve, f"{metric}_zero", math.nan)]
    if gamma is not None:
        marks.append(marked(gamma, f"γ = {gamma:g}"))
    top = max((height for height in heights if np.isfinite(height)), default=1.0) or 0.01
    y = Axis(about.title, "points", from_zero=True, span=(0, 1.1 * float(top)))
    picture = PanelPicture(
        title=f"{about.title} against bandwidth",
        subtitle=rows,
        how_to_read=_how_to_read(about, curves, null),
        alt=f"{about.title} against bandwidth for {', '.join(curves)}",
        name=f"{metric.replace('_', '-')}-vs-bandwidth",
        table=pd.concat(tables, ignore_index=True),
        panels=(Panel(GAMMA, y, marks),),
        legend=len(curves) > 1 or null is not None,
    )
    return PanelChart(picture, mode, height)


def _line_of(item: Curve) -> BandwidthCurve | VectorCurve:
    if isinstance(item, BandwidthCurve | VectorCurve):
        return item
    return item.mean if isinstance(item, BandwidthSpread) else item.value


def _bounds(item: BoundedCurve, metric: CurveKey, label: str, tint: Tint) -> Band:
    """Where the exact curve surely is."""
    low, high = getattr(item.low, metric), getattr(item.high, metric)
    known = np.isfinite(low) & np.isfinite(high)
    around = item.value.gamma[known], low[known], high[known]
    return Band(*around, tint, name=f"{label}, surely", group=label, listed=False)


def _spread(item: BandwidthSpread, metric: CurveKey, label: str, tint: Tint) -> Band:
    """Mean ± one standard deviation over runs, no further than an error can go."""
    mean, sd = getattr(item.mean, metric), getattr(item.sd, metric)
    known = np.isfinite(mean)
    low, high = np.maximum(mean - sd, 0.0)[known], np.minimum(mean + sd, 1.0)[known]
    name, gamma = f"{label}, ± 1 SD", item.mean.gamma[known]
    return Band(gamma, low, high, tint, name=name, group=label, listed=False)


def _limits(
    curve: BandwidthCurve | VectorCurve, about: OverBandwidths, color: str, *, in_words: bool
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
            detail=True,
        )
        for what, value, part in sides
        if what and math.isfinite(value)
    ]


def _table(item: Curve, metric: CurveKey) -> pd.DataFrame:
    """One row a bandwidth; of many runs with the spread of what is drawn."""
    if not isinstance(item, BandwidthSpread):
        return item.frame()
    return item.mean.frame().assign(**{f"{metric}_sd": getattr(item.sd, metric)})


def _how_to_read(
    about: OverBandwidths,
    curves: Mapping[str, Curve],
    null: tuple[str, Null] | None,
) -> str:
    left = (
        "Far left each row stands alone (its own right or wrong)"
        if about.at_zero
        else "Further left no row has so many"
    )
    said = f"{about.title}: {about.meaning}. {left}; far right all rows of a bin count alike." + (
        " Read it in between; dotted stubs are limits." if about.at_infinity else ""
    )
    n_runs = {item.n_runs for item in curves.values() if isinstance(item, BandwidthSpread)}
    if n_runs:
        said += f" Bands: mean ± one standard deviation over {max(n_runs):,} runs."
    if any(isinstance(item, BoundedCurve) for item in curves.values()):
        said += " Bands: where the exact curve surely is."
    if null is not None:
        said += (
            f" Grey: where the whole curve stays, with 95 %, if every {about.of} is right "
            f"({null[1].n_draws} simulations)."
        )
    return said


def suggestion_figure(
    suggestion: BandwidthSuggestion,
    *,
    rows: str,
    in_use: tuple[float, int] | None = None,
    mode: Mode = "light",
    height: int = 320,
) -> PanelChart:
    """Leave-one-out NLL against γ, one line for each number of bins, the minimum marked.

    Parameters
    ----------
    suggestion : BandwidthSuggestion
        What to draw.
    rows : str
        Which rows it was chosen on, in words.
    in_use : (float, int), optional
        γ and number of bins in use, marked where they were tried.
    mode, height
        Look.
    """
    gammas, best = suggestion.gammas, suggestion.gamma
    marks: list[Mark] = []
    tables = []
    for bins, loss in zip(suggestion.tried_bins, suggestion.loss, strict=True):
        is_best, used = bins == suggestion.n_bins, in_use is not None and bins == in_use[1]
        name = "1 bin" if bins == 1 else f"{bins} bins"
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
    marks.append(marked(best, f"best γ = {best:.3g}"))
    picture = PanelPicture(
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
    )
    return PanelChart(picture, mode, height)
