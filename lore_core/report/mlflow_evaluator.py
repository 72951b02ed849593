"""An evaluator for MLflow, by its entry point: the report as an artifact of a run.

MLflow imports this module, and nothing else does: MLflow is no dependency.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.models.evaluation import EvaluationResult, ModelEvaluator

from lore_core.data.validation import InputError
from lore_core.embedding import embed
from lore_core.reading import load
from lore_core.report.files import write_report
from lore_core.view import View
from lore_core.view.methods import summary_of

#: What the probabilities of a model that gives them itself are asked for by.
MODEL = "model"
#: Settings that are none of the report's: the others are those of `write_report`.
_OWN = ("probabilities", "mapping", "calibration_share")
_LABEL = "__label__"


class LoReEvaluator(ModelEvaluator):  # type: ignore[misc]
    """Logs LoRe Lens's report of a classifier, and its metrics as ``lore/<metric>``.

    Asked for by ``evaluator_config={"lore": {"probabilities": …}}``: columns of the evaluated data,
    one a class in class order, or the one of P(y = 1); or ``"model"``: its ``predict_proba``.
    Besides: ``mapping`` (roles of other columns, as :func:`~lore_core.load` takes them),
    ``calibration_share`` (0.5; 0: no recalibrators), and the settings of
    :func:`~lore_core.write_report`.
    """

    @classmethod
    def can_evaluate(
        cls, *, model_type: str, evaluator_config: Mapping[str, Any], **_: Any
    ) -> bool:
        """Whether these are classes, and it was asked for."""
        return model_type == "classifier" and "probabilities" in (evaluator_config or {})

    def evaluate(
        self,
        *,
        model_type: str,  # noqa: ARG002 -- of the interface
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any],
        model: Any = None,
        **_: Any,
    ) -> EvaluationResult:
        """Write the report to the run's artifacts (``lore``); InputError if data are unreadable."""
        table, mapping = _table(dataset, model, evaluator_config)
        data = load(table, mapping=mapping)
        share = evaluator_config.get("calibration_share", 0.5)
        if data.split is None and share:
            data = data.with_split(share)
        options = {name: of for name, of in evaluator_config.items() if name not in _OWN}
        maps = {}
        if data.features is not None:
            maps["PCA"] = embed(data.features, "pca", min(2, data.features.shape[1]))
        client = mlflow.MlflowClient()
        with tempfile.TemporaryDirectory() as folder:
            place = write_report(
                data, Path(folder) / "report", **{"embedding": maps.get("PCA"), **options}
            )
            client.log_artifacts(run_id, str(place), "lore")
        summary = summary_of(View(data, maps=maps), n_draws=0)
        known = summary.values[np.isfinite(summary.values)]
        metrics = {f"lore/{name}": float(value) for name, value in known.items()}
        for name, value in metrics.items():
            client.log_metric(run_id, name, value)
        return EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)


def _table(
    dataset: Any, model: Any, config: Mapping[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the evaluated rows as one table, and which column plays which role."""
    given = dataset.features_data
    names = getattr(dataset, "feature_names", None)
    table = given.copy() if isinstance(given, pd.DataFrame) else pd.DataFrame(given, columns=names)
    columns = [str(name) for name in table]
    table.columns = pd.Index(columns)
    table[_LABEL] = np.asarray(dataset.labels_data)
    asked = config["probabilities"]
    mapping: dict[str, Any] = {"label": _LABEL}
    if asked == MODEL:
        raw = model.get_raw_model() if hasattr(model, "get_raw_model") else model
        if not hasattr(raw, "predict_proba"):
            raise InputError(
                "'probabilities' must name columns of the data, for this model has no "
                f"predict_proba; got {asked!r}."
            )
        classes = [f"__p__{name}" for name in raw.classes_]
        table[classes] = raw.predict_proba(given)
        numbers = [name for name in columns if pd.api.types.is_numeric_dtype(table[name])]
        mapping |= {"probabilities": classes, "features": numbers}
        mapping["class_names"] = [str(name) for name in raw.classes_]
    else:
        mapping["probabilities"] = asked
    return table, {**mapping, **config.get("mapping", {})}
