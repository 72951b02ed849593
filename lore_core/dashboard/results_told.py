"""What is computed of a view, as JSON and plain arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lore_core.chance.simulation import NullBand
from lore_core.chance.vector_bands import VectorBand
from lore_core.chance.whole_vector import VectorChance
from lore_core.comparison.methods import Comparison
from lore_core.comparison.retraining import GainEstimate
from lore_core.comparison.summary import Summary
from lore_core.data.binning import ConfidenceBins
from lore_core.data.dataset import Dataset
from lore_core.embedding.result import Embedding
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.local_error import LocalErrors
from lore_core.metrics.vector_bandwidth import VectorCurve
from lore_core.metrics.vector_error import VectorErrors
from lore_core.metrics.worst_places import WorstPlace
from lore_core.reading.handover import Arrays
from lore_core.recalibration import Recalibrator, load_recalibrator
from lore_core.view.methods import Grouping

#: What may be told, by its name; nothing else is made of what is heard.
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        BandwidthCurve,
        Comparison,
        ConfidenceBins,
        Grouping,
        LocalErrors,
        NullBand,
        ReliabilityTable,
        Summary,
        GainEstimate,
        VectorBand,
        VectorChance,
        VectorCurve,
        VectorErrors,
        WorstPlace,
    )
}


def result_told(result: Any, evaluation: Dataset) -> tuple[Any, Arrays]:
    """Take a result apart: what JSON can hold, and arrays.

    ``evaluation``: the rows it is about; datasets within are these with other probabilities.
    """
    telling = _Telling(evaluation)
    return telling.of(result), telling.arrays


class _Telling:
    def __init__(self, evaluation: Dataset) -> None:
        self._evaluation = evaluation
        self.arrays: Arrays = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (list, tuple)):
            return {type(value).__name__: [self.of(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.of(key), self.of(item)] for key, item in value.items()]}
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                return {"objects": [self.of(item) for item in value]}
            self.arrays[name := str(len(self.arrays))] = value
            return {"array": name}
        if isinstance(value, Embedding):
            return {"map": value.digest}
        if isinstance(value, Recalibrator):
            return {"method": self.of(np.frombuffer(value.to_bytes(), np.uint8))}
        if isinstance(value, Dataset):
            if value is self._evaluation:
                return {"rows": None}
            # (Picking the confidences would touch every page of a file that is mapped.)
            return {"rows": self.of(value.probabilities), "confidence": self.of(value.confidence)}
        if isinstance(value, pd.Series):
            return {"series": self._labelled(value.index, [value]), "name": self.of(value.name)}
        if isinstance(value, pd.DataFrame):
            columns = [value.iloc[:, k] for k in range(value.shape[1])]
            return {"frame": self._labelled(value.index, columns), "names": self.of(value.columns)}
        if isinstance(value, pd.Index):
            values = None if isinstance(value, pd.RangeIndex) else self.of(value.to_list())
            return {"index": values, "length": len(value), "name": self.of(value.name)}
        if type(value).__name__ not in _KINDS:
            raise TypeError(f"{type(value).__name__} is not told of")
        parts = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
        # What was computed of it already is not computed again from all rows.
        known = {name: item for name, item in vars(value).items() if name not in parts}
        return {"kind": type(value).__name__, "parts": self.of(parts), "known": self.of(known)}

    def _labelled(self, index: pd.Index[Any], columns: list[pd.Series[Any]]) -> Any:
        return [self.of(index), [self.of(column.to_numpy()) for column in columns]]


def result_from(
    told: Any, arrays: Arrays, evaluation: Dataset, maps: Mapping[str, Any] | None = None
) -> Any:
    """Put a result together again; ValueError, KeyError or TypeError if it is none.

    ``maps``: those that are known on this side, by their digest.
    """

    def made(said: Any) -> Any:
        match said:
            case {"list": parts}:
                return list(map(made, parts))
            case {"tuple": parts}:
                return tuple(map(made, parts))
            case {"dict": pairs}:
                return {made(key): made(item) for key, item in pairs}
            case {"array": name}:
                return arrays[name]
            case {"objects": parts}:
                return np.array([*map(made, parts), None], dtype=object)[:-1]
            case {"map": digest}:
                return (maps or {})[digest]
            case {"method": content}:
                return load_recalibrator(made(content).tobytes())
            case {"rows": None}:
                return evaluation
            case {"rows": probabilities, "confidence": confidence}:
                return evaluation.with_checked(made(probabilities), made(confidence))
            case {"series": [index, [values]], "name": name}:
                return pd.Series(made(values), index=made(index), name=made(name))
            case {"frame": [index, columns], "names": names}:
                labels = made(index)
                parts = {k: pd.Series(made(item), labels) for k, item in enumerate(columns)}
                return pd.DataFrame(parts, index=labels, copy=False).set_axis(made(names), axis=1)
            case {"index": None, "length": length, "name": name}:
                return pd.RangeIndex(length, name=made(name))
            case {"index": values, "name": name}:
                return pd.Index(made(values), name=made(name))
            case {"kind": kind, "parts": parts, "known": known}:
                value = _KINDS[kind](**made(parts))
                vars(value).update(made(known))
                return value
            case dict():
                raise ValueError("a result of another kind")
        return said

    return made(told)
