"""The ways to compute Σ k v / Σ k over all rows that are compared, ours and the rivals'."""

import contextlib
import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.metrics.pairwise import laplacian_kernel, manhattan_distances

from lore_core.kernel_sums import laplacian_means

Floats = NDArray[np.float64]
#: Bytes of the part of the kernel matrix that the chunked methods hold: larger was not faster.
_CHUNK_BYTES = 2**26


@dataclass(frozen=True)
class Method:
    """A way to compute the ratio of every row at every bandwidth, shape (g, n)."""

    name: str
    how: str
    ratios: Callable[[Floats, Floats, Floats], Floats]


def _ours(points: Floats, values: Floats, bandwidths: Floats) -> Floats:
    return laplacian_means(points, None, values, bandwidth=bandwidths, effective_size=False).mean


def _chunks(n: int, item_bytes: int) -> list[slice]:
    rows = max(1, _CHUNK_BYTES // (n * item_bytes))
    return [slice(a, min(a + rows, n)) for a in range(0, n, rows)]


def _sklearn(points: Floats, values: Floats, bandwidths: Floats) -> Floats:
    columns = np.column_stack([values, np.ones_like(values)])
    out = np.empty((len(bandwidths), len(points)))
    for part in _chunks(len(points), 8):
        if len(bandwidths) == 1:
            k = laplacian_kernel(points[part], points, gamma=1.0 / bandwidths[0])
            sums = k @ columns
            out[0, part] = sums[:, 0] / sums[:, 1]
            continue
        # What laplacian_kernel does, with the distances shared.
        distance = manhattan_distances(points[part], points)
        for b, h in enumerate(bandwidths):
            sums = np.exp(distance / -h) @ columns
            out[b, part] = sums[:, 0] / sums[:, 1]
    return out


def _torch(points: Floats, values: Floats, bandwidths: Floats) -> Floats:
    import torch

    x = torch.from_numpy(points.astype(np.float32))
    columns = torch.from_numpy(np.column_stack([values, np.ones_like(values)]).astype(np.float32))
    out = np.empty((len(bandwidths), len(points)))
    with torch.inference_mode():
        for part in _chunks(len(points), 4):
            distance = torch.cdist(x[part], x, p=1.0)
            for b, h in enumerate(bandwidths):
                sums = torch.exp(distance * (-1.0 / h)) @ columns
                out[b, part] = (sums[:, 0] / sums[:, 1]).numpy()
    return out


def _keops(points: Floats, values: Floats, bandwidths: Floats) -> Floats:
    from pykeops.numpy import LazyTensor

    columns = np.column_stack([values, np.ones_like(values)]).astype(np.float32)
    out = np.empty((len(bandwidths), len(points)))
    for b, h in enumerate(bandwidths):
        # The bandwidth in the coordinates: one formula, compiled once, for all of them.
        x = (points / h).astype(np.float32)
        k = (-(LazyTensor(x[:, None, :]) - LazyTensor(x[None, :, :])).abs().sum(-1)).exp()
        sums = k @ columns
        out[b] = sums[:, 0] / sums[:, 1]
    return out


@njit(nogil=True, fastmath=True, error_model="numpy")
def _all_pairs(lo, hi, points, values, bandwidths, out):
    n, d = points.shape
    n_bandwidths = len(bandwidths)
    top = np.empty(n_bandwidths)
    mass = np.empty(n_bandwidths)
    for i in range(lo, hi):
        top[:] = 0.0
        mass[:] = 0.0
        for j in range(n):
            distance = 0.0
            for k in range(d):
                distance += abs(points[i, k] - points[j, k])
            for b in range(n_bandwidths):
                w = np.exp(-distance / bandwidths[b])
                top[b] += w * values[j]
                mass[b] += w
        for b in range(n_bandwidths):
            out[b, i] = top[b] / mass[b]


def _numba(points: Floats, values: Floats, bandwidths: Floats) -> Floats:
    out = np.empty((len(bandwidths), len(points)))
    threads = os.cpu_count() or 1
    bounds = np.linspace(0, len(points), 4 * threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        for done in [
            pool.submit(_all_pairs, a, b, points, values, bandwidths, out)
            for a, b in pairwise(bounds)
        ]:
            done.result()
    return out


OURS = "LoRe Lens"
METHODS = [
    Method(OURS, "float64; from 8 dimensions on 32-bit coordinates within 1e-6", _ours),
    Method("scikit-learn", "`laplacian_kernel`, chunks of 64 MB, float64", _sklearn),
    Method("torch", "`cdist(p=1)`, chunks of 64 MB, float32", _torch),
    Method("KeOps", "`LazyTensor`, compiled before, float32", _keops),
    Method("numba O(n²)", "the plain loop, all processors, `fastmath`, float64", _numba),
]


def available() -> tuple[list[Method], dict[str, str]]:
    """Return the methods that run here, and why the others do not."""
    missing = {}
    for name, module in [("torch", "torch"), ("KeOps", "pykeops.numpy")]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                __import__(module)
        except Exception as error:  # KeOps raises anything when g++ is missing
            missing[name] = f"not installed ({type(error).__name__})"
    return [method for method in METHODS if method.name not in missing], missing
