"""Recalibrators of other libraries: whether one is installed, and what to say where it is not."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from lore_core.data.validation import InputError
from lore_core.recalibration.base import Recalibrator


class Rival(Recalibrator):
    """A recalibrator whose fit is another library's; that is imported when it is first needed.

    Its state holds that library's object, which has no place in a file.
    """

    #: Modules without which it cannot be fitted; the first is the library itself.
    modules: tuple[str, ...] = ()
    installation: str = ""  #: How to get them

    @classmethod
    def installed(cls) -> bool:
        """Whether its library can be found; nothing is imported."""
        return all(importlib.util.find_spec(name) is not None for name in cls.modules)

    @classmethod
    def library(cls, module: str) -> Any:
        """Import a module of the library.

        Raises InputError if it is not installed, or a part it needs is missing.
        """
        try:
            return importlib.import_module(module)
        except (ImportError, OSError) as error:  # OSError: a shared object is not there
            raise InputError(
                f"{cls.__name__} needs the package '{cls.modules[0]}', which cannot be imported "
                f"({error}). Install it with: {cls.installation}."
            ) from error
