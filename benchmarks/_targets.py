"""The promises about speed and memory, each measured in the same run and set beside its bound."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _measure import measure, run_python
from _methods import Floats
from sklearn.metrics.pairwise import laplacian_kernel

from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.bandwidth import bandwidth_curve
from lore_core.metrics.local_error import local_calibration_error

_FIRST_CALL = """
import time
started = time.perf_counter()
import numpy as np
from lore_core.kernel_sums import laplacian_means
imported = time.perf_counter()
points = np.random.default_rng(0).normal(size=(1000, 2))
laplacian_means(points, None, points[:, 0], bandwidth=0.3)
print(imported - started, time.perf_counter() - imported)
"""

_MEMORY = """
import sys
from pathlib import Path
import numpy as np
from lore_core.kernel_sums import laplacian_means
n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
points, values = rng.normal(size=(n, d)), rng.random(n)
laplacian_means(points[:2000], None, values[:2000], bandwidth=0.3)
# Not ru_maxrss: a new process starts with the peak of the one that made it.
def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])

Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
before = status("VmRSS:")
laplacian_means(points, None, values, bandwidth=0.3)
print((status("VmHWM:") - before) * 1024 / n)
"""


@dataclass(frozen=True)
class Target:
    """What is promised: ``value`` has to be at most (or at least) ``bound``."""

    what: str
    value: float
    bound: float
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether it is kept."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def predictions(n: int, d: int) -> tuple[Floats, Floats, Floats]:
    """Return confidences (60 % in the top one of 15 bins), outcomes and points."""
    rng = np.random.default_rng(n + d)
    top = rng.random(n) < 0.6
    c = np.where(top, rng.uniform(14 / 15, 1, size=n), rng.uniform(0, 14 / 15, size=n))
    return c, (rng.random(n) < c).astype(np.float64), rng.normal(size=(n, d))


def _chunked_local_error(c: Floats, a: Floats, z: Floats, gamma: float) -> Floats:
    """Compute the LCE the usual way: bin by bin, the kernel matrix in chunks."""
    index = np.minimum((c * 15).astype(int), 14)
    error = np.empty(len(c))
    for b in range(15):
        rows = np.flatnonzero(index == b)
        gap = (c - a)[rows]
        size = max(1, 2**26 // (8 * max(len(rows), 1)))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            k = laplacian_kernel(z[part], z[rows], gamma=1.0 / (z.shape[1] * gamma))
            error[part] = np.abs(k @ gap / k.sum(axis=1))
    return error


def local_error_targets(n: int) -> list[Target]:
    """Compare local_calibration_error with scikit-learn, and many bandwidths with one."""
    targets = []
    for d, bound in ((2, 100.0), (3, 40.0)):
        c, a, z = predictions(n, d)
        ours = measure(lambda c=c, a=a, z=z: local_calibration_error(c, a, z, gamma=0.2))
        theirs = measure(lambda c=c, a=a, z=z: _chunked_local_error(c, a, z, 0.2))
        gap = float(np.abs(ours.result - theirs.result).max())
        targets.append(
            Target(
                f"`local_calibration_error`, {d}-D, n = {n:,}, 15 bins, 60 % of rows in one: "
                "faster than chunked scikit-learn",
                theirs.seconds / ours.seconds,
                bound,
                "×",
                at_least=True,
                note=f"{ours.seconds:.3g} s and {theirs.seconds:.3g} s; differ by {gap:.0e}",
            )
        )
        if d == 2:
            one = measure(lambda c=c, a=a, z=z: bandwidth_curve(c, a, z, [0.2]))
            many = measure(lambda c=c, a=a, z=z: bandwidth_curve(c, a, z), worth=2.0)
            targets.append(
                Target(
                    "`bandwidth_curve`, the same rows: 30 γ against one",
                    many.seconds / one.seconds,
                    15.0,
                    "×",
                    note=f"{many.seconds:.3g} s and {one.seconds:.3g} s",
                )
            )
    return targets


def other_targets(n: int) -> list[Target]:
    """Measure the first call, memory, and how soon a sum stops; ``n`` rows of a long one."""
    targets = []
    imported, first = map(float, run_python(_FIRST_CALL).split())
    targets.append(
        Target(
            "First call in a new process, warm cache",
            first,
            1.5,
            "s",
            note=f"after {imported:.2g} s of imports",
        )
    )
    targets += [
        Target(
            f"Memory beyond the inputs, {d}-D, n = {n:,}",
            float(run_python(_MEMORY, n, d)),
            200.0,
            "bytes a row",
        )
        for d in (1, 2, 3)
    ]
    rng = np.random.default_rng(1)
    for d, rows, gammas in (
        (2, n, 1), (2, n // 10, 30), (3, n // 5, 1), (3, n // 20, 30), (50, n // 50, 1),
        (50, n // 100, 30),
    ):  # fmt: skip
        points, values = rng.normal(size=(rows, d)), rng.random(rows)
        grid = d * np.geomspace(0.01, 100, 30) if gammas == 30 else np.array([0.2 * d])

        def call(progress: Callable[[float], None], p=points, v=values, g=grid) -> None:
            laplacian_means(p, None, v, bandwidth=g, progress=progress)

        targets.append(
            Target(
                f"Longest time until cancelled, {d}-D, n = {rows:,}, {gammas} γ",
                _longest_gap(call),
                0.2,
                "s",
            )
        )
    return targets


def _longest_gap(call: Callable[[Callable[[float], None]], None]) -> float:
    times = [time.perf_counter()]
    call(lambda _: times.append(time.perf_counter()))
    return float(np.diff(times).max())
