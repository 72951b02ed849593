"""Trees: where cutting leaves gains most, of many trees on the same rows; their sums."""

import numpy as np

from lore_core.kernel_sums.compiled import compiled

#: Rows that go through a tree together.
_ROWS = 256


@compiled
def cut_trees(turns, n_tried, gains, codes, rows, slope, bend, n_parts, least):
    """Cut rows where it gains most; return leaves, columns and places (3, m, c); leaves (m, n).

    ``turns`` (c, p): columns in random order, of which ``n_tried`` are tried at each of c cuts.
    ``gains`` (m, p): of each column so far, added to; half of those tried gained most, if enough.
    ``codes`` (p, n): the part of each column that a row is in. ``rows`` are looked at; ``slope,
    bend`` (m, n): derivatives of their loss, 0 where a tree is not to know them. ``least``: rows of
    a leaf, bend of one, and what is enough.
    """
    m, n = slope.shape
    made, leaf = np.empty((3, m, len(turns)), np.int64), np.zeros((m, n), np.int64)
    sums, tried = np.empty((n_parts, 3)), np.empty(min(n_tried, len(codes)), np.int64)
    for k in range(m):
        gain, best = np.zeros(len(turns) + 1), np.zeros((2, len(turns) + 1), np.int64)
        # Rows of a leaf are known[start[leaf] : stop[leaf]].
        (start, stop), (known, other) = np.zeros_like(best), np.empty((2, len(rows)), np.int64)
        for i in rows:
            if bend[k, i] > 0.0:
                known[stop[0]] = i
                stop[0] += 1
        parent = 0
        for number in range(len(turns)):
            _choose(tried, turns[number], gains[k], n_tried // 2, least[2])
            for new in (parent, number):  # Where cuts are not known yet
                inside = known[start[new] : stop[new]]
                found = _best_cut(tried, codes, inside, slope[k], bend[k], sums, least)
                gain[new], best[0, new], best[1, new] = found
                if number == 0:
                    break
            parent = gain.argmax()
            column, place = best[0, parent], best[1, parent]
            gains[k, column] += gain[parent]
            made[0, k, number], made[1, k, number], made[2, k, number] = parent, column, place
            end, n_above = start[parent], 0
            for i in known[start[parent] : stop[parent]]:
                if codes[column, i] > place:
                    other[n_above] = i
                    n_above += 1
                else:
                    known[end] = i
                    end += 1
            known[end : stop[parent]] = other[:n_above]
            start[number + 1], stop[number + 1], stop[parent] = end, stop[parent], end
            for i in range(n):
                if leaf[k, i] == parent and codes[column, i] > place:
                    leaf[k, i] = number + 1
    return made, leaf


@compiled
def _choose(tried, turn, gains, n_most, enough):
    """Write columns to ``tried``, the ``n_most`` of most gain first, where that is ``enough``."""
    most = np.full(n_most, enough)
    for gain in gains:
        lowest = most.argmin()
        most[lowest] = max(most[lowest], gain)
    least, n = most.min(), 0
    for first in (True, False):
        for i in range(len(turn)):
            column = i if first else turn[i]
            if (gains[column] >= least) == first and n < len(tried):
                tried[n] = column
                n += 1


@compiled
def _best_cut(tried, codes, rows, slope, bend, sums, least):
    """Return gain, column and place of the best cut of a leaf; ``sums`` (n_parts, 3) are lost."""
    best_gain, best_column, best_place = 0.0, tried[0], len(sums) - 1
    n, least_rows, least_bend = len(rows), least[0], least[1]
    if n < 2 * least_rows:
        return best_gain, best_column, best_place
    for column in tried:
        sums[:] = 0.0
        for i in rows:
            of_part = sums[codes[column, i]]
            of_part[0] += 1.0
            of_part[1] += slope[i]
            of_part[2] += bend[i]
        slope_in = bend_in = 0.0
        for _, a, b in sums:
            slope_in, bend_in = slope_in + a, bend_in + b
        alone = slope_in**2 / max(bend_in, least_bend)
        below = a_below = b_below = 0.0
        for part in range(len(sums)):
            count, a, b = sums[part]
            below, a_below, b_below = below + count, a_below + a, b_below + b
            if n - below < least_rows:
                break
            if count > 0.0 and below >= least_rows:
                gain = a_below**2 / max(b_below, least_bend)
                gain += (slope_in - a_below) ** 2 / max(bend_in - b_below, least_bend)
                if gain - alone > best_gain:
                    best_gain, best_column, best_place = gain - alone, column, part
    return best_gain, best_column, best_place


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
