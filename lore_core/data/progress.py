"""Progress of long work, and how to stop it."""

from collections.abc import Callable

#: Called with the share done (0 to 1) and a short message; raises :class:`Cancelled` to stop.
Progress = Callable[[float, str], None]


def tell(progress: Progress | None, share: float, message: str) -> None:
    """Report progress, if somebody listens."""
    if progress is not None:
        progress(share, message)


def part_of(
    progress: Progress | None, start: float, stop: float, message: str = ""
) -> Progress | None:
    """Return progress for the part ``start`` to ``stop``; ``message`` replaces the part's own."""
    if progress is None:
        return None
    return lambda share, text: progress(start + (stop - start) * min(share, 1), message or text)


class Cancelled(Exception):  # noqa: N818 - a request that was met, not an error
    """Raised by a progress callable to stop the work it watches."""
