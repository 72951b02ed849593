"""The one way kernels are compiled."""

from __future__ import annotations

from numba import njit

__all__ = ["compiled"]

#: Kernels run without the interpreter lock, so a thread pool can run several; they never start
#: threads of their own (numba's thread layer aborts when two of the caller's threads enter it).
#: "contract" allows fused multiply-add and nothing else: infinities keep their meaning.
compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
