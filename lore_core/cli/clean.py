"""``lore clean``: what the dashboard keeps on disk, and its removal."""

from __future__ import annotations

import time
from collections import Counter

import click

from lore_core.cli.options import examples
from lore_core.cli.output import say, text_table

_NAMES = {"data": "dataset", "map": "map", "report": "report"}


@click.command(epilog=examples("lore clean", "lore clean --list"))
@click.option("--list", "list_", is_flag=True, help="Say what is kept, and remove nothing.")
def clean(list_: bool) -> None:
    """Remove what the dashboard keeps on disk: data, learned maps, reports and the links' token.

    `lore app` keeps them for a week after their last use, and the token, so that links outlive a
    restart; `lore app --no-cache` keeps nothing.
    """
    from lore_core.dashboard.access import TOKEN_FILE
    from lore_core.dashboard.disk_cache import DiskCache, cache_folder
    from lore_core.data.validation import InputError

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
    names = [f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items()]
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
