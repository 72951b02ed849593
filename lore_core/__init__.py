"""LoRe Lens: see and fix the local miscalibration of classifiers.

The reference implementation of Luo, Bhatnagar, Bai, Zhao, Wang, Xiong, Savarese, Ermon, Schmerling,
Pavone, "Local Calibration: Metrics and Recalibration", UAI 2022.

>>> import lore_core as lore
>>> data = lore.load(["model_cal.npz", "model_test.npz"])   # doctest: +SKIP

The names at the root are those of the stub beside this file, ``__init__.pyi``, each imported when
it is first asked for; the packages (``lore.metrics``, ``lore.inference``, …) have more.
"""

from typing import Any

from lore_core._lazy import attach

_named, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("lore-lens")
        except PackageNotFoundError:  # a checkout that was never installed
            return "0+unknown"
    return _named(name)
