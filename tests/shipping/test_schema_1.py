"""Files of schema 1, written by version 0.1.0 before its last change and kept, give what they gave.

``schema_1/expected.npz`` holds, under the name of each file, what was given to it and what came out
of the version that wrote it; an entry of text names another one with the same numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lore_core import (
    Dataset,
    GroupWise,
    HistogramBinning,
    InputError,
    Predictor,
    load_recalibrator,
)

FOLDER = Path(__file__).with_name("schema_1")
REFUSED, WITHOUT_ARRAYS = "tuned_group_kernel", "groups_tuned"
NAMES = sorted(
    path.stem for path in FOLDER.glob("*.lore") if path.stem not in (REFUSED, WITHOUT_ARRAYS)
)


@pytest.fixture(scope="module")
def arrays():
    with np.load(FOLDER / "expected.npz") as file:
        found = {name: file[name] for name in file.files}
    return {
        name: found[str(item)] if item.dtype.kind == "U" and item.ndim == 0 else item
        for name, item in found.items()
    }


@pytest.fixture(params=NAMES)
def case(request, arrays):
    own = {
        key.removeprefix(f"{request.param}__"): item
        for key, item in arrays.items()
        if key.startswith(f"{request.param}__")
    }
    places = {
        key.removeprefix("coordinates__") or None: item
        for key, item in own.items()
        if key.startswith("coordinates__")
    }
    # One map without a name is given as it is, several by their names.
    return request.param, own, places.get(None, places or None)


def frame_of(names):
    """Two columns of groups, or the only one, as the calibration rows had them."""
    if names is None:
        return None
    return pd.DataFrame(names, columns=["region", "sex"][: names.shape[1]])


@pytest.mark.parametrize("again", [False, True])
def test_every_method_gives_the_same_numbers(case, again):
    name, given, places = case
    source = FOLDER / f"{name}.lore"
    method = load_recalibrator(source)
    if again:  # as a file of today
        method = load_recalibrator(method.to_bytes())
    predictor = Predictor(method) if again else Predictor.load(source)
    # Everything to the last bit, but for what was kernel sums and is a table now.
    close = {"rtol": 0, "atol": 1e-12 if "group_kernel" in name else 0}
    for asked in ("", "_predictions"):
        if f"recalibrate{asked}" not in given:
            continue
        predictions = given["predictions"] if asked else None
        frame = frame_of(given.get("groups"))
        rows = Dataset(given["probabilities"], np.zeros(40), groups=frame, predictions=predictions)
        after = method.recalibrate(rows, places).probabilities
        np.testing.assert_allclose(after, given[f"recalibrate{asked}"], **close)
        options = {"groups": frame, "predictions": predictions}
        if places is not None:
            found = predictor.predict(given["probabilities"], coordinates=places, **options)
            np.testing.assert_allclose(found, after, **close)
        # t-SNE and UMAP are made anew, which takes long; test_maps.py has that.
        if (places is None or "features" in given) and name not in ("lore_umap", "lore_tsne"):
            found = predictor.predict(given["probabilities"], given.get("features"), **options)
            np.testing.assert_allclose(found, given[f"predict{asked}"], **close)


def test_every_class_is_among_them():
    kinds = {type(load_recalibrator(FOLDER / f"{name}.lore")).__name__ for name in NAMES}
    assert len(kinds) == 9


def test_groups_of_tuned_lore():
    """Written once and kept: whoever changes the format must go on reading this one."""
    predictor = Predictor.load(FOLDER / f"{WITHOUT_ARRAYS}.lore")
    assert predictor.label == "LoRe tuned, group-wise"
    found = predictor.predict(
        [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.4, 0.35, 0.25]],
        [[0.5, 0, 0, 0, 0], [-1, 0.3, 0, 0, 1], [0, 0, 0, 0, 0]],
        ["north", "south", "west"],
    )
    expected = [
        [0.488537274341, 0.302556230403, 0.208906495256],
        [0.153529620633, 0.322011096785, 0.524459282582],
        [0.451092115434, 0.303485791895, 0.245422092671],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_settings_and_tables_are_there_too():
    method = load_recalibrator(FOLDER / "tuned_2classes.lore")
    assert (list(method.gammas), list(method.n_bins), method.levels) == ([0.2, 0.8], [1, 5], True)
    assert method.candidates_["leave_one_out_nll"].is_monotonic_increasing
    assert method.candidates_["weight"].sum() == pytest.approx(1)
    base = load_recalibrator(FOLDER / "lore_base_floor.lore").state()["base"]
    assert (base.label, base.n_rows_) == ("Platt scaling", 80)


def test_lore_over_groups_is_histogram_binning_in_each():
    method = load_recalibrator(FOLDER / "lore_group_kernel.lore")
    assert isinstance(method, GroupWise)
    assert method.label == "LoRe"
    assert Predictor(method).group_columns == ("region",)
    assert all(isinstance(one, HistogramBinning) for one in method.by_group_.values())


def test_what_is_gone_is_said():
    with pytest.raises(InputError, match=r"LoRe over groups with a base, a floor or tuning"):
        load_recalibrator(FOLDER / f"{REFUSED}.lore")
