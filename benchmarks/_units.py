"""Rows of units, such as visits of patients: calibrated models and power; a section of the page."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from _report import markdown_table
from _trials import APART, percent
from _verdict_sections import Runs
from numpy.typing import NDArray
from scipy import special

from lore_core.data.arrays import Mask
from lore_core.data.dataset import Dataset
from lore_core.data.units import Dependence, by_unit, mean_values, row_units
from lore_core.inference.intervals import calibration_intervals
from lore_core.inference.simulation import null_errors
from lore_core.mergeable import LocalErrorSums, change_between
from lore_core.mergeable.partitions.plan import unit_groups
from lore_core.metrics.global_metrics import expected_calibration_error, share_interval
from lore_core.metrics.local_error import local_errors
from lore_core.metrics.means import mean_interval
from lore_core.metrics.proper_scores import row_brier
from lore_core.reading.checks import ACCEPTABLE, check_data
from lore_core.regions import conclude, find_subgroups, overall_gap, region_report

Floats = NDArray[np.float64]
_ROWS = 2_000
#: Rows a unit; 0: 1 to 20, at random.
_SIZES, _CORRELATIONS = (1, 2, 5, 10, 20, 0), (0.0, 0.2, 0.5)


def _world(seed: int, size: int, correlation: float, gap: float, copula: str) -> Dataset:
    """Rows of units on a plane; outcomes of a unit go together, each with its confidence's chance.

    Half of what places a row, and the columns ``site`` and ``age``, are of its unit; ``kind`` is of
    the row. ``copula``: "normal" latent numbers, or "shared": a row comes true by its unit's draw
    or by its own; in both two outcomes of even chance have this ``correlation``. ``gap``: by how
    much rows of kind "u" are overconfident.
    """
    rng = np.random.default_rng(seed + APART)
    sizes = rng.integers(1, 21, _ROWS) if size == 0 else np.full(_ROWS, size)
    units = np.repeat(np.arange(_ROWS), sizes)[:_ROWS]
    n_units = units.max() + 1
    z = np.sqrt(0.5) * (rng.normal(size=(n_units, 2))[units] + rng.normal(size=(_ROWS, 2)))
    confidence = np.clip(0.75 + 0.2 * np.tanh(z[:, 0]) + rng.normal(0, 0.05, _ROWS), 0.5, 0.99)
    if copula == "normal":
        shared, own = rng.normal(size=n_units)[units], rng.normal(size=_ROWS)
        latent = np.sin(np.pi / 2 * correlation)
        level = special.ndtr(np.sqrt(latent) * shared + np.sqrt(1 - latent) * own)
    else:
        shared, own = rng.random(n_units)[units], rng.random(_ROWS)
        level = np.where(rng.random(_ROWS) < np.sqrt(correlation), shared, own)
    kind = rng.choice(list("uvwxy"), _ROWS)
    right = (level < confidence - gap * (kind == "u")).astype(np.int64)
    return Dataset(
        np.column_stack([1 - confidence, confidence]),
        right,
        predictions=np.ones(_ROWS, dtype=np.int64),
        features=z,
        groups={"site": rng.choice(list("abcde"), n_units)[units], "kind": kind},
        metadata={"age": rng.normal(size=n_units)[units], "light": rng.normal(size=_ROWS)},
        units=units,
    )


def unit_verdict(
    seed: int, size: int, correlation: float, gap: float, copula: str, known: bool
) -> dict[str, float]:
    """What is concluded of a model; ``known``: with its units, or as of independent rows."""
    data = _world(seed, size, correlation, gap, copula)
    units = data.units if known else None
    if not known:
        data = replace(data, units=None)
    c, a = data.confidence, data.outcome
    overall = overall_gap(c, a, units=units, random_state=seed)
    search = find_subgroups(data, data.features, random_state=seed)
    level = conclude(overall, search).level
    planted = np.asarray(data.groups["kind"] == "u")
    common = [
        (search.mask(k) & planted).sum() / (search.mask(k) | planted).sum()
        for k in range(len(search.subgroups))
    ]
    dependence = Dependence.of(c, a, units)
    return {
        "wrong": float(level != "good"),
        "local": float(level == "local"),
        "global": float(level == "global"),
        "gap p": float(overall.gap_p <= 0.05),
        "error p": float(overall.error_p <= 0.05),
        "gap covered": float(overall.gap_low <= 0.0 <= overall.gap_high),
        "found": float(max(common, default=0.0) >= 0.5),
        "correlation": 0.0 if dependence is None else dependence.correlation,
        "worth": overall.worth,
    }


def unit_means(seed: int, size: int, correlation: float, copula: str) -> dict[str, float]:
    """Coverage of intervals of means, of a calibrated model."""
    data = _world(seed, size, correlation, 0.0, copula)
    c, a, units = data.confidence, data.outcome, data.units
    everyone, kind = np.ones(len(c), dtype=bool), np.asarray(data.groups["kind"] == "v")
    _, low, high = share_interval(a, units=units)
    scores = row_brier(data.probabilities, data.labels)
    _, brier_low, brier_high = mean_interval(mean_values(scores, None, units))
    gaps = {
        name: region_report(c, a, inside, units=units)
        for name, inside in (("gap", everyone), ("kind", kind))
    }
    return {
        **{name: float(of.gap_low <= 0.0 <= of.gap_high) for name, of in gaps.items()},
        "accuracy": float(low <= c.mean() <= high),
        "Brier": float(brier_low <= np.mean(c * (1 - c)) <= brier_high),
    }


def unit_intervals(seed: int, size: int, correlation: float, copula: str) -> dict[str, float]:
    """Coverage of simulated intervals and small p-values of a calibrated model."""
    data = _world(seed, size, correlation, 0.0, copula)
    c, a, z, units = data.confidence, data.outcome, np.asarray(data.features), data.units
    intervals = calibration_intervals(c, a, z, units=units, random_state=seed)
    dependence = Dependence.of(c, a, units)
    null = null_errors(c, z, n_draws=100, dependence=dependence, random_state=seed)
    errors = local_errors(c, a, z)
    ece = expected_calibration_error(c, a)
    return {
        **{name: float(intervals.loc[name, "low"] == 0.0) for name in ("ECE", "ALCE", "MLCE")},
        "ECE, p": float(null.p_value("ece", ece) <= 0.05),
        "ALCE, p": float(null.p_value("alce", errors.average) <= 0.05),
        "MLCE, p": float(null.p_value("mlce", errors.maximum) <= 0.05),
    }


def unit_checks(seed: int, size: int, correlation: float) -> dict[str, float]:
    """Whether the check of neighbouring rows fires, where units are not named."""
    data = _world(seed, size, correlation, 0.0, "normal")
    checks = check_data(replace(data, units=None), accept=ACCEPTABLE)
    return {check.name: float(check.level == "look") for check in checks}


def unit_sums(seed: int, size: int, correlation: float) -> dict[str, float]:
    """What sums show of a calibrated model, and whether two batches of it differ significantly."""
    data = _world(seed, size, correlation, 0.0, "normal")
    c, a, z = data.confidence, data.outcome, np.asarray(data.features)
    rng, unit = np.random.default_rng(seed), row_units(data.units, _ROWS)
    group = unit_groups(pd.Series(unit)).astype(int)

    def sums(rows: Mask, known: bool = True) -> LocalErrorSums:
        return LocalErrorSums.of(c[rows], a[rows], z[rows], groups=group[rows] if known else None)

    everyone, tables = np.ones(_ROWS, dtype=bool), []
    for known in (True, False):
        table = sums(everyone, known).reliability
        full, ends = table.count >= 20, (table.accuracy_low, table.accuracy_high)
        inside = (ends[0] <= table.confidence) & (table.confidence <= ends[1])
        tables.append((inside[full].mean(), (ends[1] - ends[0])[full].mean()))
    _, _, of_cells, (rows, right, sure) = sums(everyone).strata_of_groups()
    _, low, high = mean_interval(by_unit((sure - right) / rows, rows, of_cells))
    of_units = region_report(c, a, everyone, units=data.units)
    apart, mixed = (rng.random(unit.max() + 1) < 0.5)[unit], rng.random(_ROWS) < 0.5
    different = {
        name: change_between(sums(of, known), sums(~of, known), n_draws=199).p_value
        for name, of, known in (
            ("different", apart, True),
            ("different without", apart, False),
            ("units in both", mixed, True),
        )
    }
    return {
        "gap covered": float(low <= 0.0 <= high),
        "gap width": (high - low) / (of_units.gap_high - of_units.gap_low),
        "bins covered": tables[0][0],
        "bins covered without": tables[1][0],
        "bins width": tables[0][1] / tables[1][1],
        **{name: float(p <= 0.05) for name, p in different.items()},
    }


#: Measured by hand before whole units were left out.
_LEFT_OUT = """
The suggested γ and LoRe smooth leave out whole units. Where rows of a unit lie close together on
the map and their outcomes go together, as those of frames of a clip, γ by left-out rows is too
small. Measured once, on models whose error of up to 15 points follows the map or that are
calibrated: units of 10, 2,000 calibration rows, NLL of 4,000 rows of new units by their true
chances, in thousandths above that of these chances (ten models a line). Change: where whole units
are left out instead, ± its standard error. Share: how much of a row's place is its unit's. NLL: by
LoRe with that γ. Smooth: LoRe smooth, when it grew trees of the first kind alone. Raw: not
recalibrated.

