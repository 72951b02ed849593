import pytest

from lore_core.data.atomic_files import replaced_at_once, write_bytes
from lore_core.data.validation import InputError


def write_half(place):
    place.write_text("half")
    raise ZeroDivisionError


def test_half_of_a_file_replaces_nothing(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replaced_at_once(path) as place:
        write_half(place)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_has_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    write_bytes(tmp_path / "made", b"x")
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1


def test_a_full_disk(tmp_path):
    message = "must be writable; got No space left on device"
    with pytest.raises(InputError, match=message), replaced_at_once(tmp_path / "table.csv"):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())
