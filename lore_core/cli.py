"""The command ``lore``: the dashboard and the library's functions from a terminal."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
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

    compare = commands.add_parser(
        "compare",
        help="every recalibrator on every run of a directory",
        description="Fit every recalibrator on each run's calibration rows, measure it on its "
        "evaluation rows, and print mean ± standard deviation over the runs. Progress goes to "
        "standard error.",
        epilog="example: lore compare runs/ --features pca-20 --gamma 0.4 --bins 5 --group race",
        allow_abbrev=False,
    )
    compare.add_argument(
        "directory", metavar="DIR", help="pairs of files <run>_cal.* and <run>_test.*"
    )
    compare.add_argument(
        "--features",
        nargs="+",
        default=["pca-20"],
        metavar="MAP",
        help="pca, tsne, umap or identity, with their dimensions as in pca-20; local errors are "
        "measured on the first, tuned LoRe chooses among all; none: global methods only "
        "(default: pca-20)",
    )
    compare.add_argument(
        "--gamma", type=float, default=0.4, metavar="G", help="bandwidth (default: %(default)s)"
    )
    compare.add_argument(
        "--bins", type=int, default=15, metavar="N", help="confidence bins (default: %(default)s)"
    )
    compare.add_argument(
        "--group", metavar="COLUMN", help="group column for the maximum group-wise MCE"
    )
    compare.add_argument(
        "--min-group-size",
        type=int,
        default=1,
        metavar="N",
        help="leave smaller groups out (default: %(default)s)",
    )
    compare.add_argument(
        "--jobs", type=int, metavar="N", help="runs at a time (default: one a processor)"
    )
    compare.add_argument("--json", action="store_true", help="print JSON instead of a table")
    compare.add_argument(
        "--out", metavar="PATH", help="also write every run's metrics to this .csv file"
    )
    compare.set_defaults(run=_compare)

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


def _compare(options: argparse.Namespace) -> None:
    from lore_core.runs import compare_runs

    out = None if options.out is None else Path(options.out).expanduser()
    if out is not None and (out.suffix.lower() != ".csv" or not out.resolve().parent.is_dir()):
        raise InputError(
            f"'--out' must be a .csv file in a directory that exists; got {options.out!r}."
        )

    def report(share: float, message: str) -> None:
        print(f"{share:4.0%}  {message}", file=sys.stderr, flush=True)

    result = compare_runs(
        options.directory,
        feature_map=None if options.features == ["none"] else options.features,
        gamma=options.gamma,
        n_bins=options.bins,
        group_column=options.group,
        min_group_size=options.min_group_size,
        n_jobs=options.jobs,
        progress=report,
    )
    if out is not None:
        try:
            result.runs.to_csv(out, index=False)
        except OSError as error:
            raise InputError(f"'--out' must be writable: {out} ({error.strerror}).") from error
    mean, sd = result.table, result.sd
    if options.json:
        content = {
            "runs": result.n_runs,
            "mean": mean.to_dict(orient="index"),
            "sd": sd.to_dict(orient="index"),
        }
        _say(json.dumps(content, indent=2))
        return
    cells = {
        str(column): [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean[column], sd[column], strict=True)]
        for column in mean
    }
    _say(_table(cells, list(mean.index)))
    _say(f"Mean ± standard deviation over {result.n_runs} runs.")


def _table(cells: dict[str, list[str]], rows: list[str]) -> str:
    """Columns of text under their headings, as wide as they need to be."""
    columns = [["", *rows], *([name, *values] for name, values in cells.items())]
    widths = [max(map(len, column)) for column in columns]
    lines = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


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
