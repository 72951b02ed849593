"""``lore app``, ``demo``, ``clean`` and ``warmup``: the dashboard, and files on this machine."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path

import click

import lore_core as lore
from lore_core.cli.options import SumsOptions, examples, number_option, sums_options
from lore_core.cli.output import Progress, output_path, say
from lore_core.cli.source import is_large, open_whole
from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.errors import InputError, as_path, counted, require


class _DataCommand(click.Command):
    """Accept ``--data A B`` as ``A B``: a click option takes no list, as globs give."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = [item.removeprefix("--data=") for item in args if item != "--data"]
        return super().parse_args(ctx, bare)


@click.command(
    cls=_DataCommand,
    epilog=examples(
        "lore app",
        "lore app model_cal.npz model_test.npz",
        "lore app old.npz --against new.npz",
        "lore app --data runs/*.npz --port 8600 --headless",
    ),
)
@click.argument("data", nargs=-1, metavar="[--data] [DATA]...", type=click.Path())
@click.option("--port", type=int, metavar="N", help="Port (default: 8501, or the next free one).")
@click.option(
    "--headless",
    "--no-browser",
    is_flag=True,
    help="Do not open a browser, only say where the dashboard is.",
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="Name under which a proxy shows the dashboard by HTTPS, or scheme, name and port: "
    "http://lens.intra:8080. Others are refused. May be repeated. See SECURITY.md.",
)
@click.option(
    "--listen",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="Address of this machine to listen at; others than the default are for containers.",
)
@click.option(
    "--path-prefix",
    default="",
    metavar="PATH",
    help="What stands before the pages in a proxy's address: tools/lens for /tools/lens/overview.",
)
@click.option(
    "--data-root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Below which files may be named on the pages (default: the folder it is started in).",
)
@click.option(
    "--cache/--no-cache",
    "cache",
    default=None,
    help="Keep what is loaded and made on this disk for a week, so that links outlive a restart "
    "(default: yes, but with --host-name no). See lore clean.",
)
@click.option(
    "--against",
    multiple=True,
    type=click.Path(),
    metavar="DATA",
    help="Predictions of another model for the same rows, which the page Compare holds against the "
    "first. May be repeated: further files of it, such as its calibration rows.",
)
@number_option(
    "--sample-rows",
    minimum=1000,
    default=100_000,
    help="Of Parquet files with more than 2,000,000 rows: rows the pages show, drawn uniformly at "
    "random, beside the numbers of all rows.",
)
@sums_options
def app(
    data: tuple[str, ...],
    port: int | None,
    headless: bool,
    host_names: tuple[str, ...],
    listen: str,
    path_prefix: str,
    data_root: Path | None,
    cache: bool | None,
    against: tuple[str, ...],
    sample_rows: int,
    sums: SumsOptions,
) -> None:
    """Open the dashboard in a browser, on this machine only.

    DATA are .npz, .csv, .parquet, .feather or .json files, a calibration and an evaluation file, or
    a directory of them (runs: on the page Runs); without any the demo opens. Ctrl-C closes it.

    Of Parquet files that a pattern in quotes names, and of others with more than 2,000,000 rows,
    all rows are summed first; the pages show a uniform sample of them, and beside it what the sums
    say of all.
    """
    from lore_core.dashboard import server
    from lore_core.dashboard.access import LOCAL_HOSTS
    from lore_core.dashboard.disk_cache import cache_folder
    from lore_core.kernel_sums.compile_once import compile_kernels

    require("The dashboard", "streamlit", "plotly")
    origins = [server.public_origin(name) for name in host_names]
    token = _token(cache=cache is not False, proxied=bool(origins))
    whole = None
    if data and is_large(data, sums):
        whole = Path(tempfile.mkdtemp(prefix="lore-whole-"))
        atexit.register(shutil.rmtree, whole, ignore_errors=True)
        with Progress() as progress:
            paths = open_whole(data, sums, sample_rows, whole, progress)
    else:
        paths = [_existing(path) for path in data]
    chosen = server.choose_port(port)
    if port is None and chosen != server.DEFAULT_PORT:
        say(f"Port {server.DEFAULT_PORT} is taken; using {chosen}.")
    # (Pages go other ways until it has ended.)
    threading.Thread(target=compile_kernels, args=(say,), daemon=True).start()
    is_own = not host_names and listen in LOCAL_HOSTS
    settings = server.ServerSettings(
        chosen,
        paths,
        origins,
        data_root,
        # Others' data are not written to this disk unasked.
        cache_folder() if (is_own if cache is None else cache) else None,
        address=listen,
        path_prefix=path_prefix,
        against=[_existing(path) for path in against],
        whole=whole,
    )
    server.serve(settings, token, open_browser=not headless, notify=say)


