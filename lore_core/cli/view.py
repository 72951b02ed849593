"""From the options to what every command computes on: data, target, map, settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore_core.cli.options import ViewOptions
from lore_core.cli.output import note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lore_core import Dataset, Embedding
    from lore_core.data.progress import Progress
    from lore_core.embedding import MapName
    from lore_core.reading.mapping import ColumnMapping
    from lore_core.view import View


def needs_map(view: View) -> NDArray[np.float64]:
    """Coordinates of the evaluation rows, or say that there is no map.

    Raises InputError if there are no features.
    """
    from lore_core.data.validation import InputError

    if not view.is_local and view.dataset.features is not None:
        raise InputError(
            "'--map' must name a feature map to say where the confidence is wrong, such as pca-2; "
            "got 'none'. `lore metrics` measures what is global."
        )
    if not view.is_local:
        from lore_core.data.texts import text_columns

        texts = next(iter(text_columns(view.dataset)), None)
        words = f"--column text={texts} makes some of the words of '{texts}'. " if texts else ""
        raise InputError(
            f"'{view.dataset.name}' must have features (an array 'features' or columns f_*) to "
            f"say where its confidence is wrong; it has none. {words}"
            "`lore metrics` measures what is global."
        )
    return view.points()


def open_view(
    given: ViewOptions, progress: Progress | None = None, *, all_classes: bool = False
) -> View:
    """Read the data and make their maps.

    ``all_classes``: whether the target may be every class at once. Raises InputError if data,
    target, map or a setting is not what it must be.
    """
    from lore_core.embedding import make_map
    from lore_core.view import View

    dataset = load_data(given.data, given.columns, isolate=given.isolate)
    _share_processors(given.jobs)
    if dataset.split is None and given.calibration_share > 0:
        dataset = dataset.with_split(given.calibration_share, random_state=given.seed)
        note(
            f"{dataset.name} names no split: {len(dataset.evaluation):,} rows, chosen at random, "
            "are evaluated (--calibration-share 0: all)."
        )
    target = _target(dataset, given.target, all_classes=all_classes)
    maps: dict[str, Embedding] = {}
    if dataset.features is not None and given.maps != ("none",):
        for typed in given.maps or ("pca-2",):
            name = map_name(typed, dataset.features.shape[1])
            made = make_map(dataset, name, random_state=given.seed, progress=progress)
            maps[made.name.title] = made
    return View(
        dataset=dataset,
        target=target,
        gamma=0.2 if given.gamma is None else given.gamma,
        n_bins=given.n_bins,
        binning=given.binning,
        maps=maps,
        seed=given.seed,
    )


def load_data(
    data: tuple[str, ...], columns: tuple[str, ...] = (), *, isolate: bool = False
) -> Dataset:
    """Read what DATA names: files, a directory, or a built-in demo.

    ``data``: one file, two of a calibration/test pair, a directory of one such, ``("demo",)`` or
    ``("demo-text",)``.
    ``columns``: ``"ROLE=NAME"``. ``isolate``: as in :func:`lore_core.load`.
    """
    import lore_core as lore

    if data == ("demo",):
        return lore.demo.digits()
    if data == ("demo-text",):
        return lore.demo.sentences()
    mapping = column_mapping(columns)
    paths = [Path(item).expanduser() for item in data]
    if not isolate and (len(data) > 2 or any(not path.exists() for path in paths)):
        from lore_core.mergeable import parquet_files, read_whole

        files = parquet_files(data)
        if len(files) > 2 or (files and not paths[0].exists()):
            return read_whole(files, mapping)
    return lore.load(paths[0] if len(paths) == 1 else paths, mapping=mapping, isolate=isolate)


def column_mapping(columns: tuple[str, ...]) -> ColumnMapping:
    """Read ``--column``: ``"ROLE=NAME"`` for each column whose role is not to be guessed."""
    from lore_core.data.validation import InputError
    from lore_core.reading.mapping import SEVERAL, as_mapping

    mapping: dict[str, Any] = {}
    for item in columns:
        role, equals, name = item.partition("=")
        if not equals:
            raise InputError(f"'--column' must be ROLE=NAME, as in label=y; got {item!r}.")
        several = role in SEVERAL and "," in name
        mapping[role] = tuple(part.strip() for part in name.split(",")) if several else name
    return as_mapping(mapping)


def map_name(typed: str, n_features: int) -> MapName:
    """Read ``--map``: 2 dimensions where it does not say, but no more than there are features.

    ``n_features``: PCA has no more dimensions. Raises InputError if there is no such map.
    """
    from lore_core.embedding import MapName

    name = MapName.parse(typed, "--map", or_none=True)
    if name.method == "pca" and name.n_components is None:
        return MapName("pca", min(2, n_features))
    return name


def _target(dataset: Dataset, wanted: str, *, all_classes: bool) -> str | int:
    from lore_core.data.dataset import ALL_CLASSES
    from lore_core.data.validation import InputError

    if wanted == "top-label":
        return wanted
    names = list(dataset.class_names)
    if wanted not in names and wanted == ALL_CLASSES:
        if not all_classes:
            raise InputError(
                "'--target all' is for `lore metrics`, `lore landscape` and `lore curve`: here it "
                "must be top-label or one class."
            )
        if not dataset.complete:
            raise InputError(
                f"'{dataset.name}' must hold whole probability vectors; it has the predicted "
                "class's alone."
            )
        return ALL_CLASSES
    if wanted not in names:
        some = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise InputError(f"'--target' must be top-label or a class ({some}); got {wanted!r}.")
    return names.index(wanted)


def _share_processors(jobs: int | None) -> None:
    """Multiply matrices on one thread from now on, and use ``jobs`` threads until the command ends.

    ``jobs``: of kernel sums and numeric libraries; None: no limit but the first.
    """
    from lore_core.kernel_sums.schedule import limited_threads, one_thread_a_product

    one_thread_a_product()
    if jobs is None:
        return
    import click

    context = click.get_current_context(silent=True)
    if context is not None:
        context.with_resource(limited_threads(jobs))
