import json
import zipfile
from io import BytesIO

import numpy as np
import pytest

from lore_core import InputError, LoRe, Predictor, embed, load_recalibrator
from lore_core.recalibration.base import KIND

READERS = [load_recalibrator, Predictor.load]
pytestmark = pytest.mark.parametrize("read", READERS)


@pytest.fixture(scope="module")
def content(calibration):
    return LoRe(0.3, 5).fit(calibration, embed(calibration.features)).to_bytes()


def rewritten(content, change):
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "header.json":
                header = json.loads(part)
                change(header)
                part = json.dumps(header).encode()
            new.writestr(name, part)
    return out.getvalue()


@pytest.mark.parametrize("schema", [0, 2, "1", None])
def test_another_schema(read, content, schema):
    other = rewritten(content, lambda h: h.update(schema=schema, written_by="lore-lens 9.0"))
    with pytest.raises(InputError, match=rf"schema 1; got {schema!r}, written by lore-lens 9.0"):
        read(other)


def test_a_changed_header(read, content):
    changed = rewritten(content, lambda h: h.update(class_names=["ash", "cedar", "birch"]))
    with pytest.raises(InputError, match="its checksum is not that of its content"):
        read(changed)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_a_flipped_byte(read, content, share):
    damaged = bytearray(content)
    damaged[int(share * len(content))] ^= 0xFF
    with pytest.raises(InputError, match="damaged or was changed"):
        read(bytes(damaged))


def test_a_short_file(read, content):
    with pytest.raises(InputError, match="damaged or was changed"):
        read(content[: len(content) // 2])


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
        ('"recalibrator"', '"calculator"', "kinds of values this version knows; got 'calc"),
        ('"LinearMap"', '"Curve"', "kinds of values this version knows; got 'Curve'"),
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
