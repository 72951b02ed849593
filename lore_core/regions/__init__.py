"""Where: sets of rows, found or drawn, what is true of them and what they are made of.

``variables`` are the columns along which a gap is looked for, ``subgroups`` the slices and regions
where the confidence is worse than on average, with the verdict.
"""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
