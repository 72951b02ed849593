import json
import zipfile
import zlib
from io import BytesIO

import numpy as np
import pytest

import lore_core as lore
from lore_core import InputError, LoRe, embed, load_recalibrator
from lore_core.recalibration import BoostingRecalibration, registry
from lore_core.recalibration.base import KIND


@pytest.fixture(scope="module")
def fitted(calibration):
    points = lore.embed(calibration.features)
    made = [item.fit(calibration, points) for item in registry.offered_recalibrators()]
    made.append(BoostingRecalibration(n_trees=3).fit(calibration))
    return {type(item).__name__: item for item in made}


def edited(content, change):
    header, arrays = KIND.unpack(content)
    change(header, arrays)
    return KIND.pack(header, arrays)


def state_of(header):
    return header["method"]["recalibrator"]["state"]["object"]


@pytest.mark.parametrize("name", sorted(registry.SAVED))
def test_a_part_less_or_of_another_kind_is_refused(fitted, name):
    content = fitted[name].to_bytes()
    parts = list(state_of(KIND.unpack(content)[0]))
    for part in parts:
        if part in ("feature_map", "count"):
            continue  # may be nothing, or is only shown

        def without(header, arrays, part=part):
            del state_of(header)[part]

        def other(header, arrays, part=part):
            state_of(header)[part] = {"object": {"a": 1}}

        for change in (without, other):
            with pytest.raises(InputError, match="the file must hold"):
                load_recalibrator(edited(content, change))
    assert load_recalibrator(edited(content, lambda header, arrays: None)) is not None


def put(place, new):
    def change(value, arrays):
        array = arrays[value["array"]].copy()
        array[place] = new
        arrays["new"] = array
        return {"array": "new"}

    return change


def cut(value, arrays):
    arrays["new"] = arrays[value["array"]][:-1]
    return {"array": "new"}


