"""The user's folders with configuration groups, as Hydra reads them.

Such a folder may come from somebody else. It may set LSMLab's own groups only: a file that sets Hydra's settings
(output folders, callbacks, logging, launchers) could make Hydra write files or call functions. Hydra reads these folders
through a source of its own scheme, in the processes of launchers too; a process that does not know the scheme fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.catalogue import IN_MEMORY, ConfigFolder, MemoryFolder, read_inside
from lsmlab.sim.configuration.trust import FOREIGN, MEMORY, REMEDY, TRUSTED, names_hydra
from lsmlab.sim.yaml_text import parse_yaml, read_yaml_text
from omegaconf import OmegaConf


class TrustedFolder(FileConfigSource):
    """Folder whose files may also contain Hydra's settings."""

    @staticmethod
    def scheme() -> str:
        """Return the scheme of the folder's address."""
        return TRUSTED

    def load_config(self, config_path: str) -> ConfigResult:
        """Read a file of the folder. Raises InputError that names the file if it cannot be read."""
        path = Path(self.path, self._normalize_file_name(config_path))
        text = self.text(path)
        content = parse_yaml(text, path)
        if not isinstance(content, Mapping | None):
            raise InputError(f"{path}: must be a mapping of keys to values")
        self.check(path, config_path, content or {}, header := self._header(path, text))
        try:
            config = OmegaConf.create(dict(content or {}))
        except Exception as error:
            raise InputError(f"{path}: {' '.join(str(error).split())}") from None
        return ConfigResult(config=config, path=f"{self.scheme()}://{self.path}", provider=self.provider, header=header)

    def text(self, path: Path) -> str:
        """Return the text of a file. Raises InputError if it cannot be read."""
        return read_yaml_text(path)

    def check(
        self, path: Path, config_path: str, content: Mapping[Any, Any], header: Mapping[str, str | None]
    ) -> None:
        """Raise InputError for content that the folder may not have."""

    @staticmethod
    def _header(path: Path, text: str) -> dict[str, str | None]:
        try:
            return ConfigSource._get_header_dict(text)
        except ValueError as error:
            raise InputError(f"{path}: its header cannot be read ({error}); write '# @package _global_'") from None


class ForeignFolder(TrustedFolder):
    """Folder whose files may set LSMLab's own groups only."""

    @staticmethod
    def scheme() -> str:
        """Return the scheme of the folder's address."""
        return FOREIGN

    def check(
        self, path: Path, config_path: str, content: Mapping[Any, Any], header: Mapping[str, str | None]
    ) -> None:
        """Raise InputError if the file sets something of Hydra or leads out of the folder."""
        if names_hydra(config_path):
            raise InputError(f"{path}: a folder of configuration groups may not contain Hydra's groups; {REMEDY}")
        if ".." in Path(config_path).parts:
            raise InputError(f"{path}: outside the folder {self.path}; {REMEDY}")
        if names_hydra(header.get("package") or ""):
            raise InputError(f"{path}: @package {header['package']}: sets Hydra's own settings; {REMEDY}")
        if "hydra" in content:
            raise InputError(f"{path}: hydra: may not set Hydra's own settings, which can run code; {REMEDY}")
        for place, entry in _defaults(content.get("defaults")):
            if names_hydra(place):
                raise InputError(f"{path}: defaults: {place}: chooses Hydra's own settings; {REMEDY}")
            if "${" in place or ".." in re.split(r"[\s/@]+", f"{place} {entry}"):
                raise InputError(f"{path}: defaults: {place}: {entry}: may not lead out of the folder; {REMEDY}")


    def text(self, path: Path) -> str:
        """Return the text of a file. Raises InputError if it cannot be read, or is a link to a file outside the folder."""
        return read_inside(path, Path(self.path))


class FolderInMemory(ForeignFolder):
    """Folder of an imported LOG in memory. Its texts come from a foreign file, so the rules of foreign folders hold."""

    @staticmethod
    def scheme() -> str:
        """Return the scheme of the folder's address."""
        return MEMORY

    def text(self, path: Path) -> str:
        """Return the text of a file."""
        return IN_MEMORY[self.path].files[str(path.relative_to(self.path))]

    def is_group(self, config_path: str) -> bool:
        """Return whether the folder has entries of a group."""
        return not config_path or IN_MEMORY[self.path].has_group(config_path)

    def is_config(self, config_path: str) -> bool:
        """Return whether the folder has a file."""
        return self._normalize_file_name(config_path) in IN_MEMORY[self.path].files

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return the names of the entries of a group."""
        found: list[str] = []
        for name in {path.removeprefix(f"{config_path}/").partition("/")[0] for path in IN_MEMORY[self.path].files}:
            self._list_add_result(found, f"{config_path}/{name}", name, results_filter)
        return sorted(found)


def _defaults(entries: object) -> Iterator[tuple[str, str]]:
    """Yield the group (or path) and the chosen entries of each item of a defaults list."""
    for item in entries if isinstance(entries, list) else []:
        if isinstance(item, Mapping):
            for group, chosen in item.items():
                names = chosen if isinstance(chosen, list) else [chosen]
                yield str(group), " ".join(map(str, names))
        else:
            yield str(item), ""


def addresses(folders: Sequence[ConfigFolder], *, trusted: bool) -> list[str]:
    """Return the addresses of folders for Hydra's search path, whose entries override LSMLab's."""
    register()
    found = []
    for folder in folders:
        if isinstance(folder, MemoryFolder):
            folder.register()
            found.append(f"{MEMORY}://{folder.name}")
        else:
            found.append(f"{TRUSTED if trusted else FOREIGN}://{folder.resolve()}")
    return found


def register() -> None:
    """Make the schemes known to Hydra in this process."""
    for source in (TrustedFolder, ForeignFolder, FolderInMemory):
        Plugins.instance().register(source)
