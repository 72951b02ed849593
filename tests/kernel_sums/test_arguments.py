from types import SimpleNamespace

import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.kernel_sums import laplacian_means, laplacian_sums

POINTS = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((POINTS, None, [1, 2]), {}, "'weights' must have as many rows as 'targets'; got 2 and 3"),
        ((POINTS, np.zeros((2, 2)), [1]), {}, "as many rows as 'sources'"),
        ((POINTS, np.zeros((2, 3)), [1, 1]), {}, "as many dimensions as 'targets'; got 3 and 2"),
        ((POINTS, None, [1, np.nan, 1]), {}, "'weights' must be finite; got nan at row 1"),
        ((POINTS, None, ["a", "b", "c"]), {}, "'weights' must hold numbers only"),
        ((POINTS, None, np.ones((3, 0))), {}, "'weights' must have shape"),
        ((POINTS, None, np.ones((3, 1, 1))), {}, "'weights' must have shape"),
        ((POINTS * np.nan, None, [1] * 3), {}, "'targets' must be finite"),
        ((POINTS, [[np.inf, 0]], [1]), {}, "'sources' must be finite; got .* at row 0"),
        ((np.zeros((3, 0)), None, [1] * 3), {}, "'targets' must have shape"),
        ((POINTS, None, [1] * 3), {"bandwidth": 0.0}, "'bandwidth' must be a finite number above"),
        ((POINTS, None, [1] * 3), {"bandwidth": [1, np.inf]}, "'bandwidth' must be a finite"),
        ((POINTS, None, [1] * 3), {"bandwidth": "wide"}, "'bandwidth' must be a number above 0"),
        ((POINTS, None, [1] * 3), {"bandwidth": []}, "vector of such numbers"),
        ((POINTS, None, [1] * 3), {"bandwidth": [[1.0]]}, "vector of such numbers"),
        ((POINTS, None, [1] * 3), {"target_groups": [0, 1]}, "'target_groups' must have as many"),
        ((POINTS, None, [1] * 3), {"target_groups": [0, 1, -2]}, "got -2 at row 2"),
        ((POINTS, None, [1] * 3), {"target_groups": [0, 1, 0.5]}, "must be whole numbers"),
        ((POINTS, None, [1] * 3), {"target_groups": [[0, 1, 0]]}, "must be one-dimensional"),
        (
            (POINTS, None, [1] * 3),
            {"target_groups": [0, 1, 1], "source_groups": [0, 1, 0]},
            "'source_groups' must equal 'target_groups'",
        ),
        ((POINTS, POINTS + 1, [1] * 3), {"target_groups": [0] * 3}, "'source_groups' is missing"),
        ((POINTS, POINTS + 1, [1] * 3), {"exclude_self": True}, "'exclude_self' must be False"),
        ((POINTS, None, [1] * 3), {"n_jobs": 0}, "'n_jobs' must be a whole number"),
    ],
)
def test_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        laplacian_sums(*arguments, **({"bandwidth": 1.0} | options))


def test_means_call_them_values():
    with pytest.raises(InputError, match="'values' must be finite"):
        laplacian_means(POINTS, None, [1, 1, np.inf], bandwidth=1.0)


def test_vectors_and_anything_with_coordinates_are_taken():
    found = laplacian_sums([0.0, 1.0], None, [1, 1], bandwidth=1.0)
    np.testing.assert_allclose(found, 1 + np.exp(-1.0))
    found = laplacian_sums(SimpleNamespace(coordinates=POINTS), None, [1] * 3, bandwidth=1.0)
    np.testing.assert_array_equal(found, 3.0)
