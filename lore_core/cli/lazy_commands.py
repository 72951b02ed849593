"""A group of commands that imports each of them only when it is used or listed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class CommandGroup(click.Group):
    """A :class:`click.Group` of commands in modules of their own.

    ``commands_at``: for every command its ``"module:name"``, in the order of the help.
    """

    def __init__(self, *, commands_at: Mapping[str, str], **options: Any) -> None:
        super().__init__(**options)
        self._commands_at = dict(commands_at)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands' names in the order they were given."""
        return list(self._commands_at)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Return the command of that name, or None."""
        place = self._commands_at.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command
