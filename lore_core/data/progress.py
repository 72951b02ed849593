"""How long work reports where it is, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable

#: Called with the fraction done (0 to 1) and a short plain message, "iteration 120 of 750".
#: It stops the work by raising :class:`Cancelled`.
Progress = Callable[[float, str], None]


class Cancelled(Exception):  # noqa: N818 - it is a request that was met, not an error
    """Raised by a progress callable to stop the work it watches."""
