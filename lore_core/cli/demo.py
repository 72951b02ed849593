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
    from lore_core.data.atomic_files import replaced_at_once
    from lore_core.data.saving import save_npz
    from lore_core.demo import digits, sentences

    dataset = sentences() if text else digits()
    with replaced_at_once(path) as place:
        save_npz(dataset, place)
    say(f"Wrote {len(dataset):,} rows to {path}.")
