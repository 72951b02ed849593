"""How long work reports where it is, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable

#: Called with the fraction done (0 to 1) and a short plain message, "iteration 120 of 750".
#: It stops the work by raising :class:`Cancelled`.
Progress = Callable[[float, str], None]


def tell(progress: Progress | None, share: float, message: str) -> None:
    """Say how much is done, where somebody listens."""
    if progress is not None:
        progress(share, message)


def part_of(
    progress: Progress | None, start: float, stop: float, message: str = ""
) -> Progress | None:
    """Return what is told of a part of the work, from ``start`` to ``stop`` of the whole.

    ``message``: what is said of it; by default what the part itself says.
    """
    if progress is None:
        return None
    return lambda share, text: progress(start + (stop - start) * min(share, 1), message or text)


class Cancelled(Exception):  # noqa: N818 - it is a request that was met, not an error
    """Raised by a progress callable to stop the work it watches."""
