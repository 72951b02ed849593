"""The report's landscape: the error on the map at many bandwidths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lore_core.data.progress import Progress, tell
from lore_core.embedding import Embedding
from lore_core.figures.chart import LandscapeChart
from lore_core.figures.pictures.landscape import landscape_figure
from lore_core.figures.pictures.landscape_picture import (
    LandscapePicture,
    Layer,
)
from lore_core.figures.pictures.picture import shared_limit
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.local_error import LocalErrors
from lore_core.regions.field import Field
from lore_core.report.findings import Findings
from lore_core.view.preview import GAMMAS, RESOLUTION
from lore_core.view.scene import Scene
from lore_core.view.where import errors_of, field_of, outlines_of, reliability_of

#: Places listed and outlined.
LISTED = 8


def landscape_chart(findings: Findings) -> LandscapeChart | None:
    """Show the landscape at the report's bandwidth; None where there is no map to draw."""
    on, local = findings.drawn_on, None if findings.summary is None else findings.summary.local
    if on is None or local is None:
        return None
    scene = scene_of(findings, local, on)
    return landscape_figure(
        field_of(findings.view, local, on=on),
        scene.points,
        worst=scene.table(scene.worst),
        n_total=scene.n_rows,
        limit=shared_limit(scene.supported),
        rows=rows_and_kernel(findings),
        axes=scene.axes,
        found=[] if findings.search is None else outlines_of(findings.search, scene.points, LISTED),
        places=scene.classes,
    )


def scene_of(findings: Findings, errors: LocalErrors, on: Embedding) -> Scene:
    """Return all rows on a map, as the dashboard sees them.

    ``errors``: of its evaluation rows. ``on``: the map, all rows.
    """
    return Scene(findings.view, errors, reliability_of(findings.view), None, on, on.name.title)


def live_landscape(
    findings: Findings, still: LandscapePicture, progress: Progress | None = None
) -> LandscapePicture:
    """Show the fields of all rows and of a few confidence bins at every bandwidth.

    ``still``: the same at the report's bandwidth.
    """
    view, on = findings.view, findings.drawn_on
    table, points = reliability_of(view), view.points(on=on)
    names: dict[int | None, str] = {None: "all confidences together", **_bins(table)}
    counts: dict[int | None, int] = {None: len(points), **dict(enumerate(table.count.tolist()))}
    gammas = tuple(sorted({*GAMMAS, view.gamma}))
    fields: dict[int | None, list[Field]] = {number: [] for number in names}
    for k, gamma in enumerate(gammas):
        tell(progress, k / len(gammas), f"landscape at γ = {gamma:g}")
        at = view.with_(gamma=gamma)
        errors = errors_of(at)
        for number, of_bin in fields.items():
            of_bin.append(field_of(at, errors, bin_index=number, on=on, resolution=RESOLUTION))
    start = gammas.index(view.gamma)
    return replace(
        still,
        layers=tuple(
            Layer(
                names[number],
                tuple(of_bin),
                _note(counts[number], names[number], of_bin[0]),
                counts[number],
            )
            for number, of_bin in fields.items()
        ),
        gammas=gammas,
        start=start,
    )


def rows_and_kernel(findings: Findings) -> str:
    """Say which rows are shown and which of them are near each other."""
    view = findings.view
    return f"{findings.view.rows}, {view.kernel_in_words}"


def _note(n_rows: int, name: str, field: Field) -> str:
    what = (
        "each place shows the exact signed error there."
        if field.exact
        else "each place averages the local errors of the rows on it."
    )
    return f"{n_rows:,} evaluation rows, {name}; {what}"


def _bins(table: ReliabilityTable) -> dict[int | None, str]:
    """Worst, best and fullest confidence bin, each once."""
    if np.count_nonzero(table.count) < 2:  # one bin is all rows
        return {}
    chosen: dict[int, list[str]] = {}
    for word, number in (
        ("worst", table.worst_bin(MIN_BIN_ROWS)),
        ("best", table.best_bin(MIN_BIN_ROWS)),
        ("fullest", int(np.argmax(table.count))),
    ):
        chosen.setdefault(number, []).append(word)
    return {
        number: f"confidence {table.bins.name(number)} ({' and '.join(words)} bin)"
        for number, words in chosen.items()
    }
