"""The landscape at many bandwidths, small enough to travel inside one HTML page."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.progress import Progress
from lore_core.data.validation import InputError
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, local_errors
from lore_core.regions.field import Field, error_field, rows_outline, smoothed_field
from lore_core.report.findings import Findings

__all__ = ["GAMMAS", "Picture", "Slider", "make_slider", "png", "segments"]

#: Bandwidths of the slider; that of the report is among them too.
GAMMAS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0, 20.0)
#: Nodes along each side.
RESOLUTION = 128
#: As on the Landscape page: so many regions are outlined.
_OUTLINED = 8
#: Code of a node that holds no value.
_NOTHING = -128


@dataclass(frozen=True)
class Picture:
    """The fields of one set of rows, one a bandwidth.

    Attributes
    ----------
    name : str
        Which rows, in words.
    n_rows : int
        How many.
    exact : bool
        The error at each node itself, or an average of the rows' own.
    error : ndarray of int8, of shape (g, r, r)
        ``scale[k] * error[k] / 127`` is the signed error; −128: hidden or no row near.
    scale : ndarray of shape (g,)
        Largest absolute error of each field.
    support : ndarray of uint8, of shape (g, r, r)
        0: no row near; else n_eff = exp((v − 1) / 254 * log_support) − 1 in round numbers.
    """

    name: str
    n_rows: int
    exact: bool
    error: NDArray[np.int8]
    scale: NDArray[np.float64]
    support: NDArray[np.uint8]

    def signed(self, k: int) -> NDArray[np.float64]:
        """Signed error at bandwidth number k, as the reader's browser has it; NaN where hidden."""
        values = self.error[k].astype(np.float64) * self.scale[k] / 127
        return np.where(self.error[k] == _NOTHING, np.nan, values)


@dataclass(frozen=True)
class Slider:
    """All that the page's landscape shows.

    Attributes
    ----------
    gammas : tuple of float
        Bandwidths.
    start : int
        Which of them is the report's.
    x, y : ndarray of shape (r,)
        Nodes on the map.
    limit : float
        End of the colour scale, the same for every picture.
    log_support : float
        log(1 + largest n_eff).
    pictures : list of Picture
        All rows first, then single confidence bins.
    shape : ndarray of shape (s, 4)
        Lines around all rows: x0, y0, x1, y1.
    outlines : list of (str, (float, float), ndarray of shape (s, 4))
        Regions: name, where to write it, their lines.
    """

    gammas: tuple[float, ...]
    start: int
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    limit: float
    log_support: float
    pictures: list[Picture]
    shape: NDArray[np.float64]
    outlines: list[tuple[str, tuple[float, float], NDArray[np.float64]]]

    def payload(self) -> dict[str, Any]:
        """Return what the page's script reads, as plain values."""
        return {
            "gammas": list(self.gammas),
            "start": self.start,
            "resolution": len(self.x),
            "x": [float(f"{v:.6g}") for v in (self.x[0], self.x[-1])],
            "y": [float(f"{v:.6g}") for v in (self.y[0], self.y[-1])],
            "limit": self.limit,
            "logSupport": self.log_support,
            "least": MIN_EFFECTIVE_SIZE,
            "pictures": [
                {
                    "name": item.name,
                    "rows": item.n_rows,
                    "exact": item.exact,
                    "scale": [float(f"{v:.6g}") for v in item.scale],
                    "error": base64.b64encode(item.error.tobytes()).decode(),
                    "support": base64.b64encode(item.support.tobytes()).decode(),
                }
                for item in self.pictures
            ],
            "shape": _rounded(self.shape),
            "outlines": [
                {"name": name, "at": [float(f"{v:.5g}") for v in at], "lines": _rounded(lines)}
                for name, at, lines in self.outlines
            ],
        }


def _rounded(lines: NDArray[np.float64]) -> list[float]:
    return [float(f"{v:.4g}") for v in lines.ravel()]


def make_slider(found: Findings, progress: Progress | None = None) -> Slider | None:
    """Compute the fields of all rows and of a few confidence bins at every bandwidth.

    Parameters
    ----------
    found : Findings
        What the report is about.
    progress : callable, optional
        Called with the share done; may raise to cancel.

    Returns
    -------
    Slider or None
        None where there is no map to draw.
    """
    on, z = found.points(found.drawn_on), found.points(found.embedding)
    if on is None or z is None or found.summary is None:
        return None
    exact = found.drawn_on is found.embedding
    aimed = found.aimed
    table = found.summary.reliability
    index = table.bins.assign(aimed.confidence)
    chosen = _bins(found)
    gammas = tuple(sorted({*GAMMAS, found.view.gamma}))
    fields: list[list[Field]] = []
    for k, gamma in enumerate(gammas):
        if progress is not None:
            progress(k / len(gammas), f"landscape at γ = {gamma:g}")
        errors = local_errors(aimed.confidence, aimed.outcome, z, gamma=gamma, **found.view.bins)
        options: dict[str, Any] = {
            "resolution": RESOLUTION, "min_effective_size": MIN_EFFECTIVE_SIZE,
        }  # fmt: skip
        row = [smoothed_field(errors.signed, errors.effective_size, on, **options)]
        for _, b in chosen:
            rows = index == b
            row.append(
                error_field(aimed.confidence, aimed.outcome, on, gamma=gamma, rows=rows, **options)
                if exact
                else smoothed_field(errors.signed, errors.effective_size, on, rows=rows, **options)
            )
        fields.append(row)
    largest = max(
        (
            float(np.max(item.effective_size, where=np.isfinite(item.effective_size), initial=1.0))
            for row in fields
            for item in row
        ),
        default=1.0,
    )
    log_support = float(np.log1p(largest))
    names = [("all confidences together", len(index))] + [
        (name, int(table.count[b])) for name, b in chosen
    ]
    pictures = [
        _picture(name, n, [row[p] for row in fields], log_support)
        for p, (name, n) in enumerate(names)
    ]
    first, start = fields[0][0], gammas.index(found.view.gamma)
    search = found.search
    outlines = []
    for number in range(0 if search is None else min(len(search.regions), _OUTLINED)):
        assert search is not None
        outline = rows_outline(on, search.label == number)
        x, y = on[search.regions[number].centre]
        at = (float(x), float(y))
        outlines.append((str(number + 1), at, segments(outline.x, outline.y, outline.inside)))
    return Slider(
        gammas=gammas,
        start=start,
        x=first.x,
        y=first.y,
        limit=_limit([row_.signed for row_ in fields[start]]),
        log_support=log_support,
        pictures=pictures,
        shape=segments(first.x, first.y, first.context.astype(np.float64)),
        outlines=outlines,
    )


