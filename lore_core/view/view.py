"""What is looked at, frozen: rows, their confidence and neighbours; or rows known by sums."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lore_core.data.arrays import Floats, Mask, take_rows
from lore_core.data.binning import Binning
from lore_core.data.dataset import ALL_CLASSES, CALIBRATION, EVALUATION, TOP_LABEL, Dataset, Target
from lore_core.data.defaults import GAMMA, N_BINS, ROUND_GAMMAS
from lore_core.data.units import Dependence, chosen_units
from lore_core.data.validation import InputError, check_integer, check_positive
from lore_core.data.weights import effective_rows
from lore_core.embedding.result import Embedding

if TYPE_CHECKING:
    from lore_core.mergeable import LocalErrorSums, Run

Part = Literal["target", "gamma", "n_bins", "binning", "maps", "seed"]
#: Above this, curves skip bandwidths of the sliders.
_MOST_ROWS_AT_EVERY_STEP = 300_000
_IN_WORDS: dict[str | int, str] = {TOP_LABEL: TOP_LABEL, ALL_CLASSES: "all classes"}
ALL_PARTS: tuple[Part, ...] = ("target", "gamma", "n_bins", "binning", "maps", "seed")
#: Arguments as the library's functions take them, by name.
Options = dict[str, Any]


def scored(rows: Dataset | Target, chosen: Mask | slice = slice(None)) -> Options:
    """Return confidences, outcomes and weights of rows, or of those that are chosen."""
    known = {"confidence": rows.confidence, "outcome": rows.outcome, "weights": rows.weights}
    return {name: None if values is None else values[chosen] for name, values in known.items()}


def scored_by_unit(rows: Dataset | Target, chosen: Mask | slice = slice(None)) -> Options:
    """Return the same with the units of rows, for functions that test or make intervals."""
    return scored(rows, chosen) | {"units": chosen_units(rows.units, chosen)}


@dataclass(frozen=True, eq=False)
class View:
    """What is looked at, and how.

    Raises InputError if a setting is out of its range, or a map does not hold all rows.
    """

    dataset: Dataset  #: All rows, with their split
    #: The top label, a class, or all classes (only for functions of the whole vector).
    target: str | int = TOP_LABEL
    gamma: float = GAMMA  #: Bandwidth γ > 0
    n_bins: int = N_BINS
    binning: Binning = "equal-width"
    #: All rows on feature maps, by name; the kernel works on the first. Empty: global only.
    maps: Mapping[str, Embedding] = field(default_factory=dict)
    seed: int = 0  #: Of simulations and halves

    def __post_init__(self) -> None:
        check_positive(self.gamma, "gamma")
        check_integer(self.n_bins, "n_bins")
        for embedding in self.maps.values():
            if len(embedding) != len(self.dataset):
                raise InputError(
                    f"'embedding' must hold all {len(self.dataset):,} rows of the dataset; got "
                    f"{len(embedding):,}."
                )

    def with_(self, **changes: Any) -> View:
        """Return the same view with some attributes changed."""
        return dataclasses.replace(self, **changes)

    @property
    def evaluation(self) -> Dataset:
        """Rows that are shown and measured."""
        return self.dataset.evaluation

    @property
    def calibration(self) -> Dataset | None:
        """Rows to fit on; None where there are none."""
        return self.dataset.calibration

    @cached_property
    def target_rows(self) -> Target:
        """Confidence and outcome of the evaluation rows."""
        return self.evaluation.target(self.target)

    @property
    def scored(self) -> Options:
        """What the evaluation rows are scored by."""
        return scored(self.target_rows)

    @property
    def scored_by_unit(self) -> Options:
        """What they are tested by: the same with their units."""
        return scored_by_unit(self.target_rows)

    @cached_property
    def dependence(self) -> Dependence | None:
        """How alike outcomes of a unit's evaluation rows are; None without units."""
        rows = self.target_rows
        return Dependence.of(rows.confidence, rows.outcome, rows.units)

    @property
    def is_local(self) -> bool:
        """Whether there is a map, so that it can be said where the confidence is wrong."""
        return bool(self.maps)

    @property
    def map_name(self) -> str:
        """Name of the map the kernel works on; "" without."""
        return next(iter(self.maps), "")

    @property
    def by_map(self) -> dict[str, View]:
        """The same on each map alone, by its name."""
        return {name: self.with_(maps={name: on}) for name, on in self.maps.items()}

    @property
    def embedding(self) -> Embedding:
        """All rows on the map the kernel works on; an InputError without (see :attr:`is_local`)."""
        for embedding in self.maps.values():
            return embedding
        raise InputError(
            f"'{self.dataset.name}' must have features to say where its confidence is wrong; it "
            "has none, or no map of them was made."
        )

    def points(self, split: str = EVALUATION, *, on: Embedding | None = None) -> Floats:
        """Coordinates of a split on a map, by default the kernel's; InputError if there is none."""
        embedding = self.embedding if on is None else on
        return take_rows(embedding.coordinates, self.dataset.in_split(split))

    def known(self, embedding: Embedding) -> Embedding:
        """Return the calibration rows on a map: what methods are fitted on, and saved with."""
        return embedding.rows(self.dataset.in_split(CALIBRATION))

    def as_new(self, embedding: Embedding) -> Embedding:
        """Return evaluation rows of a map where a saved method would place rows like them."""
        calibration, evaluation = map(self.dataset.in_split, (CALIBRATION, EVALUATION))
        return embedding.as_new(np.flatnonzero(evaluation), among=calibration)

    @property
    def points_if_any(self) -> Floats | None:
        """Coordinates of the evaluation rows; None without a map."""
        return self.points() if self.is_local else None

    @property
    def bins(self) -> Options:
        """Confidence bins, as the library's functions take them."""
        return {"n_bins": self.n_bins, "binning": self.binning}

    @property
    def local(self) -> Options:
        """Bandwidth and confidence bins, as the library's functions take them."""
        return {"gamma": self.gamma, **self.bins}

    @property
    def gammas(self) -> Floats:
        """Bandwidths of curves, (g,): the sliders' steps (many rows: a third) and its own."""
        every = 1 if len(self.evaluation) <= _MOST_ROWS_AT_EVERY_STEP else 3
        return np.array(sorted({*ROUND_GAMMAS[::every], self.gamma}))

    @property
    def target_name(self) -> str:
        """The target in words: ``top-label``, ``all classes``, ``class 3``."""
        if self.target in _IN_WORDS:
            return _IN_WORDS[self.target]
        return f"class {self.dataset.class_name(int(self.target))}"

    @property
    def rows(self) -> str:
        """Which rows are shown, in words: ``5,000 evaluation rows, target class 3``."""
        text = f"{len(self.evaluation):,} evaluation rows"
        if self.evaluation.units is not None:
            text += f" of {self.evaluation.n_units:,} units"
        if (weights := self.evaluation.weights) is not None:
            text += f", worth {effective_rows(weights, len(weights)):,.0f} by their weights"
        return text if self.target in _IN_WORDS else f"{text}, target {self.target_name}"

    @property
    def bins_in_words(self) -> str:
        """The bins: ``15 equal-width bins``."""
        return f"{self.n_bins} {self.binning} bins"

    @property
    def kernel_in_words(self) -> str:
        """Which rows are near: ``γ = 0.2 on PCA 2-D``."""
        return f"γ = {self.gamma:g} on {self.map_name}"

    def basis(self, *, at_gamma: bool = True) -> str:
        """Say what numbers rest on; ``at_gamma``: whether they are of one bandwidth."""
        kernel = f", {self.kernel_in_words}" if at_gamma and self.is_local else ""
        return f"{self.dataset.name}: {self.rows}{kernel}, {self.bins_in_words}."

    def settings(self) -> dict[str, Any]:
        """Say in a mapping what was looked at, for files."""
        return {
            "data": self.dataset.name,
            "evaluation_rows": len(self.evaluation),
            "calibration_rows": 0 if self.calibration is None else len(self.calibration),
            "target": self.target_name,
            "map": self.map_name or None,
            "gamma": self.gamma if self.is_local else None,
            "bins": self.n_bins,
            "binning": self.binning,
            "seed": self.seed,
            **({} if self.evaluation.weights is None else {"weighted": True}),
            **({} if self.evaluation.units is None else {"units": self.evaluation.n_units}),
        }

    def key(self, *parts: Part) -> tuple[Hashable, ...]:
        """Key for caches of what depends on ``parts`` of the view, by default on all."""
        maps = tuple((name, embedding.digest) for name, embedding in self.maps.items())
        values = (maps if part == "maps" else getattr(self, part) for part in parts or ALL_PARTS)
        return (self.dataset.digest, *values)


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
            "number is exact, but for the NLL, which counts p below 1e-6 as 1e-6."
            f"{self.sums.units_sentence}"
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
