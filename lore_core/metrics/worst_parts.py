"""Where each maximum lies on one half of the rows, to be tried on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.validation import as_coordinates, as_group_labels
from lore_core.data.weights import chosen_weights, weighed
from lore_core.metrics.catalogue import MCE, MIN_CELL_ROWS, MLCE_SUPPORTED, WORST_CELL
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.metrics.measured import Measured


@dataclass(frozen=True, eq=False)
class WorstPart:
    """A bin, a cell or a neighbourhood that sets a maximum among the rows it was looked for in."""

    name: str  #: In words
    held_out: Ints  #: Rows of the other half that lie in it, in order


def worst_parts(rows: Measured) -> dict[str, WorstPart]:
    """Find the worst bin, cell and neighbourhood on one half of the rows, by their metric.

    Only places of ten (effective) rows or more in both halves count. The neighbourhood is that of
    the largest local error; its held-out rows are the nearest in its bin, as many as its n_eff.
    """
    bins, index = rows.reliability.bins, rows.bin_index
    found: dict[str, WorstPart] = {}
    if (worst := _worst_cell(rows, index)) is not None:
        inside = rows.held_out & (index == worst)
        found[MCE.name] = WorstPart(_words(rows, worst), np.flatnonzero(inside))
    if rows.groups is not None:
        names, member = np.unique(as_group_labels(rows.groups).astype(str), return_inverse=True)
        large = np.bincount(member)[member] >= rows.min_group_size
        cells = np.where(large, member * bins.n_bins + index, -1)
        if (worst := _worst_cell(rows, cells)) is not None:
            group, in_bin = divmod(worst, bins.n_bins)
            inside = rows.held_out & (cells == worst)
            words = f"{names[group]}, {_words(rows, in_bin)}"
            found[WORST_CELL.name] = WorstPart(words, np.flatnonzero(inside))
    if rows.embedding is not None:
        place = _worst_neighbourhood(rows, as_coordinates(rows.embedding))
        found |= {} if place is None else {MLCE_SUPPORTED.name: place}
    return found


def _words(rows: Measured, in_bin: int) -> str:
    return f"confidence {rows.reliability.bins.name(in_bin)}"


def _worst_cell(rows: Measured, cells: Ints) -> int | None:
    """Return the cell of the largest |gap| among the rows that are not held out; −1 is no cell."""
    other_half, kept = ~rows.held_out & (cells >= 0), rows.held_out & (cells >= 0)
    size = int(cells.max(initial=0)) + 1
    count, held = (np.bincount(cells[half], minlength=size) for half in (other_half, kept))
    weights = chosen_weights(rows.weights, other_half)
    gap = weighed((rows.confidence - rows.outcome)[other_half], weights)
    total = np.abs(np.bincount(cells[other_half], gap, minlength=size))
    mass = np.bincount(cells[other_half], weights, minlength=size)
    enough = np.minimum(count, held) >= MIN_CELL_ROWS
    return (
        int(np.argmax(np.where(enough, total / np.where(count > 0, mass, 1), -1.0)))
        if enough.any()
        else None
    )


def _worst_neighbourhood(rows: Measured, z: Floats) -> WorstPart | None:
    """Return the neighbourhood of the largest supported local error among those not held out."""
    size, index = rows.half_means.effective_size, rows.bin_index
    held = np.bincount(index[rows.held_out], minlength=rows.reliability.bins.n_bins)[index]
    enough = (size >= MIN_EFFECTIVE_SIZE) & (held >= size)
    if not enough.any():
        return None
    middle = int(np.argmax(np.where(enough, np.abs(rows.half_means.mean), -1.0)))
    others = np.flatnonzero(rows.held_out & (index == index[middle]))
    far = np.abs(z[others] - z[middle]).sum(axis=1)
    nearest = others[np.argsort(far, kind="stable")[: round(float(size[middle]))]]
    words = f"around row {middle:,}, {_words(rows, int(index[middle]))}"
    return WorstPart(words, np.sort(nearest))
