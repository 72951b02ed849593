"""Thumbnails of images beside rows: from a column of images, or of file names."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Ints
from lore_core.data.dataset import Dataset
from lore_core.data.errors import InputError, require, short
from lore_core.reading.raw_file import RawFile

#: Side of thumbnails, in pixels.
SIDE = 32
#: Most pixels of an image: a small file can claim any size.
_MAX_PIXELS = 64_000_000
#: Names of columns of file names; Hugging Face's ``metadata.csv`` has ``file_name``.
_CALLED = (
    "file_name", "filename", "image", "image_path", "image_file", "image_name", "img", "img_path",
    "file_path", "filepath", "path", "file",
)  # fmt: skip
#: Thumbnails, shape (n, 32, 32, 3).
Images = NDArray[np.uint8]
_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")


def image_files(
    dataset: Dataset, folders: Sequence[Path], named: str | None
) -> tuple[str, list[Path], Ints] | None:
    """Return the column that names image files, each file once, and each row's index or −1."""
    frame = pd.DataFrame() if dataset.metadata is None else dataset.metadata
    roots = [folder.resolve() for folder in dict.fromkeys(folders)]
    if named is None:
        named = next((n for n in map(str, frame) if _looks_so(frame[n], n, roots)), None)
    if named is None or named not in frame:
        return None
    if not roots:
        raise InputError(
            f"'{named}' names image files, which neither an upload nor a data frame brings along. "
            "Name the table by its path, below which they lie."
        )
    codes, texts = pd.factorize(frame[named])
    found = [_inside(str(text), roots) for text in texts]
    index = {path: k for k, path in enumerate(dict.fromkeys(filter(None, found)))}
    if not index:
        got = short(repr(str(texts[0]))) if len(texts) else "nothing"
        raise InputError(
            f"'{named}' must name files below '{roots[0]}'; got {got}. Put the table into the "
            'folder of the images, or leave them out (mapping={"images": ""}).'
        )
    of_text = np.array([-1 if path is None else index[path] for path in found] + [-1])
    return named, list(index), of_text[codes]


def read_images(raws: Sequence[RawFile]) -> Images:
    """Decode image files to thumbnails; raises as :func:`thumbnails`."""
    streams = (raw.open() for raw in raws)
    return thumbnails("Images in files", streams, len(raws), lambda k: f"'{short(raws[k].name)}'")


def thumbnails(
    what: str, streams: Iterable[BinaryIO | None], count: int, called: Callable[[int], str]
) -> Images:
    """Decode images to thumbnails, black for None; InputError at the first damaged one."""
    require(what, "PIL")
    made = np.zeros((count, SIDE, SIDE, 3), dtype=np.uint8)
    for k, stream in enumerate(streams):
        if stream is None:
            continue
        try:
            with stream:
                made[k] = _thumbnail(stream)
        # A damaged image raises almost anything.
        except (OSError, ValueError, SyntaxError, TypeError, EOFError) as error:
            reason = short(error).rstrip(".")
            raise InputError(
                f"the image {called(k)} cannot be opened ({reason}). Leave it out or save it again."
            ) from error
    return made


def _thumbnail(stream: BinaryIO) -> Images:
    from PIL import Image

    try:
        opened = Image.open(stream)
    except Image.DecompressionBombError as error:
        raise ValueError("it claims more pixels than are read") from error
    with opened as image:
        if image.width * image.height > _MAX_PIXELS:
            raise ValueError(f"it claims {image.width:,} × {image.height:,} pixels")
        # (Decodes less of a JPEG; no effect on other formats.)
        image.draft("RGB", (4 * SIDE, 4 * SIDE))
        return np.asarray(image.convert("RGB").resize((SIDE, SIDE)))


def _looks_so(values: pd.Series, name: str, roots: Sequence[Path]) -> bool:
    if name.strip().lower().replace(" ", "_") not in _CALLED or not roots:
        return False
    first = values.dropna().iloc[:1]
    if first.empty or Path(str(first.iloc[0])).suffix.lower() not in _SUFFIXES:
        return False
    return _inside(str(first.iloc[0]), roots) is not None


def _inside(text: str, roots: Sequence[Path]) -> Path | None:
    """Return a file below one of the folders, links resolved; None where there is none."""
    for root in roots:
        # (A name too long, a zero byte or a circle of links)
        with suppress(OSError, ValueError, RuntimeError):
            path = (root / text).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
    return None
