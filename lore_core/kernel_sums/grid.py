"""The bandwidths of one pass, in chains of halves that share exponentials: k_{h/2} = k_h²."""

from dataclasses import dataclass

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask

#: Each squaring doubles the rounding error of a kernel value, so only so many in a row.
_LONGEST_CHAIN = 11
#: Bandwidths in one pass: at least this many, more if their sums stay within the memory.
_PASS_BANDWIDTHS = 8
_PASS_BYTES = 2**27
#: Mantissas this close are those of the same number, rounded on different ways.
_SAME = 1e-15

#: Bandwidths below 2^−960 are lifted by 2^200, exactly, before they are inverted.
_SMALL_BANDWIDTH = 2.0**-960
_LIFT = 2.0**200
_LOG2_E = 1.4426950408889634

#: See :mod:`~lore_core.kernel_sums.pairs`.
Grid = tuple[Floats, Mask, Ints, Ints]


def rates(bandwidths: Floats) -> Floats:
    """Return ``rate`` (2, B) for bandwidths (B,), subnormal ones included."""
    # Half the smallest number is 0.
    bandwidths = np.maximum(bandwidths, 5e-324)
    lift = np.where(bandwidths < _SMALL_BANDWIDTH, _LIFT, 1.0)
    return np.stack([lift, _LOG2_E / (bandwidths * lift)])


def snapped(bandwidths: Floats) -> Floats:
    """Make bandwidths that are halves of each other up to rounding (``geomspace``) so exactly.

    Kernel values change by no more than the rounding of their exponent.
    """
    mantissa, exponent = np.frexp(bandwidths)
    order = np.argsort(mantissa)
    ranked = mantissa[order]
    begins = np.concatenate([[True], np.diff(ranked) > _SAME])
    same = ranked[begins][np.cumsum(begins) - 1]
    result = np.empty_like(bandwidths)
    result[order] = np.ldexp(same, exponent[order])
    # Subnormal numbers have fewer bits to agree in.
    return np.where(bandwidths < np.finfo(np.float64).tiny, bandwidths, result)


@dataclass(frozen=True)
class Pass:
    """Bandwidths that are summed together, and the arrays of them that the kernels read."""

    wanted: dict[float, int]  #: Each with the first weight column whose sums are wanted
    grid: Grid


def as_passes(wanted: dict[float, int], m: int, n_rows: int) -> list[Pass]:
    """Arrange bandwidths into chains of halves, chains into passes; ``m``: weight columns."""
    limit = max(_PASS_BANDWIDTHS, _PASS_BYTES // max(8 * m * n_rows, 1))
    left = sorted(wanted)
    passes: list[dict[float, bool]] = [{}]
    while left:
        chain = [left.pop()]
        while len(chain) < _LONGEST_CHAIN and chain[-1] / 2 in left:
            left.remove(chain[-1] / 2)
            chain.append(chain[-1] / 2)
        if len(passes[-1]) + len(chain) > limit and passes[-1]:
            passes.append({})
        passes[-1] |= {h: h < chain[0] for h in chain}
    return [_as_pass({h: wanted[h] for h in squared}, squared, m) for squared in passes]


def _as_pass(wanted: dict[float, int], squared: dict[float, bool], m: int) -> Pass:
    columns = [np.arange(first, m) for first in wanted.values()]
    grid = (
        rates(np.array(list(wanted))),
        np.array(list(squared.values())),
        np.cumsum([0, *map(len, columns)]).astype(np.int64),
        np.concatenate(columns).astype(np.int64),
    )
    return Pass(wanted, grid)


def sub_grids(grid: Grid, n_sums: int) -> list[Grid]:
    """Divide a grid into some of whole chains, which can be summed alone.

    Each is one chain, or as many as have at most ``n_sums`` sums together.
    """
    rate, squared, start, column = grid
    ranges: list[tuple[int, int]] = []
    begins = np.flatnonzero(~squared).tolist()
    for first, last in zip(begins, [*begins[1:], len(squared)], strict=True):
        if ranges and start[last] - start[ranges[-1][0]] <= n_sums:
            ranges[-1] = (ranges[-1][0], last)
        else:
            ranges.append((first, last))
    return [
        (rate[:, first:last].copy(), squared[first:last], start[first : last + 1], column)
        for first, last in ranges
    ]


def count_sums(grid: Grid) -> int:
    """Return how many sums a grid has."""
    return int(grid[2][-1] - grid[2][0])
