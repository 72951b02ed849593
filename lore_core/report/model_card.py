"""Text for a model card: the front matter that hubs read, and a section on calibration."""

import json
import math
import re
from collections.abc import Sequence

import pandas as pd

import lore_core

#: The hub's names of metrics it knows; others keep their own.
_HUB_NAMES = {
    "accuracy": "accuracy",
    "ECE": "expected_calibration_error",
    "NLL": "negative_log_likelihood",
    "Brier": "brier_score",
    "MLCE": "maximum_local_calibration_error",
    "ALCE": "average_local_calibration_error",
}


def model_card(
    table: pd.DataFrame, *, name: str, sentences: Sequence[str], display: pd.DataFrame, footer: str
) -> str:
    """Return a piece of a model card in Markdown, as Hugging Face has them.

    ``table``: from :func:`~lore_core.comparison.tables.metric_table`. ``name``: of the model and
    its data. ``display``: the metrics as text. ``footer``: rows and settings. The
    front matter is a ``model-index`` (https://github.com/huggingface/hub-docs, modelcard.md).
    """
    values = {
        str(row["metric"]): float(row["value"])
        for row in table.to_dict("records")
        if math.isfinite(row["value"])
    }
    lines = [
        "---",
        "model-index:",
        f"- name: {json.dumps(name, ensure_ascii=False)}",
        "  results:",
        "  - task:",
        "      type: other",
        "      name: calibration",
        "    dataset:",
        "      type: other",
        f"      name: {json.dumps(name, ensure_ascii=False)}",
        "    metrics:",
    ]
    for metric, value in values.items():
        kind = _HUB_NAMES.get(metric, metric.lower().replace(" ", "_"))
        lines += [
            f"    - type: {json.dumps(kind)}",
            f"      name: {json.dumps(metric)}",
            f"      value: {value!r}",
        ]
    lines += ["---", "", "## Calibration", ""]
    lines += [part for sentence in sentences if sentence for part in (_escape(sentence), "")]
    heads = [str(head) for head in display.columns]
    lines += [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]
    lines += [_row([_escape(str(cell)) for cell in row]) for row in display.to_numpy()]
    lines += ["", f"{_escape(footer)} LoRe Lens {lore_core.__version__}.", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    """Escape Markdown and HTML."""
    return re.sub(r"([\\`*_\[\]<>|#$])", r"\\\1", text)
