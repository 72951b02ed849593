import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from synthetic import overconfident

from lore_core import InputError
from lore_core.recalibration import (
    BoostingRecalibration,
    DirichletCalibration,
    HistogramBinning,
    LevelLoRe,
    LogisticRecalibration,
    LoRe,
    MatrixScaling,
    MMCEOptimization,
    SmoothLoRe,
    TemperatureScaling,
    VectorScaling,
)
from lore_core.recalibration.registry import offered_recalibrators

OWN = offered_recalibrators(gamma=0.7, n_bins=4)
METHODS = [*OWN, TemperatureScaling((0.5, 2.0))]


def test_every_method_has_a_colour_and_a_label_of_its_own():
    assert len({method.color for method in OWN}) == len({method.label for method in OWN})
    assert len({method.label for method in offered_recalibrators()}) == len(OWN)
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_clone_has_the_same_settings(method):
    method.label = "mine"
    copy = clone(method)
    assert copy is not method
    assert type(copy) is type(method)
    assert copy.label == "mine"
    assert repr(copy) == repr(method)
    assert copy.get_params() == method.get_params()
    assert copy.set_params(**method.get_params()) is copy
    assert copy.label == "mine"


def test_settings_are_those_of_the_next_fit(rows):
    calibration, z, evaluation, at = rows
    method = LoRe(0.1).fit(calibration, z)
    before = method.recalibrate(evaluation, at).confidence
    after = method.set_params(gamma=2.0).recalibrate(evaluation, at).confidence
    np.testing.assert_array_equal(before, after)
    refitted = method.fit(calibration, z).recalibrate(evaluation, at).confidence
    fresh = LoRe(2.0).fit(calibration, z).recalibrate(evaluation, at).confidence
    np.testing.assert_array_equal(refitted, fresh)
    assert np.abs(refitted - before).max() > 0.01


@pytest.mark.parametrize("name", ["gama", "gamma__a", "label"])
def test_an_unknown_setting_is_refused(name):
    with pytest.raises(InputError, match=f"'{name}' must be a parameter of LoRe, which has: 'gamm"):
        LoRe().set_params(**{name: 1.0})


NOTHING = [b"1", np.bool_(True), np.complex128(1), np.timedelta64(1), np.ma.masked]
NO_NUMBER = [-1, 0, np.nan, np.inf, 10**400, "0.2", True, None, [0.2], *NOTHING]
NO_COUNT = [-1, 0, 1.5, np.nan, "5", True, None, [5], *NOTHING]
NO_FLAG = [0, 1, "yes", None, np.nan]
NO_BINS = [*NO_COUNT, 10_001]
NO_LIST = [0.2, "0.2", b"1", {1: 2}, None, [], [0.2, "0.3"], iter([0.2])]
NO_STRENGTH = [item for item in NO_NUMBER if item is not None]
WRONG = {
    LoRe: {
        "gamma": NO_NUMBER,
        "n_bins": NO_BINS,
        "binning": ["equal", 1, None, ["equal-mass"]],
        "feature_map": [1, ["a"]],
    },
    SmoothLoRe: {
        "gammas": [item for item in NO_LIST if item is not None] + [[value] for value in NO_NUMBER],
        "n_bins": NO_LIST + [[value] for value in NO_BINS],
        "max_rows": [*NO_COUNT, 1],
        "levels": NO_FLAG,
        "keep_class": NO_FLAG,
    },
    TemperatureScaling: {
        "bounds": [1.0, None, "12", (2.0,), (2.0, 1.0), (0.0, 1.0), (1.0, np.inf)]
    },
    MMCEOptimization: {"bounds": [(-1.0, 1.0)]},
    VectorScaling: {"keep_class": NO_FLAG, "strength": NO_STRENGTH},
    MatrixScaling: {"keep_class": NO_FLAG, "strength": NO_STRENGTH},
    DirichletCalibration: {"keep_class": NO_FLAG, "strength": NO_STRENGTH},
    HistogramBinning: {"n_bins": NO_BINS, "binning": ["equal"]},
    LogisticRecalibration: {"strength": NO_STRENGTH},
    BoostingRecalibration: {"n_trees": [-1, 1.5, "5", True, [5]]},
}


def test_what_a_setting_may_be_is_written_for_every_one():
    settings = {type(method): set(method.get_params(deep=False)) for method in METHODS}
    assert settings.pop(LevelLoRe) == settings[SmoothLoRe]
    assert {kind: set(names) for kind, names in WRONG.items()} == {
        kind: names for kind, names in settings.items() if names
    }


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in WRONG.items() for name in names]
)
def test_a_wrong_setting_is_refused_when_it_is_made_and_when_it_is_fitted(kind, name):
    calibration, z = overconfident(30, seed=1)
    for value in WRONG[kind][name]:
        with pytest.raises(InputError, match=f"^'{name}' must "):
            kind(**{name: value})
        assigned = kind()
        setattr(assigned, name, value)
        with pytest.raises(InputError, match=f"^'{name}' must "):
            assigned.fit(calibration, z)


@pytest.fixture(scope="module")
def sided():
    data, z = overconfident(200, seed=1)
    return data, z


def test_what_was_fitted_is_an_attribute_a_part_of_a_file_and_its_progress_rises(sided):
    calibration, cal_z = sided
    method = TemperatureScaling()
    assert not hasattr(method, "temperature_")
    with pytest.raises(InputError, match="TemperatureScaling must be fitted before it has a state"):
        method.state()
    method.fit(calibration)
    assert method.temperature_ == method.state()["temperature"]
    assert not hasattr(method, "temperatur_")
    again = TemperatureScaling.restored({}, method.state(), label="mine", n_rows=200)
    assert (again.label, again.n_rows_, again.temperature_) == ("mine", 200, method.temperature_)
    with pytest.raises(InputError, match="mine is a part of another recalibrator"):
        again.to_bytes()
    shares = []
    SmoothLoRe(gammas=[0.3]).fit(calibration, cal_z, progress=lambda share, _: shares.append(share))
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
for place in registry.SAVED.values():
    registry.class_at(place)
print(json.dumps(light))
"""
