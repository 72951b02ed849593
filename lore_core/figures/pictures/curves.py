"""Local errors against the bandwidth; the bandwidth that predicts best."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats
from lore_core.data.number_text import with_points
from lore_core.figures.chart import Chart
from lore_core.figures.pictures.picture import (
    Axis,
    Dots,
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
)
from lore_core.figures.style import Mode, method_color
from lore_core.inference.simulation import NullBand
from lore_core.inference.whole_vector import VectorBand
from lore_core.metrics.bandwidth import (
    BandwidthCurve,
    BandwidthSpread,
    BandwidthSuggestion,
    VectorCurve,
)
from lore_core.metrics.catalogue import CURVES, VECTOR_CURVES
from lore_core.metrics.metric import CurveKey, OverBandwidths

#: Bandwidths, as every chart over them has them.
GAMMA = Axis("bandwidth γ (log scale)", log=True, brief="bandwidth γ")
Curve = BandwidthCurve | BandwidthSpread | VectorCurve
Null = NullBand | VectorBand
#: Many bands on top of one another turn grey.
_FEW_BANDS = 4


def bandwidth_figure(
    curves: Mapping[str, Curve],
    *,
    metric: CurveKey = "mlce_supported",
    rows: str,
    gamma: float | None = None,
    null: tuple[str, Null] | None = None,
    mode: Mode = "light",
    height: int = 420,
) -> Chart:
    """One curve for each feature map or method, with both limits (Luo et al. 2022, fig. 1).

    ``curves``: by name; of many runs the mean is drawn, in a band of one standard deviation, of
    sums the bounds are. ``metric``: "mlce_supported", "alce" or "mlce", of the whole vector
    "average" or "largest". ``rows``: which these are, in words. ``gamma``: the bandwidth in use,
    marked. ``null``: name of a curve, and what calibrated data with its confidences would show:
    drawn as a band. ``mode``, ``height``: look.
    """
    about = (CURVES | VECTOR_CURVES)[metric]
    marks: list[Mark] = []
    tables = [_table(item, metric).assign(curve=label) for label, item in curves.items()]
    if null is not None:
        name, chance = null
        low, high = chance.band(metric)
        of = f", {name}" if len(curves) > 1 else ""
        marks.append(chance_band(chance.gamma, low, high, f"if calibrated{of} (95 %)"))
        columns = {"gamma": chance.gamma, f"{metric}_low": low, f"{metric}_high": high}
        tables.append(pd.DataFrame(columns).assign(curve=f"{name}, if calibrated"))
    heights = [*high] if null is not None and metric in VECTOR_CURVES else []
    alpha = 0.12 if len(curves) <= _FEW_BANDS else 0.07
    hover = "γ {x:.3g}", f"{about.title} {{y:.1f}} points", "median {0:.0f} effective neighbours"
    for position, (label, item) in enumerate(curves.items()):
        color, (curve, band) = method_color(label, position), _with_band(item, metric)
        value = getattr(curve, metric)
        if band is not None:
            what, low, high = band
            marks.append(band_around(label, what, curve.gamma, low, high, Tint(color, alpha)))
        marks.append(
            Line(
                curve.gamma,
                value,
                Tint(color),
                name=label,
                group=label,
                dots=True,
                hover=Hover(label, lines=hover),
                columns=[curve.median_effective_size],
            )
        )
        marks += _limits(curve, about, color, in_words=len(curves) == 1)
        heights += [*value, getattr(curve, f"{metric}_zero", math.nan)]
    if gamma is not None:
        marks.append(chosen_value(gamma, f"γ = {gamma:g}"))
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
    return Chart(picture, mode, height)


def _with_band(
    item: Curve, metric: CurveKey
) -> tuple[BandwidthCurve | VectorCurve, tuple[str, Floats, Floats] | None]:
    """Return the curve that is drawn, and what the band around it shows, with its ends."""
    if isinstance(item, BandwidthSpread):
        mean, sd = getattr(item.mean, metric), getattr(item.sd, metric)
        # No further than an error can go.
        return item.mean, ("± 1 SD", np.maximum(mean - sd, 0.0), np.minimum(mean + sd, 1.0))
    if isinstance(item, BandwidthCurve) and item.bounds is not None:
        return item, ("surely", *item.bounds[metric])
    return item, None


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
    text = f"{about.title}: {about.meaning}. {left}; far right all rows of a bin count alike." + (
        " Read it in between; dotted stubs are limits." if about.at_infinity else ""
    )
    n_runs = {item.n_runs for item in curves.values() if isinstance(item, BandwidthSpread)}
    if n_runs:
        text += f" Bands: mean ± one standard deviation over {max(n_runs):,} runs."
    if any(isinstance(of, BandwidthCurve) and of.bounds is not None for of in curves.values()):
        text += " Bands: where the exact curve surely is."
    if null is not None:
        text += (
            f" Grey: where the whole curve stays, with 95 %, if every {about.of} is right "
            f"({null[1].n_draws} simulations)."
        )
    return text


def suggestion_figure(
    suggestion: BandwidthSuggestion,
    *,
    rows: str,
    in_use: tuple[float, int] | None = None,
    mode: Mode = "light",
) -> Chart:
    """Leave-one-out NLL against γ, one line for each number of bins, the minimum marked.

    ``rows``: which it was chosen on, in words. ``in_use``: γ and number of bins in use, marked
    where they were tried. ``mode``: theme.
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
    marks.append(chosen_value(best, f"best γ = {best:.3g}"))
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
        height=320,
    )
    return Chart(picture, mode)
