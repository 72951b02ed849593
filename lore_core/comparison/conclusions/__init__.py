"""Conclusions: one sentence each, the same on pages, in reports and in the command."""