@pytest.mark.parametrize(
    ("name", "part", "change"),
    [
        ("TemperatureScaling", "temperature", -1.0),
        ("TemperatureScaling", "temperature", {"float": "nan"}),
        ("PlattScaling", "slope", {"float": "inf"}),
        ("TemperatureScaling", "temperature", 10**30),
        ("PlattScaling", "slope", True),
        ("LoRe", "gamma", 0.0),
        ("SmoothLoRe", "keep_class", 1),
        ("LoRe", "binning", "equal"),
        ("LoRe", "points", put((0, 0), np.nan)),
        ("LoRe", "outcome", put(0, 7.0)),
        ("LoRe", "bin_index", put(0, 15)),
        ("LoRe", "bin_index", put(0, -1)),
        ("LoRe", "edges", put(3, 0.01)),
        ("LoRe", "edges", cut),
        ("LoRe", "outcome", cut),
        ("HistogramBinning", "accuracy", put(0, 2.0)),
        ("HistogramBinning", "count", cut),
        ("IsotonicRegression", "accuracy", put(0, 1.0)),
        ("MatrixScaling", "rest", cut),
        ("BetaCalibration", "coefficients", put(0, -1.0)),
        ("VennAbers", "lower", cut),
        ("VennAbers", "lower", put(0, 1.0)),
        ("SmoothLoRe", "spread", put((0, 0), 0.3)),
        ("SmoothLoRe", "leftover", cut),
        ("BoostingRecalibration", "parent", put((0, 0), 8)),
        ("BoostingRecalibration", "column", put((0, 0), 70)),
        ("BoostingRecalibration", "column", cut),
        ("BoostingRecalibration", "n_features", 9),
        ("BoostingRecalibration", "threshold", put((0, 0), np.nan)),
        ("BoostingRecalibration", "step", put((0, 0, 0), 1e308)),
        ("BoostingRecalibration", "step", cut),
        ("LogisticRecalibration", "scale", put(0, 0.0)),
        ("LogisticRecalibration", "of_class", cut),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(fitted, name, part, change):
    def edit(header, arrays):
        state = state_of(header)
        state[part] = change(state[part], arrays) if callable(change) else change

    with pytest.raises(InputError, match=f"the file must hold .* as '{name}: "):
        load_recalibrator(edited(fitted[name].to_bytes(), edit))


def test_members_of_an_average_must_exist(fitted):
    def edit(header, arrays):
        state_of(header)["members"][0]["object"]["map"] = 9

    with pytest.raises(InputError, match="SmoothLoRe: map'; got 9"):
        load_recalibrator(edited(fitted["SmoothLoRe"].to_bytes(), edit))

    def beyond(header, arrays):
        parts = [item["object"] for item in state_of(header)["partitions"]]
        (of_class,) = (part for part in parts if part["edges"] is None)
        of_class["bin_index"] = put(0, 3)(of_class["bin_index"], arrays)

    with pytest.raises(InputError, match="SmoothLoRe: bin_index'; got 3"):
        load_recalibrator(edited(fitted["SmoothLoRe"].to_bytes(), beyond))


def test_a_map_must_know_the_calibration_rows(calibration, fitted):
    rows = calibration.rows(slice(0, 60))
    plane = lore.embed(rows.features, "tsne", n_iter=5)
    content = lore.LoRe(0.3, 5).fit(rows, plane).to_bytes()
    with pytest.raises(InputError, match="the rows of its maps as 'known_rows'; got 59"):
        load_recalibrator(edited(content, lambda header, arrays: header.update(known_rows=59)))
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


def test_no_number_in_a_header_is_one_sentence(fitted):
    def unknown(name, part):
        return part.replace(b'"slope": ', b'"slope": NaN, "was": ')

    with pytest.raises(InputError, match="float values are not JSON"):
        load_recalibrator(written_again(fitted["PlattScaling"].to_bytes(), unknown))

    def enlarged(name, part):
        return part.replace(b"(16,), }            ", b"(10000000000016,), }")

    changed = written_again(fitted["HistogramBinning"].to_bytes(), enlarged)
    with pytest.raises(InputError, match=r"buffer is too small"):
        load_recalibrator(changed)


def test_sizes_are_checked_before_anything_is_unpacked(fitted, monkeypatch):
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(fitted["NoRecalibration"].to_bytes())) as old:
        header = old.read("header.json")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("header.json", header)
        new.writestr("array_0.npy", bytes(10_000_000))
    unpacked = []
    inflater = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", lambda *a: unpacked.append(a) or inflater(*a))
    with pytest.raises(InputError, match="claim more bytes than such a file holds"):
        load_recalibrator(out.getvalue())
    assert not unpacked


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


@pytest.fixture(params=[load_recalibrator, lore.Predictor.load], ids=["recalibrator", "predictor"])
def read(request):
    return request.param


@pytest.fixture(scope="module")
def content(calibration):
    return LoRe(0.3, 5).fit(calibration, embed(calibration.features)).to_bytes()


def written_again(content, change):
    """Return the archive with its parts changed and the digest left as it was."""
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return out.getvalue()


def with_header(content, **changes):
    def change(name, part):
        return json.dumps(json.loads(part) | changes) if name == "header.json" else part

    return written_again(content, change)


def test_another_schema_or_header(read, content):
    for schema in (0, 2, "1", None):
        other = with_header(content, schema=schema, written_by="lore-lens 9.0")
        with pytest.raises(InputError, match=rf"schema 1; got {schema!r}, written by lore-lens 9"):
            read(other)
    with pytest.raises(InputError, match="its checksum is not that of its content"):
        read(with_header(content, class_names=["ash", "cedar", "birch"]))


def test_a_flipped_byte_and_a_short_file(read, content):
    flipped = []
    for share in (0.3, 0.5, 0.7, 0.9):
        damaged = bytearray(content)
        damaged[int(share * len(content))] ^= 0xFF
        flipped.append(bytes(damaged))
    for damaged in (*flipped, content[: len(content) // 2]):
        with pytest.raises(InputError, match="damaged or was changed"):
            read(damaged)


def test_other_files(read, tmp_path):
    np.savez(tmp_path / "data.npz", probs=np.eye(2))
    with pytest.raises(InputError, match="'data.npz' is no file of a recalibrator"):
        read(tmp_path / "data.npz")
    (tmp_path / "m.lore").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(InputError, match="no file of a recalibrator at all"):
        read(tmp_path / "m.lore")
    with pytest.raises(InputError, match="'gone.lore' cannot be read"):
        read(tmp_path / "gone.lore")


def test_pickled_arrays_are_not_loaded(read, content):
    out = BytesIO(content)
    with zipfile.ZipFile(out, "a") as archive, archive.open("evil.npy", "w") as member:
        header = {"descr": "|O", "fortran_order": False, "shape": (1,)}
        np.lib.format.write_array_header_1_0(member, header)
        member.write(b"\x80\x04K\x01.")
    with pytest.raises(InputError, match="damaged or was changed .*allow_pickle"):
        read(out.getvalue())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"class": "LoRe"', '"class": "Foo"', "must hold one of"),
        ('"recalibrator"', '"calculator"', "known kinds; got 'calc"),
        ('"LinearMap"', '"Curve"', "known kinds; got 'Curve'"),
        ('"settings"', '"sets"', "must hold all its parts; KeyError: 'settings'"),
        ('"gamma"', '"gnome"', "must hold all its parts; TypeError: .*'gnome'"),
    ],
)
def test_unknown_parts_under_a_right_digest(read, content, old, new, message):
    header, arrays = KIND.unpack(content)
    text = json.dumps(header)
    assert old in text
    with pytest.raises(InputError, match=message):
        read(KIND.pack(json.loads(text.replace(old, new)), arrays))
