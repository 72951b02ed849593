"""Regions find planted errors, only those, and are tried again on held-out rows."""

from __future__ import annotations

import numpy as np
import pytest

import lore_core as lore
from lore_core.regions import joined_rows


def _disc(seed=0, n=4000, gap=0.35, radius=0.8, d=2):
    """Standard normal rows of one confidence; inside a disc fewer are right than promised."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    inside = np.hypot(z[:, 0] - 0.8, z[:, 1]) < radius
    c = np.full(n, 0.8)
    a = (rng.random(n) < c - gap * inside).astype(float)
    return c, a, z, inside


def test_a_planted_disc_is_the_region():
    c, a, z, inside = _disc()
    search = lore.find_regions(c, a, z)
    region, *crumbs = search.regions
    assert sum(crumb.n_rows for crumb in crumbs) < 0.1 * region.n_rows
    assert not any(crumb.confirmed for crumb in crumbs)
    found = np.zeros(len(c), dtype=bool)
    found[region.rows] = True
    assert (found & inside).sum() / found.sum() > 0.8
    assert (found & inside).sum() / inside.sum() > 0.8
    assert region.sign == 1
    assert region.lean == "overconfident"
    assert region.gap == pytest.approx((c - a)[found].mean())
    assert region.excess == pytest.approx((c - a)[found].sum())
    assert region.gap_low < region.gap < region.gap_high
    assert found[region.centre]
    np.testing.assert_array_equal(search.label == 0, found)


def test_held_out_rows_confirm_and_do_not_flatter():
    gaps = []
    for seed in range(8):
        c, a, z, inside = _disc(seed, n=3000, gap=0.3)
        region = lore.find_regions(c, a, z, random_state=seed).regions[0]
        assert region.confirmed
        held = region.held_out
        assert held.gap_low < held.gap < held.gap_high
        gaps.append((held.gap, region.gap, 0.3 * inside[region.rows].mean()))
        assert "confirmed on held-out rows" in region.sentence
    held, same, truth = np.mean(gaps, axis=0)
    # The rows' own gap is optimistic, the held-out one is not.
    assert same > held
    assert held == pytest.approx(truth, abs=0.035)


def test_calibrated_rows_have_no_region():
    for seed in range(25):
        c, a, z, _ = _disc(100 + seed, n=1500, gap=0.0)
        search = lore.find_regions(c, a, z)
        assert search.regions == []
        assert (search.label == -1).all()
        assert search.frame().empty


def test_both_signs_overconfident_first():
    planted = lore.demo.synthetic(8000).dataset.evaluation
    search = lore.find_regions(planted.confidence, planted.outcome, planted.features)
    signs = [region.sign for region in search.regions]
    assert signs == [1, -1]
    blob = planted.groups["region"].astype(str).to_numpy()
    assert (blob[search.regions[0].rows] == "overconfident").mean() > 0.95
    assert (blob[search.regions[1].rows] == "underconfident").mean() > 0.9
    table = search.frame()
    assert list(table["leans"]) == ["overconfident", "underconfident"]
    assert table.loc[0, "confirmed"]
    assert table.loc[1, "excess"] < 0 < table.loc[0, "excess"]


def test_two_places_are_two_regions():
    rng = np.random.default_rng(5)
    z = np.concatenate([rng.normal(size=(800, 2)) * 0.3 + centre for centre in (-4, 0, 4)])
    c = np.full(2400, 0.85)
    wrong = np.abs(z[:, 0]) > 2
    a = (rng.random(2400) < c - 0.3 * wrong).astype(float)
    search = lore.find_regions(c, a, z)
    assert len(search.regions) == 2
    assert {np.sign(z[region.rows, 0].mean()) for region in search.regions} == {-1, 1}
    assert search.regions[0].excess >= search.regions[1].excess


def test_opposite_errors_at_one_place_need_bins():
    rng = np.random.default_rng(2)
    n = 6000
    z = rng.normal(size=(n, 2))
    high = rng.random(n) < 0.5
    c = np.where(high, 0.9, 0.55)
    here = z[:, 0] > 0.7
    a = (rng.random(n) < c - 0.2 * here * np.where(high, 1, -1)).astype(float)
    pooled = lore.find_regions(c, a, z)
    apart = lore.find_regions(c, a, z, n_bins=10)
    assert pooled.regions == []
    assert {region.sign for region in apart.regions} == {1, -1}


def test_an_edge_nearer_to_the_peak_leaves_fewer_rows():
    c, a, z, _ = _disc()
    wide, narrow = (lore.find_regions(c, a, z, edge=edge).regions[0] for edge in (0.0, 0.7))
    assert set(narrow.rows) < set(wide.rows)
    with pytest.raises(lore.InputError, match="'edge' must lie in"):
        lore.find_regions(c, a, z, edge=1.0)


def test_small_regions_and_small_gaps_are_dropped():
    c, a, z, _ = _disc()
    assert lore.find_regions(c, a, z, min_rows=3000).regions == []
    assert lore.find_regions(c, a, z, min_gap=0.6).regions == []
    assert lore.find_regions(c, a, z, confirm=False).regions[0].held_out is None


def test_many_dimensions_and_many_rows(monkeypatch):
    c, a, z, inside = _disc(d=12)
    z[:, 2:] *= 0.05
    whole = lore.find_regions(c, a, z, gamma=0.03).regions[0].rows
    assert inside[whole].mean() > 0.7
    # Joined through a part of the rows only: nearly the same region.
    monkeypatch.setattr(joined_rows, "_MOST_JOINED", 300)
    part = lore.find_regions(c, a, z, gamma=0.03).regions[0].rows
    assert len(np.intersect1d(whole, part)) > 0.9 * len(np.union1d(whole, part))


def test_progress_and_unconfirmed_words():
    c, a, z, _ = _disc(n=1500)
    seen = []
    lore.find_regions(c, a, z, progress=lambda share, _: seen.append(share))
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    region = lore.find_regions(c, a, z, confirm=False).regions[0]
    assert region.sentence.startswith("overconfident by ")
    assert "not found again on half of the rows" in region.sentence
    assert not region.confirmed


def test_examples_show_the_error():
    c, a, z, _ = _disc()
    c = np.clip(c + np.linspace(-0.02, 0.02, len(c)), 0, 1)
    region = lore.find_regions(c, a, z, confirm=False).regions[0]
    shown = region.examples(c, a, 4)
    assert len(shown) == 4
    assert (a[shown] == 0).all()
    wrong = region.rows[a[region.rows] == 0]
    assert c[shown].min() >= np.sort(c[wrong])[-4]
    assert list(region.examples(c, np.ones(len(c)))) == [region.centre]


def test_other_rows_belong_where_their_nearest_row_does():
    z = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    inside = np.array([True, False, True])
    others = np.array([[0.2, 0.1], [0.9, 0.0], [9.0, 9.0]])
    np.testing.assert_array_equal(lore.regions.rows_like(z, inside, others), [True, False, True])
    assert not lore.regions.rows_like(z, np.zeros(3, dtype=bool), others).any()
