import signal
import subprocess
import sys

import pytest

from lore_core import InputError
from lore_core.mergeable import make_plan, partitions_of, sum_files

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made


def test_a_killed_worker_costs_one_part(cluster, files, tmp_path, watched_part):
    parts, log = partitions_of(files), tmp_path / "log"
    plan = make_plan(parts)
    expected = sum_files(parts, plan).sums.digest
    counted = [
        watched_part(part, log=log, flag=tmp_path / "flag", kills=part is parts[1])
        for part in parts
    ]
    kept = tmp_path / "sums"
    run = sum_files(counted, plan, directory=kept, cluster=cluster.scheduler_address)
    assert run.sums.digest == expected
    assert (run.n_summed, run.n_kept) == (3, 0)
    # Each once, and the part that was being read a second time; what was kept is not read again.
    assert len(log.read_text().split()) == 4
    again = sum_files(counted, plan, directory=kept, cluster=cluster.scheduler_address)
    assert (again.n_kept, len(log.read_text().split())) == (3, 4)
    nowhere = sum_files(parts, plan, cluster=cluster.scheduler_address)
    assert nowhere.sums.digest == expected


SERVING = """
import sys, distributed
if __name__ == "__main__":
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
SUMMING = """
import dataclasses, os, signal, sys
import lore_core.mergeable as mergeable
from lore_core.cli import main
from lore_core.mergeable.partitions import run

def deadly(part, scheduler, asking):
    class Deadly(mergeable.Partition):
        def extracts(self, n_rows, columns=None):
            if os.getpid() != asking:
                os.kill(scheduler, signal.SIGKILL)
            return mergeable.Partition.extracts(self, n_rows, columns)
    return Deadly(**dataclasses.asdict(part))

def parts_of(paths, real=mergeable.partitions_of):
    *others, last = real(paths)
    return [*others, deadly(last, int(sys.argv[1]), os.getpid())]

run._ANSWERS = 1
mergeable.partitions_of = parts_of
sys.exit(main(["metrics", *sys.argv[3:], "--cluster", sys.argv[2]]))
"""


def test_a_lost_scheduler_is_one_sentence(files):
    python = [sys.executable, "-c"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*python, SERVING], text=True, **pipes) as serving:
        address = serving.stdout.readline().strip()
        asked = [*python, SUMMING, str(serving.pid), address, *map(str, files)]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=False)
    assert serving.returncode == -signal.SIGKILL
    assert (done.returncode, done.stdout) == (1, "")
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"lore: the scheduler at '{address}' was lost. (--sums DIR")


def test_what_is_unreadable_or_lost_is_one_sentence(cluster, files, tmp_path, monkeypatch, spoil):
    monkeypatch.setattr("lore_core.mergeable.partitions.run._ANSWERS", 0.5)
    parts = partitions_of(files)
    plan = make_plan(parts)
    spoil(files[1])
    kept = tmp_path / "sums"
    with pytest.raises(InputError, match=r"part-1\.parquet.*the same again goes on"):
        sum_files(parts, plan, directory=kept, cluster=cluster.scheduler_address)
    with pytest.raises(InputError, match="no scheduler answers"):
        sum_files(parts, plan, cluster="tcp://127.0.0.1:1")
