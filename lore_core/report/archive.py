"""Bundles on disk: a directory or a ZIP file, whole or not at all; options as command words."""

import contextlib
import io
import json
import secrets
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

from lore_core.data.atomic_files import write_bytes
from lore_core.data.validation import InputError

#: What marks a directory as an earlier report, which a new one may replace.
FORMAT = "lore-lens-report"
#: The earliest time a ZIP file knows: the same bundle has the same bytes on every day.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_EXECUTABLE = ("rerun.sh",)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Pack files (by path in the archive), the same bytes whenever and wherever this is done."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _NO_TIME)
            is_packed = name.endswith(".parquet")
            info.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix, wherever it is made
            info.external_attr = (0o100755 if name in _EXECUTABLE else 0o100644) << 16
            archive.writestr(info, files[name], compresslevel=1)
    return buffer.getvalue()


def check_output_path(path: str | Path) -> Path:
    """Return where to write: a ``.zip`` file, or a directory: new, empty or an earlier report.

    Raises InputError if it cannot be written, or something else would be lost.
    """
    place = Path(path).expanduser()
    if not place.resolve().parent.is_dir():
        raise InputError(f"the directory of '{path}' must exist; create it first.")
    if place.suffix.lower() == ".zip":
        if place.is_dir():
            raise InputError(f"'{path}' must be the name of a ZIP file; it is a directory.")
        return place
    if place.is_dir():
        try:
            content = json.loads((place / "config.json").read_text(encoding="utf-8"))
            is_report = content["format"] == FORMAT
        except (OSError, ValueError, LookupError, TypeError):
            is_report = False
        if any(place.iterdir()) and not is_report:
            raise InputError(
                f"'{path}' must be a new or empty directory, or an earlier report; it holds other "
                "files. Name another one, or a .zip file."
            )
    elif place.exists():
        raise InputError(f"'{path}' must be a directory or end in .zip; it is another file.")
    return place


def write_bundle(files: Mapping[str, bytes], path: str | Path) -> Path:
    """Write all files, by path in the bundle, to a directory or a ZIP file, in one step.

    An earlier report is replaced. Raises InputError if it cannot be written.
    """
    place = check_output_path(path)
    if place.suffix.lower() == ".zip":
        write_bytes(place, zipped(files))
        return place
    target = place.resolve()
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    old = part.with_suffix(".old")
    try:
        for name, content in files.items():
            file = part / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            if name in _EXECUTABLE:
                file.chmod(0o755)
        # A directory cannot be replaced in one step: the old one comes back if the new one fails.
        if target.exists():
            target.rename(old)
        try:
            part.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    except OSError as error:
        raise InputError(f"'{path}' must be writable; got {error.strerror or error}.") from error
    finally:
        for rest in (part, old):
            with contextlib.suppress(OSError):
                shutil.rmtree(rest)
    return place


def option_words(options: Mapping[str, object]) -> list[str]:
    """Return words of a command: None is left out, each of several values gets its option."""
    written: list[str] = []
    for name, value in options.items():
        for one in value if isinstance(value, tuple) else (value,):
            written += [] if one is None else [name, str(one)]
    return written
