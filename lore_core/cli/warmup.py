"""``lore warmup``: compile the numeric kernels now."""

from __future__ import annotations

import click

from lore_core.cli.options import examples
from lore_core.cli.output import say


@click.command(epilog=examples("lore warmup", "lore warmup --force"))
@click.option("--force", is_flag=True, help="Even if it was done before.")
def warmup(force: bool) -> None:
    """Compile the numeric kernels now.

    So that nothing has to wait for it later. `lore app` does the same at its first start.
    """
    from lore_core.kernel_sums.compile_once import compile_kernels

    compile_kernels(say, force=force)
