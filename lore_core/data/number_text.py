"""Numbers as text: shares in per cent (``78 %``), their differences in points (``7 points``)."""

import functools
import math
import re
from dataclasses import dataclass

from lore_core.data.errors import counted

HUNDREDTHS = 100.0
NOTHING = "–"


def decimal(value: float, digits: int, *, signed: bool = False) -> str:
    """Write a number with a minus sign, or a dash for NaN; ``signed``: plus too, but not for 0."""
    if not math.isfinite(value):
        return NOTHING
    rounded = round(value, digits) + 0.0  # + 0.0: no minus before zero
    plus = "+" if signed and rounded > 0 else ""
    return f"{plus}{rounded:.{digits}f}".replace("-", "−")


def percent(share: float, digits: int = 1) -> str:
    """Write a share: 0.877 is ``"87.7 %"``."""
    return NOTHING if not math.isfinite(share) else f"{decimal(share * HUNDREDTHS, digits)} %"


def share_words(share: float) -> str:
    """Write a share within a sentence, with a decimal only near 0 and 1: 0.877 is ``"88 %"``."""
    hundredths = share * HUNDREDTHS
    if 0 < hundredths < 0.05:
        return "under 0.1 %"
    if 99.95 <= hundredths < 100:
        return "over 99.9 %"
    return percent(share, 1 if 0 < hundredths < 1 or 99 < hundredths < 100 else 0)


def signed_points(share: float, digits: int = 1) -> str:
    """Write a difference of shares in points with its sign: ``"+2.1"``."""
    return decimal(share * HUNDREDTHS, digits, signed=True)


def points_words(share: float, digits: int = 0) -> str:
    """Write a difference in points: ``"7"``, ``"−0.4"``; one more digit if it rounds to 0."""
    if digits == 0 and round(share * HUNDREDTHS) == 0:
        digits = 1
    text = decimal(share * HUNDREDTHS, digits)
    return "0" if float(text.replace("−", "-")) == 0 else text


def with_points(share: float, digits: int = 0) -> str:
    """Write a difference of shares with its unit: ``"7 points"``, ``"1 point"``."""
    text = points_words(share, digits)
    return f"{text} {'point' if text == '1' else 'points'}"


def interval_words(low: float, high: float, digits: int = 0) -> str:
    """Write an interval of a gap in points: ``"7 to 15"``."""
    return " to ".join(decimal(end * HUNDREDTHS, digits) for end in (low, high))


def interval_95(low: float, high: float, digits: int = 0) -> str:
    """Write a 95 % interval of a gap: ``"95 % CI 7 to 15"``."""
    return f"95 % CI {interval_words(low, high, digits)}"


def gap_words(gap: float, low: float = math.nan, high: float = math.nan) -> str:
    """Write a gap with unit and interval: ``"+9.9 points (95 % CI +7.4 to +12.7)"``."""
    ends = f" (95 % CI {signed_points(low)} to {signed_points(high)})" if math.isfinite(low) else ""
    return f"{signed_points(gap)} points{ends}"


def signed_gap(gap: float) -> str:
    """Write an average gap: ``"4.3 points overconfident"``."""
    return f"{decimal(abs(gap) * HUNDREDTHS, 1)} points {'over' if gap > 0 else 'under'}confident"


#: Write a number of rows: ``"1 row"``, ``"1,234 rows"``.
rows_words = functools.partial(counted, thing="row")


def batches_words(n_batches: int) -> str:
    """Write a number of batches: ``"1 batch"``, ``"12 batches"``."""
    return f"{n_batches:,} {'batch' if n_batches == 1 else 'batches'}"


def neighbours_words(effective_size: float) -> str:
    """Write an effective sample size: ``"31 effective neighbours"``."""
    return counted(round(effective_size), "effective neighbour")


def p_words(p: float) -> str:
    """Write a p-value as ``"< 0.001"`` or with two digits; nothing for NaN."""
    if not math.isfinite(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def p_sentence(p: float) -> str:
    """Write a p-value within a sentence: ``"p = 0.012"``."""
    text = p_words(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def unbroken(text: str) -> str:
    """Replace spaces before units by no-break ones, for text that a browser wraps."""
    return re.sub(r"(?<=\d) (?=%|points?\b)", "\N{NO-BREAK SPACE}", text)


@dataclass(frozen=True)
class Unit:
    """How numbers of one unit are written."""

    name: str  #: In headings; may be empty
    scale: float  #: Factor
    digits: int  #: Decimals
    word: str = ""  #: After a number that stands alone
    in_files: str = ""  #: Name beside unscaled values

    def text(self, value: float, *, signed: bool = False) -> str:
        """Write a value under a heading; a dash for NaN."""
        return decimal(value * self.scale, self.digits, signed=signed)

    def interval_text(
        self, low: float, high: float, between: str = " to ", *, signed: bool = False
    ) -> str:
        """Write an interval under a heading, its ends joined by ``between``; nothing for NaN."""
        if not (math.isfinite(low) and math.isfinite(high)):
            return ""
        return between.join(self.text(end, signed=signed) for end in (low, high))

    def estimate_text(self, value: float, low: float, high: float, *, signed: bool = False) -> str:
        """Write a value with its interval, if any, in brackets."""
        ends = self.interval_text(low, high, signed=signed)
        return self.text(value, signed=signed) + (f" ({ends})" if ends else "")


POINTS = Unit("points", HUNDREDTHS, 1, word=" points", in_files="share, 0 to 1")
PERCENT = Unit("%", HUNDREDTHS, 1, word=" %", in_files="share, 0 to 1")
NATS = Unit("nats", 1, 3, in_files="nats")
PLAIN = Unit("", 1, 3, in_files="number")
SIGMAS = Unit("σ", 1, 2, word=" σ", in_files="standard deviations")
