"""The one list of recalibrators: what is compared, offered, named by a command, read from a file.

A module is imported when its recalibrator is needed: a command names them all without waiting, and
a saved one does not need the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lore_core.data.binning import Binning
    from lore_core.recalibration.base import Recalibrator

#: By what a command calls it, a recalibrator's module and class. In the order of comparisons.
STANDARD = {
    "none": "no_recalibration:NoRecalibration",
    "temperature": "temperature_scaling:TemperatureScaling",
    "platt": "platt_scaling:PlattScaling",
    "isotonic": "isotonic_regression:IsotonicRegression",
    "histogram": "histogram_binning:HistogramBinning",
    "mmce": "mmce_optimization:MMCEOptimization",
    "lore": "lore:LoRe",
    "tuned": "tuned_lore:TunedLoRe",
}
#: Made of another recalibrator.
COMPOSED = ("group_wise:GroupWise",)
#: Of other libraries; offered where those are installed, and in no file.
RIVALS = ("beta_calibration:BetaCalibration", "mcgrad_boosting:MCGrad")

#: What a file can hold: a class's name, which is its name there too, and its place.
_SAVED = {place.partition(":")[2]: place for place in (*STANDARD.values(), *COMPOSED)}


def _class_at(place: str) -> type[Recalibrator]:
    module, _, name = place.partition(":")
    found: type[Recalibrator] = getattr(import_module(f"lore_core.recalibration.{module}"), name)
    return found


def saved_names() -> list[str]:
    """Return the names of all classes that a file can hold."""
    return sorted(_SAVED)


def can_be_saved(kind: type[Recalibrator]) -> bool:
    """Whether a file can hold what this class fitted; no subclass inherits it."""
    place = _SAVED.get(kind.__name__)
    return place is not None and _class_at(place) is kind


def saved_class(name: str) -> type[Recalibrator]:
    """Return the class of a name in a file.

    Raises InputError if there is none of that name.
    """
    from lore_core.data.validation import InputError

    if name not in _SAVED:
        raise InputError(
            f"the file of a recalibrator must hold one of {', '.join(saved_names())}; got {name!r}."
        )
    return _class_at(_SAVED[name])


def standard_recalibrator(
    name: str, gamma: float = 0.2, n_bins: int = 15, binning: Binning = "equal-width"
) -> Recalibrator:
    """Return one method, not yet fitted.

    ``name``: what a command calls it: a key of :data:`STANDARD`. ``gamma``, ``n_bins``,
    ``binning``: see :func:`standard_recalibrators`.
    """
    return _class_at(STANDARD[name]).standard(gamma, n_bins, binning)


def standard_recalibrators(
    gamma: float = 0.2, n_bins: int = 15, binning: Binning = "equal-width"
) -> list[Recalibrator]:
    """Return one of each method, not yet fitted, in the order they are compared.

    Parameters
    ----------
    gamma : float
        Bandwidth of plain LoRe; the tuned one chooses its own.
    n_bins, binning
        Confidence bins of the methods that use them; tuned LoRe chooses its own number too.
    """
    return [standard_recalibrator(name, gamma, n_bins, binning) for name in STANDARD]


def installed_rivals() -> list[Recalibrator]:
    """Return one of each method of another library that is installed, not yet fitted."""
    return [kind() for kind in map(_class_at, RIVALS) if kind.installed()]


def offered_recalibrators(
    gamma: float = 0.2, n_bins: int = 15, binning: Binning = "equal-width"
) -> list[Recalibrator]:
    """Return the standard recalibrators, then those of other libraries that are installed."""
    return [*standard_recalibrators(gamma, n_bins, binning), *installed_rivals()]
