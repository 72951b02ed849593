"""Ways to damage a file: bytes, words, the insides of an archive, and parts of another file."""

import io
import random
import re
import zipfile
from collections.abc import Sequence

_WORD = re.compile(rb"[\w.+-]+")
_ODD = (
    *(b"", b"0", b"-1", b"1e308", b"-1e308", b"1e400", b"nan", b"inf", b"None", b"true", b"null"),
    *(b"9" * 40, b"18446744073709551616", b"-9223372036854775809", b"1970-01-01", b"9999-12-31"),
    *(b'"', b'""', b"'", b",", b";", b"\t", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\\"),
    *(b"[", b"]", b"{", b"}", b"[[]]", b"{}", b'{"a":1}', b"[" * 50, "é\u202e".encode()),
    *(b"<U0", b"<U-1", b"<f0", b"<i9", b"|O", b">f8", b"<c16", b"<M8", b"<m8[7D]", b"|V8", b"|S0"),
)


def mutated(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Return a file damaged in one to four ways."""
    if content.startswith(b"PK") and chance.random() < 0.6:
        content = _inside(content, others, chance)
    else:
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            content = _once(content, others, chance)
    return content


def _once(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    data = bytearray(content)
    size = len(data)
    if not size:
        return b"\0"
    at, length = chance.randrange(size), min(size, 1 << chance.randrange(12))
    way = chance.randrange(9)
    if way == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif way == 1:
        data[at : at + 1 + length % 8] = chance.randbytes(1 + length % 8)
    elif way == 2:
        del data[slice(at, None) if chance.random() < 0.5 else slice(at)]
    elif way == 3:
        del data[at : at + length]
    elif way == 4:
        data[at:at] = data[at : at + length] * chance.choice((1, 2, 50))
    elif way == 5:
        other = chance.choice(others)
        start = chance.randrange(len(other))
        data[at : at + length] = other[start : start + length]
    elif way == 6:  # lengths and counts are little whole numbers, mostly at the end of a file
        at = chance.choice(
            (at, max(0, size - 1 - chance.randrange(64)), chance.randrange(64) % size)
        )
        width = chance.choice((1, 2, 4, 8))
        value = chance.choice((0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**64 - 1))
        data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    else:
        words = list(_WORD.finditer(content))
        if words:
            chosen = chance.choice(words)
            new = chance.choice((*_ODD, chance.choice(words).group()))
            data[chosen.start() : chosen.end()] = new
    return bytes(data)


def _inside(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Damage a member of an archive, whose checksum then is that of the damaged one."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(item.filename, archive.read(item)) for item in archive.infolist()]
    changed = chance.randrange(len(members))
    name, inner = members[changed]
    if chance.random() < 0.5 and inner.startswith(b"\x93NUMPY"):
        end = 10 + int.from_bytes(inner[8:10], "little")
        header = _once(inner[10:end], others, chance)
        inner = inner[:8] + len(header).to_bytes(4, "little")[:2] + header + inner[end:]
    else:
        inner = _once(inner, others, chance)
    members[changed] = (name, inner)
    if chance.random() < 0.1:
        members.append((chance.choice(members)[0], chance.choice(members)[1]))
    if chance.random() < 0.1:
        del members[chance.randrange(len(members))]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", chance.choice((0, 8, 8, 12, 14))) as archive:
        for inner_name, value in members:
            if inner_name not in archive.namelist():
                archive.writestr(inner_name, value)
    return made.getvalue()
