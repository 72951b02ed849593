import dataclasses

import numpy as np
import pytest
from synthetic import overconfident

from lore_core import Dataset, InputError, Predictor, SmoothLoRe
from lore_core.data.probabilities import expit, logit
from lore_core.recalibration import LevelLoRe, LogisticRecalibration, MatrixScaling
from lore_core.recalibration.smooth_tuning import (
    default_tuning_gammas,
    fitted_bases,
    leave_one_out_smooth,
    on_line,
    part_of,
    parts,
    ways_to_part,
)


@pytest.fixture(scope="module")
def rows():
    return overconfident(90, k=4, seed=4)


@pytest.fixture(scope="module")
def fitted(rows):
    return SmoothLoRe().fit(*rows)


def by_pairs(z, others_z, same, state_like, candidate, start, accuracy):
    """Say what a candidate says of one row at z, from the rows that count."""
    outcome, b = state_like
    d = len(z)
    kernel = np.array(
        [
            np.exp(-np.abs(z - other).sum() / (d * candidate.gamma)) if counts else 0.0
            for other, counts in zip(others_z, same, strict=True)
        ]
    )
    if candidate.base is None:
        total = kernel.sum() + candidate.strength
        right = (kernel * outcome).sum() + candidate.strength * accuracy
        return np.clip(right / total if total > 0 else start[0], 1e-4, 1 - 1e-4)
    b = b[:, candidate.base]
    off, spread = (kernel * (outcome - b)).sum(), (kernel * b * (1 - b)).sum()
    delta = 0.0 if np.isinf(candidate.strength) else off / (spread + candidate.strength)
    return expit(logit(start[candidate.base]) + delta)


def test_each_row_is_corrected_by_the_others(rows):
    data, z = rows
    _, _, changed, starts = fitted_bases(data)
    ways = ways_to_part(changed, [1, 3])
    trial = leave_one_out_smooth({None: z}, changed, starts, ways, np.array([0.1, 0.8]), None)
    # 2 γ × 3 ways × (2 bases × 4 + 4), and each base alone.
    assert len(trial.candidates) == 2 * 3 * 12 + 2
    others = ~np.eye(len(data), dtype=bool)
    for i in (0, 17, 55):
        for candidate, said in zip(trial.candidates, trial.confidence, strict=True):
            part = part_of(ways[candidate.part], changed.confidence, changed.predictions)
            same = (part == part[i]) & others[i]
            accuracy = data.outcome[same].mean() if same.any() else starts[i, 0]
            known = (data.outcome, starts)
            expected = by_pairs(z[i], z, same, known, candidate, starts[i], accuracy)
            assert said[i] == pytest.approx(expected, abs=1e-9)
    outcome = np.where(data.outcome == 1, trial.confidence, 1 - trial.confidence)
    np.testing.assert_allclose(trial.log_likelihood, np.log(outcome), atol=1e-9)


def test_no_start_saw_the_outcome_of_its_row(rows):
    data, _ = rows
    first, (logistic,), changed, starts = fitted_bases(data)
    part = parts(data)
    here = part == 2
    again = MatrixScaling(strength=first.strength_).fit(data.rows(~here))
    # (A product of other rows may round its last bit otherwise.)
    np.testing.assert_allclose(
        changed.probabilities[here], again.recalibrate(data.rows(here)).probabilities, rtol=1e-14
    )
    more = LogisticRecalibration(strength=logistic.strength_).fit(changed.rows(~here))
    np.testing.assert_allclose(
        starts[here, 1], more.recalibrate(changed.rows(here)).confidence, atol=1e-12
    )


@pytest.mark.parametrize("levels", [False, True])
def test_new_rows_are_corrected_by_the_calibration_rows(rows, levels):
    data, z = rows
    new, new_z = overconfident(12, k=4, seed=5)
    method = SmoothLoRe(levels=levels).fit(data, z)
    state = method.state()
    _, _, changed, cal_starts = fitted_bases(data)
    first = method.first_.recalibrate(new)
    starts = np.column_stack(
        [first.confidence, *(more.recalibrate(first).confidence for more in method.more_)]
    )
    expected = np.zeros(len(new))
    ways = ways_to_part(changed, [1, 5])
    kept = {tuple(part["bin_index"]): part for part in state["partitions"]}
    for way in ways:
        known = part_of(way, changed.confidence, changed.predictions)
        if tuple(known) not in kept:
            continue
        place = list(kept).index(tuple(known))
        part = part_of(way, first.confidence, new.predictions)
        for member in state["members"]:
            if member["partition"] != place:
                continue
            candidate = type("Candidate", (), member)
            for i in range(len(new)):
                same = known == part[i]
                accuracy = data.outcome[same].mean() if same.any() else starts[i, 0]
                expected[i] += member["weight"] * by_pairs(
                    new_z[i], z, same, (data.outcome, cal_starts), candidate, starts[i], accuracy
                )
    expected = on_line(expected, *method.line_)
    after = method.recalibrate(new, new_z)
    if levels:
        assert set(after.confidence.round(12)) <= set(method.level_confidence_.round(12))
        assert 1 < len(method.level_confidence_) <= round(0.8 * len(data) ** (1 / 3))
        assert np.abs(after.confidence - expected).max() < 0.3
        return
    np.testing.assert_allclose(after.confidence, expected, atol=1e-9)
    own = np.arange(len(new)), new.predictions
    soft = state["other_classes"]
    shares = (first.probabilities + soft["offset"]) ** (1 / soft["temperature"])
    rest = after.probabilities.copy()
    shares[own] = rest[own] = 0.0
    np.testing.assert_allclose(
        rest / rest.sum(axis=1, keepdims=True), shares / shares.sum(axis=1, keepdims=True)
    )
    np.testing.assert_array_equal(after.predictions, new.predictions)


