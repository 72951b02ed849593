"""The one way kernels are compiled, and numba's cache of them on disk."""

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from lore_core.kernel_sums.cache_files import KERNEL, kernel_folder, read_sealed, write_sealed


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """A kernel's files in a folder, one a signature: no index that two processes could mix up."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._py_func, self._cache_path = function, folder
        self._name = f"{Path(function.__code__.co_filename).stem}.{function.__name__}"

    def _path(self, sig: Any, codegen: Any) -> Path:
        key = hashlib.sha256(repr(self._index_key(sig, codegen)).encode()).hexdigest()
        return self._cache_path / f"{self._name}-{key[:16]}{KERNEL}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        content = read_sealed(self._path(sig, target_context.codegen()))
        if content is None:
            return None
        # (Of this user's own cache, whole by its checksum: no file of data comes here.)
        # (Machine code needs numba's memory; only compiling needs all that can be compiled.)
        rtsys.initialize(target_context)
        return CompileResult._rebuild(target_context, *pickle.loads(content))

    def _save_overload(self, sig: Any, data: Any) -> None:
        write_sealed(self._path(sig, data.codegen), dumps(data._reduce()))


def _compiler(fastmath: set[str]) -> Callable[[Callable[..., Any]], Any]:
    # Kernels run without the interpreter lock, so a thread pool can run several; they never start
    # threads of their own (numba's thread layer aborts when two of the caller's threads enter it).
    # (Without entries for callers in C, which nobody needs, compiling takes four fifths.)
    how = {"nogil": True, "error_model": "numpy", "fastmath": fastmath, "no_cfunc_wrapper": True}
    compile_it = njit(**how)

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = compile_it(function)
        # What cache=True does, with the class above in place of its own. Where no folder at all can
        # be written kernels are compiled in every process.
        folder = kernel_folder()
        if folder is not None:
            kernel._cache = _KernelCache(function, folder)
        return kernel

    return decorate


#: "contract" allows fused multiply-add and nothing else: infinities keep their meaning.
compiled = _compiler({"contract"})
#: For plain sums of finite terms: additions may be reordered, so that several run at once.
compiled_sums = _compiler({"contract", "reassoc"})
