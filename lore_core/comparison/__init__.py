"""Measurements side by side: one summary, methods, groups, runs."""
