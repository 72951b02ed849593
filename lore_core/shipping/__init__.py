"""Fitted recalibrators elsewhere: one file without pickle, and what applies it.

>>> from lore_core.shipping import Predictor
>>> Predictor.load("m.lore").predict(probabilities, features)   # doctest: +SKIP

Importing it takes numpy alone, and numba where installed.
"""

from lore_core.data.archive_files import SCHEMA
from lore_core.shipping.contents import FileContents, Held, describe
from lore_core.shipping.predictor import Predictor

__all__ = ["SCHEMA", "FileContents", "Held", "Predictor", "describe"]
