"""What log collectors put before each line, learnt from the lines whose begin is known.

A collector's prefix has the same form on every line: file names, hosts and levels stay, numbers change. So the lines that
continue a message are freed from as much as they share with the prefix of the message's first line. Text that only the first
line has, such as the stamp of a host program, has no counterpart in them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_PIECE: Final = re.compile(
    r"(?P<blank>\s+)|(?P<hex>(?=[a-f]*[0-9])[0-9a-f]{6,}(?![A-Za-z]))|(?P<digits>\d+)|(?P<word>[A-Za-z]+)|(?P<sign>.)"
)
_DIGITS: Final = re.compile(r"\d+")
_CLASSES: Final = (
    frozenset(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")),
    frozenset(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")),
    frozenset(("DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "TRACE", "NOTICE")),
    frozenset(("debug", "info", "warn", "warning", "error", "fatal", "trace", "notice")),
    frozenset(("stdout", "stderr")),
)
"""Words of a prefix that change from line to line."""
_ENDS: Final = (":", "-", "|", ",")
"""Signs that may end a collector's prefix; grep puts no blank after a file's name."""
_MOST_PIECES: Final = 80
"""Pieces of a prefix that are compared; a longer one is none."""


class Prefix:
    """Prefix of the lines of a file, as far as it is known."""

    def __init__(self) -> None:
        self._pattern: re.Pattern[str] | None = None

    @property
    def known(self) -> bool:
        """Whether the lines have a prefix."""
        return self._pattern is not None

    def learn(self, prefix: str) -> None:
        """Take the prefix of a line whose begin is known; "" if the line has none."""
        self._pattern = _pattern(_DIGITS.sub("0", prefix)) if prefix.strip() else None

    def stripped(self, line: str) -> str:
        """Return a line without the part of the prefix that it has."""
        if self._pattern is None:
            return line
        found = self._pattern.match(line)
        return line[found.end() :] if found else line


@lru_cache(maxsize=4096)
def _pattern(prefix: str) -> re.Pattern[str] | None:
    """Return the pattern of a prefix and of its leading parts, which end with blanks or `_ENDS`; None if it is too long.

    Blanks at the end of such a part may be those of the line itself, so the pattern takes only as many as the prefix has.
    """
    pieces = list(_PIECE.finditer(prefix))
    if len(pieces) > _MOST_PIECES:
        return None
    parts, part = [], ""
    for number, piece in enumerate(pieces):
        part += _of_piece(piece, pieces[number + 1] if number + 1 < len(pieces) else None)
        if (piece.lastgroup == "blank" or piece[0] in _ENDS) and number:
            parts.append(part)
            part = ""
    if part:
        parts.append(f"{part}")
    pattern = ""
    for part in reversed(parts):
        pattern = f"{part}(?:{pattern})?" if pattern else part
    return re.compile(pattern)


def _of_piece(piece: re.Match[str], after: re.Match[str] | None) -> str:
    text = piece[0]
    if piece.lastgroup == "blank":
        if after is None or after.lastgroup != "digits":
            return rf"(?:\s{{1,{len(text)}}}|$)"
        return r"\s+"  # a day of the month may have one digit
    if piece.lastgroup == "digits":
        return r"\d+"
    if piece.lastgroup == "hex":
        return r"[0-9a-f]+"
    if piece.lastgroup == "word":
        same = next((words for words in _CLASSES if text in words), None)
        return f"(?:{'|'.join(sorted(same, key=len, reverse=True))})" if same else text
    return "[:-]" if text in ":-" else re.escape(text)  # grep has ":" before a line that it found and "-" before its neighbours