| share | correlation | error | γ by rows | by units | best | NLL | change | smooth | change | raw |
|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|
| 0.5 | 0.2 | on the map | 0.17 | 0.21 | 0.23 | 12.9 | −0.1 ± 0.1 | 7.2 | 0.1 ± 0.0 | 24.9 |
| 0.5 | 0.5 | on the map | 0.17 | 0.21 | 0.23 | 13.8 | 0.0 ± 0.2 | 8.7 | 0.3 ± 0.3 | 24.9 |
| 0.5 | 0.5 | none | 0.33 | 0.45 | 0.42 | 10.1 | 0.1 ± 0.1 | 1.9 | −0.3 ± 0.1 | 0.1 |
| 0.95 | 0.2 | on the map | 0.13 | 0.24 | 0.23 | 18.4 | −3.5 ± 0.8 | 10.5 | −2.2 ± 0.6 | 24.7 |
| 0.95 | 0.5 | on the map | 0.13 | 0.28 | 0.30 | 34.7 | −15.5 ± 2.9 | 24.8 | −12.7 ± 1.8 | 24.7 |
| 0.95 | 0.5 | none | 0.13 | 0.54 | 0.84 | 29.8 | −17.4 ± 2.2 | 13.0 | −10.3 ± 1.2 | 0.1 |
"""


def unit_section(run: Runs) -> str:
    """Call models wrong whose every confidence is right, on rows of units."""
    rows = []
    for size, correlation in product(_SIZES, _CORRELATIONS):
        if size == 1 and correlation:
            continue
        found = run.run(unit_verdict, 100, size, correlation, 0.0, "normal", True)
        checked, without = run.run(unit_checks, 300, size, correlation), "–"
        if size == 10 and correlation:
            alone = run.run(unit_verdict, 100, size, correlation, 0.0, "normal", False)
            without = percent(alone["wrong"], 0)
        names = ("wrong", "local", "global", "gap p", "error p", "gap covered")
        rows.append(
            [_named(size), f"{correlation:g}", without]
            + [percent(found[name], 0) for name in names]
            + [f"{found['worth'].mean():,.0f}", percent(checked["neighbouring rows"])]
        )
    others, power, of_sums, sums_head = [], [], [], []
    for size, correlation in product(_SIZES, _CORRELATIONS):
        if size != 1 or not correlation:
            made = run.run(unit_sums, 200, size, correlation)
            cells = [
                f"{made[name].mean():.2f}" if "width" in name else percent(made[name], 0)
                for name in made
            ]
            sums_head = list(made)
            of_sums.append([_named(size), f"{correlation:g}", *cells])
    intervals = ("gap", "kind", "accuracy", "Brier", "ECE", "ALCE", "MLCE")
    tests = ("ECE, p", "ALCE, p", "MLCE, p")
    for size, correlation, copula in (
        (2, 0.5, "normal"), (10, 0.2, "normal"), (10, 0.5, "normal"), (0, 0.5, "normal"),
        (10, 0.5, "shared"),
    ):  # fmt: skip
        world = size, correlation, copula
        made = run.run(unit_means, 600, *world).agg(percent, digits=0).to_dict()
        made |= run.run(unit_intervals, 60, *world).agg(percent, digits=0).to_dict()
        numbers = [made[name] for name in (*intervals, *tests)]
        others.append([_named(size), f"{correlation:g}", copula, *numbers])
    for size, correlation in ((10, 0.0), (10, 0.5)):
        cells = [_named(size), f"{correlation:g}"]
        for known in (False, True):
            made = run.run(unit_verdict, 60, size, correlation, 0.2, "normal", known)
            cells.append(percent(made["found"], 0))
        power.append(cells)
    head = ["rows a unit", "correlation"]
    null_head = [
        "wrong without the role, %", "wrong, %", "a subgroup, %", "all rows, %",
        "gap, p ≤ 0.05", "ECE, p ≤ 0.05", "gap covered", "worth", "noticed without the role, %",
    ]  # fmt: skip
    return f"""## Rows of units

