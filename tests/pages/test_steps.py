import io

import numpy as np
import pytest

from lore_core.reading import isolation


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


@pytest.fixture
def arrays():
    rng = np.random.default_rng(5)
    n = 120
    probabilities = rng.dirichlet([2, 1, 1], n)
    return {
        "probs": probabilities,
        "labels": rng.integers(0, 3, n),
        "features": rng.normal(size=(n, 4)),
    }


def loaded(page):
    return page.app.session_state["_loaded"]


class TestUpload:
    def test_a_pair(self, open_page, arrays):
        page = open_page("data")
        half, rest = (
            {name: values[rows] for name, values in arrays.items()}
            for rows in (slice(50), slice(50, None))
        )
        page.upload(("m_cal.npz", npz(**half)), ("m_test.npz", npz(**rest)))
        dataset = loaded(page).dataset
        assert (len(dataset.calibration), len(dataset.evaluation)) == (50, 70)
        assert "70 evaluation + 50 calibration rows" in page.text
        assert page.errors == []
        assert page.app.query_params["data"] == loaded(page).key
        page.go("overview")
        accuracy = page.metrics["Accuracy"]
        right = (rest["probs"].argmax(axis=1) == rest["labels"]).mean()
        assert accuracy == f"{right * 100:.1f} %"

    def test_one_file_is_divided_and_can_be_divided_again(self, open_page, arrays):
        page = open_page("data").upload(("all.npz", npz(**arrays)))
        assert len(loaded(page).dataset.evaluation) == 60
        (share,) = [item for item in page.app.slider if item.key == "split_share"]
        share.set_value(25)
        page.press("Divide again")
        assert len(loaded(page).dataset.calibration) == 30
        assert len(loaded(page).dataset.evaluation) == 90
        assert loaded(page).divided == (0.25, 0)

    @pytest.mark.parametrize("kind", ["nan", "truncated", "pickled"])
    def test_a_bad_file_leaves_everything_as_it_was(self, open_page, made, arrays, kind):
        before = made()
        page = open_page("data", before)
        good = npz(**arrays)
        bad = {
            "nan": ("bad.csv", b"label,p_0,p_1\n0,0.5,0.5\n1,nan,0.5\n"),
            "truncated": ("bad.npz", good[: len(good) // 2]),
            "pickled": ("bad.npz", npz(**{**arrays, "labels": np.array([{}] * 120, object)})),
        }[kind]
        page.upload(bad)
        (sentence,) = page.errors
        assert "Traceback" not in sentence
        assert "Error:" not in sentence
        assert "\n" not in sentence
        assert 20 < len(sentence) < 400
        assert bad[0] in sentence.replace("\\", ""), "names the file"
        assert f"the pages still show **{before.name}**" in page.text
        assert loaded(page).dataset.digest == before.digest
        page.go("overview")
        assert page.errors == []
        assert f"{len(before.evaluation)} evaluation" in page.text
        page.go("data").upload(("good.npz", good))
        assert page.errors == []
        assert len(loaded(page).dataset) == 120

    def test_a_file_that_grows_is_one_sentence(self, open_page, monkeypatch):
        probs = np.zeros((1_000_000, 2), np.uint8)
        probs[:, 0] = 1
        bomb = npz(probs=probs, labels=np.zeros(len(probs), np.uint8))
        monkeypatch.setenv(isolation.MEMORY_VARIABLE, "0.02")
        page = open_page("data").upload(("bomb.npz", bomb))
        (said,) = page.errors
        assert "of memory that a file of its size may take" in said


def test_the_other_demo(open_page):
    page = open_page("data")
    page.app.session_state["_picked_row"] = 3  # which is another row of other data
    page.set("source", "Demo")
    page.press("Synthetic, error known")
    assert loaded(page).dataset.features.shape == (20_000, 2)
    assert "_picked_row" not in page.app.session_state
    page.go("landscape")
    assert page.errors == []
