"""Other mappings of a file that cannot be read as it is: each was tried and reads."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import pandas as pd

from lore_core.data.errors import InputError
from lore_core.reading.checks import check_data
from lore_core.reading.columns import Columns
from lore_core.reading.file_rows import MissingRoleError, assemble, read_rows
from lore_core.reading.mapping import PROBABILITY_KINDS, ColumnMapping
from lore_core.reading.roles import CORRECT_NAMES, FreeColumns, guess, is_share

#: Most suggestions, and columns that are tried for a role.
_MOST, _TRIED = 4, 8
#: What single columns of a kind are called in words; others are called as their kind.
_WORDS = {"correct": "the confidence", "confidence": "the confidence", "positive": "P(y = 1)"}


@dataclass(frozen=True)
class Suggestion:
    """A mapping that reads the file."""

    role: str  #: What it changes
    words: str  #: As what is read: ```token_prob` as the confidence``
    column: str  #: The column it names, if one
    mapping: ColumnMapping


def suggest(columns: Columns, given: ColumnMapping) -> tuple[Suggestion, ...]:
    """Return other mappings with which a file reads; none where it reads as given."""
    if _reads(columns, given):
        return ()
    try:
        known = guess(columns, given)
    except InputError:
        given = ColumnMapping(table=given.table, query=given.query)
        known = guess(columns, given)
        if _reads(columns, given):
            return (Suggestion("label", "with guessed roles", "", given),)
    found: list[Suggestion] = []
    for role, words, column, change in _changes(columns, known):
        mapping = replace(given, **change)
        is_new = role != "probabilities" or column not in [item.column for item in found]
        if is_new and (not found or role == found[0].role) and _reads(columns, mapping):
            found.append(Suggestion(role, words, column, mapping))
        if len(found) == _MOST:
            break
    return tuple(found)


def explained(error: MissingRoleError, columns: Columns, given: ColumnMapping) -> InputError:
    """Return the error with the options that would read the file, where some were found."""
    known = guess(columns, given).options()
    fixes = [
        " ".join(f"--column {quote(item)}" for item in found.mapping.options() if item not in known)
        for found in suggest(columns, given)
    ]
    return InputError(f"{error} Or use {', or '.join(fixes)}.") if fixes else error


def question(found: tuple[Suggestion, ...], known: ColumnMapping) -> str:
    """Ask which of some suggestions is meant."""
    named = [f"'{item.column}'" for item in found]
    label = found[0].mapping.label or known.label
    choice = f"{', '.join(named[:-1])} or {named[-1]}" if len(named) > 1 else named[0]
    if found[0].role == "probabilities":
        return f"Found '{label}'; which column is {found[0].words.split(' as ')[-1]}: {choice}?"
    if found[0].role == "label":
        return f"Which column is the true class: {choice}?"
    return "It reads another way:"


def _reads(columns: Columns, mapping: ColumnMapping) -> bool:
    try:
        used = guess(columns, mapping)
        dataset, _ = assemble([read_rows(columns, used)], name=columns.file)
        check_data(dataset, mapping.accept or (), kind=used.probability_kind)
    except InputError:
        return False
    return True


def _changes(
    columns: Columns, known: ColumnMapping
) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield what may be meant otherwise, the likeliest first: role, words, column, change."""
    flat = [n for n in columns.names if columns.flat(n) and columns.kinds[n] != "other"]
    names = known.probabilities or ()
    label = known.label or FreeColumns(columns, ()).named(CORRECT_NAMES)
    both = _label_and_probabilities(columns, flat, replace(known, label=label))
    if label and not names and columns.flat(label):
        yield from both
    for kind in PROBABILITY_KINDS if names else ():
        if kind != known.probability_kind:
            other = {"probabilities": names, "probability_kind": kind}
            yield "probability_kind", f"as {_WORDS.get(kind, kind)}", names[0], other
    for role in ("split", "weight", "unit"):
        if name := getattr(known, role) or "":
            yield role, f"without '{name}' as {role}", name, {role: ""}
    width = sum(map(columns.width, names))
    for name in [n for n in flat if _can_be_label(columns, n, known, width)][:_TRIED]:
        yield "label", f"{name} as the true class", name, {"label": name}
    if not (label or names):
        yield from both
    for name in known.features or ():
        left = tuple(n for n in known.features or () if n != name)
        yield "features", f"without '{name}' as feature", name, {"features": left}


def _label_and_probabilities(
    columns: Columns, flat: list[str], known: ColumnMapping
) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield columns that may be the probabilities, with the true classes if those are open, too."""
    matrices = [n for n in columns.names if len(columns.shapes[n]) == 2 and n not in flat]
    open_labels = [n for n in flat if not known.label and _can_be_label(columns, n, known, 0)]
    for label in [known.label] if known.label else open_labels[:_TRIED]:
        right, used = columns.series(label), (label, known.prediction, known.split, known.row_id)
        free = [n for n in flat if n not in used and columns.kinds[n] != "date"]
        free = [n for n in free if not re.search(r"p[_\-. ]?val(ue)?s?$", n, re.IGNORECASE)]
        free = [n for n in free if known.label or is_share(columns, n)]
        alike = (n for n in flat if n != label and columns.series(n).isin(right.unique()).all())
        prediction = known.prediction or next(alike, "")
        is_right = label.lower() in CORRECT_NAMES
        first = ("confidence", "positive") if known.prediction else ("positive", "confidence")
        kinds = ("correct", "confidence") if is_right else (*first, "correct")
        for name in [*free[:_TRIED], *matrices]:
            for kind in kinds if name in free else ("probabilities", "logits"):
                change = {"label": label, "probabilities": name, "probability_kind": kind}
                if kind == "confidence" and prediction != name:
                    change["prediction"] = prediction
                words = f"{name} as {_WORDS.get(kind, kind)}"
                if known.label:
                    yield "probabilities", words, name, change
                else:
                    yield "label", f"{label} as the true class, {words}", label, change


def _can_be_label(columns: Columns, name: str, known: ColumnMapping, width: int) -> bool:
    """Return whether a column has as many values as there are classes, or 2 to 50."""
    values: pd.Series[Any] = columns.series(name)
    used = (known.label, known.split, known.row_id, *(known.probabilities or ()))
    fewest, most = (width, width) if 1 < width <= 5 else (2, 50)
    return name not in used and fewest <= values.nunique() <= most and not values.isna().any()
