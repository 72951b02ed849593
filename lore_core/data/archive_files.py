"""Archive files: a zip of JSON and arrays with a checksum, without pickle."""

import dataclasses
import hashlib
import hmac
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.errors import InputError, short
from lore_core.data.rules import check_fields

#: Increase it whenever the previous version would misread a new file.
SCHEMA = 1
Arrays = Mapping[str, NDArray[Any]]

_HEADER = "header.json"
#: No time of day: the same content gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
#: Most bytes of a compressed file's parts: this, and so many times the file's size.
_MAX_BYTES, _MAX_RATIO = 64 * 2**20, 100
_DTYPE_KINDS = "biufmMU"
#: zlib's fastest: hardly larger files.
_ZLIB_LEVEL = 1


@dataclass(frozen=True)
class Form:
    """How to write and rebuild objects of a class, by named parts."""

    name: str  #: In files
    type: type
    parts: Callable[[Any], Mapping[str, Any]]
    build: Callable[[dict[str, Any]], Any]  #: From its parts; refuses invalid ones


def form_of(kind: type) -> Form:
    """Return the form of a dataclass: its fields, checked by their annotations."""

    def build(parts: dict[str, Any]) -> Any:
        check_fields(kind, parts, kind.__name__)
        return kind(**parts)

    return Form(kind.__name__, kind, fields_of, build)


def fields_of(item: Any) -> dict[str, Any]:
    """Return a dataclass instance's fields by name, without copying."""
    return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}


