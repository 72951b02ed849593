"""The evaluator for MLflow: with MLflow itself where it is installed, else with its interface.

The interface is that of ``mlflow.models.evaluation.ModelEvaluator`` of MLflow 2.8 to 3.17.
"""

import sys
from abc import ABCMeta, abstractmethod
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import lore_core as lore


class _Interface(metaclass=ABCMeta):
    @classmethod
    @abstractmethod
    def can_evaluate(cls, *, model_type, evaluator_config, **kwargs): ...

    @abstractmethod
    def evaluate(self, *, model_type, dataset, run_id, evaluator_config, **kwargs): ...


class _Client:
    logged: dict[str, float] = {}  # noqa: RUF012
    artifacts: list[str] = []  # noqa: RUF012

    def log_metric(self, run_id, name, value):
        self.logged[name] = value

    def log_artifacts(self, run_id, folder, path):
        self.artifacts += [f"{path}/{item.name}" for item in Path(folder).iterdir()]


def _report(data, path, *, embedding, n_draws):
    """Say what was asked for, in a second less than the report takes."""
    assert (len(embedding), n_draws) == (len(data), 0)
    path.mkdir()
    (path / "index.html").write_text(data.name)
    return path


@pytest.fixture
def evaluator(monkeypatch):
    mlflow, evaluation = ModuleType("mlflow"), ModuleType("mlflow.models.evaluation")
    mlflow.MlflowClient = _Client
    evaluation.ModelEvaluator = _Interface
    evaluation.EvaluationResult = lambda metrics, artifacts, run_id: SimpleNamespace(
        metrics=metrics, artifacts=artifacts, run_id=run_id
    )
    for name, module in (
        ("mlflow", mlflow),
        ("mlflow.models", ModuleType("mlflow.models")),
        ("mlflow.models.evaluation", evaluation),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "lore_core.report.mlflow_evaluator", raising=False)
    module = import_module("lore_core.report.mlflow_evaluator")
    monkeypatch.setattr(module, "write_report", _report)
    yield module.LoReEvaluator()
    sys.modules.pop("lore_core.report.mlflow_evaluator", None)


def rows(n=300):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-x[:, 0])), "yes", "no")
    return pd.DataFrame(x, columns=["age", "income"]), y


def evaluate(evaluator, table, y, config, **more):
    data = SimpleNamespace(features_data=table, labels_data=y, feature_names=None)
    known = {"model_type": "classifier", "dataset": data, "run_id": "1"}
    return evaluator.evaluate(**known, evaluator_config=config, **more)


def test_a_model_that_says_its_probabilities(evaluator):
    table, y = rows()
    model = LogisticRegression().fit(table, y)
    config = {"probabilities": "model", "n_draws": 0}
    assert evaluator.can_evaluate(model_type="classifier", evaluator_config=config)
    assert not evaluator.can_evaluate(model_type="classifier", evaluator_config={})
    assert not evaluator.can_evaluate(model_type="regressor", evaluator_config=config)
    found = evaluate(evaluator, table, y, config, model=model)
    expected = lore.Dataset(
        model.predict_proba(table), (y == "yes").astype(int), features=table
    ).with_split(0.5)
    evaluation = expected.evaluation
    assert found.metrics["lore/ECE"] == pytest.approx(
        lore.expected_calibration_error(evaluation.confidence, evaluation.outcome)
    )
    assert "lore/ALCE" in found.metrics
    assert _Client.logged == found.metrics
    assert "lore/index.html" in _Client.artifacts


def test_columns_that_are_not_there_are_said(evaluator):
    with pytest.raises(lore.InputError, match="'p_no', which was named as probabilities"):
        evaluate(evaluator, *rows(), {"probabilities": ["p_no", "p_yes"]})
