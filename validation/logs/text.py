"""Text of a LOG file of any common compression and encoding."""

from __future__ import annotations

import bz2
import codecs
import lzma
import zlib
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PROBE_BYTES: Final = 4096
_STEP_BYTES: Final = 1 << 16
_LARGEST_BYTES: Final = 1 << 31
"""Limit of the uncompressed size: the records of a larger LOG would not fit into memory."""


def read_text(path: Path) -> str:
    """Read a text file, plain or compressed by gzip, xz or bzip2. Raises InputError if it cannot be read completely."""
    text, whole = read_text_part(path)
    if not whole:
        raise InputError(f"{path}: cannot be read: its compressed data are damaged or incomplete; copy the file again")
    return text


def read_text_part(path: Path) -> tuple[str, bool]:
    """Read a text file as far as it can be decompressed; return the text and whether it is complete.

    Raises InputError if the file cannot be opened, nothing can be decompressed, or the text is longer than 2 GiB.
    """
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise InputError(f"{path}: cannot be read: it is a folder; give the LOG file inside it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    unpacked, whole = _unpack(raw)
    if raw and not unpacked and not whole:
        raise InputError(f"{path}: cannot be read: its compressed data are damaged or incomplete; copy the file again")
    if len(unpacked) > _LARGEST_BYTES:
        raise InputError(f"{path}: longer than 2 GiB of text; extract a part of it, such as with head or tail")
    return _decode(unpacked), whole


def _unpack(raw: bytes) -> tuple[bytes, bool]:
    if raw[:2] == b"\x1f\x8b":
        return _all_members(raw, lambda: zlib.decompressobj(wbits=31))
    if raw[:6] == b"\xfd7zXZ\x00":
        return _all_members(raw, lzma.LZMADecompressor)
    if raw[:3] == b"BZh":
        return _all_members(raw, bz2.BZ2Decompressor)
    return raw, True


def _all_members(raw: bytes, opener: Any) -> tuple[bytes, bool]:
    """Decompress one member after the other, in small steps, so that the data before a damaged place are kept."""
    parts: list[bytes] = []
    size = 0
    while raw.strip(b"\0"):
        unpacker = opener()
        at = 0
        try:
            while at < len(raw) and not unpacker.eof and size <= _LARGEST_BYTES:
                parts.append(unpacker.decompress(raw[at : at + _STEP_BYTES]))
                size += len(parts[-1])
                at += _STEP_BYTES
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
            return b"".join(parts), False
        if not unpacker.eof:
            return b"".join(parts), size > _LARGEST_BYTES
        raw = unpacker.unused_data + raw[at:]
    return b"".join(parts), True


def _decode(raw: bytes) -> str:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    probe = raw[:_PROBE_BYTES]
    if len(probe) >= 16:  # UTF-16 without a byte order mark: every second byte of plain text is zero
        half = len(probe) // 2
        if probe[1::2].count(0) > 0.8 * half and probe[::2].count(0) < 0.2 * half:
            return raw.decode("utf-16-le", errors="replace")
        if probe[::2].count(0) > 0.8 * half and probe[1::2].count(0) < 0.2 * half:
            return raw.decode("utf-16-be", errors="replace")
    return raw.decode("utf-8", errors="replace")
