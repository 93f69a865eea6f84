"""Driver rocksdbjni: finds Maven's jar of RocksDB and Java, prepares RocksdbjniBench.java, and converts options for it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.options_writer import braced, by_section
from lsmlab.models.options.values import flatten, plain, read_value
from lsmlab.models.version import Version
from lsmlab.validation.recorder.flags import Flag

MAVEN: Final = Path("~/.m2/repository/org/rocksdb/rocksdbjni")
"""Folder in which Maven keeps its jars of rocksdbjni, one folder per release."""
_SOURCE: Final = Path(__file__).with_name("RocksdbjniBench.java")
_LIBRARIES: Final = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}
"""RocksDB inside the jar, by machine."""
_PATCHES: Final = {Version(8, 11): 4, Version(9, 8): 4, Version(10, 2): 1}
"""Last patch number of releases that were tried; Maven has no command for the newest one of a release."""
_FLAGS: Final = (
    "disable_wal", "sync", "statistics", "rate_limiter_bytes_per_sec", "rate_limiter_refill_period_us",
    "rate_limiter_fairness", "rate_limiter_mode", "rate_limiter_auto_tuned",
)  # fmt: skip
"""Options that RocksDB does not read from text, so that the program sets them."""


def option_flags(engine: Mapping[str, Any]) -> dict[str, Flag]:
    """Return flags for the options that the case sets: --db.NAME and --cf.NAME with the text of an OPTIONS file.

    RocksDB uses the library's defaults for the others, but compresses nothing without `compression`, like the simulator.
    """
    flat = flatten(engine["options"])
    sections = by_section(flat)
    table = sections["Table"]
    if "cache_size" in flat:
        cache_bytes = read_value("cache_size", flat["cache_size"])
        table |= {"block_cache": str(cache_bytes)} if cache_bytes else {"no_block_cache": "true"}
    family = {"compression": "kNoCompression"} | sections["CF"]
    if table:
        family["block_based_table_factory"] = braced(table)
    flags: dict[str, Flag] = {f"db.{name}": value for name, value in sections["DB"].items()}
    flags |= {f"cf.{name}": value for name, value in family.items()}
    flags |= {name: plain(read_value(name, flat[name])) for name in _FLAGS if name in flat}
    return flags | {"compression_ratio": engine.get("compression_ratio", 0.5)}


def rocksdbjni_tool(jar: Path | None, release: str, folder: Path) -> list[str]:
    """Return the command of db_bench in Java; its classes and RocksDB's library are written to `folder`.

    `jar`: None for the newest jar of `release` in Maven's folder. Raises InputError with the remedy if Java or the jar is
    missing or unusable.
    """
    java, javac = shutil.which("java"), shutil.which("javac")
    if java is None or javac is None:
        raise InputError("java and javac: not found; install a JDK, 11 or newer (Debian: openjdk-17-jdk-headless)")
    found = (find_jar(release) if jar is None else jar).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    _unpack(found, folder)
    command = [javac, "-encoding", "UTF-8", "-cp", str(found), "-d", str(folder), str(_SOURCE)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode:
        reason = (compiled.stderr.strip().splitlines() or ["no output"])[0]
        raise InputError(f"{found}: {_SOURCE.name} does not compile with it ({reason}); give a jar of release 8 or newer")
    # the library beside the classes: else each start would write it to the disk again, within the limits of the run
    return [java, "-XX:+UseSerialGC", f"-Djava.library.path={folder}", "-cp", f"{found}{os.pathsep}{folder}", _SOURCE.stem]


def find_jar(release: str, maven: Path = MAVEN) -> Path:
    """Return the newest jar of a release (major.minor) in Maven's folder. Raises InputError with the command to get one."""
    wanted = Version.parse(release)
    jars: list[tuple[list[int], Path]] = []
    for folder in maven.expanduser().glob("*"):
        if not re.fullmatch(r"\d+(\.\d+)+", folder.name) or Version.parse(folder.name) != wanted:
            continue
        # without classifier, the jar contains the libraries of all systems
        files = [folder / f"rocksdbjni-{folder.name}{classifier}.jar" for classifier in ("-linux64", "")]
        jars += [([int(part) for part in folder.name.split(".")], file) for file in files if file.is_file()][:1]
    if jars:
        return max(jars)[1]
    remedy = f"{download_command(wanted)}, or give --jar PATH"
    raise InputError(f"{maven}: contains no jar of release {wanted}; get it with {remedy}")


def download_command(release: Version) -> str:
    """Return the command that puts a jar of the release into Maven's folder."""
    patch = _PATCHES.get(release)
    name = f"{release}.{'PATCH' if patch is None else patch}"
    hint = " (PATCH: the release's last number on Maven Central)" if patch is None else ""
    return f"mvn dependency:get -Dartifact=org.rocksdb:rocksdbjni:{name}:jar:linux64 -Dtransitive=false{hint}"


def _unpack(jar: Path, folder: Path) -> None:
    """Write RocksDB's library for this machine to `folder`."""
    name = _LIBRARIES.get(platform.machine(), "")
    try:
        with zipfile.ZipFile(jar) as members:
            members.extract(name, folder)
    except OSError as error:
        raise InputError(f"{jar}: {error.strerror or error}; give a jar of org.rocksdb:rocksdbjni") from None
    except zipfile.BadZipFile:
        raise InputError(f"{jar}: not a jar; give one of org.rocksdb:rocksdbjni") from None
    except KeyError:
        where = f"Linux on {platform.machine()}"
        raise InputError(f"{jar}: contains no RocksDB for {where}; give rocksdbjni with classifier linux64") from None
