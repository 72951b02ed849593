"""Attack what reads files, and say what came of it: ``python -m benchmarks.attack``."""
