"""What a method fits is a dict of plain values under public names, and all that ``apply`` needs."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from synthetic import overconfident

from lore_core import (
    GroupWise,
    InputError,
    LoRe,
    PlattScaling,
    Recalibrator,
    SmoothLoRe,
    TemperatureScaling,
)
from lore_core.data.rows import Rows
from lore_core.recalibration import BoostingRecalibration, registry
from lore_core.recalibration.registry import own_recalibrators

METHODS = [
    *own_recalibrators(0.3, 5),
    LoRe(0.3, 5, base=TemperatureScaling(), floor=True, prior_strength=2.0),
    BoostingRecalibration(n_trees=3),
    GroupWise(LoRe(0.3, 5, base=PlattScaling())),
]


def plain(value, depth=0):
    """Whether a value is one a file holds; names in it are public ones."""
    if isinstance(value, dict):
        return all(plain(item) and not key.startswith("_") for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(plain, value))
    if isinstance(value, Recalibrator):
        return plain(value.state())
    return value is None or isinstance(value, (bool, int, float, str, np.ndarray))


@pytest.fixture(scope="module")
def rows():
    def grouped(n, seed):
        data, z = overconfident(n, seed=seed)
        return dataclasses.replace(
            data, groups=pd.DataFrame({"side": np.where(z[:, 0] > 0, "left", "right")})
        ), z

    return *grouped(200, 1), *grouped(100, 2)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.label)
def test_state_is_plain_documented_and_enough(rows, method):
    calibration, cal_z, evaluation, z = rows
    method = method.clone().fit(calibration, cal_z)
    state = method.state()
    assert plain(state)
    documented = getattr(import_module(type(method).__module__), "State", None)
    assert set(state) == set(documented.__required_keys__ if documented else ())
    given = Rows(
        evaluation.probabilities,
        evaluation.predictions,
        lambda name, dimensions: z,
        lambda columns: evaluation.groups["side"].to_numpy(dtype=object),
        evaluation.features,
    )
    expected = method.recalibrate(evaluation, z)
    assert np.array_equal(type(method).apply(state, given).probabilities, expected.probabilities)
    assert (expected.predictions == evaluation.predictions).all()


def test_what_was_fitted_is_an_attribute_too(rows):
    calibration, *_ = rows
    method = TemperatureScaling()
    assert not hasattr(method, "temperature_")
    with pytest.raises(InputError, match="TemperatureScaling must be fitted before it has a state"):
        method.state()
    method.fit(calibration)
    assert method.temperature_ == method.state()["temperature"]
    assert not hasattr(method, "temperatur_")


def test_a_part_is_saved_with_the_whole(rows):
    calibration, *_ = rows
    method = GroupWise(TemperatureScaling()).fit(calibration)
    again = registry.saved_class("GroupWise").restored(
        method.get_params(deep=False), method.state(), label="mine", n_rows=200
    )
    assert (again.label, again.n_rows_, again.sizes_) == ("mine", 200, method.sizes_)
    with pytest.raises(InputError, match="mine is a part of another recalibrator"):
        again.to_bytes()


def test_progress_of_a_fit(rows):
    calibration, cal_z, *_ = rows
    shares = []
    SmoothLoRe(gammas=[0.3]).fit(
        calibration, cal_z, progress=lambda share, message: shares.append(share)
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


CODE = """
import json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"sklearn", "scipy", "pandas", "pyarrow", "numba", "joblib"}:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Blocked())
from lore_core.recalibration import registry
light = sorted({"numpy"} & set(sys.modules))
own = [method.place for method in registry.METHODS.values()]
for place in (*own, *registry.COMPOSED, *registry.RIVALS):
    registry._class_at(place)
print(json.dumps(light))
"""


def test_every_method_is_imported_with_numpy_alone_and_the_list_with_nothing():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
