import io
import zipfile
import zlib

import numpy as np
import pytest

import lore_core as lore
from lore_core import InputError, load_recalibrator
from lore_core.recalibration import BoostingRecalibration, registry
from lore_core.recalibration.base import KIND


@pytest.fixture(scope="module")
def fitted(calibration):
    points = lore.embed(calibration.features)
    made = [item.fit(calibration, points) for item in registry.own_recalibrators()]
    made.append(BoostingRecalibration(n_trees=3).fit(calibration))
    made.append(lore.GroupWise(lore.HistogramBinning(5), "region").fit(calibration, points))
    return {type(item).__name__: item for item in made}


def edited(content, change):
    header, arrays = KIND.unpack(content)
    change(header, arrays)
    return KIND.pack(header, arrays)


def state_of(header):
    return header["method"]["recalibrator"]["state"]["object"]


@pytest.mark.parametrize("name", registry.saved_names())
def test_a_part_less_or_of_another_kind_is_refused(fitted, name):
    content = fitted[name].to_bytes()
    parts = list(state_of(KIND.unpack(content)[0]))
    for part in parts:
        if part in ("feature_map", "columns", "count", "base", "candidates"):
            continue  # may be nothing, or is only shown

        def without(header, arrays, part=part):
            del state_of(header)[part]

        def other(header, arrays, part=part):
            state_of(header)[part] = {"object": {"a": 1}}

        for change in (without, other):
            with pytest.raises(InputError, match="the file must hold"):
                load_recalibrator(edited(content, change))
    assert load_recalibrator(edited(content, lambda header, arrays: None)) is not None


