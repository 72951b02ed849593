"""``lore demo``: the demo data as a file."""

from __future__ import annotations

import click

from lore_core.cli.options import examples
from lore_core.cli.output import output_path, say


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
    from lore_core.data.atomic_files import replaced_at_once
    from lore_core.data.saving import save_npz
    from lore_core.demo import digits

    dataset = digits()
    with replaced_at_once(path) as place:
        save_npz(dataset, place)
    say(f"Wrote {len(dataset):,} rows to {path}.")
