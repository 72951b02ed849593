import sys
import warnings

import numpy as np
import pytest

import lore_core as lore
from lore_core.cli import main
from lore_core.recalibration import offered_recalibrators
from lore_core.recalibration.registry import own_recalibrators


def overconfident(n, seed):
    """Promises 0.6 to 1, delivers the square of that; worse where the first feature is positive."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.6, 1.0, n)
    features = rng.normal(size=(n, 3))
    right = rng.random(n) < confidence**2 - 0.2 * (features[:, 0] > 0)
    return lore.Dataset(
        np.column_stack([confidence, 1 - confidence]), (~right).astype(int), features=features
    )


def test_only_what_is_installed_is_offered(monkeypatch):
    own = [method.label for method in own_recalibrators()]
    monkeypatch.setattr(lore.MCGrad, "modules", ("surely_not_installed",))
    assert [method.label for method in offered_recalibrators()] == own
    monkeypatch.setattr(lore.MCGrad, "modules", ("numpy",))
    assert [method.label for method in offered_recalibrators()] == [*own, "MCGrad"]


def test_a_missing_library_is_named_with_its_command(monkeypatch, capsys, tmp_path):
    # None in sys.modules makes an import fail, whether the library is there or not.
    for module in (*lore.MCGrad.modules, "mcgrad.methods"):
        monkeypatch.setitem(sys.modules, module, None)
    command = "pip install --no-deps mcgrad && pip install lightgbm psutil"
    with pytest.raises(
        lore.InputError, match=f"^MCGrad needs the package 'mcgrad'.* Install it with: {command}.$"
    ):
        lore.MCGrad().fit(overconfident(50, 0))
    monkeypatch.setattr(lore.MCGrad, "modules", ("surely_not_installed",))
    assert main(["compare", str(tmp_path), "--rivals"]) == 1
    assert command in capsys.readouterr().err


class TestMCGrad:
    @pytest.fixture(autouse=True)
    def needs_the_library(self):
        if not lore.MCGrad.installed():
            pytest.skip("mcgrad is an optional library and not installed")

    def test_it_softens_an_overconfident_classifier(self):
        calibration, evaluation = overconfident(800, 1), overconfident(800, 2)
        method = lore.MCGrad()
        filters = list(warnings.filters)
        result = lore.compare(calibration, evaluation, [*lore.standard_recalibrators()[:1], method])
        assert list(warnings.filters) == filters
        before, after = (
            lore.negative_log_likelihood(data.probabilities, data.labels)
            for data in result.datasets.values()
        )
        assert after < before - 0.05
        assert (result.datasets[method.label].predictions == evaluation.predictions).all()
