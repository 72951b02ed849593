"""What each figure shows, as plain objects: no Plotly, no HTML."""