def _token(*, cache: bool, proxied: bool) -> str:
    """Return the token that links, or the proxy's requests, must hold."""
    from lore_core.dashboard.access import TOKEN, TOKEN_FILE, new_token
    from lore_core.dashboard.disk_cache import cache_folder

    if proxied and not os.environ.get(TOKEN):
        if not cache:
            raise InputError(
                f"with '--host-name' the proxy must know the token: set {TOKEN} in the "
                "environment, or leave '--no-cache' out. See SECURITY.md."
            )
        say(f"The proxy must send the token in {cache_folder() / TOKEN_FILE}; see SECURITY.md.")
    try:
        return new_token(cache_folder() if cache else None)
    except InputError as error:
        if proxied:
            raise
        say(f"Links will not outlive this start: {error}")
        return new_token()


def _existing(path: str) -> Path:
    from lore_core.reading.formats import SUFFIXES

    found = as_path(path)
    if not found.is_dir() and not (found.exists() and found.suffix.lower() in SUFFIXES):
        raise InputError(
            f"'--data' must name a directory or file that exists, of a readable kind "
            f"({', '.join(SUFFIXES)}); got {path!r}."
        )
    return found


@click.command(epilog=examples("lore demo", "lore demo -o lore_demo.npz"))
@click.option(
    "-o",
    "--out",
    default="lore_demo.npz",
    metavar="FILE.npz",
    help="Where to, replacing what is there.",
)
def demo(out: str) -> None:
    """Write the demo data to a .npz file.

    An example of the format, to open with `lore app` or to try the library on.
    """
    path = output_path(out, (".npz",))
    dataset = lore.demo.digits()
    with replaced_at_once(path) as place:
        lore.save_npz(dataset, place)
    say(f"Wrote {len(dataset):,} rows to {path}.")


@click.command(epilog=examples("lore clean"))
def clean() -> None:
    """Remove what the dashboard keeps on disk: data, learned maps, reports and the links' token.

    `lore app` keeps them for a week after their last use, and the token, so that links outlive a
    restart; `lore app --no-cache` keeps nothing.
    """
    from lore_core.dashboard.access import TOKEN_FILE
    from lore_core.dashboard.disk_cache import DiskCache, cache_folder

    files = DiskCache(cache_folder())
    if files.folder.is_symlink():
        raise InputError(
            f"'{files.folder}' must be a folder; it is a link to '{files.folder.readlink()}'. "
            "Nothing was removed: remove the link, or what it leads to, yourself."
        )
    things, token = files.entries(), files.folder / TOKEN_FILE
    if not things and not token.is_file():
        say(f"Nothing is kept in {files.folder}.")
        return
    counts = Counter("dataset" if thing.kind == "data" else thing.kind for thing in things)
    names = [counted(n, name) for name, n in counts.items()]
    what = ", ".join([*names, *["the token of links"] * token.is_file()])
    token.unlink(missing_ok=True)
    files.clear()
    megabytes = sum(thing.n_bytes for thing in things) / 1e6
    say(f"Removed {what}: {megabytes:,.1f} MB in {files.folder}.")


@click.command(epilog=examples("lore warmup"))
def warmup() -> None:
    """Compile the numeric kernels now.

    So that nothing has to wait for it later. `lore app` does the same at its first start.
    """
    from lore_core.kernel_sums.compile_once import compile_kernels

    compile_kernels(say)
