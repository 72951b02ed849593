from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.regions.subgroups.candidates import conditions_of
from lore_core.regions.variables.attributes import PREDICTED, Predicate, attributes
from lore_core.regions.variables.cutting import cut, part_starts


@pytest.fixture
def dataset():
    rng = np.random.default_rng(3)
    n = 400
    gaps = rng.random(n) < 0.1
    counted = rng.poisson(1.0, n) * 10.0
    counted[counted == 0] = rng.choice([0.0, -5.0], (counted == 0).sum())
    frame = pd.DataFrame(
        {
            "number": np.where(gaps, np.nan, rng.normal(size=n)),
            "heavy": np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n)),
            "few": rng.choice([0.1, 1 / 3, 0.25], n),
            "whole": rng.integers(0, 4, n),
            "counted": counted,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "truth value": rng.random(n) < 0.3,
            "name": np.where(gaps, None, rng.choice(["a", "b", "< 3"], n)),
            "endless": np.where(rng.random(n) < 0.05, np.inf, rng.normal(size=n)),
        }
    )
    p = rng.uniform(0.5, 1, n)
    labels = rng.integers(0, 2, n)
    return lore.Dataset(np.column_stack([p, 1 - p]), labels, metadata=frame)


@pytest.mark.parametrize("n_parts", [3, 8])
def test_chooses_the_rows_of_the_codes_in_every_split(dataset, n_parts):
    known = [item for item in attributes(dataset, n_parts=n_parts) if "true" not in item.name]
    assert len(known) >= 9
    known += [item.coarser(5) for item in known]
    some = np.arange(0, len(dataset), 3)
    for column, item in enumerate(known):
        for condition in conditions_of(item, column):
            chosen, said = condition.holds(known), condition.predicate(known)
            np.testing.assert_array_equal(said.holds(dataset), chosen, err_msg=str(said))
            np.testing.assert_array_equal(said.holds(dataset.rows(some)), chosen[some])


def test_coarser_parts_are_runs_of_the_fine_ones(dataset):
    fine = [item for item in attributes(dataset, n_parts=24) if "class" not in item.name]
    assert sum(len(item.values) > 20 for item in fine) >= 3
    for item in fine:
        coarse = item.coarser(6)
        assert set(coarse.borders) <= set(item.borders)
        starts = part_starts(item, coarse)
        for k, (first, end) in enumerate(pairwise(starts)):
            inside = (item.codes >= first) & (item.codes < end)
            np.testing.assert_array_equal(coarse.codes == k, inside)
        assert len(starts) == len(coarse.values) + 1
    line = cut("x", np.append(np.arange(96.0), np.nan), n_parts=48)
    quantiles = cut("x", np.append(np.arange(96.0), np.nan), n_parts=6)
    np.testing.assert_array_equal(line.coarser(6).codes, quantiles.codes)
    assert line.coarser(6).values == quantiles.values
    # What fills a part by itself stays one, exactly.
    heavy = next(item.coarser(6) for item in fine if item.name == "heavy")
    assert "= 0" in heavy.values


def test_a_rounded_edge_moves_at_most_a_tenth_of_a_tail():
    for scale in (1.0, 1e-7, 3e6):
        x = scale * np.random.default_rng(0).standard_exponential(9600)
        count = np.bincount(cut("x", x, n_parts=48).codes)
        assert len(count) == 48
        assert abs(count[[0, -1]] - 200).max() <= 20
        assert abs(count.cumsum() - 200 * np.arange(1, 49)).max() <= 48


def test_the_predicted_class_and_a_column_that_is_not_there(dataset):
    dataset = dataset.with_confidence(np.ones(len(dataset)))
    found = Predicate(PREDICTED, dataset.class_name(0)).holds(dataset)
    np.testing.assert_array_equal(found, dataset.predictions == 0)
    with pytest.raises(lore.InputError, match="must have a column 'age'; it has none"):
        Predicate("age", "< 30", -np.inf, 30).holds(dataset)


def _names(images=None, **metadata):
    n = 600
    p = np.full((n, 2), 0.5)
    frame = pd.DataFrame(metadata)
    data = lore.Dataset(p, np.arange(n) % 2, metadata=frame, images=images)
    return [item.name for item in attributes(data) if item.origin != "class"]


def test_what_orders_the_rows_alike_is_named_once():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    near = x + 0.05 * rng.normal(size=600)
    far = x + 0.5 * rng.normal(size=600)
    gone = np.where(rng.random(600) < 0.5, np.nan, x)
    found = _names(size=x, cubed=x**3, minus=-x, near=near, far=far, gone=gone)
    assert found == ["size", "far", "gone"]
    rng = np.random.default_rng(1)
    missing = rng.random(600) < 0.7
    one, two = (np.where(missing, np.nan, rng.normal(size=600)) for _ in range(2))
    assert _names(one=one, two=two) == ["one", "two"]
    images = np.random.default_rng(2).integers(0, 255, (600, 4, 4)).astype(np.uint8)
    ink = images.reshape(600, -1).mean(axis=1) + 0.01 * np.arange(600) / 600
    assert _names(images, ink=ink) == ["ink"]
    assert _names(images, other=np.random.default_rng(3).normal(size=600)) == [
        "other",
        "image brightness",
    ]