@pytest.mark.parametrize(
    ("name", "part", "change"),
    [
        ("TemperatureScaling", "temperature", lambda value, arrays: -1.0),
        ("TemperatureScaling", "temperature", lambda value, arrays: {"float": "nan"}),
        ("PlattScaling", "slope", lambda value, arrays: {"float": "inf"}),
        ("TemperatureScaling", "temperature", lambda value, arrays: 10**30),
        ("PlattScaling", "slope", lambda value, arrays: True),
        ("LoRe", "gamma", lambda value, arrays: 0.0),
        ("LoRe", "floor", lambda value, arrays: 1),
        ("LoRe", "binning", lambda value, arrays: "equal"),
        ("LoRe", "points", lambda value, arrays: put(arrays, value, (0, 0), np.nan)),
        ("LoRe", "outcome", lambda value, arrays: put(arrays, value, 0, 7.0)),
        ("LoRe", "bin_index", lambda value, arrays: put(arrays, value, 0, 15)),
        ("LoRe", "bin_index", lambda value, arrays: put(arrays, value, 0, -1)),
        ("LoRe", "edges", lambda value, arrays: put(arrays, value, 3, 0.01)),
        ("LoRe", "edges", lambda value, arrays: cut(arrays, value)),
        ("LoRe", "leftover", lambda value, arrays: cut(arrays, value)),
        ("HistogramBinning", "accuracy", lambda value, arrays: put(arrays, value, 0, 2.0)),
        ("HistogramBinning", "count", lambda value, arrays: cut(arrays, value)),
        ("IsotonicRegression", "accuracy", lambda value, arrays: put(arrays, value, 0, 1.0)),
        ("MatrixScaling", "rest", lambda value, arrays: cut(arrays, value)),
        ("BetaCalibration", "coefficients", lambda value, arrays: put(arrays, value, 0, -1.0)),
        ("VennAbers", "lower", lambda value, arrays: cut(arrays, value)),
        ("VennAbers", "lower", lambda value, arrays: put(arrays, value, 0, 1.0)),
        ("SmoothLoRe", "spread", lambda value, arrays: put(arrays, value, (0, 0), 0.3)),
        ("SmoothLoRe", "leftover", lambda value, arrays: cut(arrays, value)),
        ("BoostingRecalibration", "left", lambda value, arrays: put(arrays, value, 1, 0)),
        ("BoostingRecalibration", "right", lambda value, arrays: put(arrays, value, -1, 0)),
        ("BoostingRecalibration", "left", lambda value, arrays: put(arrays, value, 0, 10**6)),
        ("BoostingRecalibration", "left", lambda value, arrays: put(arrays, value, 0, -1)),
        ("BoostingRecalibration", "right", lambda value, arrays: put(arrays, value, 0, 0)),
        ("BoostingRecalibration", "root", lambda value, arrays: put(arrays, value, 0, 1)),
        ("BoostingRecalibration", "column", lambda value, arrays: put(arrays, value, 0, 7)),
        ("BoostingRecalibration", "threshold", lambda value, arrays: put(arrays, value, 0, np.nan)),
        ("BoostingRecalibration", "step", lambda value, arrays: put(arrays, value, 0, 1e308)),
        ("BoostingRecalibration", "step", lambda value, arrays: cut(arrays, value)),
        ("LogisticRecalibration", "scale", lambda value, arrays: put(arrays, value, 0, 0.0)),
        ("LogisticRecalibration", "of_class", lambda value, arrays: cut(arrays, value)),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(fitted, name, part, change):
    def edit(header, arrays):
        state = state_of(header)
        state[part] = change(state[part], arrays)

    with pytest.raises(InputError, match=f"the file must hold .* as '{name}: "):
        load_recalibrator(edited(fitted[name].to_bytes(), edit))


def put(arrays, value, place, new):
    array = arrays[value["array"]].copy()
    array[place] = new
    arrays["new"] = array
    return {"array": "new"}


def cut(arrays, value):
    arrays["new"] = arrays[value["array"]][:-1]
    return {"array": "new"}


def test_members_of_an_average_must_exist(fitted):
    def edit(header, arrays):
        state_of(header)["members"][0]["object"]["map"] = 9

    with pytest.raises(InputError, match="SmoothLoRe: map'; got 9"):
        load_recalibrator(edited(fitted["SmoothLoRe"].to_bytes(), edit))

    def beyond(header, arrays):
        parts = [item["object"] for item in state_of(header)["partitions"]]
        (of_class,) = (part for part in parts if part["edges"] is None)
        of_class["bin_index"] = put(arrays, of_class["bin_index"], 0, 3)

    with pytest.raises(InputError, match="SmoothLoRe: bin_index'; got 3"):
        load_recalibrator(edited(fitted["SmoothLoRe"].to_bytes(), beyond))


def test_maps_and_names_must_fit(fitted):
    content = fitted["LoRe"].to_bytes()
    stored = lambda header: header["feature_maps"][0]["object"]["map"]["Embedding"]  # noqa: E731
    for change in (
        lambda header, arrays: stored(header).update(n_features=4),
        lambda header, arrays: stored(header).update(scale="twice"),
        lambda header, arrays: header.update(class_names=["ash", 2, "cedar"]),
        lambda header, arrays: header.update(known_rows=None),
        lambda header, arrays: header["method"]["recalibrator"].update(calibration_rows="many"),
        lambda header, arrays: header["method"]["recalibrator"].update(label=3),
    ):
        with pytest.raises(InputError, match="the file must hold"):
            load_recalibrator(edited(content, change))


def test_a_map_must_know_the_calibration_rows(calibration):
    rows = calibration.rows(slice(0, 60))
    plane = lore.embed(rows.features, "tsne", n_iter=5)
    content = lore.LoRe(0.3, 5).fit(rows, plane).to_bytes()
    with pytest.raises(InputError, match="the rows of its maps as 'known_rows'; got 59"):
        load_recalibrator(edited(content, lambda header, arrays: header.update(known_rows=59)))


def test_no_number_in_a_header_is_one_sentence(fitted):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(fitted["PlattScaling"].to_bytes())) as old:
        text = old.read("header.json").replace(b'"slope": ', b'"slope": NaN, "was": ')
    with zipfile.ZipFile(out, "w") as new:
        new.writestr("header.json", text)
    with pytest.raises(InputError, match="NaN is no JSON"):
        load_recalibrator(out.getvalue())


def test_sizes_are_checked_before_anything_is_unpacked(fitted, monkeypatch):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(fitted["NoRecalibration"].to_bytes())) as old:
        header = old.read("header.json")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("header.json", header)
        new.writestr("array_0.npy", bytes(10_000_000))
    unpacked = []
    inflater = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", lambda *a: unpacked.append(a) or inflater(*a))
    with pytest.raises(InputError, match="claim more bytes than such a file can hold"):
        load_recalibrator(out.getvalue())
    assert not unpacked


def test_an_array_must_be_there_as_a_whole(fitted):
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(fitted["HistogramBinning"].to_bytes())) as old,
        zipfile.ZipFile(out, "w") as new,
    ):
        for name in old.namelist():
            part = old.read(name).replace(b"(16,), }            ", b"(10000000000016,), }")
            new.writestr(name, part)
    with pytest.raises(InputError, match=r"an array of shape \(10000000000016,\) in"):
        load_recalibrator(out.getvalue())


def test_a_signed_file_is_known(fitted):
    key, made = b"a secret", fitted["PlattScaling"]
    signed = made.to_bytes(key=key)
    assert load_recalibrator(signed).state() == load_recalibrator(signed, key=key).state()
    assert lore.Predictor.load(signed, key=key).label == made.label

    def sharper(header, arrays):
        state_of(header)["slope"] = 2.0

    for other in (made.to_bytes(), made.to_bytes(key=b"another"), edited(signed, sharper)):
        assert load_recalibrator(other) is not None
        with pytest.raises(InputError, match="must be signed with the key"):
            load_recalibrator(other, key=key)
