"""Results as data frames of the library that the data came from, by Arrow."""

from __future__ import annotations

import sys
from typing import Any, TypeVar, cast

import pandas as pd
import pyarrow as pa

from lore_core.data.validation import InputError
from lore_core.reading.columns import short

Frame = TypeVar("Frame")


def frame_like(table: pd.DataFrame, like: Frame) -> Frame:
    """Return a result as a data frame of the kind of another one: Polars in, Polars out.

    Parameters
    ----------
    table : DataFrame
        A result of any function of the library.
    like : pandas, Polars or Arrow table, or DuckDB relation
        What the data were; only its kind counts.

    Returns
    -------
    DataFrame
        Of the kind of ``like``, with the table's index, where that is more than a numbering, as its
        first columns (an index without a name as ``index``). As pandas the table itself.

    Raises
    ------
    InputError
        If ``like`` is of none of these libraries, or a column holds values of several kinds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame_like(pd.DataFrame({"ECE": [0.1]}, index=["none"]), pa.table({})).to_pylist()
    [{'index': 'none', 'ECE': 0.1}]
    """
    return cast(Frame, _as_library_of(table, like))


def _as_library_of(table: pd.DataFrame, like: object) -> Any:
    if isinstance(like, pd.DataFrame):
        return table
    numbered = isinstance(table.index, pd.RangeIndex) and table.index.name is None
    whole = table if numbered else table.reset_index()
    try:
        made = pa.Table.from_pandas(whole, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowException, TypeError) as error:
        reason = short(error).rstrip(".")
        raise InputError(f"'table' must hold values of one kind a column ({reason}).") from error
    if isinstance(like, pa.Table):
        return made
    library = type(like).__module__.partition(".")[0].lstrip("_")
    # (Whoever has made `like` has imported its library.)
    known: Any = sys.modules.get(library)
    if library == "polars":
        frame = known.from_arrow(made)
        return frame.lazy() if isinstance(like, known.LazyFrame) else frame
    if library == "duckdb":
        return known.from_arrow(made)
    raise InputError(
        "'like' must be a pandas, Polars or Arrow table or a DuckDB relation; got "
        f"{type(like).__module__}.{type(like).__name__}."
    )
