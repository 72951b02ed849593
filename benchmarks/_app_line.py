"""The least a chart can be: two points, redrawn by Streamlit as a slider moves."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

value = st.slider("Value", 0, 100, 50)
st.plotly_chart(go.Figure(go.Scatter(x=[0, 1], y=[0, value])), key="line")