def test_it_finds_what_no_global_method_can():
    """Rows of one place are right half as often as all others; their vectors do not show it."""

    def planted(seed):
        rng = np.random.default_rng(seed)
        z = rng.uniform(-1, 1, size=(1500, 2))
        here = np.hypot(z[:, 0] - 0.4, z[:, 1]) < 0.35
        right = rng.random(1500) < np.where(here, 0.4, 0.8)
        vectors = np.tile([0.8, 0.1, 0.1], (1500, 1))
        return Dataset(vectors, np.where(right, 0, rng.integers(1, 3, 1500)), features=z), z, here

    data, z, _ = planted(0)
    new, new_z, here = planted(1)
    after = SmoothLoRe().fit(data, z).recalibrate(new, new_z).confidence
    # Of the 0.35 between what all rows and those of the place should be told, most is found.
    assert after[here].mean() < 0.55
    assert after[~here].mean() == pytest.approx(0.8, abs=0.03)


def test_with_a_name_of_its_own(rows, fitted):
    data, z = rows
    named = LevelLoRe().fit(data, z)
    same = SmoothLoRe(levels=True).fit(data, z)
    expected = same.recalibrate(data, z).probabilities
    np.testing.assert_array_equal(named.recalibrate(data, z).probabilities, expected)
    assert fitted.candidates_["weight"].sum() == pytest.approx(1)


def test_the_prediction_stays_on_top_where_that_is_wanted(rows):
    data, z = rows
    given = SmoothLoRe().fit(data, z).recalibrate(data, z).probabilities
    kept = SmoothLoRe(keep_class=True).fit(data, z).recalibrate(data, z).probabilities
    own = np.arange(len(data)), data.predictions
    moved = given.max(axis=1) > given[own]
    assert 0 < moved.sum() < len(data)
    np.testing.assert_allclose(kept[own], kept.max(axis=1))
    np.testing.assert_allclose(kept[~moved], given[~moved])


def test_without_features_only_places_count(rows):
    data, z = rows
    method = SmoothLoRe().fit(dataclasses.replace(data, features=None), z)
    assert method.more_ == []
    given = Predictor(method).predict(data.probabilities, coordinates=z)
    np.testing.assert_array_equal(
        given, method.recalibrate(dataclasses.replace(data, features=None), z).probabilities
    )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_next_to_no_rows(n):
    data, z = overconfident(n, k=3, seed=1)
    after = SmoothLoRe().fit(data, z).recalibrate(data, z)
    assert np.isfinite(after.probabilities).all()
    if n == 1:
        np.testing.assert_array_equal(after.probabilities, data.probabilities)


def test_of_many_rows_a_part_chooses_the_weights(rows):
    data, z = rows
    some = SmoothLoRe(max_rows=30).fit(data, z)
    chosen = np.sort(np.random.default_rng(0).choice(len(data), 30, replace=False))
    _, _, changed, starts = fitted_bases(data)
    ways = ways_to_part(changed, [1, 5])
    trial = leave_one_out_smooth(
        {None: z[chosen]}, changed.rows(chosen), starts[chosen], ways, default_tuning_gammas(), None
    )
    best = trial.candidates[trial.log_likelihood.mean(axis=1).argmax()]
    assert some.candidates_.iloc[0]["leave_one_out_nll"] == pytest.approx(
        -trial.log_likelihood.mean(axis=1).max()
    )
    assert some.candidates_.iloc[0]["gamma"] == best.gamma
    assert len(some.outcome_) == len(data)


def test_what_cannot_be_asked_for(rows):
    with pytest.raises(InputError, match="LoRe smooth must be given an embedding"):
        SmoothLoRe().fit(rows[0])
