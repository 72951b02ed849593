"""Numbers of all rows beside pages that show a sample of them."""

import streamlit as st

from lore_core.data.number_text import POINTS, unbroken
from lore_core.figures import bandwidth_figure, sums_landscape_figure
from lore_core.mergeable import bandwidth_curve_of_sums, metrics_of_sums
from lore_core.mergeable.partitions.run import WholeData
from lore_core.metrics import BandwidthCurve
from lore_core.metrics.metric import CurveKey
from lore_core.metrics.tables import metric_columns
from lore_core.regions import SumsLandscape
from lore_core.view import View
from pages.shared.charts import show_chart
from pages.shared.files import arguments
from pages.shared.header import plain
from pages.shared.session import read_once, whole_data


@st.cache_resource(max_entries=16, show_spinner="Looking at all rows …")
def _metrics(folder: str, gamma: float) -> dict[str, list[str]]:
    columns = metric_columns(metrics_of_sums(read_once(folder).sums, gamma=gamma))
    names = {"metric": "metric", "all rows": "value", "guaranteed": "guaranteed"}
    return {name: columns[column] for name, column in names.items()}


@st.cache_resource(max_entries=1, show_spinner="Looking at all rows …")
def _curve(folder: str) -> BandwidthCurve:
    return bandwidth_curve_of_sums(read_once(folder).sums)


@st.cache_resource(max_entries=8, show_spinner="Looking at all rows …")
def _landscape(folder: str, gamma: float, bin_index: int | None) -> SumsLandscape:
    return SumsLandscape.of(read_once(folder).sums, gamma=gamma, bin_index=bin_index)


def _head(whole: WholeData, view: View) -> float:
    """Say what the numbers below are of; return the γ they are for."""
    st.subheader(f"All {whole.sums.n_rows:,} rows", anchor=False)
    gamma = max(view.gamma, whole.sums.least_gamma)
    text = f"γ = {gamma:g}. {whole.sentence}"
    if gamma > view.gamma:
        text += f" (A smaller γ than {gamma:g} needs narrower cells: --cells.)"
    bins = whole.sums.bins
    if (bins.n_bins, bins.binning) != (view.n_bins, view.binning):
        text += f" They are in {bins.n_bins} {bins.binning} bins."
    st.caption(unbroken(plain(text)))
    return gamma


def whole_metrics(view: View) -> None:
    """List every metric of all rows, where the page shows a sample."""
    whole = whole_data()
    if whole is not None:
        gamma = _head(whole, view)
        st.dataframe(_metrics(str(arguments().whole), gamma), hide_index=True, height="content")


def whole_curve(view: View, metric: CurveKey) -> None:
    """Draw the curve of all rows, where the page shows a sample."""
    whole = whole_data()
    if whole is None:
        return
    _head(whole, view)
    bins = whole.sums.bins
    chart = bandwidth_figure(
        {whole.plan.embedding.name.title: _curve(str(arguments().whole))},
        metric=metric,
        rows=f"all {whole.sums.n_rows:,} rows, {bins.n_bins} {bins.binning} bins",
        gamma=view.gamma,
    )
    show_chart(chart, "whole_curve")


def whole_landscape(view: View, bin_index: int | None) -> None:
    """Draw the field of all rows, where the page shows a sample."""
    whole = whole_data()
    if whole is None:
        return
    gamma = _head(whole, view)
    bins = whole.sums.bins
    same = (bins.n_bins, bins.binning) == (view.n_bins, view.binning)
    chosen = bin_index if same and view.binning == "equal-width" else None
    if chosen is not None and not whole.sums.of_bins[0, chosen]:
        chosen = None
    seen = _landscape(str(arguments().whole), gamma, chosen)
    st.markdown(unbroken(plain(seen.sentence)))
    if seen.field is not None:
        axes = whole.plan.embedding.name.title
        show_chart(sums_landscape_figure(seen, axes=axes), "whole_map")
    rows = [
        {
            "share of the rows": name,
            "LCE at most, points": POINTS.text(of.value),
            "guaranteed": POINTS.interval_text(of.low, of.high),
        }
        for name, of in seen.spread.items()
    ]
    st.dataframe(rows, hide_index=True, height="content")