def _bins(found: Findings) -> list[tuple[str, int]]:
    """Worst, best and fullest confidence bin, each once."""
    assert found.summary is not None
    table = found.summary.reliability
    chosen: dict[int, list[str]] = {}
    try:
        named = {
            "worst": table.worst_bin(MIN_BIN_ROWS),
            "best": table.best_bin(MIN_BIN_ROWS),
        }
    except InputError:  # no bin has so many rows
        named = {}
    for word, b in (*named.items(), ("fullest", int(np.argmax(table.count)))):
        chosen.setdefault(int(b), []).append(word)
    if len(np.flatnonzero(table.count)) < 2:  # one bin is all rows
        return []
    return [
        (f"confidence {table.bins.name(b)} ({' and '.join(words)} bin)", b)
        for b, words in chosen.items()
    ]


def _limit(fields: list[NDArray[np.float64]]) -> float:
    """± the 99th percentile in steps of 5 %, as in the dashboard."""
    every = np.abs(np.concatenate([item.ravel() for item in fields]))
    every = every[np.isfinite(every)]
    if every.size == 0:
        return 0.1
    return float(np.clip(np.ceil(np.quantile(every, 0.99) * 20) / 20, 0.1, 1.0))


def _picture(name: str, n_rows: int, fields: list[Field], log_support: float) -> Picture:
    shape = (len(fields), *fields[0].signed.shape)
    error, support = np.full(shape, _NOTHING, np.int8), np.zeros(shape, np.uint8)
    scale = np.empty(len(fields))
    for k, item in enumerate(fields):
        known = np.isfinite(item.signed)
        scale[k] = max(float(np.abs(item.signed[known]).max(initial=0.0)), 1e-9)
        error[k][known] = np.rint(item.signed[known] / scale[k] * 127).astype(np.int8)
        near = np.isfinite(item.effective_size)
        share = np.log1p(np.maximum(item.effective_size[near], 0.0)) / max(log_support, 1e-9)
        support[k][near] = 1 + np.rint(np.clip(share, 0, 1) * 254).astype(np.uint8)
    return Picture(name, n_rows, fields[0].exact, error, scale, support)


def segments(
    x: NDArray[np.float64], y: NDArray[np.float64], values: NDArray[np.float64], level: float = 0.5
) -> NDArray[np.float64]:
    """Find where a raster crosses a level: marching squares, as single straight pieces.

    Parameters
    ----------
    x, y : ndarray of shape (c,), (r,)
        Nodes.
    values : ndarray of shape (r, c)
        At (y, x).
    level : float
        The height of the line.

    Returns
    -------
    ndarray of shape (s, 4)
        x0, y0, x1, y1 of each piece.
    """
    # A border of nothing closes lines at the edge of the raster.
    v = np.pad(values, 1) - level
    xs = np.concatenate([[2 * x[0] - x[1]], x, [2 * x[-1] - x[-2]]])
    ys = np.concatenate([[2 * y[0] - y[1]], y, [2 * y[-1] - y[-2]]])
    corners = v[:-1, :-1], v[:-1, 1:], v[1:, 1:], v[1:, :-1]
    up = [corner > 0 for corner in corners]
    rows, columns = np.nonzero(np.logical_or.reduce(up) & ~np.logical_and.reduce(up))
    pieces = []
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        four = [
            (xs[j], ys[i], v[i, j]), (xs[j + 1], ys[i], v[i, j + 1]),
            (xs[j + 1], ys[i + 1], v[i + 1, j + 1]), (xs[j], ys[i + 1], v[i + 1, j]),
        ]  # fmt: skip
        crossed = []
        for k in range(4):
            (x0, y0, a), (x1, y1, b) = four[k], four[(k + 1) % 4]
            if (a > 0) != (b > 0):
                t = a / (a - b)
                crossed.append((x0 + t * (x1 - x0), y0 + t * (y1 - y0)))
        pieces += [
            (*crossed[k], *crossed[k + 1]) for k in range(0, len(crossed), 2)
        ]  # (of a saddle two pieces)
    return np.array(pieces, dtype=np.float64).reshape(-1, 4)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Write pixels as a PNG, the same bytes on every machine.

    Parameters
    ----------
    pixels : ndarray of uint8, of shape (h, w), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA.
    """
    shaped = pixels if pixels.ndim == 3 else pixels[:, :, None]
    height, width, channels = shaped.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    lines = np.concatenate(
        [np.zeros((height, 1), np.uint8), shaped.reshape(height, width * channels)], axis=1
    )

    def chunk(name: bytes, content: bytes) -> bytes:
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + chunk(b"IEND", b"")
    )
