import numpy as np

from lore_core.dashboard.launch import read_selection
from lore_core.data.dataset import EVALUATION
from lore_core.data.dataset_files import save_npz
from lore_core.regions.rows import rows_with


def heard(folder, n_rows):
    return read_selection(folder / "marked.npy", n_rows)


def test_marked_rows_are_told(open_page, made, tmp_path):
    dataset = made()
    save_npz(dataset, tmp_path / "own.npz")
    given = ["app.py", "--data", str(tmp_path / "own.npz"), "--data-root", "/"]
    arguments = [*given, "--selection", str(tmp_path / "marked.npy")]
    page = open_page("landscape", arguments=arguments)
    assert not heard(tmp_path, len(dataset)).any()
    page.set("find", "confidence > 0.7")
    wanted = rows_with(dataset, "confidence > 0.7") & dataset.in_split(EVALUATION)
    assert wanted.any()
    np.testing.assert_array_equal(heard(tmp_path, len(dataset)), wanted)
    page.set("find", "")
    assert not heard(tmp_path, len(dataset)).any()
    (tmp_path / "marked.npy").write_bytes(b"half of a file")
    assert not heard(tmp_path, len(dataset)).any()
    # Of other data nothing is told.
    (tmp_path / "marked.npy").unlink()
    other = open_page("landscape", made(seed=3), arguments=arguments)
    other.set("find", "confidence > 0.7")
    assert not (tmp_path / "marked.npy").exists()
