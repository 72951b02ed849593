"""The command ``lore``: the dashboard and the library's functions from a terminal."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Sequence
from pathlib import Path

from lore_core.validation import InputError

__all__ = ["main"]

_NOT_USABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``lore`` and return its exit code: 0, or 2 for what the user can fix."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except InputError as error:
        print(f"lore: {error}", file=sys.stderr)
        return _NOT_USABLE
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lore",
        description="See and fix the local miscalibration of classifiers.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"lore-lens {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    app = commands.add_parser(
        "app",
        help="open the dashboard in a browser",
        description="Open the dashboard in a browser, on this machine only. Ctrl-C closes it.",
        epilog="example: lore app --data model_cal.npz model_test.npz",
        allow_abbrev=False,
    )
    app.add_argument(
        "--data",
        action="extend",
        nargs="+",
        default=[],
        metavar="PATH",
        help="what to open: .npz, .csv, .parquet or .feather, a calibration and an evaluation "
        "file, or a directory of runs (default: the embedded demo)",
    )
    app.add_argument(
        "--port", type=int, metavar="N", help="port (default: 8501, or the next free one)"
    )
    app.add_argument(
        "--headless",
        "--no-browser",
        action="store_true",
        help="do not open a browser, only say where the dashboard is",
    )
    app.set_defaults(run=_app)

    demo = commands.add_parser(
        "demo",
        help="write the demo data to a file",
        description="Write the demo data to a .npz file: an example of the format, to open with "
        "`lore app --data` or to try the library on.",
        allow_abbrev=False,
    )
    demo.add_argument(
        "--out",
        default="lore_demo.npz",
        metavar="PATH",
        help="where to, replacing what is there (default: %(default)s)",
    )
    demo.set_defaults(run=_demo)

    warmup = commands.add_parser(
        "warmup",
        help="compile the numeric kernels now",
        description="Compile the numeric kernels now, so that nothing has to wait for it later. "
        "`lore app` does the same at its first start.",
        allow_abbrev=False,
    )
    warmup.add_argument("--force", action="store_true", help="even if it was done before")
    warmup.set_defaults(run=_warmup)
    return parser


def _app(options: argparse.Namespace) -> None:
    from lore_core.kernel_cache import compile_kernels
    from lore_core.server import DEFAULT_PORT, choose_port, serve

    data = [_existing(path) for path in options.data]
    port = choose_port(options.port)
    if options.port is None and port != DEFAULT_PORT:
        _say(f"Port {DEFAULT_PORT} is taken; using {port}.")
    compile_kernels(_say)
    serve(data, port, open_browser=not options.headless, notify=_say)


def _demo(options: argparse.Namespace) -> None:
    from lore_core.demo import digits
    from lore_core.writing import save_npz

    path = Path(options.out).expanduser()
    if path.suffix.lower() != ".npz" or not path.resolve().parent.is_dir():
        raise InputError(
            f"'--out' must be a .npz file in a directory that exists; got {options.out!r}."
        )
    dataset = digits()
    try:
        save_npz(dataset, path)
    except OSError as error:
        raise InputError(f"'--out' must be writable: {path} ({error.strerror}).") from error
    _say(f"Wrote {len(dataset):,} rows to {path}.")


def _warmup(options: argparse.Namespace) -> None:
    from lore_core.kernel_cache import compile_kernels

    compile_kernels(_say, force=options.force)


def _existing(path: str) -> Path:
    from lore_core.reading.formats import READABLE

    found = Path(path).expanduser()
    if not found.exists():
        raise InputError(f"'--data' must name a file or directory that exists; got {path!r}.")
    if found.is_file() and found.suffix.lower() not in READABLE:
        raise InputError(
            f"'--data' must name a directory of runs or a file of a readable kind "
            f"({', '.join(READABLE)}); got {path!r}."
        )
    return found


def _say(text: str) -> None:
    # At once: under make or a service manager the output is a pipe.
    print(text, flush=True)


def _version() -> str:
    try:
        return importlib.metadata.version("lore-lens")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
