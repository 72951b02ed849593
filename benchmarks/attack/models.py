"""Damaged and edited files of recalibrators against their reader, and what is read at work."""

import copy
import random
from typing import Any

import numpy as np

import lore_core as lore
from benchmarks.attack.cases import Outcome, run
from benchmarks.attack.mutations import mutated
from lore_core import InputError
from lore_core.recalibration import registry
from lore_core.recalibration.base import KIND

_MEMORY = 640 * 2**20
_ODD = (
    *(None, True, False, 0, 1, -1, 2, 10**9, 10**30, 0.5, -0.5, 1e-300, 1e308, "", "a", "nan"),
    *([], [1], ["a"], {}, {"float": "nan"}, {"float": "inf"}, {"array": "array_0"}, {"object": {}}),
    *({"tuple": [1.0, 0.0]}, {"tuple": []}, "equal-mass", "LoRe", "LinearMap", 7.5, 200),
)


def fitted() -> tuple[dict[str, bytes], lore.Dataset]:
    """Return one small file of every method, and rows to apply it to."""
    rng = np.random.default_rng(0)
    vectors = rng.dirichlet([2.0, 1.0, 1.0], 160)
    labels = np.array([rng.choice(3, p=p) for p in vectors])
    rows = lore.Dataset(vectors, labels, rng.normal(size=(160, 3)))
    maps = lore.embed(rows.features, "pca", 2)
    made = [item.fit(rows, maps) for item in registry.offered_recalibrators()]
    files = {item.label: item.to_bytes() for item in made}
    files["LoRe without rows"] = lore.LoRe(0.2, 3).fit(rows, maps).to_bytes(rows=False)
    return files, rows


def edited(content: bytes, chance: random.Random) -> bytes:
    """Change one to three values of a file, and write its checksum anew."""
    header, arrays = KIND.unpack(content)
    arrays = {name: array.copy() for name, array in arrays.items()}
    for _ in range(chance.choice((1, 1, 2, 3))):
        if arrays and chance.random() < 0.4:
            name = chance.choice(list(arrays))
            arrays[name] = _other(arrays[name], chance)
        else:
            holder, key = chance.choice(list(_leaves(header)))
            if chance.random() < 0.1:
                del holder[key]
            else:
                holder[key] = copy.deepcopy(chance.choice(_ODD))
    return KIND.pack(header, arrays)


def _leaves(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from _leaves(item)


def _other(array: np.ndarray, chance: random.Random) -> np.ndarray:
    way = chance.randrange(6)
    if way == 0 and array.size:
        odd = chance.choice((np.nan, np.inf, -1, 0, 1, 2, 1e9, 1e308))
        changed = array.astype(float) if array.dtype.kind not in "U" else array.copy()
        changed.flat[chance.randrange(array.size)] = odd
        with np.errstate(invalid="ignore"):
            return changed if chance.random() < 0.3 else changed.astype(array.dtype)
    if way == 1:
        return array[: chance.randrange(len(array) + 1)] if array.ndim else array
    if way == 2:
        return np.concatenate([array, array]) if array.ndim else array
    if way == 3:
        return array.reshape(-1)[::-1].reshape(array.shape)
    if way == 4:
        return array.astype(chance.choice(("f4", "i2", "?", "U3", "f8")), copy=True)
    return array[..., None] if chance.random() < 0.5 else array.ravel()


def attack(first: int, last: int) -> Outcome:
    """Read so many damaged (even numbers) and edited (odd ones) files, and apply what is read."""
    files, rows = fitted()
    names = list(files)
    given, features = rows.probabilities, rows.features
    sound = {
        name: lore.Predictor.load(content).predict(given, features)
        for name, content in files.items()
    }

    def case(number: int) -> str:
        chance = random.Random(number)
        name = chance.choice(names)
        damage = number % 2 == 0
        content = files[name]
        made = mutated(content, list(files.values()), chance) if damage else edited(content, chance)
        reader = lore.Predictor.load(made)
        found = reader.predict(given, features)
        if not np.isfinite(found).all() or found.min() < 0 or found.max() > 1 + 1e-9:
            raise AssertionError(f"{name}: {found.min()} to {found.max()}")
        if np.abs(found.sum(axis=1) - 1).max() > 1e-6:
            raise AssertionError(f"{name}: sums {found.sum(axis=1).min()}")
        same = np.array_equal(found, sound[name])
        return ("damaged" if damage else "edited") + (", same" if same else ", others")

    return run(case, first, last, memory=_MEMORY, error=InputError)
