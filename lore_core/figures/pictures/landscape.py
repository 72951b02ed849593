"""The landscape: where the confidence is wrong, on a map of the features."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.number_text import gap_words, neighbours_words, percent, share_words
from lore_core.data.validation import InputError
from lore_core.figures.pictures.landscape_picture import (
    CAMERAS,
    TITLES,
    Camera,
    ErrorScale,
    LandscapePicture,
    Layer,
    MapLabel,
    MapRows,
    OutlinedRegion,
    RowColors,
    Value,
    part_of_map,
)
from lore_core.figures.pictures.picture import Hover, Record, shared_limit, truncate
from lore_core.figures.style import MAX_CATEGORIES
from lore_core.metrics.local_error import LocalErrors
from lore_core.regions.field import Field, Outline, SumsLandscape
from lore_core.regions.selection import Selection

#: Pixels of a map in a narrow window; where there are more, names lie further apart still.
_NARROW = 330.0
#: Room around the rows, as a share of the map's larger side.
_PAD = 0.06
#: What height means.
_HEIGHTS = {
    "signed": "Hills are overconfident, valleys underconfident.",
    "absolute": "Height is the size of the local error, whichever way it leans.",
}
#: Share of rows at either end that may be outliers, and how far the frame follows them (share of
#: the others' extent).
_TAIL, _REACH = 0.005, 0.25
_BY_COLUMN = "Each point is a row, in the colour of its value; without one it is grey."
#: Ends of a scale of numbers, and from which ratio of them on it is logarithmic.
_PERCENT, _LOG_RATIO = 0.01, 50.0
#: Letters of a value in a hover or of a name on the map, and columns a hover lists.
_MAX_VALUE_LETTERS, _MAX_COLUMNS = 40, 5
#: Columns of a table of rows that a hover puts into words of its own.
_WORDED = {"row", "predicted", "true", "confidence", "right", "signed_error", "lce", "n_eff"}
#: Pixels: half of a letter's width, half of a line's height, margin around a name.
_LETTER, _LINE, _MARGIN = 3.4, 9.0, 4.0
#: Lines a name may be moved up or down before it stays where it is.
_FURTHEST = 4


def landscape_figure(
    field: Field | None,
    coordinates: Floats,
    *,
    counts: Ints | None = None,
    points: pd.DataFrame | None = None,
    worst: pd.DataFrame | None = None,
    n_total: int,
    value: Value = "signed",
    limit: float,
    colors: RowColors | None = None,
    rows: str,
    axes: str = "map",
    region: Selection | None = None,
    found: Sequence[tuple[str, Outline]] = (),
    labels: pd.DataFrame | None = None,
    seen: tuple[float, ...] | None = None,
    pixel: str | None = None,
    frame: tuple[tuple[float, float], ...] | None = None,
    height: int = 620,
    title: str | None = None,
) -> LandscapePicture:
    """Raster of the signed local error on the 2-D map, with rows over it.

    ``field``: None draws only points. ``coordinates`` (n, 2): the map, all rows; ``counts``: rows
    at each, by default one. ``points``, ``worst``: rows to draw, and to ring
    (:func:`~lore_core.regions.rows.row_table` with errors). ``n_total``: rows that could have been
    drawn. ``value``, ``limit``: SLCE ("signed") on a diverging or LCE ("absolute") on a sequential
    scale, and its end; ``colors``: a column's colours of the points instead, without a ``field``
    (:func:`row_colors`). ``rows``, ``axes``: which rows these are, and the name of the map.
    ``region``: what the reader has drawn. ``found``: names and outlines of regions found.
    ``labels``: names on the map, ``name, x, y`` (:func:`~lore_core.regions.rows.class_positions`).
    ``seen``: shift of the view's middle, as shares of the whole map's sides, and its magnification;
    by default the whole. ``pixel``: a sentence on what a pixel of ``field`` is, where it differs
    from that of rows. ``frame``: ends of the axes; by default round the bulk of the rows.
    """
    extent, widest = _extent(coordinates, counts)
    if frame is not None:
        extent, widest = frame, max(high - low for low, high in frame)
    if seen is not None:
        extent, widest = part_of_map(extent, seen), widest / seen[2]
    inside = [
        (low <= z) & (z <= high) for (low, high), z in zip(extent, coordinates.T, strict=True)
    ]
    outside = ~np.logical_and(*inside)
    n_outside = int(outside.sum() if counts is None else counts[outside].sum())
    drawn = 0 if points is None else len(points)
    of_all = "" if f" {n_total:,} " in f" {rows}" else f"{n_total:,} rows"
    text = f"{drawn:,} of {n_total:,} rows drawn" if drawn else of_all
    text += f", {n_outside:,} outside the frame" if n_outside else ""
    regions = tuple(outlined_region(name, outline) for name, outline in found)
    what = TITLES[value] if colors is None else colors.title
    return LandscapePicture(
        title=title or what,
        subtitle=f"{rows}; {text.removeprefix(', ')}".removesuffix("; "),
        how_to_read=_how_to_read(value, field, pixel) if colors is None else _BY_COLUMN,
        alt=f"{what} on the {axes} map; {rows}",
        name="landscape",
        height=height,
        table=_rows_table(points, coordinates) if field is None else _field_table(field),
        axes=axes,
        extent=extent,
        n_outside=n_outside,
        scale=colors or ErrorScale(value, limit),
        layers=() if field is None else (Layer(rows, (field,)),),
        points=_map_rows(points, coordinates, colors),
        worst=_map_rows(worst, coordinates),
        regions=regions,
        labels=_labels(labels, regions, widest),
        lasso=region or Selection(),
    )


def maps_of_methods(
    coordinates: Floats,
    errors: Sequence[LocalErrors],
    fields: Sequence[Field],
    inside: Mask,
    *,
    titles: Sequence[str],
    **look: Any,
) -> list[LandscapePicture]:
    """Draw the fields of rows ``inside`` under methods on one colour scale.

    ``errors``: of all rows, by method. ``look``: of :func:`landscape_figure`.
    """
    limit = shared_limit(*(of.signed[inside & of.supported()] for of in errors))
    look |= {"limit": limit, "n_total": int(inside.sum())}
    return [
        landscape_figure(field, coordinates, title=title, **look)
        for field, title in zip(fields, titles, strict=True)
    ]


def sums_landscape_figure(
    seen: SumsLandscape, *, axes: str, limit: float | None = None, **look: Any
) -> LandscapePicture:
    """Raster of the signed local error of summed rows, with bounds of the exact one.

    ``seen``: what is drawn; InputError if its map is not 2-D. ``axes``: name of the map. ``limit``:
    end of the colour scale; by default that of the errors shown. ``**look``: ``value, frame, found,
    title, height`` of :func:`landscape_figure`.
    """
    if seen.field is None:
        raise InputError(
            "'sums' must be on a map of 2 dimensions to be drawn; these have "
            f"{seen.sums.n_dimensions}."
        )
    counts = seen.counts[seen.chosen]
    if limit is None:
        limit = shared_limit(seen.values.mean_signed.value[seen.supported])
    return landscape_figure(
        seen.field,
        seen.places[seen.chosen],
        counts=counts,
        n_total=int(counts.sum()),
        limit=limit,
        rows=f"{seen.bin_name.lower()}, γ = {seen.gamma:g} on {axes}, from sums over cells",
        axes=axes,
        pixel=seen.pixel_sentence,
        **look,
    )


def change_figure(
    now: SumsLandscape, change: tuple[Field, Mask], *, axes: str, rows: str, **look: Any
) -> LandscapePicture:
    """Raster of local errors minus earlier ones, on a scale of its own; uncertain parts are pale.

    ``now``, ``change``: see :meth:`~lore_core.regions.SumsLandscape.change_since`. ``axes``,
    ``rows``: name of the map, and what is compared. ``**look``: of :func:`landscape_figure`.
    """
    field, is_certain = change
    limit = shared_limit(field.signed)
    picture = landscape_figure(
        field,
        now.places,
        counts=now.counts,
        n_total=now.sums.n_rows,
        limit=limit,
        rows=rows,
        axes=axes,
        height=480,
        title="Change of the local error",
        **look,
    )
    return replace(
        picture,
        scale=ErrorScale("signed", limit, is_change=True),
        alt=f"Change of the local error on the {axes} map; {rows}",
        name="change",
        vivid=Outline(field.x, field.y, is_certain.astype(np.float64)),
        how_to_read=(
            "Red: more overconfident than before at the same confidence; blue: less. Pale: the "
            "95 % interval of the change there, wider for units of rows, holds 0."
        ),
    )


def landscape_3d_figure(
    points: pd.DataFrame,
    coordinates: Floats,
    *,
    worst: pd.DataFrame | None = None,
    n_total: int,
    value: Value = "signed",
    limit: float,
    colors: RowColors | None = None,
    rows: str,
    axes: str = "map",
    labels: pd.DataFrame | None = None,
    camera: str = "corner",
    seen: tuple[float, ...] | None = None,
) -> LandscapePicture:
    """Rows in a 3-D embedding, coloured by their local error.

    ``points``, ``worst``: rows to draw, and to ring. ``coordinates`` (n, 3): all rows. ``labels``:
    columns ``name, x, y, z``. ``camera``: "corner", "top", "front" or "side". ``seen``: another
    view: shift of its middle right and up, in four fifths of the diagonal; magnification; degrees
    round the upright and above the floor. The others: see :func:`landscape_figure`.
    """
    looking = CAMERAS[camera]
    if seen is not None:
        right, up, zoom, turned, above = seen
        looking = Camera(turned, above, right, up, zoom)
    what = TITLES[value] if colors is None else colors.title
    return LandscapePicture(
        title=what,
        subtitle=f"{rows}; {len(points):,} of {n_total:,} rows drawn",
        how_to_read=(
            "Each point is a row in the 3-D embedding; its colour is the local error there, faint "
            "where it has too few neighbours. Drag to turn."
        )
        if colors is None
        else _BY_COLUMN,
        alt=f"{what} in the 3-D {axes} embedding; {rows}",
        name="landscape-3d",
        table=_rows_table(points, coordinates),
        axes=axes,
        view="space",
        extent=_extent(coordinates)[0],
        scale=colors or ErrorScale(value, limit),
        points=_map_rows(points, coordinates, colors),
        worst=_map_rows(worst, coordinates),
        labels=()
        if labels is None
        else tuple(MapLabel(_value(name), tuple(at)) for name, *at in labels.to_numpy().tolist()),
        camera=looking,
    )


def surface_figure(
    field: Field,
    *,
    value: Value = "signed",
    limit: float,
    rows: str,
    axes: str = "map",
    camera: str = "corner",
) -> LandscapePicture:
    """Draw the error as height over the 2-D map; the LCE as in Luo et al. 2022, fig. 2.

    ``camera``: "corner", "top", "front" or "side". The others: see :func:`landscape_figure`.
    """
    return LandscapePicture(
        title=f"{TITLES[value]} as height",
        subtitle=rows,
        how_to_read=(
            f"{_HEIGHTS[value]} A sheet that stays near zero is a locally calibrated model; what "
            "lies beyond the scale's ends is cut."
        ),
        alt=f"{TITLES[value]} as height over the {axes} map; {rows}",
        name="landscape-surface",
        table=_field_table(field),
        axes=axes,
        view="height",
        scale=ErrorScale(value, limit),
        layers=(Layer(rows, (field,)),),
        camera=CAMERAS[camera],
    )


def _extent(
    coordinates: Floats, counts: Ints | None = None
) -> tuple[tuple[tuple[float, float], ...], float]:
    """Return ends of the axes round the bulk of the rows, and the longer side."""
    ends = [_TAIL, 1 - _TAIL]
    if counts is None:
        low, high = np.transpose([np.quantile(z, ends) for z in coordinates.T])
    else:
        rank = np.array(ends) * counts.sum()
        orders = [(z, np.argsort(z)) for z in coordinates.T]
        low, high = np.transpose(
            [z[order][np.searchsorted(np.cumsum(counts[order]), rank)] for z, order in orders]
        )
    reach = _REACH * (high - low)
    low = np.maximum([z.min() for z in coordinates.T], low - reach)
    high = np.minimum([z.max() for z in coordinates.T], high + reach)
    widest = float((high - low).max() or 1.0)
    pad = _PAD * widest
    return tuple(zip((low - pad).tolist(), (high + pad).tolist(), strict=True)), widest


def outlined_region(name: str, outline: Outline) -> OutlinedRegion:
    """Write a region's name as far inside it as can be."""
    from scipy import ndimage  # slow to import

    depth = ndimage.distance_transform_edt(np.pad(outline.inside > 0.5, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
    return OutlinedRegion(name, (float(outline.x[column]), float(outline.y[row])), outline)


def _map_rows(
    table: pd.DataFrame | None, coordinates: Floats, colors: RowColors | None = None
) -> MapRows | None:
    if table is None or table.empty:
        return None
    row = table["row"].to_numpy()
    error, size = (table[name].to_numpy() for name in ("signed_error", "n_eff"))
    places = None if colors is None else colors.values[row]
    return MapRows(row, coordinates[row], error, size, row_hovers(table), places)


def row_colors(title: str, column: pd.Series) -> RowColors:
    """Colour rows by a column: numbers on a scale, the most frequent of other values by name.

    Of numbers the ends of the scale are the first and last percent; those of very different size
    (all positive, the last percent more than fifty times the first) are drawn by their logarithm.
    """
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > MAX_CATEGORIES:
        number = column.to_numpy(np.float64, na_value=np.nan, copy=True)
        number[~np.isfinite(number)] = np.nan
        low, high = np.nanquantile(number, [_PERCENT, 1 - _PERCENT])
        is_log = low > 0 and high > _LOG_RATIO * low
        to, back = (np.log, np.exp) if is_log else (np.asarray, np.asarray)
        start, width = float(to(low)), float(to(high) - to(low)) or 1.0
        places = (
            np.where(np.isnan(number), np.nan, to(np.clip(number, low, high))) - start
        ) / width
        ticks = tuple((at, f"{back(start + at * width):.3g}") for at in (0.0, 0.5, 1.0))
        return RowColors(title, places, ticks)
    text = column.astype(object).where(column.notna(), None)
    frequent = text.value_counts().index[:MAX_CATEGORIES]
    is_all = text.nunique() <= MAX_CATEGORIES
    # (Numbers and those that say themselves in order; the least frequent together, at the end.)
    kinds = int | float | np.integer | np.floating
    numbers = sorted(name for name in frequent if isinstance(name, kinds))
    words = sorted((name for name in frequent if not isinstance(name, kinds)), key=str)
    names = [*numbers, *words, *([] if is_all else ["others"])]
    number_of = {name: k for k, name in enumerate(names)}
    last = len(names) - 1
    places = np.array(
        [np.nan if value is None else number_of.get(value, last) + 0.5 for value in text]
    )
    n = max(len(names), 1)
    ticks = tuple(((k + 0.5) / n, _value(name)) for k, name in enumerate(names))
    return RowColors(title, places / n, ticks, n_names=n)


def row_hovers(table: pd.DataFrame) -> tuple[Hover, ...]:
    """Say what is known of rows (:func:`~lore_core.regions.rows.row_table` with errors)."""
    others = [column for column in table.columns if column not in _WORDED][:_MAX_COLUMNS]
    return tuple(_row_hover(record, others) for record in table.to_dict("records"))


def _row_hover(record: Record, others: Sequence[str]) -> Hover:
    verdict = "right" if record["right"] else f"wrong, true {record['true']}"
    error, support = record["signed_error"], record["n_eff"]
    return Hover(
        f"row {record['row']}",
        f": {record['predicted']} ({verdict})",
        (
            f"confidence {percent(record['confidence'])}",
            f"local error {gap_words(error)}, {neighbours_words(support)}",
            *(f"{name}: {_value(record[name])}" for name in others),
        ),
    )


def _value(value: object) -> str:
    number = isinstance(value, (float, np.floating))
    return f"{value:.4g}" if number else truncate(value, _MAX_VALUE_LETTERS)


def _labels(
    labels: pd.DataFrame | None, regions: Sequence[OutlinedRegion], widest: float
) -> tuple[MapLabel, ...]:
    """Move names where they would cover each other or a region's number."""
    if labels is None:
        return ()
    names = [_value(name) for name in labels["name"]]
    own = list(zip(labels["x"], labels["y"], strict=True))
    points = np.array([*(region.at for region in regions), *own], dtype=np.float64)
    moved = shifts(
        points.reshape(-1, 2) * (_NARROW / widest),
        [*(region.name for region in regions), *names],
        n_fixed=len(regions),
    )[len(regions) :]
    return tuple(MapLabel(name, at, up) for name, at, up in zip(names, own, moved, strict=True))


def _how_to_read(value: Value, field: Field | None, pixel: str | None) -> str:
    text = (
        "Red: overconfident; blue: underconfident."
        if value == "signed"
        else "The darker or brighter against the background, the larger the local error."
    )
    if field is None:
        return f"{text} Each point is a row."
    if pixel is None:
        pixel = (
            "Each pixel is the exact signed error there, from all rows of the bin."
            if field.exact
            else "Each pixel averages the local errors of the rows on it."
        )
    text += f" {pixel}"
    if field.masked_share > 0.005:
        text += " Empty near these rows: too few effective neighbours."
    if field.outside_share is not None:
        text += (
            " Only significant subgroups are coloured: "
            f"{share_words(field.outside_share)} of the area with enough neighbours is in none of "
            "them."
        )
    others = bool((field.context & np.isnan(field.signed)).any())
    return text + (" The thin line encloses all rows." if others else "")


def _field_table(field: Field) -> pd.DataFrame:
    row, column = np.nonzero(np.isfinite(field.signed))
    table = pd.DataFrame(
        {
            "map_1": field.x[column],
            "map_2": field.y[row],
            "signed_error": field.signed[row, column],
            "n_eff": field.effective_size[row, column],
        }
    )
    if field.bounds is not None:
        table["at_least"], table["at_most"] = (end[row, column] for end in field.bounds)
    return table


def _rows_table(points: pd.DataFrame | None, coordinates: Floats) -> pd.DataFrame:
    if points is None:
        return pd.DataFrame()
    z = coordinates[points["row"].to_numpy()]
    return points.assign(**{f"map_{k + 1}": z[:, k] for k in range(z.shape[1])})


def shifts(places: Floats, names: Sequence[str], *, n_fixed: int = 0) -> Floats:
    """Return how many pixels up each name has to move so that it covers none before it, shape (n,).

    ``places`` (n, 2): in pixels, most important first; the first ``n_fixed`` stay. 0 where no place
    is free near by.
    """
    moved = np.zeros(len(names))
    taken: list[tuple[float, float, float]] = []
    step = 2 * _LINE
    tries = [0.0, *(side * lines * step for lines in range(1, _FURTHEST + 1) for side in (1, -1))]
    for number, (name, (x, y)) in enumerate(zip(names, places.tolist(), strict=True)):
        half = _LETTER * len(name) + _MARGIN
        if number >= n_fixed:
            free = (
                shift
                for shift in tries
                if not any(
                    abs(x - other) < half + width and abs(y + shift - height) < step
                    for other, height, width in taken
                )
            )
            moved[number] = next(free, 0.0)
        taken.append((x, y + moved[number], half))
    return moved
