"""Parquet files of any length, read in parts: rows that do not fit into memory become sums."""
