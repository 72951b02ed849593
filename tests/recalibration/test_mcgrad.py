import sys

import pytest
from synthetic import run_of

import lore_core as lore
from lore_core.cli import main
from lore_core.recalibration import offered_recalibrators
from lore_core.recalibration.registry import own_recalibrators


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
        lore.MCGrad().fit(run_of(0))
    monkeypatch.setattr(lore.MCGrad, "modules", ("surely_not_installed",))
    assert main(["compare", str(tmp_path), "--rivals"]) == 1
    assert command in capsys.readouterr().err
