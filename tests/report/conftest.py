import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.report import ReportSettings, report_files
from lore_core.view import View

NASTY = "</script><script>alert(1)</script> & co"
METHODS = ("No recalibration", "Temperature scaling", "LoRe")


def make(n=400, *, calibration=0.5, features=4, groups=True, images=True, seed=0) -> lore.Dataset:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, max(features, 1)))
    p = rng.dirichlet([3.0, 1.0, 0.5], n)
    labels = np.array([rng.choice(3, p=row) for row in p])
    fooled = (x[:, 0] > 0.5) & (rng.random(n) < 0.7)
    labels[fooled] = rng.integers(0, 3, int(fooled.sum()))
    dataset = lore.Dataset(
        p,
        labels,
        x if features else None,
        groups=pd.DataFrame({"site": rng.choice(["a", NASTY], n)}) if groups else None,
        metadata=pd.DataFrame({"age": rng.integers(20, 80, n)}),
        images=rng.integers(0, 255, (n, 8, 8), dtype=np.uint8) if images else None,
        class_names=["cat", "dog & co", NASTY],
        name=NASTY,
    )
    return dataset.with_split(calibration) if calibration else dataset


@pytest.fixture(scope="session")
def make_dataset():
    return make


@pytest.fixture(scope="session")
def dataset() -> lore.Dataset:
    return make()


@pytest.fixture(scope="session")
def embedding(dataset):
    return lore.embed(dataset.features, "pca", 2, random_state=0)


@pytest.fixture(scope="session")
def settings() -> ReportSettings:
    return ReportSettings(methods=METHODS, n_draws=20)


@pytest.fixture(scope="session")
def view(dataset, embedding) -> View:
    return View(dataset, gamma=0.4, n_bins=5, maps={"PCA 2-D": embedding})


@pytest.fixture(scope="session")
def files(view, settings) -> dict[str, bytes]:
    return report_files(view, settings)


@pytest.fixture(scope="session")
def text_of():
    return lambda files: " ".join(files["index.html"].decode().split())
