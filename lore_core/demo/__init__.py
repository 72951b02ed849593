"""Demo data: real classifiers with a known fault, and rows with a planted error."""

from lore_core.demo.planted import Synthetic, batches, synthetic
from lore_core.demo.scanned_digits import digits

__all__ = ["Synthetic", "batches", "digits", "synthetic"]
