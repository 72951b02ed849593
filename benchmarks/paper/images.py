"""One image classifier: landscapes, before and after LoRe, and rewards."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import lore_core as lore
from benchmarks.paper import published as pub
from benchmarks.paper.measure import GAMMA, RunResult, Setting, measure_run, place, recalibrated
from benchmarks.paper.pictures import GLOBAL_METHODS, Gallery, draw_curves
from lore_core.figures import Chart, cdf_figure, landscape_figure, reward_figure, shared_limit

#: Bins of fewer rows are not looked at: one row alone is always a "worst bin".
SMALLEST_BIN = 100
#: Neighbours a picture asks for, as everywhere in the dashboard.
MIN_EFFECTIVE_SIZE = 10.0
HALF = 430
#: Cost ratios of the table; the curve has forty.
RATIOS = (2.0, 5.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True)
class BinFacts:
    """One confidence bin, its own gap and what it hides."""

    name: str
    rows: int
    gap: float
    mean_lce: float
    low: float
    high: float


@dataclass(frozen=True)
class ImagesResult:
    """What the page says about the image classifier.

    Attributes
    ----------
    result : RunResult
        Metrics and curves.
    accuracy : float
        Of the evaluation rows.
    bins : dict
        ``"best"`` and ``"worst"``: the paper's two bins; ``"scaled"``: the best one after
        temperature scaling.
    after : dict of str to BinFacts
        The rows of the worst bin as each method left them; the gap is theirs together.
    rewards, rewards_at : dict of str to RewardCurve
        By method over forty cost ratios, and at those of the table.
    pictures : dict of str to str
        Markdown by name.
    """

    result: RunResult
    accuracy: float
    bins: dict[str, BinFacts]
    after: dict[str, BinFacts]
    rewards: dict[str, lore.metrics.RewardCurve]
    rewards_at: dict[str, lore.metrics.RewardCurve]
    pictures: dict[str, str]


def analyse(
    dataset: lore.Dataset, setting: Setting, gallery: Gallery, say: Callable[[str], None]
) -> ImagesResult:
    """Measure the classifier and draw its pictures."""
    say(f"maps of {len(dataset):,} rows (t-SNE takes a minute or two)")
    maps = place(dataset, setting)
    say("all methods")
    after = recalibrated(dataset, setting, maps)
    say("metrics and bandwidth curves")
    result = measure_run(dataset, setting, maps, after)
    say("landscapes")
    points = maps["tsne"][dataset.in_split("evaluation")]
    local = {
        label: lore.local_errors(
            item.confidence, item.outcome, points, gamma=GAMMA["tsne"], n_bins=setting.n_bins
        )
        for label, item in after.items()
    }
    bins = {
        side: _chosen_bin(side, after[label], local[label], setting)
        for side, label in (("best", pub.NONE), ("worst", pub.NONE), ("scaled", pub.TS))
    }
    worst = bins["worst"]
    pictures = _bins(bins, points, gallery)
    pictures |= _before_after(points, local, worst.rows, worst.name, gallery)
    rows = f"{result.n_rows[1]:,} evaluation rows"
    pictures |= draw_curves([result], setting, gallery, "images", rows, ("mlce_supported",))
    drawn = (*GLOBAL_METHODS, pub.LORE_TSNE)
    rewards = {label: _reward(after, label) for label in drawn}
    pictures["rewards"] = gallery.save(_reward_chart(rewards, rows), "images-rewards")
    return ImagesResult(
        result=result,
        accuracy=dataset.evaluation.accuracy,
        bins={side: facts(b.dataset, b.local, b.rows, b.name) for side, b in bins.items()},
        after={
            label: facts(item, local[label], worst.rows, worst.name)
            for label, item in after.items()
        },
        rewards=rewards,
        rewards_at={label: _reward(after, label, RATIOS) for label in drawn},
        pictures=pictures,
    )


def facts(
    dataset: lore.Dataset, local: lore.metrics.LocalErrors, rows: NDArray[np.bool_], name: str
) -> BinFacts:
    """Say what these rows promise and get together, and how that differs from place to place."""
    gap = float(dataset.confidence[rows].mean() - dataset.outcome[rows].mean())
    known = rows & (local.effective_size >= MIN_EFFECTIVE_SIZE)
    low, high = (
        (float(local.signed[known].min()), float(local.signed[known].max()))
        if known.any()
        else (float("nan"), float("nan"))
    )
    return BinFacts(name, int(rows.sum()), gap, float(local.absolute[rows].mean()), low, high)


@dataclass(frozen=True)
class _Bin:
    """Rows of one confidence bin of one classifier."""

    dataset: lore.Dataset
    local: lore.metrics.LocalErrors
    rows: NDArray[np.bool_]
    name: str
    title: str


_TITLES = {
    "best": "Bin with the best global calibration",
    "worst": "Bin with the worst global calibration",
    "scaled": "Best bin after temperature scaling",
}


def _chosen_bin(
    side: str, dataset: lore.Dataset, local: lore.metrics.LocalErrors, setting: Setting
) -> _Bin:
    """Find the best or worst bin among those that hold enough rows."""
    table = lore.reliability_table(dataset.confidence, dataset.outcome, n_bins=setting.n_bins)
    index = table.worst_bin(SMALLEST_BIN) if side == "worst" else table.best_bin(SMALLEST_BIN)
    return _Bin(dataset, local, local.bin_index == index, table.bins.name(index), _TITLES[side])


def _bins(bins: dict[str, _Bin], points: NDArray[np.float64], gallery: Gallery) -> dict[str, str]:
    """Landscape and CDF of each bin, on one colour scale."""
    fields = {
        side: lore.error_field(
            item.dataset.confidence,
            item.dataset.outcome,
            points,
            gamma=GAMMA["tsne"],
            rows=item.rows,
            min_effective_size=MIN_EFFECTIVE_SIZE,
        )
        for side, item in bins.items()
    }
    limit = shared_limit(*(field.signed for field in fields.values()))
    made = {}
    for side, item in bins.items():
        about = f"confidence {item.name}, γ = {GAMMA['tsne']:g}"
        n = int(item.rows.sum())
        landscape = landscape_figure(
            fields[side],
            points,
            n_total=n,
            limit=limit,
            rows=about,
            axes="t-SNE",
            height=400,
            title=item.title,
        )
        gap = abs(float((item.dataset.confidence - item.dataset.outcome)[item.rows].mean()))
        cdf = cdf_figure(
            {"LCE": item.local.absolute[item.rows]},
            rows=f"{about}; {n:,} rows",
            global_error=gap,
            title="Distribution of the LCE",
        )
        made[f"landscape-{side}"] = gallery.save(landscape, f"images-landscape-{side}", HALF)
        made[f"cdf-{side}"] = gallery.save(replace(cdf, height=400), f"images-cdf-{side}", HALF)
    return made


def _before_after(
    points: NDArray[np.float64],
    local: dict[str, lore.metrics.LocalErrors],
    rows: NDArray[np.bool_],
    name: str,
    gallery: Gallery,
) -> dict[str, str]:
    """Landscape of the same rows under three methods, on one colour scale, and their CDFs."""
    shown = {"before": (pub.NONE, "Before"), "after": (pub.LORE_TSNE, "After LoRe")}
    known = [
        local[label].signed[rows & (local[label].effective_size >= MIN_EFFECTIVE_SIZE)]
        for label, _ in shown.values()
    ]
    limit = shared_limit(*known)
    made = {}
    for key, (label, title) in shown.items():
        errors = local[label]
        field = lore.regions.smoothed_field(
            errors.signed,
            errors.effective_size,
            points,
            rows=rows,
            min_effective_size=MIN_EFFECTIVE_SIZE,
        )
        chart = landscape_figure(
            field,
            points,
            n_total=int(rows.sum()),
            limit=limit,
            axes="t-SNE",
            height=400,
            rows=f"rows that had confidence {name}",
            title=title,
        )
        made[key] = gallery.save(chart, f"images-{key}", HALF)
    cdf = cdf_figure(
        {
            "No recalibration": local[pub.NONE].absolute[rows],
            "Temperature scaling": local[pub.TS].absolute[rows],
            "LoRe": local[pub.LORE_TSNE].absolute[rows],
        },
        rows=f"rows that had confidence {name}; {int(rows.sum()):,} rows",
        title="Distribution of the LCE",
    )
    made["cdf-after"] = gallery.save(replace(cdf, height=400), "images-cdf-after", HALF)
    return made


def _reward(
    after: dict[str, lore.Dataset], label: str, ratios: tuple[float, ...] | None = None
) -> lore.metrics.RewardCurve:
    return lore.reward_curve(
        after[label].confidence, after[label].outcome, ratios, baseline=after[pub.NONE].confidence
    )


def _reward_chart(rewards: dict[str, lore.metrics.RewardCurve], rows: str) -> Chart:
    shown = {"LoRe" if label == pub.LORE_TSNE else label: curve for label, curve in rewards.items()}
    return replace(reward_figure(shown, rows=rows), height=520)
