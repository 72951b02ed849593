"""Subgroups that are worse than average, in words and on the map; the verdict."""
