"""Pictures as Plotly draws them: for the dashboard, notebooks and interactive files."""
