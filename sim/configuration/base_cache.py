"""Cache of bases: Hydra composes each choice of entries once, in 0.15 s; setting values in a copy takes milliseconds.

Bases of this process are in memory. Bases of entries that LSMLab ships are also on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.configuration.base_files import BaseFiles, base_files
from lsmlab.sim.configuration.bases import Base, base_of
from lsmlab.sim.configuration.entries import packaged_folder
from lsmlab.sim.configuration.trust import is_trusted

_BASES: Final[dict[Hashable, Base | None]] = {}
"""Bases of this process; None if Hydra must compose a choice of entries each time."""
_MOST_BASES: Final = 1000
"""Largest number of bases in memory, about 20 KB each."""


class BaseCache:
    """Cache of bases for the user's folders with configuration groups, as long as no file changes."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._state = (_stamp(folders), self._folders, Path.cwd(), is_trusted())

    @cached_property
    def _files(self) -> BaseFiles | None:
        return base_files() if not self._folders else None

    def find(self, entries: Sequence[str], compose: Callable[[Sequence[str]], Any]) -> Base | None:
        """Return the base of a choice of entries; None if there is none. `compose`: Hydra's compose function."""
        key = (self._state, tuple(entries))
        if key not in _BASES:
            if len(_BASES) >= _MOST_BASES:
                _BASES.clear()
            _BASES[key] = self._from_disk(entries, compose)
        return _BASES[key]

    def _from_disk(self, entries: Sequence[str], compose: Callable[[Sequence[str]], Any]) -> Base | None:
        base = self._files.read(entries) if self._files is not None else None
        if base is None:
            base = base_of(compose(entries))
            if base is not None and self._files is not None:
                self._files.write(entries, base)
        return base


def _stamp(folders: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return names, sizes and times of all configuration files."""
    stamps = []
    for folder in (packaged_folder(), *folders):
        for place, names, entries in os.walk(folder):
            names[:] = [name for name in names if name != "__pycache__"]
            for name in entries:
                with suppress(OSError):  # a link to a file that does not exist
                    status = Path(place, name).stat()
                    stamps.append((f"{place}/{name}", status.st_mtime_ns, status.st_size))
    return tuple(sorted(stamps))