@dataclass(frozen=True)
class Kind:
    """A file format of named values: None, text, numbers, arrays, lists, dicts and ``forms``."""

    format: str  #: In the header
    what: str  #: In words: "a recalibrator"
    written_by: str  #: As errors name it: "Recalibrator.save()"
    forms: tuple[Form, ...] = ()  #: Of the objects it may hold
    compressed: bool = False
    has_checksum: bool = True  #: False between processes, where nothing is damaged

    def write(self, path: str | Path, content: Mapping[str, Any]) -> None:
        """Write values to a file, as a whole or not at all."""
        with replaced_at_once(path) as part, part.open("wb") as stream:
            self.save(stream, *self.encode(content))

    def digest(self, content: Mapping[str, Any]) -> str:
        """Return the sha256 of values, exact to the last bit."""
        return _digest(*self.encode(content))

    def read(self, source: str | Path | bytes | BinaryIO, key: bytes | None = None) -> Any:
        """Read the values of a path, bytes or open file, as a dict.

        Raises InputError if it is missing, damaged, of another kind, or not signed with ``key``.
        """
        return self.decode(*self.unpack(source, key))

    def decode(self, header: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
        """Return the values that :meth:`encode` took. Raises InputError."""
        try:
            return {name: self._decode_value(item, arrays) for name, item in header.items()}
        except InputError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise InputError(
                f"the file of {self.what} must hold all its parts; {type(error).__name__}: {error}."
            ) from error

    def encode(self, content: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return values as a JSON-compatible header and their arrays, each once."""
        arrays: dict[str, NDArray[Any]] = {}
        names: dict[int, str] = {}

        def add(array: NDArray[Any]) -> str:
            name = names.setdefault(id(array), f"array_{len(names)}")
            if array.dtype.hasobject:
                # Names of groups are always read as text.
                flat = [str(value) for value in array.ravel()]
                array = np.array(flat, dtype=np.str_).reshape(array.shape)
            # (Fortran order would make it another array to numpy.)
            arrays[name] = np.ascontiguousarray(array) if array.ndim else array
            return name

        return {name: self._encode_value(item, add) for name, item in content.items()}, arrays

    def _encode_value(self, value: Any, add: Callable[[NDArray[Any]], str]) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, str, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, np.ndarray):
            return {"array": add(value)}
        if isinstance(value, list):
            return [self._encode_value(item, add) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self._encode_value(item, add) for item in value]}
        name, parts = "object", value
        if not isinstance(value, Mapping):
            form = next((form for form in self.forms if isinstance(value, form.type)), None)
            if form is None:
                raise InputError(
                    f"{self.what} cannot be saved: it holds a {type(value).__name__}. Use numbers, "
                    "text and the recalibrators of lore_core."
                )
            name, parts = form.name, form.parts(value)
        return {name: {part: self._encode_value(item, add) for part, item in parts.items()}}

    def _decode_value(self, value: Any, arrays: Arrays) -> Any:
        if isinstance(value, list):
            return [self._decode_value(item, arrays) for item in value]
        if not isinstance(value, dict):
            return value
        ((name, parts),) = value.items()
        if name == "float":
            return float(parts)
        if name == "array":
            return arrays[parts]
        if name == "tuple":
            return tuple(self._decode_value(item, arrays) for item in parts)
        form = next((form for form in self.forms if form.name == name), None)
        if form is None and name != "object":
            raise InputError(f"the file of {self.what} must hold known kinds; got {name!r}.")
        made = {part: self._decode_value(item, arrays) for part, item in parts.items()}
        return made if form is None else form.build(made)

    def pack(self, header: Mapping[str, Any], arrays: Arrays, key: bytes | None = None) -> bytes:
        """Return the bytes of a file with this header and these arrays."""
        stream = io.BytesIO()
        self.save(stream, header, arrays, key)
        return stream.getvalue()

    def save(
        self, stream: BinaryIO, header: Mapping[str, Any], arrays: Arrays, key: bytes | None = None
    ) -> None:
        """Write a header and its arrays to an open file."""
        complete = {"format": self.format, "schema": SCHEMA, **header}
        if self.has_checksum:
            complete["digest"] = _digest(complete, arrays)
        if key is not None:
            complete["signature"] = _signature(complete["digest"], key)
        text = json.dumps(complete, allow_nan=False).encode()
        how = zipfile.ZIP_DEFLATED if self.compressed else zipfile.ZIP_STORED
        with zipfile.ZipFile(stream, "w", how, compresslevel=_ZLIB_LEVEL) as archive:
            archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), text, how)
            for name, array in arrays.items():
                info = zipfile.ZipInfo(f"{name}.npy", _DATE)
                info.compress_type = how
                info.file_size = array.nbytes  # (decides on 64-bit sizes)
                with archive.open(info, "w") as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    def unpack(
        self, source: str | Path | bytes | bytearray | BinaryIO, key: bytes | None = None
    ) -> tuple[dict[str, Any], Arrays]:
        """Return verified header and arrays; the header without checksum and signature."""
        if isinstance(source, (str, Path)):
            name = f"'{Path(source).name}'"
            try:
                with Path(source).expanduser().open("rb") as stream:
                    return self._unpack(stream, name, key)
            except OSError as error:
                raise InputError(
                    f"{name} cannot be read ({error.strerror}). Pass a file of {self.written_by}."
                ) from error
        if isinstance(source, (bytes, bytearray)):
            source = io.BytesIO(source)
        elif not getattr(source, "seekable", bool)():
            source = io.BytesIO(source.read())
        return self._unpack(source, "the file", key)

    def _unpack(
        self, stream: BinaryIO, name: str, key: bytes | None
    ) -> tuple[dict[str, Any], Arrays]:
        damaged = f"{name} is damaged or was changed after it was written"
        try:
            header, arrays = self._contents(stream, name, damaged)
            checksum = _digest(header, arrays) if self.has_checksum else None
        except InputError:
            raise
        # A damaged zip raises almost anything.
        except Exception as error:
            reason = short(f"{type(error).__name__}: {error}")
            raise InputError(
                f"{damaged}, or no file of {self.what} at all ({reason}). Save it again."
            ) from error
        if header.get("digest") != checksum:
            raise InputError(f"{damaged}: its checksum is not that of its content. Save it again.")
        signature = str(header.get("signature", "")).encode()
        if key is not None and not hmac.compare_digest(
            signature, _signature(checksum or "", key).encode()
        ):
            raise InputError(
                f"{name} must be signed with the key that was given; it is not. Take no other file."
            )
        own = ("format", "schema", "digest", "signature")
        return {part: item for part, item in header.items() if part not in own}, arrays

    def _contents(self, stream: BinaryIO, name: str, damaged: str) -> tuple[dict[str, Any], Arrays]:
        n_bytes = stream.seek(0, io.SEEK_END)
        with zipfile.ZipFile(stream) as archive:
            if _HEADER not in archive.namelist():
                raise self._other_kind(name)
            most = _MAX_BYTES + _MAX_RATIO * n_bytes if self.compressed else n_bytes
            if sum(part.file_size for part in archive.infolist()) > most:
                raise InputError(f"{damaged}: its parts claim more bytes than such a file holds.")
            header = json.loads(archive.read(_HEADER))
            if not isinstance(header, dict) or header.get("format") != self.format:
                raise self._other_kind(name)
            if header.get("schema") != SCHEMA:
                by = header.get("written_by", "another version")
                raise InputError(
                    f"{name} must have schema {SCHEMA}; got {header.get('schema')!r}, written by "
                    f"{by}. Read it with that version of lore-lens, or save it again with this one."
                )
            names = [name for name in archive.namelist() if name != _HEADER]
            return header, {name.removesuffix(".npy"): _array(archive.read(name)) for name in names}

    def _other_kind(self, name: str) -> InputError:
        return InputError(f"{name} is no file of {self.what}. Pass a file of {self.written_by}.")


def _digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the sha256 of arrays and a header, without the header's own digest and signature."""
    content = {key: item for key, item in header.items() if key not in ("digest", "signature")}
    state = hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        state.update(f"\0{name}\0{array.dtype.str}\0{arrays[name].shape}\0".encode())
        state.update(array.reshape(-1).view(np.uint8).data)
    return state.hexdigest()


def _signature(checksum: str, key: bytes) -> str:
    return hmac.new(key, checksum.encode(), hashlib.sha256).hexdigest()


def _array(content: bytes) -> NDArray[Any]:
    """Return a read-only view of an array; ValueError or TypeError if the bytes hold none."""
    stream = io.BytesIO(content)
    shape, by_column, dtype = read_npy_header(stream)
    if dtype.kind not in _DTYPE_KINDS:
        raise ValueError(f"an array of {dtype}, which allow_pickle=False does not load")
    return np.ndarray(shape, dtype, content, stream.tell(), order="F" if by_column else "C")


def read_npy_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return an array's shape, whether it is in Fortran order, and its dtype."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(stream)
    raise ValueError(f"array format version {version}")
