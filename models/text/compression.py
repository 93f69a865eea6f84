"""Decompression of files of unknown origin in small steps, with limits against files that expand without end."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from lsmlab.models.errors import InputError

_STEP_BYTES: Final = 1 << 18
"""Bytes that are read, and bytes that are decompressed, in one step."""
_PACKED_BYTES: Final = 1 << 14
"""Compressed bytes that are read in one step: what was read is the measure of the ratio."""
_LARGEST_RATIO: Final = 200
"""Largest ratio of text to compressed data: LOGs have ratios of 5 to 30, also with many equal statistics dumps."""
_FREE_BYTES: Final = 1 << 20
"""Text to which the ratio does not apply: a short text of blanks compresses well and does no harm."""
_MOST_MEMBERS: Final = 100_000
"""Largest number of members of a compressed file; bgzip writes one for each 64 KiB of text, 16,000 for 1 GiB."""
_ERRORS: Final = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


class Damaged(Exception):  # noqa: N818  (a state of the file, which its callers handle)
    """The compressed data are damaged or end early; all that could be decompressed has been yielded."""


_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_OPENERS: Final[tuple[tuple[bytes, Any], ...]] = (
    (b"\x1f\x8b", partial(zlib.decompressobj, 31)), (b"\xfd7zXZ\x00", lzma.LZMADecompressor), (b"BZh", bz2.BZ2Decompressor),
)  # fmt: skip


def unpacked(path: Path, largest_bytes: int) -> Iterator[bytes]:
    """Yield the content of a file in parts, decompressed if it is a gzip, xz or bzip2 file.

    Raises InputError if the file cannot be opened, nothing of it can be decompressed, or a limit is exceeded: `largest_bytes`
    of text, the compression ratio, or the number of members. Raises `Damaged` after the last readable part.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: cannot be read: it is a device or a pipe; give a file")
        with path.open("rb") as file:
            yield from _limited(path, file, largest_bytes)
    except IsADirectoryError:
        raise InputError(f"{path}: cannot be read: it is a folder; give the LOG file inside it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _limited(path: Path, file: IO[bytes], largest_bytes: int) -> Iterator[bytes]:
    first = file.read(_PACKED_BYTES)
    if first.startswith(_ZSTD):
        raise InputError(f"{path}: is compressed with zstd; decompress it, such as with zstd -d")
    opener = next((opener for magic, opener in _OPENERS if first.startswith(magic)), None)
    size = 0
    parts = _plain(first, file) if opener is None else _members(path, opener, first, file)
    try:
        for part in parts:
            size += len(part)
            if size > largest_bytes:
                raise InputError(
                    f"{path}: longer than {largest_bytes >> 20:,} MiB of text; extract a part of it, such as with head or tail"
                )
            if opener is not None and size > max(_FREE_BYTES, _LARGEST_RATIO * file.tell()):
                raise InputError(
                    f"{path}: expands to more than {_LARGEST_RATIO} times its size, as no LOG does; decompress it yourself if it"
                    " is what you expect"
                )
            yield part
    except Damaged:
        if not size:
            raise InputError(
                f"{path}: cannot be read: its compressed data are damaged or incomplete; copy the file again"
            ) from None
        raise


def _plain(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    part = first
    while part:
        yield part
        part = file.read(_STEP_BYTES)


def _members(path: Path, opener: Any, first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """Decompress one member after the other, so that the data before a damaged place are kept."""
    raw = first
    for _ in range(_MOST_MEMBERS):
        unpacker = opener()
        try:
            while not unpacker.eof:
                if not raw and getattr(unpacker, "needs_input", True):  # zlib keeps no input: the rest is in unconsumed_tail
                    raw = file.read(_PACKED_BYTES)
                    if not raw:
                        raise Damaged
                part = unpacker.decompress(raw, _STEP_BYTES)
                raw = getattr(unpacker, "unconsumed_tail", b"")
                if part:
                    yield part
        except _ERRORS:
            raise Damaged from None
        raw = unpacker.unused_data.lstrip(b"\0")
        while not raw:  # zeros after the last member are padding
            raw = file.read(_PACKED_BYTES)
            if not raw:
                return
            raw = raw.lstrip(b"\0")
    raise InputError(f"{path}: has more than {_MOST_MEMBERS:,} compressed members; decompress it yourself if it is a LOG")
