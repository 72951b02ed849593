"""The page's tables: ours beside the published, as Markdown."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from benchmarks.paper import published as pub
from benchmarks.paper.images import RATIOS, ImagesResult
from benchmarks.paper.measure import ENOUGH_ROWS, SUPPORTED, RunResult, value, within_methods
from lore_core.comparison import RunsComparison
from lore_core.metrics.catalogue import MAX_GROUPWISE

WORST = MAX_GROUPWISE
#: Table 2, and where our columns are called otherwise.
CORRELATED = ("ECE", "MCE", "NLL", "Brier", "MLCE (t-SNE)", "MLCE (PCA)")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, the first column to the left and the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def short(number: float, digits: int = 3) -> str:
    """``.123``: a share without its leading zero, as the paper prints it."""
    if not np.isfinite(number):
        return "–"
    text = f"{number:.{digits}f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(number) < 1 and not text.startswith("1") else text


def pair(numbers: tuple[float, float] | None, digits: int = 3) -> str:
    """``.123 ± .045``."""
    if numbers is None:
        return "–"
    return f"{short(numbers[0], digits)} ± {short(numbers[1], digits)}"


def percent(numbers: tuple[float, float] | None) -> str:
    """``15.1 ± 2.7``, in per cent."""
    return "–" if numbers is None else f"{numbers[0] * 100:.1f} ± {numbers[1] * 100:.1f}"


def ours(runs: RunsComparison, label: str, metric: str) -> tuple[float, float]:
    """Mean and standard deviation over the runs."""
    return value(runs.table, label, metric), value(runs.sd, label, metric)


def bold_lowest(cells: list[list[str]], values: Sequence[Sequence[float]]) -> list[list[str]]:
    """Make the lowest value of each column bold; NaN and the first column (names) stay."""
    columns = np.array(values, dtype=np.float64)
    for k in range(columns.shape[1]):
        if np.isfinite(columns[:, k]).any():
            best = int(np.nanargmin(columns[:, k]))
            cells[best][k + 1] = f"**{cells[best][k + 1]}**"
    return cells


def group_table(runs: RunsComparison, results: Sequence[RunResult], setting: int) -> str:
    """Table 1: the maximum group-wise MCE, and how many rows the worst group has."""
    worst = pd.concat([result.worst for result in results])
    rows_of = worst.groupby("method")[["rows", "bin_rows"]].median()
    cells, values = [], []
    for label in pub.IN_THE_PAPER:
        paper = pub.GROUP_MCE[setting].get(label)
        here, large = ours(runs, label, WORST), ours(runs, label, SUPPORTED)
        counts = (f"{value(rows_of, label, name):.0f}" for name in ("rows", "bin_rows"))
        cells.append([label, pair(paper), pair(here), *counts, pair(large)])
        values.append([paper[0] if paper else np.nan, here[0], np.nan, np.nan, large[0]])
    head = ["", "paper", "here", "rows of the worst group", "of them in its worst bin",
            f"here, bins of {ENOUGH_ROWS}+ rows"]  # fmt: skip
    return markdown(head, bold_lowest(cells, values))


def correlation_table(runs: RunsComparison, setting: int = 1) -> str:
    """Table 2: Pearson correlation with the maximum group-wise MCE."""
    found = runs.correlation(WORST)
    large = runs.correlation(SUPPORTED)
    within = within_methods(runs.runs, WORST)
    rows = [
        [
            metric,
            short(pub.CORRELATION[metric][setting - 1]),
            *(short(float(series[metric])) for series in (found, within, large)),
        ]
        for metric in CORRELATED
    ]
    head = ["", "paper", "here", "inside one method", f"bins of {ENOUGH_ROWS}+ rows"]
    return markdown(head, rows)


def global_table(runs: RunsComparison, setting: int) -> str:
    """Table 3: ECE, NLL and Brier."""
    cells, values = [], []
    for label in pub.IN_THE_PAPER:
        paper = pub.GLOBAL[setting].get(label, (None, None, None))
        here = [ours(runs, label, metric) for metric in ("ECE", "NLL", "Brier", "MCE")]
        cells.append(
            [
                label, percent(paper[0]), percent(here[0]), pair(paper[1], 2), pair(here[1], 3),
                pair(paper[2], 2), pair(here[2], 3), pair(here[3], 3),
            ]
        )  # fmt: skip
        values.append(
            [
                item[0] if item else np.nan
                for item in (paper[0], here[0], paper[1], here[1], paper[2], here[2], here[3])
            ]
        )
    head = ["", "ECE %, paper", "ECE %, here", "NLL, paper", "NLL, here", "Brier, paper",
            "Brier, here", "MCE, here"]  # fmt: skip
    return markdown(head, bold_lowest(cells, values))


def local_table(runs: RunsComparison) -> str:
    """MLCE and ALCE at the paper's bandwidths; the paper shows them as curves only."""
    metrics = ["MLCE (t-SNE)", "MLCE, n_eff ≥ 10 (t-SNE)", "ALCE (t-SNE)", "MLCE (PCA)",
               "MLCE, n_eff ≥ 10 (PCA)", "ALCE (PCA)"]  # fmt: skip
    cells, values = [], []
    for label in pub.IN_THE_PAPER:
        found = [ours(runs, label, metric) for metric in metrics]
        cells.append([label, *(pair(item) for item in found)])
        values.append([item[0] for item in found])
    return markdown(["", *metrics], bold_lowest(cells, values))


