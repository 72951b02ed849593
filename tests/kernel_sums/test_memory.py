import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from lore_core.kernel_sums import laplacian_means

# Not ru_maxrss: a new process starts with the peak of the one that made it.
def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])

n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
points, values = rng.normal(size=(n, d)), rng.random(n)
bins = rng.integers(0, 2, size=n)
laplacian_means(points[:2000], None, values[:2000], bandwidth=0.3)
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
before = status("VmRSS:")
laplacian_means(points, None, values, bandwidth=0.3, n_jobs=2,
                target_groups=bins if sys.argv[3] == "bins" else None)
print((status("VmHWM:") - before) * 1024 / n)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self")
@pytest.mark.parametrize("bins", ["bins", "one"])
@pytest.mark.parametrize(("n", "d"), [(1_000_000, 1), (1_000_000, 2), (500_000, 3)])
def test_at_most_200_bytes_a_row(n, d, bins):
    # (What does not grow with the rows counts too, for more a row where there are fewer.)
    command = [sys.executable, "-c", PROGRAM, str(n), str(d), bins]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert 0 < float(done.stdout) <= 200
