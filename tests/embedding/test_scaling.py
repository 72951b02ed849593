import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.embedding.scaling import check_scale, scale_factors

# Population standard deviations by hand: (0, 0, 4, 4) has 2, (0, 2, 0, 2) has 1.
POINTS = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])


@pytest.mark.parametrize(
    ("scale", "factors"),
    [("unit", [2.0, 1.0]), ("isotropic", [np.sqrt(2.5)] * 2), ("none", [1.0, 1.0])],
)
def test_factors_by_hand(scale, factors):
    np.testing.assert_allclose(scale_factors(POINTS, scale), factors)
    np.testing.assert_array_equal(scale_factors(np.full((5, 2), 0.3), scale), [1.0, 1.0])


def test_a_constant_dimension_is_left_as_it_is():
    points = np.column_stack([POINTS[:, 0], np.full(4, 0.1)])
    np.testing.assert_allclose(scale_factors(points, "unit"), [2.0, 1.0])
    # sqrt((2² + 0²) / 2)
    np.testing.assert_allclose(scale_factors(points, "isotropic"), [np.sqrt(2.0)] * 2)


def test_scale_names():
    assert check_scale(None, "unit") == "unit"
    assert check_scale("none", "unit") == "none"
    with pytest.raises(InputError, match=r"'scale' must be 'unit', 'isotropic' or 'none'; got 3"):
        check_scale(3, "unit")  # type: ignore[arg-type]
