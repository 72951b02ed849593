"""Text for a model card: the front matter that hubs read, and a section on calibration."""

import json
import math
import re
from collections.abc import Sequence

import pandas as pd

import lore_core

#: What the hub calls metrics of its own; others keep their name.
_TYPES = {
    "accuracy": "accuracy",
    "ECE": "expected_calibration_error",
    "NLL": "negative_log_likelihood",
    "Brier": "brier_score",
    "MLCE": "maximum_local_calibration_error",
    "ALCE": "average_local_calibration_error",
}


def model_card(
    table: pd.DataFrame,
    *,
    name: str,
    sentences: Sequence[str],
    shown: pd.DataFrame,
    measured_on: str,
) -> str:
    """Return a piece of a model card in Markdown, as Hugging Face has them.

    ``table``: from :func:`~lore_core.comparison.tables.metric_table`. ``name``: of the model and
    its data. ``shown``: the metrics as a reader sees them. ``measured_on``: rows and settings. The
    front matter is a ``model-index`` (https://github.com/huggingface/hub-docs, modelcard.md).
    """
    known = {
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
    for metric, value in known.items():
        kind = _TYPES.get(metric, metric.lower().replace(" ", "_"))
        lines += [
            f"    - type: {json.dumps(kind)}",
            f"      name: {json.dumps(metric)}",
            f"      value: {value!r}",
        ]
    lines += ["---", "", "## Calibration", ""]
    lines += [part for sentence in sentences if sentence for part in (_plain(sentence), "")]
    heads = [str(head) for head in shown.columns]
    lines += [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]
    lines += [_row([_plain(str(cell)) for cell in row]) for row in shown.to_numpy()]
    lines += ["", f"{_plain(measured_on)} LoRe Lens {lore_core.__version__}.", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Keep what data say from being read as Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|#$])", r"\\\1", text)
