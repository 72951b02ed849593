"""From the options to what every command computes on: data, target, map, settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore_core.cli.options import ViewOptions
from lore_core.cli.output import note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lore_core import Dataset, Embedding
    from lore_core.data import Target
    from lore_core.data.progress import Progress

__all__ = ["View", "load_data", "make_map", "map_name", "open_view"]

_SEVERAL = ("probabilities", "features", "groups", "metadata", "class_names")


@dataclass(frozen=True, eq=False)
class View:
    """What is looked at, and how: the same as a page's view of its data.

    Attributes
    ----------
    dataset : Dataset
        All rows, with a split.
    target : "top-label" or int
        What is calibrated.
    target_name : str
        The target in words.
    gamma, n_bins, binning
        Settings of the local error.
    maps : dict of str to Embedding
        All rows on every feature map, by name; empty without features.
    seed : int
        Of simulations.
    """

    dataset: Dataset
    target: str | int
    target_name: str
    gamma: float
    n_bins: int
    binning: Any
    maps: Mapping[str, Embedding]
    seed: int

    @cached_property
    def evaluation(self) -> Dataset:
        """Rows that are shown and measured."""
        return self.dataset.evaluation

    @cached_property
    def aimed(self) -> Target:
        """Their confidence and outcome."""
        return self.evaluation.target(self.target)

    @property
    def map_name(self) -> str:
        """Name of the first map; "" without features."""
        return next(iter(self.maps), "")

    @property
    def options(self) -> dict[str, Any]:
        """Bins, as the library's functions take them."""
        return {"n_bins": self.n_bins, "binning": self.binning}

    @property
    def rows(self) -> str:
        """Which rows are shown, in words."""
        text = f"{len(self.evaluation):,} evaluation rows"
        return text if self.target == "top-label" else f"{text}, target {self.target_name}"

    def points(self, name: str | None = None, split: str = "evaluation") -> Any:
        """Coordinates of the rows of one split on one map; None without features."""
        name = self.map_name if name is None else name
        if not name:
            return None
        return self.maps[name].coordinates[self.dataset.in_split(split)]

    def needs_map(self) -> NDArray[np.float64]:
        """Coordinates of the evaluation rows on the first map, or say that there is none.

        Raises
        ------
        InputError
            If there are no features.
        """
        from lore_core.data.validation import InputError

        points = self.points()
        if points is None:
            raise InputError(
                f"'{self.dataset.name}' must have features (an array 'features' or columns f_*) to "
                "say where its confidence is wrong, and a '--map'; it has none. "
                "`lore metrics` measures what is global."
            )
        return points  # type: ignore[no-any-return]

    def settings(self) -> dict[str, Any]:
        """Say in a mapping what was looked at, for files."""
        calibration = self.dataset.calibration
        return {
            "data": self.dataset.name,
            "evaluation_rows": len(self.evaluation),
            "calibration_rows": 0 if calibration is None else len(calibration),
            "target": self.target_name,
            "map": self.map_name or None,
            "gamma": self.gamma if self.maps else None,
            "bins": self.n_bins,
            "binning": self.binning,
            "seed": self.seed,
        }


def open_view(given: ViewOptions, progress: Progress | None = None) -> View:
    """Read the data and make their maps.

    Parameters
    ----------
    given : ViewOptions
        From the command line.
    progress : callable, optional
        Called with the share of a map done.

    Returns
    -------
    View

    Raises
    ------
    InputError
        If data, target, map or a setting is not what it must be.
    """
    dataset = load_data(given.data, given.columns)
    _limit_threads(given.jobs)
    if dataset.split is None and given.calibration_share > 0:
        dataset = dataset.with_split(given.calibration_share, random_state=given.seed)
        note(
            f"{dataset.name} names no split: {len(dataset.evaluation):,} rows, chosen at random, "
            "are evaluated (--calibration-share 0: all)."
        )
    target, target_name = _target(dataset, given.target)
    maps: dict[str, Embedding] = {}
    if dataset.features is not None and given.maps != ("none",):
        for name in given.maps or ("pca-2",):
            method, dimensions = map_name(name, dataset.features.shape[1])
            made = make_map(dataset, method, dimensions, given.seed, progress)
            maps[_written(made)] = made
    return View(
        dataset=dataset,
        target=target,
        target_name=target_name,
        gamma=0.2 if given.gamma is None else given.gamma,
        n_bins=given.n_bins,
        binning=given.binning,
        maps=maps,
        seed=given.seed,
    )


def load_data(data: tuple[str, ...], columns: tuple[str, ...] = ()) -> Dataset:
    """Read what DATA names: files, a directory, or the built-in demo.

    Parameters
    ----------
    data : tuple of str
        One file, two of a calibration/test pair, a directory of one such, or ``("demo",)``.
    columns : tuple of str
        ``"ROLE=NAME"``.

    Raises
    ------
    InputError
        If they cannot be read.
    """
    import lore_core as lore

    if data == ("demo",):
        return lore.demo.digits()
    mapping: dict[str, Any] = {}
    for item in columns:
        role, equals, name = item.partition("=")
        if not equals:
            raise lore.InputError(f"'--column' must be ROLE=NAME, as in label=y; got {item!r}.")
        several = role in _SEVERAL and "," in name
        mapping[role] = tuple(part.strip() for part in name.split(",")) if several else name
    paths = [Path(item).expanduser() for item in data]
    return lore.load(paths[0] if len(paths) == 1 else paths, mapping=mapping or None)


def map_name(name: str, n_features: int) -> tuple[str, int]:
    """Read ``pca``, ``pca-20`` or ``tsne-3``: the method and its number of dimensions.

    Parameters
    ----------
    name : str
        As on the command line; 2 dimensions where it does not say.
    n_features : int
        PCA has no more dimensions than there are features.

    Raises
    ------
    InputError
        If there is no such map.
    """
    from lore_core.data.validation import InputError
    from lore_core.embedding import METHODS

    method, dash, dimensions = name.partition("-")
    if method not in METHODS or (dash and not dimensions.isdecimal()):
        raise InputError(
            f"'--map' must be one of {', '.join(METHODS)} or none, or one with its number of "
            f"dimensions such as 'pca-20'; got {name!r}."
        )
    if not dash:
        return method, min(2, n_features) if method == "pca" else 2
    return method, int(dimensions)


def make_map(
    dataset: Dataset, method: str, dimensions: int, seed: int, progress: Progress | None = None
) -> Embedding:
    """Map all rows, calibration and evaluation together, as the dashboard does."""
    from lore_core.embedding import embed

    assert dataset.features is not None  # asked before
    return embed(dataset.features, method, max(dimensions, 1), random_state=seed, progress=progress)


def _written(made: Embedding) -> str:
    """Name a map as the dashboard does: ``PCA 2-D``, ``t-SNE 3-D``, ``All features``."""
    return "All features" if made.method == "identity" else made.label.partition(",")[0]


def _target(dataset: Dataset, wanted: str) -> tuple[str | int, str]:
    from lore_core.data.validation import InputError

    if wanted == "top-label":
        return wanted, wanted
    names = list(map(str, dataset.class_names or ()))
    if wanted not in names:
        some = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise InputError(f"'--target' must be top-label or a class ({some}); got {wanted!r}.")
    return names.index(wanted), f"class {wanted}"


def _limit_threads(jobs: int | None) -> None:
    """Let numeric libraries and kernel sums use so many threads until the command ends."""
    if jobs is None:
        return
    import click
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    context = click.get_current_context(silent=True)
    if context is not None:
        context.with_resource(threadpool_limits(jobs))
