"""Sections of docs/trust.md on the verdict and the subgroups behind it."""

from typing import Protocol

import numpy as np
import pandas as pd
from _answer_logs import found_in
from _geometries import geometry
from _report import markdown_table
from _trials import Trial, percent, points
from _verdicts import detected, null_verdict, planted_verdict, remaining_verdict

from lore_core.data.dataset import TOP_LABEL

#: Rows a subgroup is planted in: which geometry, and how many of its rows.
_PLANTED: tuple[tuple[str, int | None], ...] = (("digits", None), ("table", 3000))
_KINDS = ("slice", "blob")
_SHARES = (0.02, 0.05, 0.1, 0.2)
_GAPS = (0.1, 0.2, 0.3)
_SHIFTS = (0.0, 0.04, 0.08)
_CALIBRATED: tuple[tuple[str, int | None, str | int], ...] = (
    ("digits", 500, TOP_LABEL), ("digits", 1000, TOP_LABEL), ("digits", None, TOP_LABEL),
    ("tumours", None, TOP_LABEL), ("tumours", None, 1),
    ("diabetes", None, TOP_LABEL), ("diabetes", None, 1),
    ("table", 500, TOP_LABEL), ("table", 1000, TOP_LABEL), ("table", 3000, TOP_LABEL),
    ("table", 10_000, TOP_LABEL),
    ("plane", 500, TOP_LABEL), ("plane", 1000, TOP_LABEL), ("plane", None, TOP_LABEL),
)  # fmt: skip
_DETECTED: tuple[tuple[str, int | None], ...] = (
    ("digits", None), ("plane", None), ("table", 1000), ("table", 3000), ("table", 10_000),
)  # fmt: skip


class Runs(Protocol):
    """Runs a trial over many seeds; one row a seed."""

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


def verdict_section(run: Runs) -> str:
    """Call models wrong whose every confidence is right."""
    rows, n_models = [], []
    for name, n, target in _CALIBRATED:
        found = run.run(null_verdict, 1000, name, n, target)
        dataset = geometry(name, n).dataset
        features = 0 if dataset.features is None else dataset.features.shape[1]
        cells = [name, f"{len(dataset):,}", f"{features}", f"{dataset.n_classes}"]
        cells += ["top label" if target == TOP_LABEL else f"class {target}"]
        rows.append(cells + [percent(found[level]) for level in ("wrong", "local", "global")])
        n_models.append(len(found))
    head = ["rows of", "rows", "features", "classes", "target", "wrong, %"]
    return f"""## The verdict on calibrated models

Rows, columns and confidences of real classifiers (digits of the demo, tumours and diabetes of
scikit-learn, a made-up table of ten columns and two groups under gradient boosting, a plane), with
outcomes drawn anew so that every confidence is right: {_number(n_models)} models each (again:
`python benchmarks/trust.py --only verdict,power,detectable`). Wrong: the headline is of a subgroup
(at most 4 %) or of all rows (at most 1 %).

{markdown_table([*head, "a subgroup, %", "all rows, %"], rows)}
"""


def power_section(run: Runs) -> str:
    """Find what is planted, and say how far off it is."""
    found = {
        (*where, kind, share, gap, shift): run.run(
            planted_verdict, 100, *where, kind, share, gap, shift
        )
        for where in _PLANTED
        for kind in _KINDS
        for share in _SHARES
        for gap in _GAPS
        for shift in _SHIFTS
    }
    rows = []
    for name, n in _PLANTED:
        for kind in _KINDS:
            for share in _SHARES:
                cells = [name, f"{len(geometry(name, n).dataset):,}", kind, f"{share * 100:.0f}"]
                cells += [
                    _named_first(found[name, n, kind, share, gap, shift])
                    for gap in _GAPS
                    for shift in _SHIFTS
                ]
                rows.append(cells)
    head = ["rows of", "rows", "planted", "% of the rows"]
    head += [f"{gap * 100:.0f} over {shift * 100:.0f}" for gap in _GAPS for shift in _SHIFTS]
    gaps = []
    for gap in _GAPS:
        for share in _SHARES:
            named = pd.concat(
                [frame for key, frame in found.items() if key[3:5] == (share, gap)],
                ignore_index=True,
            )
            known = named.reindex(columns=["own", "own covers", "held", "held covers"])
            gaps.append(
                [
                    f"{gap * 100:.0f}", f"{share * 100:.0f}", f"{known['held'].notna().sum()}",
                    points(known["held"]), percent(known["held covers"]),
                    points(known["own"]), percent(known["own covers"]),
                ]
            )  # fmt: skip
    gap_head = [
        "planted, points", "% of the rows", "subgroups named first", "held-out gap − truth, points",
        "its interval covers, %", "gap of all its rows − truth, points",
        "its interval would cover, %",
    ]  # fmt: skip
    return f"""## What the verdict finds

A slice (a value, or a range of a number) or a blob (the rows nearest to one of them on the map) is
made overconfident by 10, 20 or 30 points, over a gap of 0, 4 or 8 points of all rows ("20 over 4"):
how often, in %, it is the subgroup named first, so that half of the larger of the two lies in both.
{_number([len(frame) for frame in found.values()])} models a cell; – where no column
divides the rows so.

{markdown_table(head, rows)}

The gap of the subgroup named first against its true gap. The held-out gap leans upwards where
little can be found; that of all its rows leans further and is not printed as evidence.

{markdown_table(gap_head, gaps)}
"""


