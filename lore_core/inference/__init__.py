"""What chance makes of calibration metrics: tests, simulations, intervals."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
