"""Which column plays which role."""

import dataclasses
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lore_core.data.errors import InputError, check_choice, listed
from lore_core.reading.columns import Columns

PROBABILITY_KINDS = ("probabilities", "logits", "confidence", "positive", "correct")
#: Classes of answers that are only known to be right or wrong.
WRONG_OR_RIGHT = ("wrong", "right")
_SINGLE = ("label", "prediction", "split", "images", "row_id", "text", "weight", "unit")
#: Roles that take several names.
SEVERAL = ("probabilities", "features", "groups", "metadata", "class_names", "accept")
#: Of these, those that name no columns.
_NO_COLUMNS = ("class_names", "accept")
_WORDS = "probabilities|probability|probas|proba|probs|prob|p|logits|logit|scores|score"
_BEFORE = r"(?:(?:y|pred|predicted|prediction|scored)[_\-. ]){0,2}"
_PREFIX = re.compile(
    rf"^(?:\.pred_|rawformulaval:class=|(?:\w+\.)?{_BEFORE}(?:{_WORDS})(?:[_\-. ](?:of )?)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ColumnMapping:
    """Which column (of a table) or array (of an ``.npz``) plays which role.

    ``None`` means *guess*, an empty string or tuple *none*. A name ending in ``*`` stands for every
    column that starts so, in file order: ``features="f_*"``.

    ``label, prediction``: true and predicted classes, as indices or names. ``probabilities``: one
    column a class, in class order; an array (n, K); or a single column of ``probability_kind``:
    "probabilities"; "logits", of a single column that of P(y = 1); "confidence", that of the
    predicted class, which needs ``prediction``; "positive", P(y = 1) of a binary problem;
    "correct", the confidence in an answer, of which ``label`` says whether it is right. ``split``:
    which rows are for calibration and which for evaluation. ``features``: what "similar rows"
    means. ``groups``: columns that name a group of each row. ``metadata``: other columns to show,
    by default every column without a role. ``images``: array of uint8 thumbnails; or a column of
    names of image files, below the table's folder. ``row_id``: the rows' own identifiers; the first
    metadata column. ``text``: a column of texts, kept as metadata; the features, if there are no
    others (:func:`~lore_core.data.with_text_features`). Never guessed. ``weight``: weights of rows;
    rows of weight 0 are left out. The name ``weight`` is not guessed: it may be in kilograms.
    ``unit``: what rows go together, such as a patient with several visits: the unit of each row.
    Only a column called ``unit`` is guessed; missing ones are units of their own. ``table``: sheet
    of a workbook or table of a database, by default the first or only one; ``query``: SQL query to
    a database (SQLite, DuckDB), instead of a table. ``class_names``: the names themselves, in class
    order. ``accept``: checks that would refuse the data and that you have looked into: "class
    order", "scale", "overlap", "incomplete", "confidence", "features".
    """

    label: str | None = None
    probabilities: tuple[str, ...] | None = None
    probability_kind: str | None = None
    prediction: str | None = None
    features: tuple[str, ...] | None = None
    split: str | None = None
    groups: tuple[str, ...] | None = None
    metadata: tuple[str, ...] | None = None
    images: str | None = None
    row_id: str | None = None
    text: str | None = None
    weight: str | None = None
    unit: str | None = None
    table: str | None = None
    query: str | None = None
    class_names: tuple[str, ...] | None = None
    accept: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for role in SEVERAL:
            value = getattr(self, role)
            if value is not None:
                names = (value,) if isinstance(value, str) else tuple(str(item) for item in value)
                object.__setattr__(self, role, tuple(name for name in names if name))
        if self.probability_kind is not None:
            check_choice(self.probability_kind, "probability_kind", PROBABILITY_KINDS)

    def options(self) -> tuple[str, ...]:
        """Write what is not guessed as :func:`parse_options` reads it."""
        values = ((item.name, getattr(self, item.name)) for item in dataclasses.fields(self))
        return tuple(
            f"{role}={value if isinstance(value, str) else ','.join(value)}"
            for role, value in values
            if value is not None
        )

    def used(self, *without: str) -> set[str]:
        """Return the columns that are named for roles other than those of ``without``."""
        by_role = self.columns().items()
        return {name for role, names in by_role if role not in without for name in names}

    def columns(self) -> dict[str, tuple[str, ...]]:
        """Return role to the columns named for it, empty roles left out."""
        by_role: dict[str, tuple[str, ...]] = {}
        for role in (*_SINGLE, *SEVERAL):
            value = getattr(self, role)
            if value and role not in _NO_COLUMNS:
                by_role[role] = (value,) if isinstance(value, str) else value
        return by_role


def as_mapping(mapping: ColumnMapping | Mapping[str, Any] | None) -> ColumnMapping:
    """Return a mapping from a mapping, a dict of its fields, or None."""
    if mapping is None:
        return ColumnMapping()
    if isinstance(mapping, ColumnMapping):
        return mapping
    fields = [item.name for item in dataclasses.fields(ColumnMapping)]
    for name in mapping:
        if name not in fields:
            raise InputError(
                f"'mapping' has no role {name!r}.{_meant(name, fields)} Roles: {listed(fields)}."
            )
    return ColumnMapping(**mapping)


def parse_options(options: Sequence[str]) -> ColumnMapping:
    """Parse ``"ROLE=NAME"``, several names with commas, as ``--column`` and links give them."""
    mapping: dict[str, Any] = {}
    for item in options:
        role, equals, name = item.partition("=")
        if not equals:
            raise InputError(f"'--column' must be ROLE=NAME, as in label=y; got {item!r}.")
        several = role in SEVERAL and "," in name
        mapping[role] = tuple(part.strip() for part in name.split(",")) if several else name
    return as_mapping(mapping)


def expand(mapping: ColumnMapping, columns: Columns) -> ColumnMapping:
    """Replace ``prefix*`` by its columns and check that every name exists."""
    replaced: dict[str, Any] = {}
    for role, names in mapping.columns().items():
        meant, called = list[str](), role.replace("_", " ")
        for name in names:
            starts = name[:-1] if name.endswith("*") else None
            fitting = [column for column in columns.names if starts and column.startswith(starts)]
            # An array that was split into columns may be named as a whole, too.
            fitting += [column for column, parent in columns.parents.items() if parent == name]
            fitting = [name] if name in columns.shapes else fitting
            if not fitting:
                raise InputError(
                    f"'{columns.file}' has no {columns.unit} '{name}', which was named as {called}."
                    f"{_meant(name, columns.names)} It has: {listed(columns.names)}."
                )
            meant += fitting
        if role in _SINGLE:
            if len(meant) > 1:
                raise InputError(
                    f"{listed(meant, 6)} were named as {called} of '{columns.file}', but only one "
                    f"{columns.unit} can be. Name one."
                )
            replaced[role] = meant[0]
        else:
            replaced[role] = tuple(dict.fromkeys(meant))
    expanded = dataclasses.replace(mapping, **replaced)
    seen: dict[str, str] = {}
    for role, names in expanded.columns().items():
        if role in ("groups", "metadata", "row_id", "text", "unit"):
            continue
        for name in names:
            if name in seen:
                raise InputError(
                    f"{columns.called(name)} is mapped to both {seen[name]} and {role}. Name one."
                )
            seen[name] = role
    return expanded


def class_suffixes(probabilities: Sequence[str]) -> tuple[str, ...]:
    """Return class names from probability columns: ``p_cat`` is ``cat``, other names stay."""
    suffixes = tuple(_PREFIX.sub("", name) for name in probabilities)
    pairs = zip(suffixes, probabilities, strict=True)
    are_names = all(0 < len(suffix) < len(name) for suffix, name in pairs)
    return suffixes if are_names and len(set(suffixes)) == len(suffixes) else tuple(probabilities)


def _meant(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""
