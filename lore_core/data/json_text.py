"""Values as JSON that every reader takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def as_json(content: Any) -> str:
    """Write plain and numpy values as JSON; NaN and infinity become null, which JSON has."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
