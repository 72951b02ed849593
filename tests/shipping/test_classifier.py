"""LoReClassifier: scikit-learn's own checks, and that the probabilities are LoRe's."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lore_core import LoReClassifier


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LoReClassifier()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
