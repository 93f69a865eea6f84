"""Drivers: programs that run RocksDB for a case, with db_bench's flags of loads and its output."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.version import Version
from lsmlab.validation.recorder.flags import Flag, store_flags
from lsmlab.validation.recorder.rocksdbjni import option_flags, rocksdbjni_tool


@dataclass(frozen=True)
class Driver:
    """What differs between drivers; all leave RocksDB's LOG, OPTIONS-* and MANIFEST-* in the folder of `--db`."""

    name: str
    preset: str
    """Preset of a case's store: options that it does not set have the defaults of db_bench's flags, or of the library."""
    store_flags: Callable[[Mapping[str, Any]], dict[str, Flag]]
    """Returns the flags of the `engine` group: options that the case sets, compressibility of the values."""
    tool: Callable[[Path | None, str, Path], list[str]]
    """Returns the command, from the program that the user gave, the release (major.minor), and a folder to build in."""
    has_families: bool = False
    """Whether it writes to several column families."""
    option: str = ""
    """Option of `lsmlab record` that gives its program."""
    has_actions: bool = False
    """Whether it has actions beside its clients, snapshots and a compaction filter."""
    reads_and_threads: bool = True
    """Whether it reads, and has several client threads, whose puts cost what those of a program in C++ cost."""

    def command(self, program: Path | None, release: str, folder: Path) -> list[str]:
        """Return the command if its release is that of the case. Raises InputError with the remedy."""
        command = self.tool(program, release, folder)
        found = self.release(command)
        if found and Version.parse(found) != Version.parse(release):
            remedy = f"change store.version{self.option and f' or give {self.option}'}"
            raise InputError(f"{self.name}: is release {found}, but the case names release {release}; {remedy}")
        return command

    def release(self, command: list[str]) -> str:
        """Return the release that a command has; empty if it prints none. Raises InputError if it does not run."""
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        output = result.stdout + result.stderr
        if result.returncode:
            last = (output.strip().splitlines() or ["no output"])[-1]
            raise InputError(f"{self.name}: --version ended with status {result.returncode}: {last}")
        return next((w for w in output.split() if w[:1].isdigit() and "." in w), "")


def db_bench_tool(program: Path | None, _release: str, _folder: Path) -> list[str]:
    """Return the path of db_bench, which is searched on the PATH. Raises InputError if it is missing."""
    found = shutil.which(str(program or "db_bench"))
    if found is None:
        raise InputError(f"{program or 'db_bench'}: not found; install it (Debian: rocksdb-tools) or give --db-bench PATH")
    return [found]


def rocksdict_tool(_program: Path | None = None, _release: str = "", _folder: Path = Path()) -> list[str]:
    """Return the command of db_bench in Python. Raises InputError if the package rocksdict is missing."""
    if find_spec("rocksdict") is None:
        raise InputError("the package rocksdict is missing; install it with: pip install 'lsmlab[real]'")
    return [sys.executable, "-m", "lsmlab.validation.recorder.rocksdict_bench"]


DB_BENCH: Final = Driver("db_bench", "db_bench", store_flags, db_bench_tool, has_families=True, option="--db-bench")
ROCKSDICT: Final = Driver("rocksdict", "library", store_flags, rocksdict_tool, reads_and_threads=False)
ROCKSDBJNI: Final = Driver("rocksdbjni", "library", option_flags, rocksdbjni_tool, has_actions=True, option="--jar")
DRIVERS: Final = {driver.name: driver for driver in (DB_BENCH, ROCKSDICT, ROCKSDBJNI)}
