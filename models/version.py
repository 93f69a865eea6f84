"""RocksDB versions, in release order."""

from __future__ import annotations

from typing import Final, NamedTuple

from lsmlab.models.errors import InputError

_MOST_DIGITS: Final = 7


class Version(NamedTuple):
    """A RocksDB release, major.minor; compares in release order (6.4 < 6.11 < 7.8)."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read "7.8" or "7.8.3" without the patch number, on which no rule depends.

        Raises InputError for any other text.
        """
        parts = str(text).strip().split(".")
        if len(parts) < 2 or not all(p.isascii() and p.isdigit() and len(p) < _MOST_DIGITS for p in parts[:2]):
            raise InputError(f"version {str(text)[:40]!r} is not of the form major.minor; write it like 7.8")
        return cls(int(parts[0]), int(parts[1]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"
