import numpy as np
import pytest

from lore_core import Dataset, InputError, embed

P = np.array([0.1, 0.6, 0.3, 0.9])
LABELS = np.array([0, 1, 0, 1])
HIDDEN = [False, False, True, False]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("probabilities", {"probabilities": np.ma.array(P, mask=HIDDEN)}),
        ("labels", {"labels": np.ma.array(LABELS, mask=HIDDEN)}),
        ("features", {"features": np.ma.array(np.c_[P, P], mask=np.c_[HIDDEN, HIDDEN])}),
    ],
)
def test_what_a_mask_hides_is_no_number(name, values):
    with pytest.raises(InputError, match=rf"'{name}' must be known in every row; .* row 2 \(1 "):
        Dataset(**{"probabilities": P, "labels": LABELS} | values)


def test_a_mask_that_hides_nothing():
    known = Dataset(np.ma.array(P), LABELS, features=np.ma.array(P, mask=False))
    assert known.digest == Dataset(P, LABELS, features=P).digest


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("probabilities", lambda: Dataset(P + 0j, LABELS)),
        ("features", lambda: Dataset(P, LABELS, features=P * 1j)),
        ("features", lambda: embed(np.c_[P, P] + 0j)),
    ],
)
def test_complex_numbers(name, made):
    with pytest.raises(InputError, match=f"'{name}' must hold real numbers; got complex"):
        made()


def test_groups_and_metadata_are_taken_from_a_dict():
    places, days = ["north", "south"] * 2, [1, 2, 3, 4]
    data = Dataset(P, LABELS, groups={"place": places}, metadata={"day": days})
    assert list(data.groups["place"]) == places
    assert list(data.metadata["day"]) == days
