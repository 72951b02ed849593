"""An independent O(n²) reference, written from the definitions."""

from __future__ import annotations

import numpy as np
import pytest


def _pair_distances(targets, sources, target_groups, source_groups, exclude_self):
    t = np.asarray(targets, dtype=np.float64)
    s = t if sources is None else np.asarray(sources, dtype=np.float64)
    with np.errstate(over="ignore"):
        distance = np.abs(t[:, None, :] - s[None, :, :]).sum(axis=2)
    if target_groups is not None:
        g = np.asarray(target_groups)
        h = g if sources is None else np.asarray(source_groups)
        distance[(g[:, None] != h[None, :]) | (g[:, None] < 0)] = np.inf
    if exclude_self:
        np.fill_diagonal(distance, np.inf)
    return distance


def _sums(targets, sources, weights, bandwidth, *, groups=(None, None), exclude_self=False):
    distance = _pair_distances(targets, sources, *groups, exclude_self)
    with np.errstate(over="ignore"):
        return np.exp(-distance / bandwidth) @ np.asarray(weights, dtype=np.float64)


def _means(targets, sources, values, bandwidth, *, groups=(None, None), exclude_self=False):
    """Return means and effective sizes by weights relative to the nearest source."""
    distance = _pair_distances(targets, sources, *groups, exclude_self)
    nearest = distance.min(axis=1, keepdims=True)
    lonely = ~np.isfinite(nearest[:, 0])
    nearest[lonely] = 0.0
    with np.errstate(over="ignore"):
        k = np.exp(-(distance - nearest) / bandwidth)
    k[lonely] = 0.0
    mass = np.where(lonely, np.nan, k.sum(axis=1))
    mean = (k @ values) / (mass if np.ndim(values) == 1 else mass[:, None])
    size = np.where(lonely, 0.0, mass**2 / np.where(lonely, 1.0, (k**2).sum(axis=1)))
    return mean, size


@pytest.fixture
def brute_sums():
    return _sums


@pytest.fixture
def brute_means():
    return _means


@pytest.fixture
def rng():
    return np.random.default_rng(20210210)