def smooth_table(runs: RunsComparison) -> str:
    """LoRe smooth beside what the paper has."""
    metrics = [WORST, SUPPORTED, "ECE", "NLL", "Brier", "MLCE, n_eff ≥ 10 (t-SNE)",
               "MLCE, n_eff ≥ 10 (PCA)", "ALCE (t-SNE)", "ALCE (PCA)"]  # fmt: skip
    found = {label: [ours(runs, label, name) for name in metrics] for label in pub.BESIDE_SMOOTH}
    cells = [[label, *map(pair, values)] for label, values in found.items()]
    values = [[mean for mean, _ in values] for values in found.values()]
    return markdown(["", *metrics], bold_lowest(cells, values))


def images_table(images: ImagesResult) -> str:
    """Table 4: global metrics of one image classifier."""
    metrics = ("ECE", "NLL", "Brier", "MCE", "MLCE (t-SNE)", "ALCE (t-SNE)", "MLCE (PCA)",
               "ALCE (PCA)")  # fmt: skip
    table = images.result.metrics
    cells, values = [], []
    for label in table.index:
        paper = pub.IMAGENET.get(str(label))
        found = [float(table.loc[label, metric]) for metric in metrics]
        printed = ["–"] * 3 if paper is None else [
            short(paper[0]), short(paper[1]), f"{paper[2]:.2f}"
        ]  # fmt: skip
        cells.append([str(label), *printed, *(short(item) for item in found)])
        values.append([*(paper or (np.nan,) * 3), *found])
    head = ["", "ECE, paper", "NLL, paper", "Brier, paper", *metrics]
    return markdown(head, bold_lowest(cells, values))


def bins_table(images: ImagesResult) -> str:
    """Section 3.3: what the best and the worst bin hide."""
    rows = []
    names = {"best": "best bin", "worst": "worst bin", "scaled": "best bin, temperature-scaled"}
    for side, found in images.bins.items():
        printed = [f"{number:.4f}" for number in pub.BINS.get(side, ())] or ["–", "–"]
        rows.append(
            [
                names[side], *printed, found.name, f"{found.rows:,}",
                f"{abs(found.gap):.4f}", f"{found.mean_lce:.4f}",
                f"{found.low * 100:+.0f} to {found.high * 100:+.0f}".replace("-", "−"),
            ]
        )  # fmt: skip
    head = ["", "global error, paper", "mean LCE, paper", "confidence, here", "rows",
            "global error, here", "mean LCE, here", "local gap, points"]  # fmt: skip
    return markdown(head, rows)


def after_table(images: ImagesResult) -> str:
    """Figure 3 in numbers: the rows of the worst bin under every method."""
    cells, values = [], []
    for label, found in images.after.items():
        cells.append(
            [
                label, f"{found.gap * 100:+.1f}".replace("-", "−"), f"{found.mean_lce * 100:.1f}",
                f"{found.low * 100:+.0f} to {found.high * 100:+.0f}".replace("-", "−"),
            ]
        )  # fmt: skip
        values.append([abs(found.gap), found.mean_lce, found.high - found.low])
    head = ["", "gap of all these rows, points", "mean LCE, points", "local gap, points"]
    return markdown(head, bold_lowest(cells, values))


