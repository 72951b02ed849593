"""Public names of this room."""

from .launch import Dashboard as Dashboard
