"""Markdown documents that a command writes: tables, and a digest of the inputs in a comment."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

_MARK: Final = "<!-- digest: "


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a `|` in a cell becomes a `/`."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def digest_of(home: Path, paths: Iterable[Path], content: Callable[[Path], bytes] = Path.read_bytes) -> str:
    """Return a digest of the names (relative to `home`) and contents of the files among `paths`."""
    sums = hashlib.sha256()
    for path in sorted(p for p in paths if p.is_file()):
        sums.update(path.relative_to(home).as_posix().encode() + b"\0")
        sums.update(hashlib.sha256(content(path)).digest())
    return sums.hexdigest()


def digest_comment(digest: str) -> str:
    """Return the comment that states the digest of a document's inputs."""
    return f"{_MARK}{digest} -->"


def stated_digest(document: Path) -> str | None:
    """Return the digest of the inputs that a document states, or None."""
    text = document.read_text(encoding="utf-8") if document.is_file() else ""
    return text.partition(_MARK)[2].partition(" ")[0] or None
