"""What every analysis of a view returns, so that pages, commands and the report only lay it out."""

from __future__ import annotations

from typing import Any, Protocol

import pandas as pd


class Result(Protocol):
    """The numbers of an analysis; where it concludes something, also a ``sentence``."""

    def frame(self) -> pd.DataFrame:
        """Return everything in one long table, as it is saved."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return what the command prints as JSON."""
        ...
