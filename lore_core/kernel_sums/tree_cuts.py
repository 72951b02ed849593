"""Trees: where cutting two leaves gains most, of many trees on the same rows; their sums."""

import numpy as np

from lore_core.kernel_sums.compiled import compiled

#: Rows that go through a tree together.
_ROWS = 256


@compiled
def best_cuts(tried, codes, rows, leaf, new, slope, bend, n_parts, least_rows, least_bend):
    """Return gains, columns and places of the best cuts of the leaves ``new``, each (m, 2).

    ``tried`` (m, t): columns; ``codes`` (p, n): the part of each column that a row is in. ``rows``
    are looked at; ``leaf, slope, bend`` (m, n): where each is in a tree, and the derivatives of its
    loss, 0 where the tree is not to know it.
    """
    m = len(tried)
    gains, columns = np.zeros((m, 2)), np.empty((m, 2), np.int64)
    places = np.full((m, 2), n_parts - 1)
    inside, side = np.empty((2, len(rows)), np.int64)
    moments = np.empty((len(rows), 2))
    sums = np.empty((2, n_parts, 3))
    for k in range(m):
        n = 0
        for i in rows:
            is_newest = leaf[k, i] == new[k, 1]
            if bend[k, i] > 0.0 and (is_newest or leaf[k, i] == new[k, 0]):
                inside[n], side[n] = i, is_newest
                moments[n] = slope[k, i], bend[k, i]
                n += 1
        columns[k] = tried[k, 0]
        for column in tried[k]:
            sums[:] = 0.0
            for i in range(n):
                of_part = sums[side[i], codes[column, inside[i]]]
                of_part[0] += 1.0
                of_part[1] += moments[i, 0]
                of_part[2] += moments[i, 1]
            for s in range(2):
                rows_in = slope_in = bend_in = 0.0
                for count, a, b in sums[s]:
                    rows_in, slope_in, bend_in = rows_in + count, slope_in + a, bend_in + b
                if rows_in < 2 * least_rows:
                    continue
                alone = slope_in**2 / max(bend_in, least_bend)
                below = a_below = b_below = 0.0
                for part in range(n_parts):
                    count, a, b = sums[s, part]
                    below, a_below, b_below = below + count, a_below + a, b_below + b
                    if below >= least_rows and rows_in - below >= least_rows:
                        gain = a_below**2 / max(b_below, least_bend)
                        gain += (slope_in - a_below) ** 2 / max(bend_in - b_below, least_bend)
                        if gain - alone > gains[k, s]:
                            gains[k, s], columns[k, s], places[k, s] = gain - alone, column, part
    return gains, columns, places


@compiled
def add_leaves(values, parent, column, threshold, step, sums):
    """Add trees at each row to ``sums`` (n, K); the trees: see TreeSum of boosting.

    ``values`` (p, n): columns.
    """
    of_rows = np.empty(_ROWS, np.uint8)
    for begin in range(0, len(sums), _ROWS):
        end = min(begin + _ROWS, len(sums))
        leaf = of_rows[: end - begin]
        for tree in range(len(step)):
            leaf[:] = 0
            for k in range(parent.shape[1]):
                known, new, at = np.uint8(parent[tree, k]), np.uint8(k + 1), threshold[tree, k]
                x = values[column[tree, k], begin:end]
                for i in range(len(leaf)):
                    leaf[i] = new if x[i] > at and leaf[i] == known else leaf[i]
            for i in range(len(leaf)):
                own, row = sums[begin + i], step[tree, leaf[i]]
                for k in range(len(row)):
                    own[k] += row[k]
