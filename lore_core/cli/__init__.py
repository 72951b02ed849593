"""The command ``lore``: each page's job without a browser."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Sequence

import click

from lore_core import __version__
from lore_core.data.errors import InputError, missing, short

__all__ = ["lore", "main"]

INPUT_ERROR = 1
INTERRUPTED = 130

#: Command to module. Heavy imports belong inside functions, for fast help and completion.
COMMANDS = {
    "app": "app",
    "metrics": "metrics",
    "landscape": "subgroups",
    "subgroups": "subgroups",
    "curve": "metrics",
    "variables": "subgroups",
    "check": "metrics",
    "compare": "compare",
    "fairness": "compare",
    "decisions": "compare",
    "report": "report",
    "figures": "report",
    "recalibrate": "recalibrate",
    "demo": "app",
    "watch": "watch",
    "clean": "app",
    "warmup": "app",
}

#: Arguments of the library to options: those of the same name, and others.
_SAME_NAME = ("binning", "by", "gamma", "min_group_size", "unsure_cost", "wrong_cost")
_TYPED = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAME} | {
    "column": "--group",
    "feature_map": "--map",
    "group_column": "--group",
    "mapping": "--column",
    "methods": "--method",
    "n_bins": "--bins",
    "n_draws": "--draws",
}


class _Group(click.Group):
    """The commands of :data:`COMMANDS`, in that order."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            close = difflib.get_close_matches(cmd_name, COMMANDS, n=1)
            if close:
                ctx.fail(f"No such command '{cmd_name}'. Did you mean '{close[0]}'?")
            return None
        module = importlib.import_module(f"lore_core.cli.{COMMANDS[cmd_name]}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_Group,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, prog_name="lore-lens", message="%(prog)s %(version)s")
def lore() -> None:
    """See and fix the local miscalibration of classifiers.

    Each page of the dashboard has a command that does its job. DATA is a .npz, .csv, .parquet,
    .feather or .json file, or a calibration and a test file of the same name; "demo" is the
    built-in demo.
    """


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"lore: {message}", err=True)


def _tidy_up_when_ended() -> None:
    """Turn termination signals into exceptions, so that no half-written file is left."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and threading.current_thread() is threading.main_thread():
            signal.signal(getattr(signal, name), leave)


def _in_words(error: Exception) -> str | None:
    """Return what the user can fix; None for a fault of ours."""
    if isinstance(error, InputError):
        arguments = rf"(^|exceed )'({'|'.join(_TYPED)})'"
        return re.sub(arguments, lambda found: f"{found[1]}'{_TYPED[found[2]]}'", str(error))
    if isinstance(error, MemoryError):
        return f"not enough memory{f': {error}' if str(error) else ''}."
    if isinstance(error, ModuleNotFoundError):
        text = missing("This", error)
        return None if text is None else str(text)
    if isinstance(error, OSError) and error.filename is not None:
        return f"'{short(os.fsdecode(error.filename), 81)}' cannot be used: {error.strerror}."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"nothing more can be written: {error.strerror}. Make room, or write elsewhere."
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``lore``; return 0, 1 for what the user can fix, 2 for a bad line, 130 after Ctrl-C."""
    _tidy_up_when_ended()
    # OpenMP threads that spin while they wait steal the processor from what computes, or is drawn.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            typed = sys.argv[1:] if arguments is None else list(arguments)
            code = lore.main(typed, "lore", standalone_mode=False, obj=typed)
    except click.Abort as stop:
        if isinstance(stop.__cause__, EOFError):  # click takes any for the end of standard input
            raise stop.__cause__ from None
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (InputError, MemoryError, ModuleNotFoundError, OSError) as error:
        text = _in_words(error)
        if text is None:
            raise
        click.echo(f"lore: {text}", err=True)
        return INPUT_ERROR
    return code if isinstance(code, int) else 0
