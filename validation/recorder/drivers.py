"""Drivers: programs that run RocksDB for a case, with db_bench's flags of loads and its output."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from lsmlab.models.errors import InputError
from lsmlab.models.version import Version
from lsmlab.validation.recorder.flags import Flag, option_flags
from lsmlab.validation.recorder.rocksdbjni import Rocksdbjni


class Driver(Protocol):
    """What differs between drivers; all leave RocksDB's LOG, OPTIONS-* and MANIFEST-* in the folder of `--db`."""

    name: ClassVar[str]
    """Name in commands and messages."""
    preset: ClassVar[str]
    """Preset of a case's store: options that it does not set have the defaults of db_bench's flags, or of the library."""
    has_families: ClassVar[bool]
    """Whether it writes to several column families."""
    remedy: ClassVar[str]
    """What helps if its release is not that of the case."""

    def store_flags(self, engine: Mapping[str, Any]) -> dict[str, Flag]:
        """Return the flags of the `engine` group: options that the case sets, compressibility of the values."""

    def command(self, release: str, folder: Path) -> list[str]:
        """Return the program and its first arguments, for a release (major.minor); `folder` is for what it has to build.

        Raises InputError with the remedy if something is missing.
        """


class _WithDbBenchFlags:
    """Drivers that take db_bench's flags of options."""

    def store_flags(self, engine: Mapping[str, Any]) -> dict[str, Flag]:
        """Return flags for the options that the case sets, and the compressibility of values that are compressed."""
        flags = option_flags(engine["options"])
        if flags["compression_type"] != "none":
            flags["compression_ratio"] = engine["compression_ratio"]
        return flags


@dataclass(frozen=True)
class DbBench(_WithDbBenchFlags):
    """RocksDB's own db_bench."""

    name: ClassVar = "db_bench"
    preset: ClassVar = "db_bench"
    has_families: ClassVar = True
    remedy: ClassVar = "change store.version or give --db-bench"
    path: Path | None = None
    """None: searched on the PATH."""

    def command(self, _release: str, _folder: Path) -> list[str]:
        """Return the path of db_bench. Raises InputError if it is missing."""
        wanted = str(self.path or self.name)
        found = shutil.which(wanted)
        if found is None:
            raise InputError(f"{wanted}: not found; install it (Debian: rocksdb-tools) or give --db-bench PATH")
        return [found]


@dataclass(frozen=True)
class Rocksdict(_WithDbBenchFlags):
    """db_bench in Python, on the RocksDB inside the package rocksdict."""

    name: ClassVar = "rocksdict"
    preset: ClassVar = "library"
    has_families: ClassVar = False
    remedy: ClassVar = "change store.version"

    def command(self, _release: str = "", _folder: Path = Path()) -> list[str]:
        """Return the command of rocksdict_bench. Raises InputError if the package rocksdict is missing."""
        if find_spec("rocksdict") is None:
            raise InputError("the package rocksdict is missing; install it with: pip install 'lsmlab[real]'")
        return [sys.executable, "-m", "lsmlab.validation.recorder.rocksdict_bench"]


DB_BENCH: Final = DbBench()
DRIVERS: Final = (DbBench.name, Rocksdict.name, Rocksdbjni.name)
"""Names of all drivers."""


def make_driver(name: str, db_bench: Path | None, jar: Path | None) -> Driver:
    """Return the driver of a name in DRIVERS; `db_bench` and `jar` are the programs that the user gave."""
    every: tuple[Driver, ...] = (DbBench(db_bench), Rocksdict(), Rocksdbjni(jar))
    return next(driver for driver in every if driver.name == name)


def command_of(driver: Driver, release: str, folder: Path) -> list[str]:
    """Return the driver's command if its release is that of the case. Raises InputError with the remedy."""
    command = driver.command(release, folder)
    result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    if result.returncode:
        last = (output.strip().splitlines() or ["no output"])[-1]
        raise InputError(f"{driver.name}: --version ended with status {result.returncode}: {last}")
    found = next((w for w in output.split() if w[:1].isdigit() and "." in w), "")
    if found and Version.parse(found) != Version.parse(release):
        raise InputError(f"{driver.name}: is release {found}, but the case names release {release}; {driver.remedy}")
    return command
