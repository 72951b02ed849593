"""Tables as CSV that spreadsheets do not run, and values as JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: Environment variable: "keep" leaves formulas as they are.
FORMULAS_VARIABLE = "LORE_CSV_FORMULAS"
_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV, with an apostrophe before texts that a spreadsheet would compute.

    These begin with ``= + - @``, tab or return and are no numbers: names in untrusted files.
    ``LORE_CSV_FORMULAS=keep`` leaves them.
    """
    import pandas as pd

    if os.environ.get(FORMULAS_VARIABLE) == "keep":
        return str(table.to_csv(index=False, lineterminator="\n"))
    safe = table.rename(columns=_as_text)
    texts = [k for k, dtype in enumerate(safe.dtypes) if not pd.api.types.is_numeric_dtype(dtype)]
    for k in texts:
        safe.isetitem(k, safe.iloc[:, k].astype(object).map(_as_text).to_numpy())
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _as_text(value: object) -> object:
    if not isinstance(value, str):
        return value
    # (A bare carriage return would end the line for many readers.)
    plain = value.replace("\r\n", "\n").replace("\r", "\n")
    if not value.startswith(_STARTS):
        return plain
    try:
        float(value)
    except ValueError:
        return f"'{plain}"
    return plain


def as_json(content: Any, *, indent: int | None = 2) -> str:
    """Write plain and numpy values as JSON, compact without ``indent``; NaN, ∞ become null."""
    marks = (",", ":") if indent is None else None
    plain = _plain(content)
    return json.dumps(plain, indent=indent, separators=marks, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
