"""Methods × metrics: values, intervals, and what is beyond chance."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from lore_core import Comparison

__all__ = ["metrics_table"]

_POINTS = ("ECE", "MCE", "ALCE", "MLCE")
_SHOWN = ("ECE", "MCE", "ALCE", "MLCE", "NLL", "Brier", "accuracy")


def _cell(result: Comparison, method: str, metric: str) -> str:
    scale, digits = (100, 1) if metric in (*_POINTS, "accuracy") else (1, 3)
    text = f"{result.table.loc[method, metric] * scale:.{digits}f}"
    if result.low is not None and result.high is not None and metric in result.low:
        low, high = result.low.loc[method, metric], result.high.loc[method, metric]
        text += f"  ({low * scale:.{digits}f}–{high * scale:.{digits}f})"
    return text


def metrics_table(result: Comparison) -> None:
    """Methods × metrics; tinted where the paired difference to the first is beyond chance."""
    metrics = [name for name in _SHOWN if name in result.table]
    text = pd.DataFrame(
        {m: [_cell(result, method, m) for method in result.table.index] for m in metrics},
        index=result.table.index,
    )

    def tint(column: pd.Series) -> list[str]:
        low, high = result.difference_low, result.difference_high
        styles = []
        for method in column.index:
            style = ""
            if low is not None and high is not None and column.name in low:
                if column.name != "accuracy" and high.loc[method, column.name] < 0:
                    style = "background-color: rgba(0, 158, 115, 0.18)"
                elif column.name != "accuracy" and low.loc[method, column.name] > 0:
                    style = "background-color: rgba(230, 159, 0, 0.22)"
            styles.append(style)
        return styles

    units = {m: f"{m}, points" if m in _POINTS else m for m in metrics}
    units |= {"accuracy": "accuracy, %"}
    st.dataframe(
        text.style.apply(tint),
        column_config={m: st.column_config.TextColumn(units[m]) for m in metrics},
        height="content",
    )
    draws = next(iter(result.summaries.values())).draws
    first = result.table.index[0]
    n = next(iter(result.summaries.values())).n_rows
    if draws is None:
        st.caption(f"n = {n:,} evaluation rows; too many for bootstrap intervals on this map.")
    else:
        st.caption(
            f"n = {n:,} evaluation rows; 95 % intervals from {len(draws.values)} resamples. Green: "
            f"better than “{first}” beyond chance (the paired 95 % interval of the difference "
            "excludes 0); amber: worse. Recalibration never changes the predicted class, so the "
            "accuracy stays."
        )
