"""Local errors of any number of rows: sums over the cells of a grid that merge."""
