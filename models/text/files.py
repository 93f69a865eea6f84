"""Reader of text files of unknown origin: plain or compressed, in any Unicode encoding, damaged or cut off.

A file is read in small steps. Limits on its size, the compression ratio, the number of compressed members, the number of
lines and the length of a line keep memory and time small, whatever the file contains.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.compression import Damaged, unpacked

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BYTES: Final = "lsmlab.bytes"
"""Name of the error handler of `TextLines`."""
UNDECODED: Final = re.compile("[\udc80-\udcff]")
"""Bytes that are no text in the encoding of their file, as `TextLines` passes them on."""
_PROBE_BYTES: Final = 4096
_LARGEST_TEXT_BYTES: Final = 512 << 20
"""Largest text that is read as a whole."""
_LARGEST_LINES_BYTES: Final = 16 << 30
"""Largest text that is read line by line."""
_LONGEST_LINE: Final = 4 << 20
"""Largest length of a line in characters. The longest line of a LOG names all input files of a compaction: 200 KB for 20,000
files."""
MOST_LINES: Final = 200_000_000
"""Largest number of lines of a LOG: a LOG of 16 GiB has 120 million."""
_HEAD_CHARACTERS: Final = 4 << 20
"""Length of the beginning of a LOG that is kept, for the options in it; a hundred column families take 1.5 MB."""


def _as_surrogates(error: UnicodeError) -> tuple[str, int]:
    """Return undecodable bytes as the characters U+DC80 to U+DCFF (a byte below 0x80 as U+FFFD), and where to go on."""
    assert isinstance(error, UnicodeDecodeError)
    undecoded = error.object[error.start : error.end]
    return "".join(chr(0xDC00 + byte) if byte >= 0x80 else "\ufffd" for byte in undecoded), error.end


codecs.register_error(_BYTES, _as_surrogates)


class TextLines:
    """Lines of a text file, without their line feeds, for a single iteration.

    Bytes that are no text in the file's encoding are passed on as U+DC80 to U+DCFF; `plain_lines` reads them as latin-1.
    """

    def __init__(self, path: Path, most_lines: int = MOST_LINES) -> None:
        """`most_lines`: number of lines above which the file is refused."""
        self.path, self._most_lines = path, most_lines
        self.head = ""
        """After the iteration: the beginning of the text."""
        self.whole = True
        """After the iteration: whether the compressed data were complete and the last line ended with a line feed."""
        self.damaged = False
        """After the iteration: whether the compressed data are damaged or end early."""

    def __iter__(self) -> Iterator[str]:
        """Yield each line. Raises InputError if the file cannot be read or exceeds a limit, which the message names."""
        number, pending, room = 0, "", _HEAD_CHARACTERS
        head: list[str] = []
        for text in self._decoded():
            if room > 0:
                head.append(text[:room])
                room -= len(text)
            *lines, pending = (pending + text).split("\n")
            number += len(lines)
            if number > self._most_lines:
                raise InputError(
                    f"{self.path}: has more than {self._most_lines:,} lines; extract those that you need, such as with "
                    "head, tail or grep"
                )
            yield from lines
            if len(pending) > _LONGEST_LINE:
                raise InputError(
                    f"{self.path}:{number + 1}: line is longer than {_LONGEST_LINE >> 20} MiB; this is no LOG: give the file"
                    " LOG in the database's folder"
                )
        self.head = "".join(head)
        self.whole = self.whole and not pending
        if pending or number == 0:
            yield pending

    def _decoded(self) -> Iterator[str]:
        probe, decoder = b"", None
        try:
            for part in unpacked(self.path, _LARGEST_LINES_BYTES):
                if decoder is not None:
                    yield decoder.decode(part)
                elif len(probe := probe + part) >= _PROBE_BYTES:
                    decoder = codecs.getincrementaldecoder(_encoding(probe))(errors=_BYTES)
                    yield decoder.decode(probe)
        except Damaged:
            self.whole, self.damaged = False, True
        yield decoder.decode(b"", final=True) if decoder is not None else probe.decode(_encoding(probe), errors=_BYTES)


def read_text(path: Path) -> str:
    """Read a text file, plain or compressed by gzip, xz or bzip2. Raises InputError if it cannot be read completely."""
    text, whole = read_text_part(path)
    if not whole:
        raise InputError(f"{path}: cannot be read: its compressed data are damaged or incomplete; copy the file again")
    return UNDECODED.sub("\ufffd", text)


def read_text_part(path: Path) -> tuple[str, bool]:
    """Read a text file as far as it can be decompressed; return the text and whether it is complete.

    Bytes that are no text are passed on as `TextLines` does.
    Raises InputError if the file cannot be opened, nothing can be decompressed, or the text is longer than 512 MiB.
    """
    raw = bytearray()
    whole = True
    try:
        for part in unpacked(path, _LARGEST_TEXT_BYTES):
            raw += part
    except Damaged:
        whole = False
    return raw.decode(_encoding(raw), errors=_BYTES), whole


def _encoding(raw: bytes | bytearray) -> str:
    """Return the encoding of a text by its first bytes."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return encoding
    probe = raw[:_PROBE_BYTES]
    if len(probe) >= 16:  # UTF-16 without a byte order mark: every second byte of plain text is zero
        half = len(probe) // 2
        if probe[1::2].count(0) > 0.8 * half and probe[::2].count(0) < 0.2 * half:
            return "utf-16-le"
        if probe[::2].count(0) > 0.8 * half and probe[1::2].count(0) < 0.2 * half:
            return "utf-16-be"
    return "utf-8"


def is_file(path: Path) -> bool:
    """Return whether a path leads to a file; False also for a name that the system refuses, such as a too long one."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
