"""Settings of recalibrators: get_params, set_params and clone, as scikit-learn asks for them."""

import numpy as np
import pytest
from sklearn.base import clone
from synthetic import overconfident

from lore_core import GroupWise, InputError, LoRe, MCGrad, PlattScaling, TemperatureScaling
from lore_core.recalibration.registry import own_recalibrators

METHODS = [
    *own_recalibrators(gamma=0.7, n_bins=4),
    MCGrad(),
    LoRe(base=TemperatureScaling((0.5, 2.0))),
    GroupWise(LoRe(0.3, base=PlattScaling()), "site"),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_clone_has_the_same_settings(method):
    method.label = "mine"
    copy = clone(method)
    assert copy is not method
    assert type(copy) is type(method)
    assert copy.label == "mine"
    assert repr(copy) == repr(method)
    nested = {name for name, value in copy.get_params().items() if hasattr(value, "get_params")}
    for name, value in copy.get_params().items():
        same = method.get_params()[name]
        assert value is not same if name in nested else value == same
    assert copy.set_params(**method.get_params()) is copy
    assert copy.label == "mine"


def test_nested_settings_are_reached():
    method = GroupWise(LoRe(0.3, base=TemperatureScaling()), "site")
    method.set_params(
        recalibrator__base__bounds=(0.5, 2.0), recalibrator__gamma=0.6, min_group_size=5
    )
    assert repr(method) == (
        "GroupWise(recalibrator=LoRe(gamma=0.6, base=TemperatureScaling(bounds=(0.5, 2.0))), "
        "column='site', min_group_size=5)"
    )
    # Another recalibrator, whose own settings are meant, and what follows from it.
    method.set_params(recalibrator__bounds=(1.0, 3.0), recalibrator=TemperatureScaling())
    assert method.recalibrator.bounds == (1.0, 3.0)
    assert method.label == "Temperature scaling, group-wise"
    assert not method.needs_embedding


def test_settings_are_those_of_the_next_fit():
    calibration, z = overconfident(200, seed=1)
    evaluation, at = overconfident(100, seed=2)
    method = LoRe(0.1).fit(calibration, z)
    before = method.recalibrate(evaluation, at).confidence
    after = method.set_params(gamma=2.0).recalibrate(evaluation, at).confidence
    np.testing.assert_array_equal(before, after)
    refitted = method.fit(calibration, z).recalibrate(evaluation, at).confidence
    np.testing.assert_array_equal(
        refitted, LoRe(2.0).fit(calibration, z).recalibrate(evaluation, at).confidence
    )
    assert np.abs(refitted - before).max() > 0.01


@pytest.mark.parametrize("name", ["gama", "gamma__a", "base__bounds", "base__"])
def test_an_unknown_setting_is_refused(name):
    with pytest.raises(InputError, match=f"'{name}' must be a parameter of LoRe, which has: 'gamm"):
        LoRe().set_params(**{name: 1.0})
