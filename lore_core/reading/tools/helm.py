"""HELM: ``per_instance_stats.json`` and ``display_predictions.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KEYS = ({"instance_id", "stats"},)
NOTE = "HELM's statistics: 'correct' is exact_match, 'confidence' is max_prob."
_RIGHT = ("exact_match", "quasi_exact_match", "prefix_exact_match", "exact_match@1")


def rows_of(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row an instance, trial and perturbation."""
    return [_row(record) for record in records]


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    stats = record.get("stats")
    if isinstance(stats, list):
        stats = {
            name.get("name"): stat.get("mean")
            for stat in stats
            if isinstance(stat, dict) and isinstance(name := stat.get("name"), dict)
        }
    row = {str(name): value for name, value in (stats if isinstance(stats, dict) else {}).items()}
    right = next((name for name in _RIGHT if name in row), None)
    made = {"row_id": record.get("instance_id")}
    made |= {"correct": row.pop(right)} if right else {}
    made |= {"confidence": row.pop("max_prob")} if "max_prob" in row else {}
    rest = {name: record[name] for name in record if name not in ("instance_id", "stats")}
    return made | row | rest
