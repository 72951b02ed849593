"""What is known about a metric besides its value; light, as the command's help reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lore_core.data.number_text import POINTS, Unit

if TYPE_CHECKING:
    from lore_core.data.arrays import Floats
    from lore_core.metrics.measured import Measured

#: Needed besides confidences and outcomes.
Need = Literal["probabilities", "features", "groups"]
#: Attributes of :class:`~lore_core.inference.simulation.NullErrors` that hold a metric's draws.
ChanceKey = Literal["mlce", "mlce_supported", "alce", "ece", "mce"]
#: Attributes of :class:`~lore_core.metrics.bandwidth.BandwidthCurve`, and keys of its null band.
CurveKey = Literal["mlce", "mlce_supported", "alce"]


@dataclass(frozen=True)
class OverBandwidths:
    """Words for a metric drawn against γ."""

    key: CurveKey  #: Attribute of a curve and of its chance band
    title: str  #: Its name as an axis
    meaning: str  #: What it is, within a sentence
    #: Names of the limits γ → 0 and γ → ∞; empty for none.
    at_zero: str = ""
    at_infinity: str = ""
    choice: str = ""  #: Its name as a choice, where that is not the title


@dataclass(frozen=True)
class RowMean:
    """A metric that is the mean of one value a row: it has a Student-t interval, also of pairs."""

    #: To values of shape (n,); NaN for rows that take no part.
    of_row: Callable[[Measured], Floats]

    def __call__(self, measured: Measured) -> float:
        """Return the mean, by the rows' weights."""
        values = measured.by_row(self)
        return float(values[values == values].mean())


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One number that says something about the confidences of a classifier."""

    name: str  #: Its column in tables and files
    label: str = ""  #: As headings say it; the name if empty
    explanation: str  #: One sentence, two at most
    unit: Unit = POINTS  #: With the number of digits
    #: Which values are better; None where neither is.
    direction: Literal["lower", "higher"] | None = "lower"
    needs: tuple[Need, ...] = ()  #: What must be known besides confidences and outcomes
    measure: Callable[[Measured], float]
    #: Ends of a 95 % interval that is neither simulated nor that of a :class:`RowMean`.
    interval: Callable[[Measured], tuple[float, float]] | None = None
    #: Attribute of :class:`~lore_core.inference.simulation.NullErrors` that holds its draws.
    chance: ChanceKey | None = None
    curve: OverBandwidths | None = None  #: Where it is drawn against γ
    #: Whether recalibrators are compared by it; if not, it is in tables of one model only.
    compared: bool = True
    #: Whether it is a maximum over however small sets of rows: one of the paper's.
    unfiltered_maximum: bool = False
    #: Whether it is a proper score: in expectation nothing but the truth is best.
    proper: bool = False

    @property
    def words(self) -> str:
        """Its name within a sentence or a list."""
        return self.label or self.name

    @property
    def title(self) -> str:
        """Its name where it stands alone."""
        return self.words[0].upper() + self.words[1:]

    @property
    def has_interval(self) -> bool:
        """Whether it has a 95 % interval: its own, one by simulation, or that of a mean."""
        return self.interval is not None or self.chance is not None or self.is_paired

    @property
    def is_paired(self) -> bool:
        """Whether its difference between methods has an interval: whether it is a mean of rows."""
        return isinstance(self.measure, RowMean)

    @property
    def heading(self) -> str:
        """Its name with the unit, as over a column of bare numbers."""
        return ", ".join(filter(None, [self.words, self.unit.name]))

    def text(self, value: float) -> str:
        """Write a value in unit and digits of the metric, under its heading; NaN gives a dash."""
        return self.unit.text(value)

    def text_alone(self, value: float) -> str:
        """Write a value with its unit."""
        return f"{self.text(value)}{self.unit.word}"

    def interval_text(self, low: float, high: float, between: str = " to ") -> str:
        """Write an interval under its heading, or nothing where there is none."""
        return self.unit.interval_text(low, high, between)