def reward_table(images: ImagesResult) -> str:
    """Gain over no recalibration a row, in hundredths of u."""
    rows = []
    for label, curve in images.rewards_at.items():
        if label == pub.NONE:
            cells = [f"{100 * reward:.1f}" for reward in curve.reward]
        else:
            half = (curve.gain_high - curve.gain_low) / 2
            pairs = zip(curve.gain, half, strict=True)
            cells = [f"{100 * gain:+.1f} ± {100 * h:.1f}" for gain, h in pairs]
        name = f"{label}: reward" if label == pub.NONE else label
        rows.append([name, *(cell.replace("-", "−") for cell in cells)])
    return markdown(["", *(f"w/u = {ratio:g}" for ratio in RATIOS)], rows)


def one_run_table(result: RunResult, setting: int) -> str:
    """One run beside the published mean and spread."""
    cells = []
    for label in pub.IN_THE_PAPER:
        paper = pub.GLOBAL[setting].get(label, (None, None, None))
        ece, nll, brier, worst, large, on_tsne, on_pca = (
            value(result.metrics, label, metric)
            for metric in ("ECE", "NLL", "Brier", WORST, SUPPORTED, "MLCE (t-SNE)", "MLCE (PCA)")
        )
        cells.append(
            [
                label, pair(pub.GROUP_MCE[setting].get(label)), short(worst), short(large),
                percent(paper[0]), f"{ece * 100:.1f}", pair(paper[1]), short(nll),
                pair(paper[2]), short(brier), short(on_tsne), short(on_pca),
            ]
        )  # fmt: skip
    head = ["", f"{WORST}, paper", "here", f"bins of {ENOUGH_ROWS}+ rows", "ECE %, paper", "here",
            "NLL, paper", "here", "Brier, paper", "here", "MLCE (t-SNE)",
            "MLCE (PCA)"]  # fmt: skip
    return markdown(head, cells)


def disagreements(runs: RunsComparison) -> tuple[int, list[str]]:
    """Compare with the independent script to its three digits: how many values, which differ."""
    checked, unlike = 0, []
    for label, values in pub.REFERENCE.items():
        for metric, printed in zip(pub.REFERENCE_COLUMNS, values, strict=True):
            for what, theirs, own in zip(
                ("mean", "spread"), printed, ours(runs, label, metric), strict=True
            ):
                checked += 1
                if short(theirs) != short(own):
                    unlike.append(
                        f"{label}, {metric}, {what}: {short(own)} here, {short(theirs)} there"
                    )
    return checked, unlike


def far_from_print(runs: RunsComparison, setting: int) -> list[str]:
    """Entries of Table 3 that differ from print by more than the published spread."""
    far = []
    for label, printed in pub.GLOBAL[setting].items():
        for metric, (mean, sd) in zip(("ECE", "NLL", "Brier"), printed, strict=True):
            own = value(runs.table, label, metric)
            if abs(own - mean) > sd:
                far.append(f"{label}, {metric}: {short(mean)} there, {short(own)} here")
    return far


def is_reference(runs: RunsComparison) -> bool:
    """Whether these are the runs the independent script had: uncalibrated, all digits agree."""
    values = pub.REFERENCE[pub.NONE]
    return runs.n_runs == 60 and all(
        abs(printed[0] - ours(runs, pub.NONE, metric)[0]) < 1e-3
        for metric, printed in zip(pub.REFERENCE_COLUMNS, values, strict=True)
    )


def tsne_reference_table(runs: RunsComparison) -> str:
    """Hold the t-SNE rows against the independent script's: another program drew the maps."""
    lines = [
        (f"{pub.LORE_TSNE}, {metric}", printed, ours(runs, pub.LORE_TSNE, metric))
        for metric, printed in pub.REFERENCE_LORE_TSNE.items()
    ] + [
        (f"{label}, MLCE (t-SNE)", printed, ours(runs, label, "MLCE (t-SNE)"))
        for label, printed in pub.REFERENCE_MLCE_TSNE.items()
    ]
    rows = [
        [name, pair(theirs), pair(own), "yes" if abs(theirs[0] - own[0]) < theirs[1] else "**no**"]
        for name, theirs, own in lines
    ]
    return markdown(["", "independent script", "here", "means within one spread"], rows)
