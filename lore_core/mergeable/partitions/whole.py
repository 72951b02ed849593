"""All rows by their sums, beside a sample of them that fits into memory: what the app opens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet

from lore_core.data.archive_files import Kind
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.mergeable.partitions.plan import Plan
from lore_core.mergeable.partitions.run import Run
from lore_core.mergeable.partitions.sample import Sample

_PLAN, _SUMS, _ABOUT = "plan.npz", "whole.npz", "about.npz"
_KIND = Kind("lore-whole-data", "what stands beside a sample", "lore app")


@dataclass(frozen=True)
class WholeData:
    """Sums of all rows, and how many files and rows they were."""

    sums: LocalErrorSums
    plan: Plan
    n_files: int
    n_drawn: int  #: Rows of the sample
    n_drawn_from: int

    @property
    def sentence(self) -> str:
        """What the pages show, and what of it is of all rows."""
        shown = f"{self.n_drawn:,} of {self.n_drawn_from:,} rows, drawn uniformly at random"
        if self.n_drawn == self.n_drawn_from:
            shown = f"all {self.n_drawn:,} rows"
        return (
            f"These pages show {shown}. Numbers of all {self.sums.n_rows:,} evaluation rows of "
            f"{self.n_files} files come from sums over {len(self.sums.cells):,} cells of width "
            f"{self.sums.width:g} on {self.plan.note}; “surely” is where the exact number lies, "
            "and without it a number is exact."
        )


def write_whole(folder: Path, run: Run, samples: list[tuple[str, Sample]]) -> list[Path]:
    """Write sums and samples into a folder, and return the samples' files.

    ``samples``: by the stem of the file each becomes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    run.plan.save(folder / _PLAN)
    run.sums.save(folder / _SUMS)
    paths = []
    for stem, sample in samples:
        path = folder / f"{stem}.parquet"
        pyarrow.parquet.write_table(sample.table, path)
        paths.append(path)
    header = {
        "files": run.n_files,
        "drawn": sum(len(sample.rows) for _, sample in samples),
        "drawn_from": sum(sample.n_total for _, sample in samples),
    }
    _KIND.write(folder / _ABOUT, header)
    return paths


def read_whole_data(folder: Path) -> WholeData:
    """Read what :func:`write_whole` wrote. Raises InputError if it is damaged."""
    header = _KIND.read(folder / _ABOUT)
    return WholeData(
        LocalErrorSums.load(folder / _SUMS),
        Plan.load(folder / _PLAN),
        header["files"],
        header["drawn"],
        header["drawn_from"],
    )
