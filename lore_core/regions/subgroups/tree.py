"""From country to peak: the tree of connected places where the excess stays above a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from lore_core.data.arrays import Floats, Ints
from lore_core.regions.rows import nearest_rows

#: Neighbours a row is joined with.
_NEIGHBOURS = 10
#: Levels between the lowest and the highest excess at which the tree is cut.
_LEVELS = 12
#: A node that keeps this share of its parent's rows is the same place.
_SAME = 0.8


@dataclass(frozen=True, eq=False)
class Node:
    """Connected rows whose excess is beyond a level."""

    rows: Ints
    sign: int  #: +1: more overconfident than the average; −1: less, or underconfident.
    level: float  #: The least |excess| in it
    parent: int | None  #: The node around it; None for a country


def neighbour_graph(z: Floats) -> Any:
    """Symmetric graph of each row's nearest rows on the map, shape (n, n)."""
    n = len(z)
    k = min(_NEIGHBOURS + 1, n)
    _, neighbour = nearest_rows(z, z, k)
    start = np.repeat(np.arange(n), k)
    return sparse.csr_array(
        (np.ones(n * k, dtype=np.int8), (start, neighbour.ravel())), shape=(n, n)
    )


def level_tree(value: Floats, graph: Any, *, min_rows: int, lowest: float) -> list[Node]:
    """Cut a field on a graph at rising levels, both signs, into nested connected parts.

    ``value`` (n,): excess at each row; NaN where it is not known. ``graph`` (n, n): which rows
    touch. ``min_rows``: smaller parts are no nodes. ``lowest``: the first level, > 0.
    """
    nodes: list[Node] = []
    for sign in (1, -1):
        height = np.where(np.isfinite(value), sign * value, -np.inf)
        ranked = np.sort(height[height > lowest])[::-1]
        if len(ranked) < min_rows:
            continue
        # No higher than where the smallest allowed part could still be whole.
        top = ranked[min_rows - 1]
        levels = np.geomspace(lowest, top, _LEVELS) if top > lowest else np.array([lowest])
        inside_of = np.full(len(value), -1, dtype=np.int64)
        for level in levels:
            rows = np.flatnonzero(height >= level)
            if len(rows) < min_rows:
                break
            _, part = sparse.csgraph.connected_components(graph[rows][:, rows], directed=False)
            count = np.bincount(part)
            for number in np.flatnonzero(count >= min_rows):
                members = rows[part == number]
                parent = int(inside_of[members[0]])
                if parent >= 0 and len(members) >= _SAME * len(nodes[parent].rows):
                    continue
                nodes.append(Node(members, sign, float(level), None if parent < 0 else parent))
                inside_of[members] = len(nodes) - 1
    return nodes
