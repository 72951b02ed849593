"""The one way kernels are compiled, and a disk cache that no update can leave stale.

Without numba nothing is compiled and the sums go another way: :mod:`lore_core.kernel_sums.plain`.
"""

import contextlib
import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lore_core.kernel_sums.cache_files import MARK, is_damaged, remove_damaged, sealed

try:
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba import njit, types
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.extending import intrinsic
except ImportError:  # a process that only applies a shipped recalibrator may have numpy alone
    HAS_NUMBA = False
    FunctionCache = IndexDataCacheFile = object
    ir = types = None

    def intrinsic(function):
        """Leave alone what nothing will call."""
        return function
else:
    HAS_NUMBA = True

__all__ = ["HAS_NUMBA", "cache_folder", "compiled", "compiled_sums", "intrinsic", "ir", "types"]


def _sources_hash() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


class _CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """numba's files of one kernel, an index and machine code, with a checksum at their end."""

    def _load_index(self) -> Any:
        return super()._load_index() if self._is_usable(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not self._is_usable(self._data_path(name)):
            raise FileNotFoundError(name)
        return super()._load_data(name)

    def _is_usable(self, path: str) -> bool:
        if is_damaged(Path(path)):
            remove_damaged(Path(self._cache_path))
            return False
        return True

    def remove(self) -> None:
        """Remove the index, and so all that it leads to."""
        remove_damaged(Path(self._cache_path), Path(self._index_path).name)

    def save(self, key: Any, data: Any) -> None:
        """Save a kernel in a file that is named by its key.

        numba counts: two processes that save two kernels at once give both the same name, and one
        is then loaded for the other.
        """
        name = self._data_name(int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6]))
        files = Path(self._cache_path).glob(f"{Path(self._index_path).stem}.*.nbc")
        of_other_sources = [] if self._load_index() else list(files)
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})
        for path in of_other_sources:
            if path.name != name:
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file, io.BytesIO() as content:
            yield content
            file.write(sealed(content.getvalue(), Path(filepath).name))


class _PackageCache(FunctionCache):  # type: ignore[misc]
    """numba's cache on disk, keyed by the sources of the whole package.

    numba itself looks only at the file a kernel is written in: after an update of another file,
    whose functions are compiled into the kernel, it would go on using the old machine code.
    Where the folder of the sources cannot be written, numba keeps the cache in the user's.
    """

    _sources = _sources_hash()

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFiles(
            self._cache_path, self._impl.filename_base + MARK, self._impl.locator.get_source_stamp()
        )

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super()._load_overload(sig, target_context)
        except Exception:  # numba unpickles and links what may be damaged: anything can be raised
            # The kernel is compiled again, and remove() says so.
            self._cache_file.remove()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel; on a full disk it is not kept, and works all the same."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), self._sources)


def _compiler(fastmath: set[str]) -> Callable[[Callable[..., Any]], Any]:
    if not HAS_NUMBA:
        return lambda function: function
    # Kernels run without the interpreter lock, so a thread pool can run several; they never start
    # threads of their own (numba's thread layer aborts when two of the caller's threads enter it).
    compile_it = njit(nogil=True, error_model="numpy", fastmath=fastmath)

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = compile_it(function)
        # What cache=True does, with the class above in place of its own. Where no folder at all can
        # be written numba has no place for it: then kernels are compiled in every process.
        with contextlib.suppress(RuntimeError):
            kernel._cache = _PackageCache(kernel.py_func)
        return kernel

    return decorate


def cache_folder() -> Path | None:
    """Return where compiled kernels are kept; None where no folder can be written."""
    with contextlib.suppress(RuntimeError):
        return Path(_PackageCache(_sources_hash)._cache_path)
    return None


#: "contract" allows fused multiply-add and nothing else: infinities keep their meaning.
compiled = _compiler({"contract"})
#: For plain sums of finite terms: additions may be reordered, so that several run at once.
compiled_sums = _compiler({"contract", "reassoc"})
