"""Limits of a block device for one process: cgroup v1 `blkio.throttle.*` and v2 `io.max`, with their counters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError

CGROUPS: Final = Path("/sys/fs/cgroup")
BLOCK_DEVICES: Final = Path("/sys/dev/block")
_SECTOR_BYTES: Final = 512
"""Unit of the counters in /sys/block/*/stat, whatever the disk's own sectors are."""


@dataclass(frozen=True, slots=True)
class CgroupCaps:
    """Caps of a device; None for no cap. `ios_per_s` limits reads and writes separately."""

    write_bytes_per_s: int | None = None
    read_bytes_per_s: int | None = None
    ios_per_s: int | None = None

    @property
    def any(self) -> bool:
        """Whether at least one cap is set."""
        return any(v is not None for v in (self.write_bytes_per_s, self.read_bytes_per_s, self.ios_per_s))

    def __str__(self) -> str:
        caps = [
            f"{kind} {per_s / scale:,.10g} {unit}"
            for kind, per_s, scale, unit in (
                ("writes", self.write_bytes_per_s, 1e6, "MB/s"), ("reads", self.read_bytes_per_s, 1e6, "MB/s"),
                ("reads and writes each", self.ios_per_s, 1, "operations/s"),
            )
            if per_s is not None
        ]  # fmt: skip
        return f"caps on the device: {', '.join(caps) or 'none'}"


@dataclass(frozen=True, slots=True)
class CgroupTraffic:
    """Bytes and operations of a cgroup on its device so far."""

    read_bytes: int = 0
    write_bytes: int = 0
    reads: int = 0
    writes: int = 0


class Cgroup:
    """cgroup of one run; `version` is the version (1 or 2) of the cgroup hierarchy with the block controller."""

    def __init__(self, folder: Path, version: int, device: str) -> None:
        self.folder, self.version, self.device = folder, version, device

    def limit(self, limits: CgroupCaps) -> None:
        """Set the caps. Raises InputError if the kernel refuses."""
        if self.version == 2:
            caps = {"wbps": limits.write_bytes_per_s, "rbps": limits.read_bytes_per_s,
                    "wiops": limits.ios_per_s, "riops": limits.ios_per_s}  # fmt: skip
            words = " ".join(f"{k}={v}" for k, v in caps.items() if v is not None)
            if words:
                self._write("io.max", f"{self.device} {words}")
            return
        for name, value in (
            ("write_bps", limits.write_bytes_per_s), ("read_bps", limits.read_bytes_per_s),
            ("write_iops", limits.ios_per_s), ("read_iops", limits.ios_per_s),
        ):  # fmt: skip
            if value is not None:
                self._write(f"blkio.throttle.{name}_device", f"{self.device} {value}")

    def enter(self) -> None:
        """Move the calling process into the group; processes that it starts inherit the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def traffic(self) -> CgroupTraffic:
        """Return bytes and operations of the group on its device since the group was created."""
        if self.version == 2:
            found = re.search(rf"^{self.device} (.*)$", (self.folder / "io.stat").read_text(), re.M)
            counters = dict(pair.split("=") for pair in found[1].split()) if found else {}
            return CgroupTraffic(*(int(counters.get(key, 0)) for key in ("rbytes", "wbytes", "rios", "wios")))
        size = self._v1("blkio.throttle.io_service_bytes")
        count = self._v1("blkio.throttle.io_serviced")
        return CgroupTraffic(size.get("Read", 0), size.get("Write", 0), count.get("Read", 0), count.get("Write", 0))

    def _v1(self, name: str) -> dict[str, int]:
        rows = (line.split() for line in (self.folder / name).read_text().splitlines())
        return {row[1]: int(row[2]) for row in rows if len(row) == 3 and row[0] == self.device}

    def _write(self, name: str, text: str) -> None:
        try:
            (self.folder / name).write_text(text)
        except OSError as error:
            raise InputError(f"{self.folder / name}: the kernel refuses the limit {text!r} ({error.strerror});"
                " change the caps of the case's device") from None


class DiskCounters:
    """Traffic of a whole disk since the object was made, as the block layer counts it for everybody; needs no root.

    The traffic of other programs is in it.
    """

    def __init__(self, entry: Path) -> None:
        """`entry`: folder of the disk in /sys/block."""
        self.entry = entry
        self._before = self._read()

    def traffic(self) -> CgroupTraffic:
        """Return bytes and operations since the object was made."""
        return CgroupTraffic(*(now - before for now, before in zip(self._read(), self._before, strict=True)))

    def _read(self) -> tuple[int, int, int, int]:
        fields = [int(word) for word in (self.entry / "stat").read_text().split()]
        return fields[2] * _SECTOR_BYTES, fields[6] * _SECTOR_BYTES, fields[0], fields[4]


@contextmanager
def group(name: str, place: Path, *, needed: bool, root: Path = CGROUPS) -> Iterator[Cgroup | None]:
    """Create a cgroup for the device that contains `place`, and remove it at the end.

    Yields None if the group cannot be created and is not `needed`. Raises InputError with the remedy if it is `needed`.
    """
    try:
        created = _create(name, place, root)
    except (OSError, InputError) as error:
        if not needed:
            created = None
        elif isinstance(error, InputError):
            raise
        else:
            raise InputError(
                f"{root}: no block limits can be set here ({error.strerror}); run as root on a Linux with the blkio (v1) or io"
                " (v2) controller, or record cases without device caps"
            ) from None
    try:
        yield created
    finally:
        if created is not None:
            created.folder.rmdir()


def _create(name: str, place: Path, root: Path) -> Cgroup:
    device = disk_of(place)
    if (root / "cgroup.controllers").is_file() and "io" in (root / "cgroup.controllers").read_text().split():
        control = root / "cgroup.subtree_control"
        if "io" not in control.read_text().split():
            control.write_text("+io")
        folder, version = root / name, 2
    else:
        folder, version = root / "blkio" / name, 1
        if not (root / "blkio").is_dir():
            raise InputError(f"{root}: neither the blkio (v1) nor the io (v2) controller is mounted; record without device caps")
    folder.mkdir(exist_ok=True)
    return Cgroup(folder, version, device)


def disk_of(place: Path, block_devices: Path = BLOCK_DEVICES) -> str:
    """Return MAJOR:MINOR of the whole disk that contains `place`. Raises InputError if `place` is not on a disk."""
    number = place.stat().st_dev
    entry = block_devices / f"{os.major(number)}:{os.minor(number)}"
    if not entry.exists():
        reason = "not on a block device (an overlay or memory file system?)"
        raise InputError(f"{place}: {reason}; choose another folder with --scratch")
    if (entry / "partition").is_file():
        return (entry.resolve().parent / "dev").read_text().strip()
    return (entry / "dev").read_text().strip() if (entry / "dev").is_file() else entry.name
