import dataclasses

import numpy as np
import pandas as pd
import pytest
from synthetic import overconfident

from lore_core import (
    GroupWise,
    HistogramBinning,
    InputError,
    IsotonicRegression,
    LoRe,
    PlattScaling,
    TemperatureScaling,
)


def with_groups(data, names, other=None):
    frame = pd.DataFrame({"region": names})
    if other is not None:
        frame["sex"] = other
    return dataclasses.replace(data, groups=frame)


@pytest.fixture
def rows():
    calibration, cal_z = overconfident(300, seed=1)
    evaluation, z = overconfident(200, seed=2)
    calibration = with_groups(calibration, np.array(["north", "south"])[np.arange(300) % 2])
    names = np.array(["north", "south", "west"])[np.arange(200) % 3]
    return calibration, cal_z, with_groups(evaluation, names), z


@pytest.mark.parametrize(
    "inner",
    [TemperatureScaling(), PlattScaling(), IsotonicRegression(), HistogramBinning(5), LoRe(0.5, 3)],
)
def test_it_is_each_group_fitted_alone(rows, inner):
    calibration, cal_z, evaluation, z = rows
    local = inner.needs_embedding
    method = GroupWise(inner, "region").fit(calibration, cal_z if local else None)
    after = method.recalibrate(evaluation, z if local else None)
    for name in ("north", "south", "west"):
        here = (evaluation.groups["region"] == name).to_numpy()
        # Nobody in the west was seen: everyone's fit.
        fit_on = (calibration.groups["region"] == name).to_numpy() | (name == "west")
        alone = inner.clone().fit(calibration.rows(fit_on), cal_z[fit_on] if local else None)
        expected = alone.recalibrate(evaluation.rows(here), z[here] if local else None)
        np.testing.assert_allclose(after.probabilities[here], expected.probabilities)
    assert np.array_equal(after.predictions, evaluation.predictions)


def test_it_says_who_got_the_global_fit(rows):
    calibration, _, evaluation, _ = rows
    method = GroupWise(TemperatureScaling(), "region").fit(calibration)
    assert set(method.sizes_) == {"north", "south"}
    strict = GroupWise(TemperatureScaling(), "region", min_group_size=151).fit(calibration)
    assert strict.by_group_ == {}
    everyone = TemperatureScaling().fit(calibration).recalibrate(evaluation)
    after = strict.recalibrate(evaluation)
    np.testing.assert_allclose(after.probabilities, everyone.probabilities)
    both = with_groups(calibration, calibration.groups["region"], np.arange(300) % 3)
    method = GroupWise(TemperatureScaling(), ["region", "sex"]).fit(both)
    assert len(method.by_group_) == 6
    assert "north × 0" in method.by_group_


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d: GroupWise("platt"), "'recalibrator' must be a recalibrator"),
        (lambda d: GroupWise(PlattScaling()).fit(dataclasses.replace(d, groups=None)), "no groups"),
        (lambda d: GroupWise(PlattScaling(), "race").fit(d), r"group columns of \['region'\]"),
        (
            lambda d: GroupWise(PlattScaling()).fit(with_groups(d, ["a"] * 300, ["b"] * 300)),
            "'column' must name one of",
        ),
    ],
)
def test_misuse(rows, act, message):
    with pytest.raises(InputError, match=message):
        act(rows[0])
