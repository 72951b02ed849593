"""Damaged files against the readers."""

from __future__ import annotations

import random

from benchmarks.attack.cases import Outcome, run
from benchmarks.attack.mutations import mutated
from benchmarks.attack.seeds import seeds
from lore_core import InputError, reading
from lore_core.reading.raw_file import RawFile

_MEMORY = 640 * 2**20


def damaged(number: int, made: dict[str, bytes]) -> tuple[RawFile, str]:
    """Return the damaged file of a number, and the name of the sound one."""
    chance = random.Random(number)
    name = list(made)[number % len(made)]
    content = mutated(made[name], list(made.values()), chance)
    shown = chance.choice(list(made)) if chance.random() < 0.05 else name
    return RawFile(shown, content), name


def attack(first: int, last: int) -> Outcome:
    """Read so many damaged files as the page does: their columns, then their rows."""
    made = seeds()
    digests = {
        name: reading.load(RawFile(name, content), name="x").digest
        for name, content in made.items()
    }

    def case(number: int) -> str:
        raw, name = damaged(number, made)
        reading.inspect(raw)
        same = reading.read(raw, name="x").dataset.digest == digests[name]
        return "same" if same else f"other, {name}"

    return run(case, first, last, memory=_MEMORY, error=InputError)
