"""LoRe Lens: see and fix the local miscalibration of classifiers.

The reference implementation of Luo, Bhatnagar, Bai, Zhao, Wang, Xiong, Savarese, Ermon, Schmerling,
Pavone, "Local Calibration: Metrics and Recalibration", UAI 2022.

>>> import lore_core as lore
>>> data = lore.load(["model_cal.npz", "model_test.npz"])   # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Public names are listed in one place, public_names.py: add new ones there.
    from lore_core.public_names import *  # noqa: F403

try:
    __version__ = version("lore-lens")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    """Import a module, or all public names when the first of them is asked for."""
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    if not name.startswith("__") or name == "__all__":
        # Not "from lore_core import …", which would ask this function first.
        public_names = import_module("lore_core.public_names")
        if name == "__all__":
            return [*public_names.__all__, "__version__"]
        for public in public_names.__all__:
            if hasattr(public_names, public):  # not yet, if public_names is being imported now
                globals().setdefault(public, getattr(public_names, public))
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
