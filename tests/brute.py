"""Independent, slow and plain versions of the definitions, for tests only."""

import numpy as np


def bin_index(c, n_bins):
    return np.minimum(np.floor(np.asarray(c) * n_bins).astype(int), n_bins - 1)


def slce(c, a, z, gamma, n_bins, *, exclude_self=False):
    """Row by row: the kernel-weighted mean gap over the rows of the same bin."""
    c, a, z = np.asarray(c), np.asarray(a), np.asarray(z)
    index = bin_index(c, n_bins)
    d = z.shape[1]
    result = np.full(len(c), np.nan)
    for i in range(len(c)):
        others = [
            j for j in range(len(c)) if index[j] == index[i] and not (exclude_self and j == i)
        ]
        if others:
            exponent = -np.abs(z[others] - z[i]).sum(axis=1) / (d * gamma)
            k = np.exp(exponent - exponent.max())
            result[i] = (k * (c[others] - a[others])).sum() / k.sum()
    return result


def lore(c, z, cal_c, cal_a, cal_z, gamma, n_bins):
    """The calibration rows' kernel-weighted accuracy in the same bin; else the confidence."""
    index, cal_index = bin_index(c, n_bins), bin_index(cal_c, n_bins)
    d = z.shape[1]
    result = np.array(c, dtype=float)
    for i in range(len(c)):
        rows = cal_index == index[i]
        if rows.any():
            exponent = -np.abs(cal_z[rows] - z[i]).sum(axis=1) / (d * gamma)
            k = np.exp(exponent - exponent.max())
            result[i] = (k * cal_a[rows]).sum() / k.sum()
    return result


def _distances(targets, sources, target_groups, source_groups, exclude_self):
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


def kernel_sums(targets, sources, weights, bandwidth, *, groups=(None, None), exclude_self=False):
    """Sums of weights times exp(-distance / bandwidth); for each bandwidth of a vector."""
    distance = _distances(targets, sources, *groups, exclude_self)
    with np.errstate(over="ignore"):
        found = [np.exp(-distance / h) @ np.asarray(weights) for h in np.atleast_1d(bandwidth)]
    return np.array(found) if np.ndim(bandwidth) else found[0]


def kernel_means(targets, sources, values, bandwidth, *, groups=(None, None), exclude_self=False):
    """Means and effective sizes by weights relative to the nearest source."""
    distance = _distances(targets, sources, *groups, exclude_self)
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
