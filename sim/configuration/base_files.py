"""Bases on disk, so that a new process needs no Hydra: for choices among the entries that LSMLab ships.

A file is valid for the content of all entries and for the installed releases of Hydra, its plugins and OmegaConf: a
digest of these names its folder. Any number of processes may use the folder at the same time, because a file appears by
renaming. A file that cannot be read is written again; a folder that cannot be written costs time only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lsmlab.sim.configuration.bases import Base
from lsmlab.sim.configuration.entries import packaged_folder

PLACE_ENV: Final = "LSMLAB_CACHE"
"""Environment variable with the path of the cache; "off": no cache. The default is ~/.cache/lsmlab."""
_FORMAT: Final = "1"
"""Version of the files; a change of `Base`, or of how a base is made, needs a new one."""
_LIBRARIES: Final = ("hydra", "omegaconf")
_MOST_FOLDERS: Final = 8
"""Largest number of folders: one for each state of the entries and libraries, the newest ones."""
_DIGITS: Final = 24


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """Files of bases for the present entries and libraries."""

    folder: Path

    def read(self, entries: Sequence[str]) -> Base | None:
        """Return the base of a choice of entries; None if there is no readable file."""
        try:
            return Base.from_json(self._path(entries).read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, entries: Sequence[str], base: Base) -> None:
        """Write the base of a choice of entries, if the folder can be written."""
        path = self._path(entries)
        staged = path.with_name(f"{os.urandom(8).hex()}.partial")
        try:
            if not self.folder.is_dir():
                self.folder.mkdir(parents=True)
                _remove_old(self.folder.parent)
            staged.write_text(base.to_json(), encoding="utf-8")
            staged.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                staged.unlink(missing_ok=True)

    def _path(self, entries: Sequence[str]) -> Path:
        return self.folder / f"{_digest(*(entry.encode() for entry in entries))}.json"


def base_files() -> BaseFiles | None:
    """Return the files for the present entries and libraries; None without a cache."""
    place = cache_folder()
    return BaseFiles(place / "bases" / _state()) if place is not None else None


def cache_folder() -> Path | None:
    """Return the folder of the cache: $LSMLAB_CACHE, $XDG_CACHE_HOME/lsmlab or ~/.cache/lsmlab; None: no cache."""
    place = os.environ.get(PLACE_ENV)
    if place:
        return Path(place).absolute() if place.lower() != "off" else None
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if caches.is_absolute():  # the specification says to ignore a relative path
        return caches / "lsmlab"
    try:
        return Path.home() / ".cache" / "lsmlab"
    except RuntimeError:  # the user has no home directory
        return None


def _state() -> str:
    """Return the digest of everything that composing depends on."""
    return _digest(_FORMAT.encode(), *_entries(), *_libraries())


def _entries() -> Iterator[bytes]:
    for place, folders, names in os.walk(packaged_folder()):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".yaml"):
                yield f"{place}/{name}".encode()
                yield Path(place, name).read_bytes()


def _libraries() -> Iterator[bytes]:
    """Yield the places, sizes and times of the libraries, and the names of Hydra's plugins."""
    for name in _LIBRARIES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            status = Path(spec.origin).stat()
            yield f"{spec.origin} {status.st_size} {status.st_mtime_ns}".encode()
    plugins = find_spec("hydra_plugins")
    for folder in (plugins.submodule_search_locations or ()) if plugins is not None else ():
        yield " ".join(sorted(map(str, Path(folder).iterdir()))).encode()


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()[:_DIGITS]


def _remove_old(place: Path) -> None:
    folders = sorted(place.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in folders[_MOST_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)
