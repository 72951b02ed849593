"""The confidence from which rows are answered, with a guaranteed error rate: numpy alone."""

import math
from dataclasses import dataclass
from typing import Annotated

from lore_core.data.arrays import Floats, Mask
from lore_core.data.number_text import percent, rows_words, share_words
from lore_core.data.rules import Number

_Count = Annotated[int, Number(0, whole=True)]
_Share = Annotated[float | None, Number(0, 1)]
_Inside = Annotated[float, Number(1e-9, 1 - 1e-9)]


@dataclass(frozen=True)
class AnswerThreshold:
    """Confidence from which rows are answered, so that of all answers at most a share is wrong."""

    confidence: _Share  #: None: no threshold is guaranteed
    risk: _Inside  #: The largest share of wrong answers
    #: Chance, over the rows they are chosen on, that more are at any of so many thresholds.
    error: _Inside
    n_joint: Annotated[int, Number(1, whole=True)]
    n_rows: Annotated[int, Number(1, whole=True)]  #: Rows it was chosen on
    n_answered: _Count = 0  #: Of these
    n_wrong: _Count = 0  #: Of those answered
    bound: _Share = None  #: Upper bound of the share of wrong answers
    #: About how many rows would do if error rates stay; None: there is one, or they are too high.
    rows_needed: Annotated[int | None, Number(0, whole=True)] = None

    @property
    def wrong(self) -> float:
        """Share of the answers that were wrong; NaN without any."""
        return self.n_wrong / self.n_answered if self.n_answered else math.nan

    def abstains(self, confidence: Floats) -> Mask:
        """Return which rows are not answered, (n,): all without a threshold."""
        return confidence < (math.inf if self.confidence is None else self.confidence)

    @property
    def sentence(self) -> str:
        """The guarantee, or why there is none and what would help."""
        rows, limit = rows_words(self.n_rows), f"at most {100 * self.risk:.3g} % wrong answers"
        if self.confidence is not None:
            at_once = f" for all {self.n_joint:,} thresholds at once" * (self.n_joint > 1)
            return (
                f"{share_words(self.n_answered / self.n_rows)} of {rows} are answered, those of "
                f"confidence {percent(self.confidence, 2)} or more ({percent(self.wrong)} wrong): "
                f"{limit}, {100 * (1 - self.error):.3g} % certain{at_once}."
            )
        why = "there are more at every confidence"
        if self.rows_needed is not None:
            why = f"if error rates stay, that takes about {self.rows_needed:,} rows"
        return f"{rows} cannot guarantee {limit}: {why}."

    def cells(self) -> dict[str, str]:
        """Return the numbers as text, by their headings."""
        return {
            "answer from": percent(math.nan if self.confidence is None else self.confidence, 2),
            "answered": percent(self.n_answered / self.n_rows),
            "wrong": percent(self.wrong),
            "wrong, at most": percent(math.nan if self.bound is None else self.bound),
            "of rows": f"{self.n_rows:,}",
            "rows needed": f"{self.rows_needed:,}" if self.rows_needed else "",
        }