def detectable_section(run: Runs) -> str:
    """Test what a clean verdict says it would have found."""
    rows, n_models = [], []
    for name, n in _DETECTED:
        by_kind = {kind: run.run(detected, 100, name, n, kind) for kind in _KINDS}
        known = [frame for frame in by_kind.values() if len(frame)]
        n_models += [len(frame) for frame in known]
        gap = pd.concat(known)["gap"].mean() if known else np.nan
        cells = [name, f"{len(geometry(name, n).dataset):,}", f"{gap * 100:.0f}"]
        for column in ("found", "half"):
            cells += [
                percent(frame.get(column, pd.Series(dtype=float)), 0) for frame in by_kind.values()
            ]
        rows.append(cells)
    head = ["rows of", "rows", "stated as detectable, points", "slice, %", "blob, %"]
    return f"""## What could have been found

Where no subgroup is found the verdict says how far off a tenth of the rows would have to be to be
found, at least in part, about four times in five. Such subgroups are planted here: how often, in %,
one is listed of which a quarter of the larger of the two lies in both, and how often half.
{_number(n_models)} models each.

{markdown_table([*head, "half of a slice, %", "half of a blob, %"], rows)}
"""


def remaining_section(run: Runs) -> str:
    """Search again after a global method."""
    rows, n_models = [], []
    for name, n in _DETECTED:
        for exponent in (1.0, 1.6, 2.5):
            calibrated = run.run(remaining_verdict, 200, name, n, exponent, 0.0, 0.0)
            planted = run.run(remaining_verdict, 100, name, n, exponent, 0.1, 0.2)
            n_models.append([len(calibrated), len(planted)])
            rows.append(
                [
                    name,
                    f"{len(geometry(name, n).dataset):,}",
                    f"{exponent:g}",
                    percent(calibrated["before"], 0),
                    percent(calibrated["listed"]),
                    percent(calibrated["overall"]),
                    percent(planted["found"], 0) if len(planted) else "–",
                ]
            )
    head = [
        "rows of", "rows", "reported to the power", "wrong overall before, %",
        "subgroup listed after, %", "wrong overall after, %", "planted slice found after, %",
    ]  # fmt: skip
    return f"""## What a global method would leave

The model's own probabilities are the truth, and it reports them to a power: temperature scaling
calibrates it. Half of the rows are calibration rows; the method is chosen and fitted on these, the
search runs on the others. How often, in %, a subgroup is listed after it (at most 4 %), or all rows
are called wrong (at most 1 %, and what the fitted number is off by); and how often a slice of a
tenth of the rows that is also overconfident by 20 points is found, by half of the larger of the
two. {" and ".join(_number(list(counts)) for counts in zip(*n_models, strict=True))} models each.

{markdown_table(head, rows)}
"""


def _named_first(found: pd.DataFrame) -> str:
    return f"{found['first'].mean() * 100:.0f}" if len(found) else "–"


def _number(counts: list[int]) -> str:
    """How many trials there were: one number, or from the fewest to the most."""
    known = sorted(count for count in counts if count)
    if not known:
        return "no"
    few, many = known[0], known[-1]
    return f"{many:,}" if few == many else f"{few:,} to {many:,}"


def topic_section(run: Runs) -> str:
    """Topics of a log of answers."""
    rows = []
    for n, gap in ((5_000, 0.0), (5_000, 0.25), (5_000, 0.15), (2_000, 0.25)):
        known = run.run(found_in, 200, gap, n)
        share = [f"{known[name].mean() * 100:.0f}" for name in ("recall", "precision")]
        rows.append(
            [
                f"{n:,}",
                f"{gap * 100:.0f}",
                f"{int((known['others'] > 0).sum())} of {len(known)}",
                *([f"{int(known['found'].sum())}", *share] if gap else ["–"] * 3),
                f"{int((known['recall'] >= 0.95).sum())}" if gap else "–",
            ]
        )
    head = [
        "rows", "planted gap, points", "logs with another subgroup", "topic found", "recall, %",
        "precision, %", "recall of 95 % or more",
    ]  # fmt: skip
    return f"""## Topics of a log of answers

Questions of twelve topics by templates, each with two or three of the twelve words of its topic,
15 % with one of another's; confidence and whether the answer is right, no class, no feature. Half
of the rows are shown. One topic, 8 % of the rows, is overconfident; or none. Recall and precision:
of the rows of the topic, and of the rows in subgroups mostly of it.

{markdown_table(head, rows)}
"""
