"""Names of a package that are imported when they are first asked for: its stub is the one list.

A thin layer over lazy_loader (SPEC 1), which adds what a light installation needs: one sentence
where a name needs a package that is not installed, and an import that works with numpy alone.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

try:
    from lazy_loader import attach_stub
except ModuleNotFoundError:  # a process that only applies a saved recalibrator has numpy alone
    attach_stub = None

# Stubs are read by way of Python's syntax-tree objects, which Python 3.11 gets wrong when two
# threads make them at once, as the first two tabs of a dashboard would.
_one_stub_at_a_time = Lock()


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make what a package's ``__init__`` calls ``__getattr__``, ``__dir__`` and ``__all__``.

    ``package``, ``file``: ``__name__`` and ``__file__`` of the ``__init__``; its stub lies beside
    it. The names are those the stub imports: public names from modules, and rooms.
    """
    if attach_stub is None:
        return lambda name: _without_names(package, name), list, []
    with _one_stub_at_a_time:
        named, listed, names = attach_stub(package, file)

    def attribute(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return named(name)
        except ModuleNotFoundError as error:
            from lore_core.data.errors import missing

            text = missing(f"'{package}.{name}'", error)
            if text is None:
                raise
            raise text from None

    return attribute, listed, names


def _without_names(package: str, name: str) -> Any:
    """Return a room; say of any other name how to get it."""
    if name.startswith("_"):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    if find_spec(f"{package}.{name}") is not None:
        return import_module(f"{package}.{name}")
    raise ModuleNotFoundError(
        f"'{package}.{name}' needs the whole library; what is installed here can only apply saved "
        "recalibrators (lore_core.shipping.Predictor). Install it with: pip install lore-lens.",
        name="lazy_loader",
    )
