"""``import lore_core`` waits for nothing that is not used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
import types

import pytest

import lore_core as lore

CODE = """
import sys
import lore_core as lore
assert not {"numpy", "pandas", "numba", "scipy"} & set(sys.modules)
assert lore.data.__name__                    # a module, by itself
assert "pandas" not in sys.modules
assert lore.load and lore.LoRe               # public names, all at once
assert "pandas" in sys.modules
from lore_core import *
assert embed is lore.embed and __version__
"""


def test_import_is_light():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there():
    assert len(set(lore.__all__)) == len(lore.__all__)
    for name in lore.__all__:
        assert hasattr(lore, name), name
    assert set(lore.__all__) <= set(dir(lore))
    with pytest.raises(AttributeError, match="module 'lore_core' has no attribute 'no_such'"):
        lore.no_such  # noqa: B018


def test_no_public_name_hides_behind_a_module():
    """A module of that name, once imported, would be what ``lore.<name>`` gives."""
    modules = {module.name for module in pkgutil.iter_modules(lore.__path__)}
    for name in modules & set(lore.__all__):
        assert isinstance(getattr(lore, name), types.ModuleType), name
