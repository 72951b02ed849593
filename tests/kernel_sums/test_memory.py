"""Memory beyond the inputs, by the peak a process of its own reaches."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from lore_core.kernel_sums import laplacian_means

n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
points, values = rng.normal(size=(n, d)), rng.random(n)
bins = rng.integers(0, 2, size=n)
laplacian_means(points[:2000], None, values[:2000], bandwidth=0.3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
laplacian_means(points, None, values, bandwidth=0.3, n_jobs=2,
                target_groups=bins if sys.argv[3] == "bins" else None)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 / n)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kB on Linux only")
@pytest.mark.parametrize("bins", ["bins", "one"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_at_most_200_bytes_a_row(d, bins):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "1000000", str(d), bins],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert 0 < float(done.stdout) <= 200
