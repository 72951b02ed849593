"""Sixty networks on UCI Communities and Crime: an independent script's numbers, to every digit.

Five equal-width bins; fitted on the calibration file, measured on the test file; mean and standard
deviation over the runs; PCA on 20 components of both files together.
"""

import numpy as np
import pytest

import lore_core as lore
from lore_core.recalibration import LevelLoRe

#: The sixty runs are compared once, by one worker.
pytestmark = pytest.mark.xdist_group("paper")

#: The script's own NLL where the top-label confidence is replaced (.507, .494, isotonic .480) does
#: not follow from its definitions: with two classes p_other = 1 − c', which gives these values (and
#: the paper's .48 for histogram binning): see test_nll_of_two_classes_by_definition.
_COLUMNS = ["max group-wise MCE", "ECE", "MCE", "NLL", "Brier", "MLCE"]
#: Mean and standard deviation by method, printed to three decimals.
_PUBLISHED = {
    "No recalibration": [(0.575, 0.175), (0.153, 0.014), (0.194, 0.053), (0.961, 0.099),
                         (0.168, 0.014), (0.221, 0.048)],
    "Temperature scaling": [(0.498, 0.120), (0.023, 0.013), (0.056, 0.038), (0.427, 0.022),
                            (0.137, 0.008), (0.071, 0.036)],
    "Isotonic regression": [(0.630, 0.202), (0.035, 0.014), (0.342, 0.316), (0.468, 0.051),
                            (0.140, 0.010), (0.364, 0.315)],
    "Histogram binning": [(0.519, 0.153), (0.027, 0.016), (0.155, 0.116), (0.478, 0.023),
                          (0.151, 0.010), (0.181, 0.113)],
    "LoRe": [(0.512, 0.164), (0.050, 0.030), (0.203, 0.125), (0.465, 0.021), (0.147, 0.009),
             (0.222, 0.125)],
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(real_data):
    return lore.load_runs(real_data / "communities_runs")


def compared(runs, methods):
    return lore.compare_runs(
        runs, methods, gamma=0.4, n_bins=5, group_column="argmax_normalised_race", n_jobs=1
    )


@pytest.fixture(scope="module")
def result(runs):
    methods = lore.standard_recalibrators(gamma=0.4, n_bins=5)
    found = compared(runs, [method for method in methods if method.label in _PUBLISHED])
    assert found.n_runs == 60
    return found


@pytest.mark.parametrize("method", list(_PUBLISHED))
def test_mean_and_spread_over_sixty_runs(result, method):
    for column, (mean, spread) in zip(_COLUMNS, _PUBLISHED[method], strict=True):
        assert result.table.loc[method, column] == pytest.approx(mean, abs=6e-4), column
        assert result.sd.loc[method, column] == pytest.approx(spread, abs=6e-4), column


def test_lore_smooth_and_levels_are_those_that_were_compared_on_sixty_runs(runs):
    """They take ten times as long as the others: the numbers of six runs, in the order of _COLUMNS.

    Without trees, over sixty runs, LoRe smooth had the lowest NLL and Brier score, significantly,
    and LoRe levels the lowest MLCE but for temperature scaling.
    """
    methods = lore.standard_recalibrators(gamma=0.4, n_bins=5)
    smooth = [method for method in methods if method.label == "LoRe smooth"]
    found = compared(runs[:6], [*smooth, LevelLoRe()]).table[_COLUMNS]
    expected = [
        (0.482888, 0.030072, 0.117066, 0.407482, 0.131142, 0.137559),
        (0.513648, 0.029028, 0.070322, 0.422276, 0.134526, 0.094604),
    ]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_local_errors_go_with_the_worst_group_more_than_average_ones(result, runs):
    correlation = result.correlation()
    assert correlation["MLCE"] > correlation["ECE"] + 0.2
    run = runs[0]
    after = lore.HistogramBinning(5).fit(run.calibration).recalibrate(run.evaluation)
    c, a = after.confidence, after.outcome
    by_hand = -np.log(np.maximum(np.where(a == 1, c, 1 - c), 1e-6)).mean()
    assert lore.negative_log_likelihood(after.probabilities, after.labels) == pytest.approx(by_hand)
