"""What is looked at of rows that are known by their sums: any number of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore_core.data.defaults import GAMMA

if TYPE_CHECKING:
    from lore_core.mergeable import LocalErrorSums, Run


@dataclass(frozen=True, eq=False)
class SumsView:
    """Rows of files that were summed over the cells of a map: a View without single rows.

    Results have the form of those of :class:`~lore_core.view.View`, with guaranteed bounds.
    """

    run: Run  #: The sums, their map and columns
    data: tuple[str, ...]  #: What was summed, as it was named
    columns: tuple[str, ...] = ()  #: ``"ROLE=NAME"`` of columns that were not guessed
    gamma: float = GAMMA  #: Bandwidth γ > 0
    seed: int = 0  #: Of simulations

    @property
    def sums(self) -> LocalErrorSums:
        """The sums."""
        return self.run.sums

    @property
    def name(self) -> str:
        """What the data are called."""
        return ", ".join(Path(item).name for item in self.data)

    @property
    def map_name(self) -> str:
        """Name of the map."""
        return self.run.plan.embedding.name.title

    @property
    def by_map(self) -> dict[str, SumsView]:
        """The same on each map alone, by its name: there is one."""
        return {self.map_name: self}

    @property
    def rows(self) -> str:
        """Which rows these are, in words: ``800 rows of 3 files``."""
        n_files = self.run.n_files
        return f"{self.sums.n_rows:,} rows of {n_files} file{'s' * (n_files > 1)}"

    @property
    def bins_in_words(self) -> str:
        """The bins: ``15 equal-width bins``."""
        return f"{self.sums.bins.n_bins} {self.sums.bins.binning} bins"

    def basis(self, *, at_gamma: bool = True) -> str:
        """Say what numbers rest on; ``at_gamma``: whether they are of one bandwidth."""
        kernel = f"γ = {self.gamma:g} on {self.map_name}, " if at_gamma else ""
        return (
            f"{self.name}: {self.rows}, {kernel}{self.bins_in_words}. Local errors are from sums "
            f"over {len(self.sums.cells):,} cells of width {self.sums.width:g} on "
            f"{self.run.plan.note}: “guaranteed” are bounds of the exact number. Without them a "
            "number is exact."
        )

    def settings(self) -> dict[str, Any]:
        """Say in a mapping what was looked at, for files."""
        sums, run = self.sums, self.run
        return {
            "data": list(self.data),
            "evaluation_rows": sums.n_rows,
            "target": run.plan.target,
            "map": self.map_name,
            "gamma": self.gamma,
            "bins": sums.bins.n_bins,
            "binning": sums.bins.binning,
            "seed": self.seed,
            "sums": {"files": run.n_files, "cells": len(sums.cells), "cell_width": sums.width},
        }
