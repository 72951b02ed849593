import pkgutil
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

import lore_core as lore

ROOMS = sorted(
    ".".join(stub.parent.relative_to(Path(lore.__file__).parents[1]).parts)
    for stub in Path(lore.__file__).parent.rglob("__init__.pyi")
)

LIGHT = """
import sys
import lore_core as lore
assert not {"numpy", "importlib.metadata", "pandas"} & set(sys.modules)
assert lore.data.__name__ == "lore_core.data"
assert "numpy" not in sys.modules
assert callable(lore.brier_score)
assert not {"numba", "sklearn", "plotly", "streamlit"} & set(sys.modules)
assert callable(lore.embed) and callable(lore.write_report) and callable(lore.launch)
assert not {"umap", "openTSNE", "plotly", "streamlit"} & set(sys.modules)
from lore_core import *
assert embed is lore.embed and figures is lore.figures
assert lore.__version__[0].isdigit()
"""


def test_only_what_is_asked_for_is_imported():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ROOMS)
def test_every_name_of_a_stub_is_there(name):
    room = import_module(name)
    assert len(set(room.__all__)) == len(room.__all__) > 0
    for public in room.__all__:
        assert getattr(room, public) is not None, public
    assert set(room.__all__) <= set(dir(room))
    with pytest.raises(AttributeError, match=rf"module '{name}' has no attribute 'no_such'"):
        room.no_such  # noqa: B018
    # A module of that name, once imported, would be what ``lore.<name>`` gives.
    modules = {module.name for module in pkgutil.iter_modules(room.__path__)}
    for public in modules & set(room.__all__):
        assert isinstance(getattr(room, public), types.ModuleType), public
