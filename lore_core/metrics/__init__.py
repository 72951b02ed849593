"""What is measured: global and local calibration errors, bandwidth curves, rewards."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
