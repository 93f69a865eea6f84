"""Kept runs of the laboratory, imported LOGs, comparisons and uploads, in folders below one folder."""

from __future__ import annotations

import base64
import binascii
import hashlib
import itertools
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.reports.headline import headline
from lsmlab.reports.lab.safety import MOST_UPLOAD_BYTES
from lsmlab.reports.run_data import is_run, load_run
from lsmlab.sim.configuration.names import folder_names
from lsmlab.sim.results.leftovers import remove_leftovers
from lsmlab.sim.results.rundir import make_directory

MOST_COMPARED: Final = 4
"""Largest number of runs of a comparison."""
COMPARISONS: Final = "comparisons"
IMPORTS: Final = "imports"
UPLOADS: Final = "uploads"
CHOICE: Final = "lab.json"
"""File with the name and the choice of a kept run."""
_OWN: Final = (COMPARISONS, IMPORTS, UPLOADS)
_SHOWN: Final = ("ops_per_s", "write_latency_s.p99", "stall_fraction", "write_amplification")
_DIGEST: Final = 8


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A kept run."""

    folder: str
    """Name of its folder."""
    name: str
    facts: Mapping[str, str]
    """Text of headline numbers by label."""


@dataclass(frozen=True, slots=True)
class KeptRuns:
    """Folder with kept runs, one folder each."""

    root: Path

    def run_folder(self, name: str) -> Path:
        """Return the folder for the run of this name."""
        return self.root / folder_names([name])[0]

    def runs(self) -> list[KeptRun]:
        """Return the kept runs, the latest first. Folders that are no runs, or damaged, are left out."""
        if not self.root.is_dir():
            return []
        folders = [p for p in self.root.iterdir() if p.name not in _OWN and not p.name.startswith(".") and is_run(p)]
        dated = sorted(((p.stat().st_mtime, p) for p in folders), reverse=True)
        return [kept for kept in (_kept(path) for _, path in dated) if kept is not None]

    def find(self, folder: str) -> Path:
        """Return the path of a kept run. Raises InputError if there is none of this name."""
        path = self.root / folder
        if not folder or folder in _OWN or Path(folder).name != folder or folder.startswith(".") or not is_run(path):
            raise InputError(f"{folder[:100]}: no such run is kept; reload the page")
        return path

    def remove(self, folder: str) -> None:
        """Remove a kept run."""
        shutil.rmtree(self.find(folder))

    def comparison(self, folders: Sequence[str]) -> tuple[list[Path], Path]:
        """Return the paths of the runs to compare, and the folder for their page. Raises InputError for too few or many."""
        if not 2 <= len(folders) <= MOST_COMPARED:
            raise InputError(f"compare: {len(folders)} runs are marked; mark 2 to {MOST_COMPARED}")
        paths = [self.find(folder) for folder in folders]
        return paths, self.root / COMPARISONS / folder_names([compared_name(folders)])[0]

    def keep_choice(self, folder: Path, name: str, choice: Mapping[str, Any]) -> None:
        """Write name and choice of the form beside a run, so that the form can return to it."""
        content = {"name": name, "choice": choice}
        (folder / CHOICE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def choice(self, folder: str) -> Any:
        """Return the choice of a kept run. Raises InputError for a run that the laboratory did not simulate."""
        try:
            return json.loads((self.find(folder) / CHOICE).read_text(encoding="utf-8"))["choice"]
        except (OSError, ValueError, LookupError):
            raise InputError(f"{folder}: has no settings of the laboratory; set them in the form") from None

    def upload(self, name: str, content: bytes) -> Path:
        """Write an uploaded file under a name without special characters and return its path."""
        safe = re.sub(r"[^\w.-]+", "-", Path(name.replace("\\", "/")).name).strip("-.")[-80:] or "file"
        digest = hashlib.sha256(content).hexdigest()[:_DIGEST]
        path = make_directory(self.root / UPLOADS / digest) / safe
        path.write_bytes(content)
        return path

    def upload_options(self, contents: object, name: str) -> Path:
        """Write an uploaded OPTIONS file (or a LOG, for its options) and return its path. Raises InputError if it has none."""
        path = self.upload(name, decoded(contents, name))
        try:
            read_options(path)
        except InputError as error:
            path.unlink()
            raise InputError(str(error).replace(str(path), name)) from None
        return path

    def import_folder(self, upload: Path) -> Path:
        """Return the folder for the import of an uploaded LOG."""
        return self.root / IMPORTS / f"{upload.name.split('.')[0]}-{upload.parent.name}"

    def contains(self, path: str, place: str) -> bool:
        """Return whether `path` is an existing file or folder in a place of its own (`UPLOADS`, `IMPORTS`)."""
        found, inside = Path(path).resolve(), (self.root / place).resolve()
        return found != inside and inside in found.parents and found.exists()

    def page(self, path: Path) -> str:
        """Return the address of a page below /pages/."""
        return path.resolve().relative_to(self.root.resolve()).as_posix()

    def tidy(self) -> None:
        """Remove what ended processes left."""
        if self.root.is_dir():
            remove_leftovers(self.root / "any")
            for path in self.root.glob(".*.partial-*"):
                remove_leftovers(path.with_name(path.name[1:].partition(".partial-")[0]))


def decoded(contents: object, name: str) -> bytes:
    """Return the content of an upload in the form `data:TYPE;base64,TEXT`. Raises InputError if it is too large or none.

    >>> decoded("data:text/plain;base64,T1BUSU9OUw==", "OPTIONS")
    b'OPTIONS'
    """
    if not isinstance(contents, str) or ";base64," not in contents[:300]:
        raise InputError(f"{name}: no file; choose one")
    text = contents.partition(";base64,")[2]
    if len(text) * 3 // 4 > MOST_UPLOAD_BYTES:
        raise InputError(f"{name}: larger than {MOST_UPLOAD_BYTES >> 20} MiB; read it with 'lsmlab import' or '--options FILE'")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"{name}: the upload is damaged; try again") from None


def compared_name(names: Sequence[str]) -> str:
    """Return the name of a comparison: what the names have in common, then in what they differ.

    >>> compared_name(["rocksdb on sata, fillrandom, 4 jobs", "rocksdb on sata, fillrandom"])
    'rocksdb on sata, fillrandom - 4 jobs with start'
    >>> compared_name(["rocksdb on sata, fillrandom", "rocksdb on nvme, fillrandom"])
    'rocksdb on sata, fillrandom with rocksdb on nvme, fillrandom'
    """
    parts = [name.split(", ") for name in names]
    columns = zip(*parts, strict=False)
    common = len(list(itertools.takewhile(lambda column: len(set(column)) == 1, columns)))
    rest = " with ".join(", ".join(own[common:]) or "start" for own in parts)
    return f"{', '.join(parts[0][:common])} - {rest}" if common else rest


def _kept(path: Path) -> KeptRun | None:
    try:
        facts = {fact.label: fact.text for fact in headline(load_run(path)) if fact.key in _SHOWN}
        about = path / CHOICE
        name = json.loads(about.read_text(encoding="utf-8")).get("name") if about.is_file() else None
        return KeptRun(path.name, str(name or path.name), facts)
    except (InputError, OSError, ValueError, LookupError, AttributeError):
        return None
