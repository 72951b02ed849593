"""The pages of the dashboard, by their place in addresses, and what they are called."""

import ast
from pathlib import Path


def _declared() -> dict[str, str]:
    # Not imported: whoever imports it serves it.
    body = ast.parse((Path(__file__).parent.parent / "app.py").read_text(encoding="utf-8")).body
    given = next(
        node.value
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES"
    )
    return {name: title for name, (title, *_) in ast.literal_eval(given).items()}


TITLES = _declared()
PAGES = tuple(TITLES)
