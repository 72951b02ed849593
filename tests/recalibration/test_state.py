import dataclasses
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from synthetic import overconfident

from lore_core import (
    GroupWise,
    InputError,
    SmoothLoRe,
    TemperatureScaling,
)
from lore_core.recalibration import registry


@pytest.fixture(scope="module")
def rows():
    data, z = overconfident(200, seed=1)
    sides = pd.DataFrame({"side": np.where(z[:, 0] > 0, "left", "right")})
    return dataclasses.replace(data, groups=sides), z


def test_what_was_fitted_is_an_attribute_too(rows):
    calibration, _ = rows
    method = TemperatureScaling()
    assert not hasattr(method, "temperature_")
    with pytest.raises(InputError, match="TemperatureScaling must be fitted before it has a state"):
        method.state()
    method.fit(calibration)
    assert method.temperature_ == method.state()["temperature"]
    assert not hasattr(method, "temperatur_")


def test_a_part_is_saved_with_the_whole(rows):
    calibration, _ = rows
    method = GroupWise(TemperatureScaling()).fit(calibration)
    again = registry.saved_class("GroupWise").restored(
        method.get_params(deep=False), method.state(), label="mine", n_rows=200
    )
    assert (again.label, again.n_rows_, again.sizes_) == ("mine", 200, method.sizes_)
    with pytest.raises(InputError, match="mine is a part of another recalibrator"):
        again.to_bytes()


def test_progress_of_a_fit(rows):
    calibration, cal_z = rows
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
own = [method.address for method in registry.METHODS.values()]
for place in (*own, *registry.COMPOSED, *registry.RIVALS):
    registry.class_at(place)
print(json.dumps(light))
"""


def test_every_method_is_imported_with_numpy_alone_and_the_list_with_nothing():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
