"""Saved subgroups: definitions with names and notes, in files that library and command read."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from lore_core.data.arrays import Mask
from lore_core.data.atomic_files import write_bytes
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.errors import as_path, short
from lore_core.data.export_text import as_json
from lore_core.data.number_text import gap_words
from lore_core.data.rules import Number, check_fields, check_value
from lore_core.data.validation import InputError
from lore_core.metrics.means import holm
from lore_core.regions.selection import region_report
from lore_core.regions.subgroups.candidates import SAME, overlap, subgroup_id
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.overall import Average
from lore_core.regions.subgroups.verdict import capitalized, generated_name, rows_with_conditions
from lore_core.regions.variables.attributes import Predicate, rows_holding

_FORMAT = "lore-lens-subgroups"
#: Raised whenever a new file would be misread by the version before.
_SCHEMA = 1
#: Letters of a name; of a note.
MAX_NAME, MAX_NOTE = 80, 2000
#: Adjusted p-values up to this are significant.
_ALPHA = 0.05
_GAP = ("gap", "gap_low", "gap_high")
_MEASURED = ["id", "name", "note", "rows", "confidence", "accuracy", *_GAP, "found_here"]
_MEASURED += [*(f"found_{name}" for name in _GAP), "sentence", "p_value"]


@dataclass(frozen=True)
class SavedSubgroup:
    """A subgroup by its definition: conditions on columns, or of a region the rows themselves."""

    #: What columns hold of its rows; empty for a region.
    conditions: tuple[Annotated[Predicate, Predicate], ...] = ()
    #: Numbers of a region's rows among the evaluation rows, and :func:`rows_digest` of these.
    rows: tuple[Annotated[int, Number(0, whole=True)], ...] = ()
    found_on: str = ""
    name: str = ""  #: Given by the user
    note: str = ""
    title: str = ""  #: The name made of its definition
    #: Held-out gap where it was found and its 95 % CI; None where no search found it.
    gap: float | None = None
    gap_low: float | None = None
    gap_high: float | None = None
    #: Eight hexadecimal digits of the definition; a region keeps that under which it was first
    #: found, as at another bandwidth rows at its edge change.
    id: str = ""

    def __post_init__(self) -> None:
        if self.conditions or not self.id:
            object.__setattr__(self, "id", subgroup_id(self.conditions, self.rows))
        for part, most in (("name", MAX_NAME), ("note", MAX_NOTE)):
            object.__setattr__(self, part, getattr(self, part)[:most])

    @property
    def words(self) -> str:
        """What it is called: the name given, else the one made."""
        return self.name or self.title or capitalized(rows_with_conditions(self.conditions))

    def is_found_on(self, dataset: Dataset) -> bool:
        """Whether these are the rows it was found on."""
        return self.found_on == rows_digest(dataset)

    def mask(self, dataset: Dataset) -> Mask:
        """Return which rows of a dataset are meant, (n,).

        A slice: of any data with its columns. A region: by row numbers, so only of the evaluation
        rows it was found on, under any model (their labels tell). Raises InputError for others.
        """
        if self.conditions:
            return rows_holding(self.conditions, dataset)
        if not self.is_found_on(dataset) or max(self.rows, default=0) >= len(dataset):
            raise InputError(
                f"the subgroup “{short(self.words, 60)}” is a region of a map, known by its row "
                "numbers: the data must be those it was found on. On other data only subgroups "
                "that columns define can be looked at."
            )
        return np.isin(np.arange(len(dataset)), self.rows)


def rows_digest(dataset: Dataset) -> str:
    """Return what tells rows from others, whatever model said of them: their labels in order."""
    labels = np.ascontiguousarray(dataset.labels, dtype=np.int64)
    return hashlib.blake2b(labels.tobytes(), digest_size=8).hexdigest()


def saved_subgroups(search: SubgroupSearch, dataset: Dataset) -> list[SavedSubgroup]:
    """Return what was found as definitions to save; ``dataset``: the rows searched."""
    digest = rows_digest(dataset)
    return [saved_subgroup(item, digest) for item in search.subgroups]


def saved_subgroup(subgroup: Subgroup, found_on: str) -> SavedSubgroup:
    """Return the definition of a subgroup, found on rows of this :func:`rows_digest`."""
    return SavedSubgroup(
        conditions=subgroup.conditions,
        rows=tuple(subgroup.rows.tolist()) if subgroup.is_region else (),
        found_on=found_on,
        name=subgroup.name,
        note=subgroup.note,
        title=generated_name(subgroup),
        id=subgroup.id,
        **{name: getattr(subgroup.held, name) for name in _GAP},
    )


def identified(
    search: SubgroupSearch, dataset: Dataset, known: Sequence[SavedSubgroup]
) -> SubgroupSearch:
    """Give the subgroups of a search the ids, names and notes of known ones.

    ``dataset``: the rows searched. A slice is one of the same conditions. A region is one of the
    same rows if it shares 60 % of them or more: at another bandwidth some at its edge change. Of
    several known ones the first counts.
    """
    found = list(search.subgroups)
    free = [k for k, subgroup in enumerate(found) if subgroup.is_region]
    digest = rows_digest(dataset) if free else ""
    for item in known:
        if item.conditions or item.found_on != digest or not free:
            continue
        rows = item.mask(dataset)
        best = max(free, key=lambda k: overlap(rows, search.mask(k)))
        if overlap(rows, search.mask(best)) > SAME:
            free.remove(best)
            found[best] = replace(found[best], known_id=item.id)
    for number, subgroup in enumerate(found):
        own = [item for item in known if item.id == subgroup.id and (item.name or item.note)]
        if own:
            found[number] = replace(subgroup, name=own[0].name, note=own[0].note)
    return replace(search, subgroups=found)


def measure_subgroups(
    dataset: Dataset, saved: Sequence[SavedSubgroup], *, target: str | int = TOP_LABEL
) -> pd.DataFrame:
    """Measure saved subgroups on rows; where these did not find them, all rows are held out.

    Returns one row each: ``id, name, note, rows, confidence, accuracy, gap, gap_low, gap_high``
    (95 %, Wilson), ``found_here`` (whether these rows had a part in finding it), ``found_gap,
    found_gap_low, found_gap_high``, ``sentence``, ``p_value`` (that it is off in the direction in
    which it was found, else in either) and ``p_adjusted`` (Holm). Of a subgroup that these data
    cannot hold (see :meth:`SavedSubgroup.mask`) the numbers are NaN and the sentence says why.
    """
    target_rows = dataset.target(target)
    c, a, w = target_rows.confidence, target_rows.outcome, target_rows.weights
    u = target_rows.units
    average = Average.of(c, a, "zero", w, u)
    listed: list[dict[str, Any]] = []
    for item in saved:
        is_here, p = item.is_found_on(dataset), math.nan
        try:
            inside = item.mask(dataset)
        except InputError as error:
            inside, sentence = np.zeros(len(dataset), dtype=bool), f"Not measured: {error}"
        else:
            sentence = f"None of these {len(inside):,} rows is in it.{_when_found(item, is_here)}"
        report = region_report(c, a, inside, weights=w, units=u)
        if report.n_rows:
            sentence = f"{report.sentence}{_when_found(item, is_here)}"
            over, under = (float(average.of_rows(inside).p_value(sign)) for sign in (1, -1))
            p = min(2 * min(over, under), 1.0)
            p = p if item.gap is None else over if item.gap > 0 else under
        listed.append(
            {"id": item.id, "name": item.words, "note": item.note, "rows": report.n_rows}
            | {name: getattr(report, name) for name in ("confidence", "accuracy", *_GAP)}
            | {"found_here": is_here, **{f"found_{name}": getattr(item, name) for name in _GAP}}
            | {"sentence": sentence, "p_value": p}
        )
    table = pd.DataFrame(listed, columns=_MEASURED)
    tested = table["p_value"].notna()
    table.loc[tested, "p_adjusted"] = holm(table.loc[tested, "p_value"].to_numpy(np.float64))
    return table


def _when_found(item: SavedSubgroup, is_here: bool) -> str:
    if item.gap is None or item.gap_low is None or item.gap_high is None:
        return ""
    gap = gap_words(item.gap, item.gap_low, item.gap_high)
    if is_here:
        return f" Some of these rows had a part in finding it; held out the gap was {gap}."
    return f" Where it was found the gap was {gap}, held-out."


def describe_measured(table: pd.DataFrame) -> str:
    """Say how many subgroups of :func:`measure_subgroups` are significantly wrong on new rows."""
    new = table[table["p_value"].notna() & ~table["found_here"].astype(bool)]
    if new.empty:
        return "No subgroup was measured on rows that had no part in finding it."
    n = int((holm(new["p_value"].to_numpy(np.float64)) <= _ALPHA).sum())
    return (
        f"{n} of {len(new)} subgroups measured on new rows {'is' if n == 1 else 'are'} "
        "significantly wrong there, in the direction in which they were found (Holm, p ≤ 0.05)."
    )


def save_subgroups(path: str | Path, subgroups: Iterable[SavedSubgroup]) -> None:
    """Write subgroups to a JSON file that :func:`load_subgroups` reads."""
    write_bytes(as_path(path), subgroups_json(subgroups).encode())


def subgroups_json(subgroups: Iterable[SavedSubgroup]) -> str:
    """Return what :func:`save_subgroups` writes."""
    listed = [asdict(item) for item in subgroups]  # (of conditions without end null is written)
    return as_json({"format": _FORMAT, "schema": _SCHEMA, "subgroups": listed}) + "\n"


def load_subgroups(source: str | Path | bytes) -> list[SavedSubgroup]:
    """Read subgroups from a file of :func:`save_subgroups`, or its bytes.

    Raises InputError if it is none, or of another version.
    """
    try:
        found = json.loads(source if isinstance(source, bytes) else as_path(source).read_bytes())
    except OSError as error:
        raise InputError(f"'{source!s}' cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"a file of subgroups must be JSON; {short(error)}.") from error
    if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
        raise InputError(
            f"a file of subgroups must hold '{_FORMAT}' as its format; this is another file. Save "
            "one on the Landscape page or with lore subgroups --save."
        )
    if found.get("schema") != _SCHEMA:
        raise InputError(
            f"the file of subgroups must have schema {_SCHEMA}; got "
            f"{short(found.get('schema'), 20)}: another version of LoRe Lens wrote it."
        )
    check_value(list[Annotated[SavedSubgroup, SavedSubgroup]], found.get("subgroups"), "subgroups")
    for item in found["subgroups"]:
        if bool(item["conditions"]) == bool(item["rows"]):
            raise InputError(
                "each subgroup of the file must have either conditions or rows; "
                f"“{short(item['name'] or item['title'], 60)}” has "
                f"{'both' if item['rows'] else 'neither'}."
            )
    return [_loaded(item) for item in found["subgroups"]]


def _loaded(item: Mapping[str, Any]) -> SavedSubgroup:
    conditions = []
    for part in item["conditions"]:
        low, high = part["low"], part["high"]
        if low is not None or high is not None:
            low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
        words = tuple(part["words"])
        conditions.append(Predicate(**{**part, "low": low, "high": high, "words": words}))
    rows = tuple(item.get("rows", ()))
    return SavedSubgroup(**{**item, "conditions": tuple(conditions), "rows": rows})


def link_text(subgroups: Iterable[SavedSubgroup], max_letters: int) -> str:
    """Write subgroups for a link, those for which there is room, with their notes if it lasts."""
    listed: list[Any] = []
    for item in subgroups:
        conditions = [list(vars(part).values()) for part in item.conditions]
        for note in (item.note, ""):
            longer = [*listed, [item.id, item.name, conditions, note]]
            if len(as_json(longer, indent=None)) <= max_letters:
                listed = longer
                break
    return as_json(listed, indent=None) if listed else ""


def read_link_text(text: str) -> list[SavedSubgroup]:
    """Read :func:`link_text`; a region has no rows. Raises InputError."""
    parts = [item.name for item in fields(Predicate)]
    try:
        listed = [
            {
                "id": key,
                "name": name,
                "conditions": [dict(zip(parts, condition, strict=True)) for condition in of],
                "note": note,
            }
            for key, name, of, note in json.loads(text)
        ]
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{short(text, 40)!r} must be subgroups of a link.") from error
    empty = asdict(SavedSubgroup())
    for item in listed:
        check_fields(SavedSubgroup, {**empty, **item}, "subgroup")
    return [_loaded(item) for item in listed]
