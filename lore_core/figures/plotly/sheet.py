"""A figure of Plotly's, written as plain options and made of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots


class Sheet:
    """Traces and layout of a figure.

    Plotly looks up the path of every option it is given, one after the other, which took a quarter
    of the interpreter's time where many read. So options are collected here, and what is None is
    as Plotly has it by default.

    ``shares``: heights of panels one above the other, as shares; ``gap``: between them.
    """

    def __init__(self, shares: tuple[float, ...] = (1.0,), gap: float = 0.0) -> None:
        self.traces: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {} if len(shares) == 1 else _panels(shares, gap)
        self._rows = range(1, len(shares) + 1)

    def add_trace(self, trace: Mapping[str, Any], row: int = 1) -> None:
        """Add a trace; ``row``: of which panel, from 1."""
        axes = {} if len(self._rows) == 1 else {"xaxis": f"x{_n(row)}", "yaxis": f"y{_n(row)}"}
        self.traces.append(_merged({}, {**trace, **axes}))

    def update_layout(self, **options: Any) -> None:
        """Set options of the layout."""
        _merged(self.layout, options)

    def update_xaxes(self, row: int | None = None, **options: Any) -> None:
        """Set options of the x axis of one panel, or of all."""
        self._update("xaxis", row, options)

    def update_yaxes(self, row: int | None = None, **options: Any) -> None:
        """Set options of the y axis of one panel, or of all."""
        self._update("yaxis", row, options)

    def _update(self, axis: str, row: int | None, options: Mapping[str, Any]) -> None:
        for number in self._rows if row is None else (row,):
            _merged(self.layout.setdefault(f"{axis}{_n(number)}", {}), options)

    def add_shape(self, **options: Any) -> None:
        """Draw a shape."""
        self.layout.setdefault("shapes", []).append(_merged({}, options))

    def add_annotation(self, **options: Any) -> None:
        """Write a text."""
        self.layout.setdefault("annotations", []).append(_merged({}, options))

    def add_level(self, y: float, row: int, line: Mapping[str, Any]) -> None:
        """Draw a line from side to side of a panel."""
        ends = {"x0": 0, "x1": 1, "y0": y, "y1": y}
        refs = {"xref": f"x{_n(row)} domain", "yref": f"y{_n(row)}"}
        self.add_shape(type="line", **ends, **refs, line=line)

    def add_upright(self, x: float, row: int, line: Mapping[str, Any]) -> None:
        """Draw a line from the foot to the head of a panel."""
        ends = {"x0": x, "x1": x, "y0": 0, "y1": 1}
        refs = {"xref": f"x{_n(row)}", "yref": f"y{_n(row)} domain"}
        self.add_shape(type="line", **ends, **refs, line=line)

    def figure(self) -> go.Figure:
        """Return the figure; what is changed of it from now on is checked by Plotly."""
        layout = {**self.layout, "template": _template()}
        figure = go.Figure(self.traces, layout, _validate=False)
        figure._validate = True
        return figure


def _n(row: int) -> str:
    return "" if row == 1 else str(row)


def _merged(into: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in options.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, Mapping):
            inner = into.get(name)
            if merged := _merged(inner if isinstance(inner, dict) else {}, value):
                into[name] = merged
        else:
            into[name] = _plain(value)
    return into


def _plain(value: Any) -> Any:
    if isinstance(value, pd.Series):
        return value.to_numpy()
    return list(value) if isinstance(value, tuple) else value


@lru_cache(maxsize=1)
def _template() -> dict[str, Any]:
    # Plotly's own by name, because Streamlit sets another for every figure of the process.
    template: dict[str, Any] = pio.templates["plotly"].to_plotly_json()
    return template


def _panels(shares: tuple[float, ...], gap: float) -> dict[str, Any]:
    laid = make_subplots(
        rows=len(shares), cols=1, shared_xaxes=True, row_heights=shares, vertical_spacing=gap
    )
    layout: dict[str, Any] = laid.to_plotly_json()["layout"]
    del layout["template"]
    return layout
