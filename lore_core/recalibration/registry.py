"""The one list of recalibrators; each module is imported when its recalibrator is needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from lore_core.data.defaults import GAMMA, N_BINS

if TYPE_CHECKING:
    from lore_core.data.binning import Binning
    from lore_core.recalibration.base import Recalibrator


class Method(NamedTuple):
    """A recalibrator that a command names, a page offers and a file holds."""

    address: str  #: its module and class
    group: str  #: what it looks at
    when: str  #: in which case to take it
    standard: bool = True  #: whether it is compared until the reader says otherwise
    takes: tuple[str, ...] = ()  #: of the settings of a comparison


_TOP, _VECTOR = "the predicted class", "the whole vector"
_FEATURES, _PLACE = "features", "the position on a map"

#: All of our own by their command names, in the order of comparisons.
METHODS = {
    "none": Method(
        "base:NoRecalibration",
        "nothing",
        "No other method is significantly better on NLL; it is what the others are compared with.",
    ),
    "temperature": Method(
        "temperature_scaling:TemperatureScaling",
        _VECTOR,
        "Few rows, or many classes and few rows of each: one number cannot fit noise.",
    ),
    "vector": Method(
        "affine_softmax:VectorScaling",
        _VECTOR,
        "Some classes are overconfident and others underconfident.",
        standard=False,
    ),
    "matrix": Method(
        "affine_softmax:MatrixScaling",
        _VECTOR,
        "Classes are taken for one another, and there are some hundred rows or more.",
    ),
    "dirichlet": Method(
        "affine_softmax:DirichletCalibration",
        _VECTOR,
        "As matrix scaling, for forests and others whose probabilities are no softmax.",
        standard=False,
    ),
    "platt": Method(
        "logistic:PlattScaling", _TOP, "Two classes, or few rows and only the confidence counts."
    ),
    "beta": Method(
        "logistic:BetaCalibration",
        _TOP,
        "Two classes: like Platt scaling, and a curve that may bend otherwise at each end.",
    ),
    "isotonic": Method(
        "step_functions:IsotonicRegression",
        _TOP,
        "A thousand rows or more, and a curve of no known shape.",
    ),
    "venn-abers": Method(
        "step_functions:VennAbers",
        _TOP,
        "As isotonic regression with fewer rows: it never says 0 or 1.",
        standard=False,
    ),
    "histogram": Method(
        "step_functions:HistogramBinning",
        _TOP,
        "A few confidences that each can be checked, and many rows in each bin.",
        takes=("n_bins", "binning"),
    ),
    "mmce": Method(
        "temperature_scaling:MMCEOptimization", _VECTOR, "To compare with the paper's baseline."
    ),
    "logistic": Method(
        "logistic:LogisticRecalibration",
        _FEATURES,
        "The confidence is wrong along a feature, or with a predicted class, everywhere alike.",
        standard=False,
    ),
    "boosting": Method(
        "boosting:BoostingRecalibration",
        _FEATURES,
        "As logistic regression with a thousand rows or more: what features do jointly, too.",
        standard=False,
    ),
    "lore": Method(
        "lore:LoRe",
        _PLACE,
        "The paper's method, at a bandwidth of your choice.",
        takes=("gamma", "n_bins", "binning"),
    ),
    "smooth": Method(
        "smooth_lore:SmoothLoRe",
        _PLACE,
        "The confidence is wrong in regions or groups that the classifier does not know.",
    ),
    "levels": Method(
        "smooth_lore:LevelLoRe",
        _PLACE,
        "As LoRe smooth, where the worst bin, region or group counts more than NLL.",
        standard=False,
    ),
}
#: Address of each class that a file can hold, by its name.
SAVED = {method.address.partition(":")[2]: method.address for method in METHODS.values()}


def class_at(address: str) -> type[Recalibrator]:
    """Return the class at ``module:class``; its module is imported now."""
    module, _, name = address.partition(":")
    found: type[Recalibrator] = getattr(import_module(f"lore_core.recalibration.{module}"), name)
    return found


def named_recalibrator(
    name: str, gamma: float = GAMMA, n_bins: int = N_BINS, binning: Binning = "equal-width"
) -> Recalibrator:
    """Return a method by its name in :data:`METHODS`, not yet fitted."""
    settings: dict[str, Any] = {"gamma": gamma, "n_bins": n_bins, "binning": binning}
    method = METHODS[name]
    return class_at(method.address)(**{of: settings[of] for of in method.takes})


def which_for_which_case() -> dict[str, list[str]]:
    """Return our own methods as columns of text: ``method, looks at, when``."""
    return {
        "method": [class_at(method.address).label for method in METHODS.values()],
        "looks at": [method.group for method in METHODS.values()],
        "when": [method.when for method in METHODS.values()],
    }


@cache
def color_numbers() -> dict[str, int]:
    """Return the number of every method's colour, by its label."""
    kinds = [class_at(method.address) for method in METHODS.values()]
    return {kind.label: kind.color for kind in kinds if kind.color is not None}


def standard_recalibrators(
    gamma: float = GAMMA, n_bins: int = N_BINS, binning: Binning = "equal-width"
) -> list[Recalibrator]:
    """Return one of each method that is compared by default, not yet fitted, in that order.

    ``gamma``: of plain LoRe; the others choose their own. ``n_bins``, ``binning``: of all methods
    that use them but LoRe smooth.
    """
    standard = [name for name, method in METHODS.items() if method.standard]
    return [named_recalibrator(name, gamma, n_bins, binning) for name in standard]


def offered_recalibrators(
    gamma: float = GAMMA, n_bins: int = N_BINS, binning: Binning = "equal-width"
) -> list[Recalibrator]:
    """Return one of every method, not yet fitted."""
    return [named_recalibrator(name, gamma, n_bins, binning) for name in METHODS]
