"""Independent, slow and plain versions of the definitions, for tests only."""

from __future__ import annotations

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
