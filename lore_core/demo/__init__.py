"""Data to try the product on: a real classifier with a known fault, and a planted error."""

from __future__ import annotations

from lore_core.demo.planted_error import Synthetic, synthetic
from lore_core.demo.scanned_digits import digits

__all__ = ["Synthetic", "digits", "synthetic"]
