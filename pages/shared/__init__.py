"""What the pages share: state, controls, charts, long jobs."""
