"""Damaged files, folders and queries against the readers."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attack.cases import Outcome, run
from benchmarks.attack.mutations import mutated
from benchmarks.attack.seeds import folders, seeds
from lore_core import InputError, reading
from lore_core.reading.raw_file import RawFile

_MEMORY = 640 * 2**20
_TEXT = (".csv", ".tsv", ".json", ".jsonl", ".arff")
_QUERY = (
    "SELECT label, p_cat, p_dog, p_emu, f_0, f_1, f_2, split, lower(site) AS place FROM rows "
    "WHERE age > 20 ORDER BY age LIMIT 40"
)


@dataclass(frozen=True)
class Sample:
    """What is read: a file as it is uploaded, or a folder on disk."""

    parts: Mapping[str, bytes]  #: Name to content of its files
    read: str = ""  #: Which of them is read; of a folder nothing, for the whole of it
    is_folder: bool = False
    query: str | None = None  #: Of a database

    def damaged(self, others: list[bytes], chance: random.Random, names: list[str]) -> Sample:
        """Return it with one of its files damaged, or its query."""
        if self.query is not None and chance.random() < 0.5:
            query = mutated(self.query.encode(), others, chance).decode(errors="replace")
            return Sample(self.parts, self.read, query=query)
        name = chance.choice(list(self.parts))
        parts = {**self.parts, name: mutated(self.parts[name], others, chance)}
        if not self.is_folder and chance.random() < 0.05:
            shown = chance.choice(names)
            return Sample({shown: parts[name]}, shown, query=self.query)
        return Sample(parts, self.read, self.is_folder, self.query)

    @property
    def counts_rows(self) -> bool:
        """Whether its format says in some way how many rows there are, as lines of text do not."""
        return self.query is None and Path(self.read).suffix not in _TEXT

    def found(self) -> tuple[str, int]:
        """Read it as the page does, its columns and then its rows; return digest and rows."""
        mapping = {"query": self.query} if self.query else None
        with self._source() as source:
            reading.inspect(source, mapping=mapping)
            found = reading.read(source, name="x", mapping=mapping)
        return found.dataset.digest, sum(map(rows_read, found.report.files))

    @contextmanager
    def _source(self) -> Iterator[RawFile | Path]:
        if not self.is_folder:
            yield RawFile(self.read, self.parts[self.read])
            return
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for part, content in self.parts.items():
                (folder / part).parent.mkdir(exist_ok=True)
                (folder / part).write_bytes(content)
            yield folder / self.read


def rows_read(sentence: str) -> int:
    """Return the number in "Read 1,234 rows from …"."""
    return int(sentence.split()[1].replace(",", ""))


def samples() -> dict[str, Sample]:
    """Return name to what is sound."""
    files = seeds()
    made = {name: Sample({name: content}, name) for name, content in files.items()}
    for name in ("rows.sqlite", "rows.duckdb"):
        if name in files:
            made[f"query of {name}"] = Sample({name: files[name]}, name, query=_QUERY)
    for name, parts in folders().items():
        read = "rows.csv" if "rows.csv" in parts else ""
        made[f"folder {name}"] = Sample(parts, read, is_folder=True)
    return made


def attack(first: int, last: int) -> Outcome:
    """Read so many damaged files, of each kind in turn."""
    made = samples()
    names = [sample.read for sample in made.values() if sample.read]
    others = [content for sample in made.values() for content in sample.parts.values()]
    kinds = [(name, sample, *sample.found()) for name, sample in made.items()]

    def case(number: int) -> str:
        name, sound, digest, rows = kinds[number % len(kinds)]
        damaged = sound.damaged(others, random.Random(number), names)
        found, found_rows = damaged.found()
        if found_rows < rows and sound.counts_rows and damaged.counts_rows:
            return "fewer rows"
        return "same" if found == digest else f"other, {name}"

    return run(case, first, last, memory=_MEMORY, error=InputError)
