"""Public names of this room."""

from . import inference as inference, methods as methods, where as where
from .view import SumsView as SumsView, View as View
