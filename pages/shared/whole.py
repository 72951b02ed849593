"""Numbers of all rows beside pages that show a sample of them."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from lore_core.data.number_text import unbroken
from lore_core.figures import bandwidth_figure, sums_landscape_figure
from lore_core.mergeable import LocalErrorSums, bandwidth_curve_of_sums, metrics_of_sums
from lore_core.mergeable.partitions.run import WholeData
from lore_core.metrics.metric import CurveKey
from lore_core.metrics.tables import metric_columns
from lore_core.regions import SumsLandscape
from lore_core.view import View
from pages.shared.charts import show_chart
from pages.shared.files import arguments
from pages.shared.header import plain
from pages.shared.session import Made, remembered, whole_data


def _remembered(make: Callable[..., Made], sums: LocalErrorSums, **how: Any) -> Made:
    key = (make.__qualname__, str(arguments().whole), *how.values())
    return remembered(key, lambda: make(sums, **how))


def _head(view: View) -> tuple[WholeData, float] | None:
    """Say what the numbers below are of; return the sums and γ, or None without a sample."""
    whole = whole_data()
    if whole is None:
        return None
    st.subheader(f"All {whole.sums.n_rows:,} rows", anchor=False)
    gamma = max(view.gamma, whole.sums.width)
    text = f"γ = {gamma:g}. {whole.sentence}"
    if gamma > view.gamma:
        text += f" (A smaller γ than {gamma:g} needs narrower cells: --cells.)"
    bins = whole.sums.bins
    if (bins.n_bins, bins.binning) != (view.n_bins, view.binning):
        text += f" They are in {bins.n_bins} {bins.binning} bins."
    st.caption(unbroken(plain(text)))
    return whole, gamma


def whole_metrics(view: View) -> None:
    """List every metric of all rows, where the page shows a sample."""
    if (found := _head(view)) is not None:
        table = _remembered(metrics_of_sums, found[0].sums, gamma=found[1])
        columns = metric_columns(table)
        names = {"metric": "metric", "all rows": "value", "guaranteed": "guaranteed"}
        shown = {name: columns[column] for name, column in names.items()}
        st.dataframe(shown, hide_index=True, height="content")


def whole_curve(view: View, metric: CurveKey) -> None:
    """Draw the curve of all rows, where the page shows a sample."""
    if (found := _head(view)) is None:
        return
    whole, bins = found[0], found[0].sums.bins
    chart = bandwidth_figure(
        {whole.plan.embedding.name.title: _remembered(bandwidth_curve_of_sums, whole.sums)},
        metric=metric,
        rows=f"all {whole.sums.n_rows:,} rows, {bins.n_bins} {bins.binning} bins",
        gamma=view.gamma,
    )
    show_chart(chart, "whole_curve")


def whole_landscape(view: View, bin_index: int | None) -> None:
    """Draw the field of all rows, where the page shows a sample."""
    if (found := _head(view)) is None:
        return
    (whole, gamma), bins = found, found[0].sums.bins
    same = (bins.n_bins, bins.binning) == (view.n_bins, view.binning)
    chosen = bin_index if same and view.binning == "equal-width" else None
    if chosen is not None and not whole.sums.of_bins[0, chosen]:
        chosen = None
    seen = _remembered(SumsLandscape.of, whole.sums, gamma=gamma, bin_index=chosen)
    st.markdown(unbroken(plain(seen.sentence)))
    if seen.field is not None:
        axes = whole.plan.embedding.name.title
        show_chart(sums_landscape_figure(seen, axes=axes), "whole_map")
    st.dataframe(seen.spread_columns, hide_index=True, height="content")
