"""Rows on a map, coloured by the class whose probability is most wrong around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import rows_words
from lore_core.figures.chart import Chart
from lore_core.figures.pictures.picture import Axis, Dots, Hover, Mark, Panel, PanelPicture, Tint
from lore_core.figures.style import METHOD_COLORS, Mode
from lore_core.inference.whole_vector import VectorChance
from lore_core.metrics.local_error import VectorErrors

#: Rows drawn in grey and in colours at most, and classes that have a colour of their own.
_MAX_GREY, _MAX_COLOURED, _MAX_CLASSES = 3000, 4000, 10


def class_map_figure(
    dataset: Dataset,
    coordinates: Floats,
    errors: VectorErrors,
    chance: VectorChance,
    *,
    rows: str,
    axes: str = "map",
    mode: Mode = "light",
    height: int = 620,
) -> Chart:
    """Rows beyond chance in the colour of the class that is most wrong there, others in grey.

    ``coordinates`` (n, 2): the map of the dataset's rows. ``errors``, ``chance``: their local
    errors, and which are beyond chance. ``rows``: which these are, in words. ``axes``: name of the
    map. ``mode``, ``height``: look.
    """
    found = np.flatnonzero(chance.beyond)
    wrong = errors.most_wrong
    count = np.bincount(wrong[found], minlength=dataset.n_classes)
    named = [int(k) for k in np.argsort(-count, kind="stable")[:_MAX_CLASSES] if count[k]]
    grey, drawn = _some(np.flatnonzero(~chance.beyond), _MAX_GREY), _some(found, _MAX_COLOURED)
    few = f"{len(grey):,} of {int((~chance.beyond).sum()):,} drawn"
    marks: list[Mark] = [
        _dots(coordinates[grey], Tint("quiet", 0.35), 3, "not beyond chance", [few] * len(grey))
    ]
    for place, k in enumerate(named, start=1):
        at, name = drawn[wrong[drawn] == k], dataset.class_name(k)
        words = [
            f"row {row}: {abs(off) * 100:.0f} points {'too often' if off > 0 else 'too seldom'}, "
            f"predicted {dataset.class_name(int(dataset.predictions[row]))}"
            for row, off in zip(at, errors.signed[at, k], strict=True)
        ]
        tint = Tint(f"m{place % len(METHOD_COLORS['light'])}", 0.85)
        marks.append(_dots(coordinates[at], tint, 5, name, words, f"{name} most wrong"))
    rest = drawn[~np.isin(wrong[drawn], named)]
    if len(rest):
        marks.append(_dots(coordinates[rest], Tint("ink", 0.7), 5, "other classes"))
    table = pd.DataFrame(
        {
            "row": np.arange(len(wrong)),
            "x": coordinates[:, 0],
            "y": coordinates[:, 1],
            "most_wrong": [dataset.class_name(int(k)) for k in wrong],
            "signed_error": errors.signed[np.arange(len(wrong)), wrong],
            "vector_error": errors.absolute,
            "n_eff": errors.effective_size,
            "beyond_chance": chance.beyond,
        }
    )
    picture = PanelPicture(
        title=f"Which class is most wrong: {rows_words(len(found))} beyond chance",
        subtitle="",  # The names of the classes stand there.
        how_to_read=(
            "A row is coloured where the local error of all probabilities together is beyond "
            "chance, by the class whose probability is furthest off among the rows near it. "
            f"{rows[:1].upper()}{rows[1:]}."
        ),
        alt=f"Map of {axes}: rows by the class that is most wrong; {rows}",
        name="class-map",
        table=table,
        height=height,
        legend=True,
        panels=(Panel(Axis(axes, grid=False), Axis(grid=False), marks),),
    )
    return Chart(picture, mode)


def _dots(
    at: Floats, tint: Tint, size: int, name: str, words: Sequence[str] = (), title: str = ""
) -> Dots:
    """Draw some rows; ``words``: what is said of each, under ``title``."""
    hover = Hover(title or name, lines=("{text}",)) if words else ()
    return Dots(at[:, 0], at[:, 1], tint, size, name=name, words=words, hover=hover)


def _some(rows: Ints, most: int) -> Ints:
    """Take at most so many rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]
