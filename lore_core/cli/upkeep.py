"""``lore demo``, ``lore clean`` and ``lore warmup``: files and compiled code on this machine."""

from __future__ import annotations

import time
from collections import Counter

import click

import lore_core as lore
from lore_core.cli.options import examples
from lore_core.cli.output import output_path, say, text_table
from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.errors import InputError, counted

_NAMES = {"data": "dataset", "map": "map", "report": "report"}


@click.command(epilog=examples("lore demo", "lore demo -o lore_demo.npz"))
@click.option(
    "-o",
    "--out",
    default="lore_demo.npz",
    metavar="FILE.npz",
    help="Where to, replacing what is there.",
)
@click.option(
    "--text",
    is_flag=True,
    help="Sentences, each said to be from one of four libraries, instead of digits.",
)
def demo(out: str, *, text: bool) -> None:
    """Write the demo data to a .npz file.

    An example of the format, to open with `lore app` or to try the library on.
    """
    path = output_path(out, (".npz",))
    dataset = lore.demo.sentences() if text else lore.demo.digits()
    with replaced_at_once(path) as place:
        lore.save_npz(dataset, place)
    say(f"Wrote {len(dataset):,} rows to {path}.")


@click.command(epilog=examples("lore clean", "lore clean --list"))
@click.option("--list", "list_", is_flag=True, help="Say what is kept, and remove nothing.")
def clean(list_: bool) -> None:
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
    counts = Counter(_NAMES.get(thing.kind, thing.kind) for thing in things)
    names = [counted(n, name) for name, n in counts.items()]
    what = ", ".join([*names, *["the token of links"] * token.is_file()])
    what += f": {sum(thing.n_bytes for thing in things) / 1e6:,.1f} MB in {files.folder}."
    if not list_:
        token.unlink(missing_ok=True)
        files.clear()
        say(f"Removed {what}")
        return
    now = time.time()
    say(f"Kept: {what}")
    say(
        text_table(
            {
                "what": [f"{thing.kind}: {thing.title}" for thing in things],
                "MB": [f"{thing.n_bytes / 1e6:,.1f}" for thing in things],
                "days since its last use": [f"{(now - t.used) / 86_400:.1f}" for t in things],
            }
        )
    )


@click.command(epilog=examples("lore warmup", "lore warmup --force"))
@click.option("--force", is_flag=True, help="Even if it was done before.")
def warmup(force: bool) -> None:
    """Compile the numeric kernels now.

    So that nothing has to wait for it later. `lore app` does the same at its first start.
    """
    from lore_core.kernel_sums.compile_once import compile_kernels

    compile_kernels(say, force=force)
