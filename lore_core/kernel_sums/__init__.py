"""Exact Laplacian kernel sums: in O(n log n) for two dimensions, O(n log² n) for three."""

from lore_core.kernel_sums.api import KernelMeans, laplacian_means, laplacian_sums, warmup

__all__ = ["KernelMeans", "laplacian_means", "laplacian_sums", "warmup"]
