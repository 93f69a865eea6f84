"""Version edits of a store's MANIFEST, from the output of `ldb manifest_dump --verbose --hex`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.files import read_text

_ADDED: Final = re.compile(
    r"AddFile: (\d{1,2}) (\d{1,18}) (\d{1,18}) '((?:[0-9A-Fa-f]{2})*)' seq:\d+, type:\d+ \.\. "
    r"'((?:[0-9A-Fa-f]{2})*)' seq:\d+, type:\d+(?: oldest_ancester_time:(\d{1,18}) file_creation_time:(\d{1,18}))?"
)
_DELETED: Final = re.compile(r"DeleteFile: (\d{1,2}) (\d{1,18})(?!\d)")


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file that an edit adds to a level."""

    level: int
    number: int
    size_bytes: int
    smallest: bytes
    """Smallest user key."""
    largest: bytes
    """Largest user key."""
    data_from_s: float = 0.0
    """Unix time from which its data is, by RocksDB's count; 0: unknown."""
    created_s: float = 0.0
    """Unix time of its creation; 0: unknown."""


@dataclass(frozen=True, slots=True)
class VersionEdit:
    """One version edit: added and deleted files."""

    added: tuple[AddedFile, ...]
    deleted: tuple[tuple[int, int], ...]
    """(level, file number)."""

    @property
    def changes_files(self) -> bool:
        """Whether the edit adds or deletes a file."""
        return bool(self.added or self.deleted)

    @property
    def moved(self) -> frozenset[int]:
        """Numbers of the files that the edit only moves to another level (trivial move)."""
        gone = {number for _, number in self.deleted}
        return frozenset(f.number for f in self.added if f.number in gone)


def read_manifest(path: Path) -> list[VersionEdit]:
    """Read a MANIFEST dump, plain or compressed. Raises InputError if it contains no edit."""
    edits = parse_manifest(read_text(path))
    if not edits:
        raise InputError(f"{path}: contains no VersionEdit; write it with `ldb manifest_dump --path=… --verbose --hex`")
    return edits


def parse_manifest(text: str) -> list[VersionEdit]:
    """Return the edits in commit order, including those that change no file."""
    edits = []
    for block in text.split("VersionEdit {")[1:]:
        body = block.split("\n}", 1)[0]
        added = tuple(
            AddedFile(
                int(a[1]), int(a[2]), int(a[3]), bytes.fromhex(a[4]), bytes.fromhex(a[5]), float(a[6] or 0), float(a[7] or 0)
            )
            for a in _ADDED.finditer(body)
        )
        deleted = tuple((int(d[1]), int(d[2])) for d in _DELETED.finditer(body))
        edits.append(VersionEdit(added, deleted))
    return edits
