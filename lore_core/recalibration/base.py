"""What every recalibrator can do: fit on calibration rows, then change confidences elsewhere."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core import __version__
from lore_core.data.abstention import AnswerThreshold
from lore_core.data.archive_files import Form, Kind, form_of
from lore_core.data.atomic_files import write_bytes
from lore_core.data.rows import Rows
from lore_core.data.rules import Number, Sizes, check_fields, check_value, refuse
from lore_core.data.shown import Shown
from lore_core.data.validation import InputError, OnMaps, check_integer
from lore_core.embedding.result import FORMS
from lore_core.recalibration import registry
from lore_core.recalibration.cells import CELL_SIZE
from lore_core.recalibration.dataset_rows import FittedOn, rows_of

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress


class _NoState(TypedDict):
    """Nothing is fitted."""


class Recalibrator(Shown, ABC):
    """Learns on calibration rows how to correct confidences, and corrects those of other rows.

    The predicted class of a row stays what the classifier predicted, and with it the accuracy;
    another class may become more probable.

    A recalibrator is its settings, the parameters of its class, and its state, which ``fit`` finds:
    numbers, text, arrays, lists and dicts of those by name, and other fitted recalibrators.
    ``apply`` needs the state, the rows and numpy alone.
    """

    #: Name in tables and legends. Set another on an instance to compare two settings.
    label: str = ""
    #: Number of its colour in figures/style.py; None: by position in a figure.
    color: int | None = None
    needs_embedding: bool = False  #: Whether ``fit`` and ``recalibrate`` need an embedding
    needs_features: bool = False  #: Whether they need the rows' features themselves
    #: Whether rows count by their weights in ``fit``; else weighted rows are refused.
    takes_weights: bool = False
    #: What the numbers of its state are called in the list of a file's contents.
    numbers_in_words: str = "settings"
    #: TypedDict of its state, annotated with what values must be (sizes: K classes, n
    #: rows or cells, p features) and what arrays hold: ``{who}`` for a value of each row or cell,
    #: ``{cuts}`` and ``{smallest}`` (of ``count``) where values of single rows may be among them.
    state_type: type = _NoState

    n_rows_: int = 0  #: Rows the method was fitted on; 0 before ``fit``
    #: Names of what the calibration rows held, and the maps that placed them; None before ``fit``.
    fitted_on_: FittedOn | None = None
    #: Confidence below which one abstains, chosen after ``fit`` and saved with it; None: nowhere.
    answer_threshold: AnswerThreshold | None = None
    _state: Mapping[str, Any] | None = None

    def fit(
        self, calibration: Dataset, embedding: OnMaps = None, *, progress: Progress | None = None
    ) -> Self:
        """Learn from calibration rows.

        ``embedding``: their coordinates, for methods that are local: an Embedding, (n, d), or a
        dict of those by name, of which a method uses the one ``feature_map`` names, or the first.
        ``progress``: called with the share done by slow methods; may raise ``Cancelled``. Raises
        InputError if the method cannot use weights the rows have, or a parameter has an invalid
        value.
        """
        if calibration.weights is not None and not self.takes_weights:
            raise InputError(
                f"{self.label} lets every calibration row count once; those of "
                f"'{calibration.name}' have weights. Take another method, or leave the weights out "
                '(mapping={"weight": ""}, --column weight=).'
            )
        self._check_params()
        self._state = self._fit_on(calibration, embedding, progress)
        self.n_rows_ = len(calibration)
        self.fitted_on_, self.answer_threshold = FittedOn.of(calibration, embedding), None
        return self

    @abstractmethod
    def _fit_on(
        self, calibration: Dataset, embedding: OnMaps, progress: Progress | None, /
    ) -> Mapping[str, Any]:
        """Return the state."""

    def __post_init__(self) -> None:
        """Check the parameters, which are the fields of a dataclass."""
        self._check_params()

    def _check_params(self) -> None:
        """Refuse invalid parameters; called by ``__init__`` and ``fit``."""

    def state(self) -> Mapping[str, Any]:
        """Return what was fitted: the values :meth:`apply` needs, by name."""
        return self._fitted("it has a state")

    def _fitted(self, purpose: str) -> Mapping[str, Any]:
        if self._state is None:
            raise InputError(f"{type(self).__name__} must be fitted before {purpose}.")
        return self._state

    def __getattr__(self, name: str) -> Any:
        """Return what was fitted, by its name and an underscore."""
        state = self.__dict__.get("_state") or {}
        if name.endswith("_") and name[:-1] in state:
            return state[name[:-1]]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @staticmethod
    @abstractmethod
    def apply(state: Any, rows: Rows) -> Rows:
        """Correct the probabilities of rows; returns ``rows`` itself where nothing changes."""

    def applied_to(self, rows: Rows) -> Rows:
        """Return rows with corrected probabilities."""
        return self.apply(self._fitted("it can recalibrate"), rows)

    def recalibrate(self, evaluation: Dataset, embedding: OnMaps = None) -> Dataset:
        """Return ``evaluation`` with corrected probabilities; its labels are not looked at.

        ``embedding``: coordinates of these rows on the maps the method was fitted on.
        """
        rows = rows_of(evaluation, embedding, type(self).label or self.label)
        corrected = self.applied_to(rows)
        if corrected is rows:
            return evaluation
        return evaluation.with_checked(corrected.probabilities)

    @property
    def is_global(self) -> bool:
        """True for a method that looks at the predictions only."""
        return not (self.needs_embedding or self.needs_features)

    @property
    def remark(self) -> str:
        """A remark on the fit after the method's name; empty where there is none."""
        return ""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters with their values."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters, but not what was fitted."""
        settings = self.get_params()
        for name in params.keys() - settings.keys():
            known = ", ".join(map(repr, settings)) or "none"
            raise InputError(
                f"'{name}' must be a parameter of {type(self).__name__}, which has: {known}."
            )
        vars(self).update(vars(type(self)(**settings | params)))
        return self

    def clone(self) -> Self:
        """Return the same method with the same settings, not fitted."""
        return self.restored(self.get_params(), None, label=self.label, n_rows=0)

    def __sklearn_clone__(self) -> Self:
        return self.clone()

    def __repr__(self) -> str:
        usual = inspect.signature(type(self)).parameters.values()
        changed = (
            f"{item.name}={getattr(self, item.name)!r}"
            for item in usual
            if repr(getattr(self, item.name)) != repr(item.default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    @classmethod
    def restored(
        cls,
        settings: Mapping[str, Any],
        state: Mapping[str, Any] | None,
        *,
        label: str,
        n_rows: int,
    ) -> Self:
        """Return a recalibrator as it was; ``state`` is None where it was not fitted."""
        made = cls(**settings)
        made.label, made.n_rows_, made._state = label, n_rows, state
        return made

    @staticmethod
    def used_maps(state: Any) -> list[str | None]:
        """Return the names of the maps that :meth:`apply` asks for; None: the first."""
        return []

    @staticmethod
    def parts(state: Any) -> list[Recalibrator]:
        """Return the fitted recalibrators that the state holds."""
        if isinstance(state, Recalibrator):
            return [state]
        values = state.values() if isinstance(state, Mapping) else state
        inside = values if isinstance(state, (Mapping, list, tuple)) else ()
        return [part for value in inside for part in Recalibrator.parts(value)]

    @staticmethod
    def in_cells(state: Any, size: int) -> tuple[Any, NDArray[np.int64] | None]:
        """Return a state of means over ``size`` rows or more, and cells of rows (n,), −1: none."""
        return state, None

    def without_rows(self, cell_size: int = CELL_SIZE) -> Self:
        """Return the fitted method with means over cells in place of its calibration rows.

        For confidential data. Its confidences differ somewhat from the method's own; methods that
        hold only a few numbers do not change. Those made of others that hold rows are refused:
        cells of both, subtracted, could tell single rows apart. ``cell_size``: least number of rows
        in a cell, from 3; rows with fewer others in their confidence bin are left out: a confidence
        that falls there stays as it is.

        No differential privacy: a cell whose outcomes all agree tells them, and so does a cell of
        which all other rows are known.
        """
        size = check_integer(cell_size, "cell_size", minimum=3)
        state, on = self._fitted("its rows can be left out"), self.fitted_on_
        for part in self.parts(state):
            if type(part).in_cells is not Recalibrator.in_cells:
                raise InputError(
                    f"{self.label} cannot be shipped without rows: it is made of {part.label}, and "
                    "cells of both, subtracted, could tell single rows apart. Use a part that is a "
                    "few numbers, such as temperature scaling."
                )
        of_cells, cell = self.in_cells(state, size)
        made = self.restored(self.get_params(), of_cells, label=self.label, n_rows=self.n_rows_)
        made.fitted_on_ = on if on is None or cell is None else on.in_cells(cell)
        return made

    @staticmethod
    def check_state(state: Any, name: str, sizes: Sizes) -> None:
        """Refuse a state whose parts do not fit together; ``name``: the method's in errors."""

    def check_restored(self, n_classes: int, n_features: int) -> None:
        """Refuse a recalibrator from a file, or a part of it, whose state is none of its method."""
        name = type(self).__name__
        check_value(str, self.label, f"{name}: label")
        Number(0, whole=True).check(self.n_rows_, f"{name}: calibration_rows")
        sizes = {"K": n_classes, "calibration_rows": self.n_rows_}
        if self.needs_features:
            sizes["p"] = n_features
        check_fields(self.state_type, self._state, name, sizes)
        state = self.state()
        self.check_state(state, name, sizes)
        for part in self.parts(state):
            part.check_restored(n_classes, n_features)

    def to_bytes(self, *, maps: bool = True, rows: bool = True, key: bytes | None = None) -> bytes:
        """Return the content of the file that :meth:`save` writes; see there for the arguments."""
        if not rows:
            return self.without_rows().to_bytes(maps=maps, key=key)
        state, on = self._fitted("it can be saved"), self.fitted_on_
        if on is None:
            raise InputError(f"{self.label} is a part of another recalibrator; save that one.")
        content = {
            "written_by": f"lore-lens {__version__}",
            "method": self,
            "answer_threshold": self.answer_threshold,
            **vars(on),
            "feature_maps": on.stored_maps(self.used_maps(state), maps),
        }
        return KIND.pack(*KIND.encode(content), key)

    def save(
        self, path: str | Path, *, maps: bool = True, rows: bool = True, key: bytes | None = None
    ) -> None:
        """Write the fitted method to one file, without pickle, in one step.

        :func:`lore_core.load_recalibrator` reads it back, :class:`lore_core.shipping.Predictor`
        applies it with numpy alone, :func:`lore_core.shipping.describe` says what it holds, and
        whether single rows can be read. ``maps``: also save the feature maps ``fit`` got, so that
        new rows need only features, not coordinates. ``rows``: False: without single calibration
        rows, see :meth:`without_rows`. ``key``: secret to sign the file with (HMAC-SHA256), which
        ``load_recalibrator(path, key=…)`` then checks. Raises InputError if the method is not
        fitted, is no class of this library, has a map that no file can hold, or the file cannot be
        written.

        A local method consists of its calibration rows: treat its file like those rows.
        """
        write_bytes(path, self.to_bytes(maps=maps, rows=rows, key=key))


class NoRecalibration(Recalibrator):
    """Leaves every probability as it is. Its state is empty."""

    takes_weights = True
    label = "No recalibration"
    color = 0
    numbers_in_words = "nothing: it changes no confidence"

    def _fit_on(self, calibration: Dataset, *_: object) -> Mapping[str, Any]:
        return {}

    @staticmethod
    def apply(state: Any, rows: Rows) -> Rows:
        """Return the rows."""
        return rows


def _parts_of(method: Recalibrator) -> dict[str, Any]:
    name = type(method).__name__
    if name not in registry.SAVED or _class_named(name) is not type(method):
        raise InputError(
            f"{name} cannot be saved: a file does not hold its code. These can be: "
            f"{', '.join(sorted(registry.SAVED))}."
        )
    return {
        "class": name,
        "label": method.label,
        "calibration_rows": method.n_rows_,
        "settings": method.get_params(),
        "state": method._state,
    }


def _class_named(name: str) -> type[Recalibrator]:
    if name not in registry.SAVED:
        known = ", ".join(sorted(registry.SAVED))
        raise InputError(f"the file of a recalibrator must hold one of {known}; got {name!r}.")
    return registry.class_at(registry.SAVED[name])


def _built(parts: dict[str, Any]) -> Recalibrator:
    return _class_named(parts["class"]).restored(
        parts["settings"], parts["state"], label=parts["label"], n_rows=parts["calibration_rows"]
    )


KIND = Kind(
    "lore-recalibrator",
    "a recalibrator",
    "Recalibrator.save()",
    (Form("recalibrator", Recalibrator, _parts_of, _built), form_of(AnswerThreshold), *FORMS),
)


def load_recalibrator(
    source: str | Path | bytes | BinaryIO, *, key: bytes | None = None
) -> Recalibrator:
    """Read a recalibrator that ``Recalibrator.save`` wrote; no code is run from the file.

    ``source``: the file or its content. ``key``: what the file must have been signed with, by
    ``save(key=…)``; without one a damaged file is refused, but not a forged one. Returns the fitted
    method, which gives the same numbers; :class:`lore_core.shipping.Predictor` applies the same
    file to arrays, with numpy alone. Raises InputError if the file is damaged, changed, of another
    kind or of another schema.
    """
    content = dict(KIND.read(source, key))
    method: Recalibrator = content.pop("method", None)
    check_value(Recalibrator, method, "method")
    check_value(str, content.pop("written_by", None), "written_by")
    threshold: AnswerThreshold | None = content.pop("answer_threshold", None)
    check_value(AnswerThreshold | None, threshold, "answer_threshold")
    check_fields(FittedOn, content, "")
    listed = {name: tuple(part) for name, part in content.items() if isinstance(part, list)}
    on = FittedOn(**{**content, **listed})
    if len(on.class_names) < 2:
        raise refuse("class_names", "a list of two or more", on.class_names)
    method.check_restored(len(on.class_names), len(on.feature_names))
    known = {0 if item["map"] is None else item["map"].known_rows for item in on.feature_maps}
    if not known <= {0, on.known_rows}:
        raise refuse("known_rows", "the rows of its maps", on.known_rows)
    method.fitted_on_, method.answer_threshold = on, threshold
    return method
