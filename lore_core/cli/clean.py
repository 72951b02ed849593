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
    """Remove what the dashboard keeps on disk: data, learned maps and reports.

    `lore app` keeps them for a week after their last use, so that links outlive a restart;
    `lore app --no-cache` keeps nothing.
    """
    from lore_core.dashboard.kept_files import KeptFiles, kept_folder

    files = KeptFiles(kept_folder())
    things = files.things()
    if not things:
        say(f"Nothing is kept in {files.folder}.")
        return
    counts = Counter(_NAMES.get(thing.kind, thing.kind) for thing in things)
    what = ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items())
    what += f": {sum(thing.n_bytes for thing in things) / 1e6:,.1f} MB in {files.folder}."
    if not list_:
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
