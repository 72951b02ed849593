"""Public names of this room."""

from . import inference as inference, methods as methods, where as where
from .sums import SumsView as SumsView
from .view import View as View
