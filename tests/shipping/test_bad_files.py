"""A file that is not what was written is refused, in words."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from lore_core import InputError, LoRe, Predictor, embed, load_recalibrator
from lore_core.shipping import container

#: What schema_1.lore said when it was written.
EXPECTED = [
    [0.488537274341, 0.302556230403, 0.208906495256],
    [0.153529620633, 0.322011096785, 0.524459282582],
    [0.451092115434, 0.303485791895, 0.245422092671],
]
READERS = [load_recalibrator, Predictor.load]
pytestmark = pytest.mark.parametrize("read", READERS)


@pytest.fixture(scope="module")
def content(calibration):
    return LoRe(0.3, 5).fit(calibration, embed(calibration.features)).to_bytes()


def rewritten(content, change):
    """Return the file with another header, its digest left as it was."""
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


def test_a_newer_schema(read, content):
    newer = rewritten(content, lambda h: h.update(schema=2, written_by="lore-lens 9.0"))
    with pytest.raises(InputError, match=r"schema 2, written by lore-lens 9.0; this .* up to 1"):
        read(newer)


def test_a_changed_header(read, content):
    changed = rewritten(content, lambda h: h.update(class_names=["ash", "cedar", "birch"]))
    with pytest.raises(InputError, match="its digest is not that of its content"):
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
    """A header that promises objects is enough: what follows is never looked at."""
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
        ('"class": "LoRe", "par', '"class": "Foo", "par', "must hold one of"),
        ('"bins"', '"bots"', "kinds of values this version knows; got 'bots'"),
        ('"linear"', '"curved"', "must hold maps this version knows; got 'curved'"),
        ('"edges"', '"hedges"', "must hold all its parts; KeyError: 'edges'"),
    ],
)
def test_unknown_parts_under_a_right_digest(read, content, old, new, message):
    header, arrays = container.unpack(content)
    text = json.dumps(header)
    assert old in text
    made = {k: v for k, v in json.loads(text.replace(old, new)).items() if k != "digest"}
    with pytest.raises(InputError, match=message):
        read(container.pack(made, arrays))


def test_a_file_of_schema_1_is_still_read(read):
    """Written once and kept: whoever changes the format must go on reading this one."""
    path = Path(__file__).with_name("schema_1.lore")
    predictor = Predictor.load(path)
    assert read(path).label == predictor.label == "LoRe tuned, group-wise"
    found = predictor.predict(
        [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.4, 0.35, 0.25]],
        [[0.5, 0, 0, 0, 0], [-1, 0.3, 0, 0, 1], [0, 0, 0, 0, 0]],
        ["north", "south", "west"],
    )
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-9)
