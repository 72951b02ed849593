"""The benchmark's memory is that of all processes of a server, not of the first alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks._app_memory import MemoryWatch

MEGABYTE = 2**20
HELD = 40 * MEGABYTE
PROGRAM = f"""
import subprocess, sys
held, more = b"x" * {HELD}, int(sys.argv[1])
child = None
if more:
    child = subprocess.Popen([sys.executable, "-c", sys.argv[2], str(more - 1), sys.argv[2]],
                             stdin=sys.stdin, stdout=subprocess.PIPE)
    child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
child and child.wait()
"""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_every_process_counts_while_it_runs():
    command = [sys.executable, "-c", PROGRAM, "2", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        with MemoryWatch(server.pid) as memory:
            now = memory.now()
    assert len(now.others) == 2
    assert all(size > HELD for size in (now.server, *now.others))
    assert now.total == now.server + sum(now.others)
    assert memory.peak.total >= now.total
