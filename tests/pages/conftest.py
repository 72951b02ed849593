"""The dashboard without a browser: open a page on given data and read what is on it."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from lore_core import Dataset
from lore_core.dashboard.worker_pool import POOL
from pages.shared.store import Loaded, store
from tests.synthetic import unpacked

APP = Path(__file__).resolve().parents[2] / "app.py"
CONTROLS = (
    *("selectbox", "multiselect", "text_input", "text_area", "number_input"),
    *("slider", "select_slider", "toggle", "button_group"),
)


class Page:
    def __init__(self, app: AppTest) -> None:
        self.app = app

    def run(self) -> Page:
        self.app.run()
        assert not self.app.exception, [item.value for item in self.app.exception]
        return self

    def go(self, name: str) -> Page:
        self.app.switch_page(f"pages/{name}/page.py")
        return self.run()

    def press(self, label: str) -> Page:
        next(item for item in self.app.button if item.label == label).click()
        return self.run()

    def set(self, key: str, value: object) -> Page:
        controls = [item for kind in CONTROLS for item in self.app.get(kind)]
        (control,) = [item for item in controls if item.key == key]
        control.set_value(value)
        return self.run()

    def click(self, key: str) -> Page:
        self.app.button(key=key).click()
        return self.run()

    def upload(self, *files: tuple[str, bytes]) -> Page:
        (box,) = self.app.file_uploader
        box.set_value([(name, content, "application/octet-stream") for name, content in files])
        return self.run()

    def read_path(self, path: Path) -> Page:
        return self.set("source", "Path").set("path", str(path)).press("Read")

    @property
    def title(self) -> str:
        return self.app.subheader[0].value

    @property
    def errors(self) -> list[str]:
        """What went wrong; the verdict of the Overview page is red too, but no error."""
        said = [item.value for item in self.app.error]
        verdict = re.compile(r"^\*\*(Over|Under)confident by ")
        return [text for text in said if not verdict.search(text)]

    @property
    def text(self) -> str:
        kinds = ("markdown", "caption", "info", "warning", "success", "error", "subheader", "text")
        said = "\n".join(str(item.value) for kind in kinds for item in self.app.get(kind))
        return said.replace("\N{NO-BREAK SPACE}", " ")

    @property
    def plain(self) -> str:
        return self.text.replace("\\", "")

    @property
    def tables(self) -> list[pd.DataFrame]:
        return [getattr(item.value, "data", item.value) for item in self.app.dataframe]

    def table(self, *columns: str) -> pd.DataFrame:
        (found,) = [table for table in self.tables if set(columns) <= set(table.columns)]
        return found

    @property
    def metrics(self) -> dict[str, str]:
        return {item.label: item.value for item in self.app.metric}

    def figure(self, key: str) -> dict:
        return self.charts[key]["figure"]

    @property
    def charts(self) -> dict[str, dict]:
        sent = [item.proto for item in self.app.get("bidi_component")]
        return {
            chart.id.rpartition("-")[2]: json.loads(chart.bytes)
            for chart in sent
            if chart.component_name == "lore_lens.chart"
        }

    @property
    def scene(self) -> dict:
        return self.sent("landscape")

    @property
    def drawn_rows(self) -> dict:
        asked = {"rows": self.scene["rows"], "all": True}
        return unpacked(self.app.session_state["_map_rows"].answer(asked))

    def sent(self, key: str) -> dict:
        (sent,) = [c for c in self.app.get("bidi_component") if c.proto.id.endswith(f"-{key}")]
        return unpacked(sent.proto.bytes)

    @property
    def field(self) -> np.ndarray:
        scene = self.scene
        r = scene["field"]["resolution"]
        error = scene["error"].reshape(r, r).astype(float)
        return np.where(error == -128, np.nan, error) / 127 * scene["field"]["scale"]

    @property
    def figures(self) -> list[str]:
        return list(self.charts)


#: Components of others that are installed: Streamlit looks for them at every start.
scan_once = functools.cache(manifest_scanner.scan_component_manifests)


@pytest.fixture
def open_page(monkeypatch):
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", scan_once)
    monkeypatch.setattr(sys, "argv", ["app.py", "--data-root", "/"])

    def open_(
        name: str,
        dataset: Dataset | None = None,
        *,
        arguments: list[str] | None = None,
        methods: Sequence[str] | None = None,
        **settings: object,
    ) -> Page:
        if arguments is not None:
            monkeypatch.setattr(sys, "argv", arguments)
        app = AppTest.from_file(str(APP), default_timeout=60)
        app.query_params["features"] = "PCA 2-D"  # at once, without a job in the background
        if methods is not None:
            app.session_state["methods"] = list(methods)
        for key, value in settings.items():
            app.query_params[key] = value if isinstance(value, list) else str(value)
        assert not POOL.is_started, "what a test replaces would not be replaced in them"
        if dataset is not None:
            loaded = Loaded(dataset, "test", facts=("Made by a test.",))
            store().loaded.put(loaded.key, loaded)
            app.query_params["data"] = loaded.key
        page = Page(app).run()
        return page if name == "data" else page.go(name)

    return open_


def make(
    n=400, n_classes=3, n_features=5, calibration=0.5, seed=0, class_names=None, **fields
) -> Dataset:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, max(n_features, 1)))
    probabilities = rng.dirichlet(np.linspace(3, 0.5, n_classes), n)
    honest = np.array([rng.choice(n_classes, p=p) for p in probabilities])
    wrong = rng.integers(0, n_classes, n)
    labels = np.where((features[:, 0] > 0.5) & (rng.random(n) < 0.6), wrong, honest)
    dataset = Dataset(
        probabilities,
        labels,
        features if n_features else None,
        class_names=class_names,
        name=f"made by a test, {n} rows",
        **fields,
    )
    return dataset if calibration is None else dataset.with_split(calibration)


@pytest.fixture
def made():
    return make


@pytest.fixture
def dataset(made):
    return made(n=900, n_classes=3, seed=4)
