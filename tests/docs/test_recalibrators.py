"""The table of docs/recalibrators.md is the registry's."""

from pathlib import Path

from lore_core.recalibration.registry import METHODS, which_for_which_case

PAGE = Path(__file__).parents[2] / "docs" / "recalibrators.md"


def test_every_method_is_in_the_table_in_its_order():
    rows = [
        f"| {f'**{label}**' if method.standard else label} | `{name}` | {group} | {when} |"
        for (name, method), label, group, when in zip(
            METHODS.items(), *which_for_which_case().values(), strict=True
        )
    ]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8")
