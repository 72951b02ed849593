"""Start the dashboard from Python, a notebook or the command line."""