Calibrated models on {_ROWS:,} rows of units, two columns of which and half of what places a row are
their unit's (again: `python benchmarks/trust.py --only units`). Outcomes of a unit go together by a
normal copula, each with exactly its confidence's chance; the correlation is that of two outcomes of
even chance. 100 models a line (the check of neighbouring rows: 300; the other tables: 60), in %, ±
the standard error over them. Wrong: a verdict other than "good", at most 5 % in expectation.
Covered: the true mean gap 0 by its 95 % interval. Worth: so many independent rows.

{markdown_table([*head, *null_head], rows)}

Other intervals (95 %; of ECE, ALCE and MLCE, whose truth is 0, 97.5 %) and p-values (so small in
5 %) with the role; the first four are of 600 models. "kind": mean gap of a fifth of the rows. In
the last line outcomes of a unit are shared, as they are where p-values are simulated.

{markdown_table([*head, "copula", *intervals, *(f"{name} ≤ 0.05" for name in tests)], others)}

A fifth of the rows, which a column names, is overconfident by 20 points: how often, in %, a
subgroup is listed that shares half of its rows. Units of single rows are none: every number is the
same to the last bit.

{markdown_table([*head, "found without the role", "found"], power)}

Sums, where units are in 64 groups (200 models a line, in %): the mean gap 0 in its interval, its
width over that of the cluster-robust one of the units themselves; mean confidences in the intervals
of bins of 20 rows or more, their width over those without the role; and two batches significantly
different at 5 % though nothing changed, where units are in one batch or in both.

{markdown_table([*head, *sums_head], of_sums)}
{_LEFT_OUT}"""


def _named(size: int) -> str:
    return str(size) if size else "1 to 20"
