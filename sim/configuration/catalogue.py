"""Entries of the configuration groups: their files, what they inherit, and their numbers with sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from os.path import realpath
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.trust import REMEDY, is_trusted
from lsmlab.sim.yaml_text import parse_yaml, read_yaml_text

PARTS: Final = ("picker", "cutter", "throttle", "scheduler", "tuner", "filter")
"""Kinds of an engine's policies; each is a configuration group such as `engine/picker`."""
GROUPS: Final = (
    "engine", *(f"engine/{part}" for part in PARTS), "device", "workload", "host", "limits", "conditions", "parameters", "keys",
    "experiment",
)  # fmt: skip
_CONFIG_MODULE: Final = "lsmlab.configs"
_COMMENT: Final = re.compile(r"(?P<line>(?:[^#'\"]|'[^']*'|\"[^\"]*\")*?)(?:(?:^|\s+)#\s*(?P<comment>.*))?")


@dataclass(frozen=True, eq=False)
class MemoryFolder:
    """Folder of an imported LOG that is only in memory. While the object lives, its name means it to studies."""

    name: str
    """Path that the folder would have."""
    files: Mapping[str, str]
    """Text of each file by its path in the folder, such as device/imported.yaml."""
    summary: Mapping[str, Any]
    """Numbers of the LOG, as in summary.json."""

    def __post_init__(self) -> None:
        self.register()

    def register(self) -> None:
        """Make the name known in this process; a worker that gets the object calls this."""
        IN_MEMORY[self.name] = self

    def has_group(self, key: str) -> bool:
        """Return whether `key` is a configuration group of the folder."""
        return any(path.startswith(f"{key}/") for path in self.files)


IN_MEMORY: Final[WeakValueDictionary[str, MemoryFolder]] = WeakValueDictionary()
"""Folders in memory by name."""
ConfigFolder = Path | MemoryFolder
"""Folder of configuration groups."""


def read_inside(path: Path, folder: Path) -> str:
    """Return the text of a YAML file of a folder of configuration groups.

    Raises InputError if it cannot be read, or leads out of the folder: another's folder must not name the user's files.
    """
    if not is_trusted() and not Path(realpath(path)).is_relative_to(realpath(folder)):
        raise InputError(f"{path}: leads out of the folder {folder}; {REMEDY}")
    return read_yaml_text(path)


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """One file of a configuration group."""

    group: str
    name: str
    path: Path

    @property
    def text(self) -> str:
        """Text of the YAML file, comments included."""
        return read_inside(self.path, self.path.parents[self.group.count("/") + 1])

    def description(self) -> str:
        """Return the value of `description`, or else the first comment line."""
        text = self.text
        match = re.search(r"^description:\s*(.+?)\s*$", text, re.MULTILINE)
        if match:
            return match.group(1).strip("'\"")
        comment = re.match(r"#\s*(.+)", text)
        return comment.group(1).strip() if comment else ""


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key of an entry with its value and the comment on its line; `depth` counts levels of indentation."""

    key: str
    value: str
    comment: str
    depth: int


def entries(group: str, config_dirs: Sequence[Path] = ()) -> list[GroupEntry]:
    """Return the entries of a group, sorted by name.

    An entry in the user's folders replaces a shipped entry of the same name. Files whose names begin with "_" are parts
    of entries and are left out.
    """
    by_name: dict[str, GroupEntry] = {}
    for path in (p for folder in _folders(config_dirs) for p in (folder / group).glob("*.yaml")):
        by_name.setdefault(path.stem, GroupEntry(group, path.stem, path))
    return [by_name[name] for name in sorted(by_name) if not name.startswith("_")]


def inherited(entry: GroupEntry, config_dirs: Sequence[Path] = ()) -> list[GroupEntry]:
    """Return the entry and the entries of its group that its `defaults` include; the first overrides the others."""
    return _layers(entry, config_dirs, ())


def _layers(entry: GroupEntry, config_dirs: Sequence[Path], around: tuple[Path, ...]) -> list[GroupEntry]:
    """Return the entry and what it includes; `around`: the entries that include it. Raises InputError for a circle."""
    if entry.path in around:
        raise InputError(f"{entry.path}: defaults: includes itself; remove the entry that leads back to it")
    layers = [entry]
    for name in reversed(_defaults(entry)):
        for folder in _folders(config_dirs):
            path = folder / entry.group / f"{name}.yaml"
            if path.exists():
                layers += _layers(GroupEntry(entry.group, name, path), config_dirs, (*around, entry.path))
                break
    return [*_parameters(entry, config_dirs), *layers]


def _parameters(entry: GroupEntry, config_dirs: Sequence[Path]) -> list[GroupEntry]:
    """Return the parameter set that a host entry names, if any; its constants override those of the entry."""
    content = parse_yaml(entry.text, entry.path) if entry.group == "host" else None
    name = content.get("parameters") if isinstance(content, dict) else None
    paths = [folder / "parameters" / f"{name}.yaml" for folder in _folders(config_dirs)] if name else []
    return [GroupEntry("parameters", str(name), path) for path in paths if path.exists()][:1]


def numbers(text: str) -> list[KeyLine]:
    r"""Return the keys of a YAML file with their values and comments, in order; leave out comments on their own lines.

    >>> numbers("a: 2  # source: [X]\nb: {c: '#1'}")
    [KeyLine(key='a', value='2', comment='source: [X]', depth=0), KeyLine(key='b', value="{c: '#1'}", comment='', depth=0)]
    """
    rows = []
    for line in text.splitlines():
        match = _COMMENT.fullmatch(line)
        content = match.group("line") if match else line
        comment = (match.group("comment") if match else "") or ""
        key, colon, value = content.strip().partition(":")
        depth = (len(content) - len(content.lstrip())) // 2
        if content.strip() and (colon or comment or content.strip().startswith("-")):
            rows.append(KeyLine(key.strip() if colon else content.strip(), value.strip(), comment, depth))
    return rows


def _defaults(entry: GroupEntry) -> list[str]:
    """Return the names of the entries of the same group in the `defaults` of this entry."""
    content = parse_yaml(entry.text, entry.path)
    listed = content.get("defaults", []) if isinstance(content, dict) else []
    names = [name for name in listed if isinstance(name, str) and name != "_self_"] if isinstance(listed, list) else []
    return list(dict.fromkeys(names))


def _folders(config_dirs: Sequence[Path]) -> list[Path]:
    for folder in config_dirs:
        if not folder.is_dir():
            raise InputError(f"--config-dir {folder}: no such folder")
    return [*config_dirs, packaged_folder()]


@cache
def packaged_folder() -> Path:
    """Return the folder of the entries that LSMLab ships."""
    spec = find_spec(_CONFIG_MODULE)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def is_group(key: str, folders: Sequence[ConfigFolder]) -> bool:
    """Return whether `key` is a configuration group: a folder of LSMLab's entries or in one of the user's `folders`."""
    return any(
        place.has_group(key) if isinstance(place, MemoryFolder) else (place / key).is_dir()
        for place in (packaged_folder(), *folders)
    )
