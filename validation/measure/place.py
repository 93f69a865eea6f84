"""The folder in which a machine is measured: on a real disk with room, and without leftovers of a killed measurement."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.results.leftovers import partial_path, remove_leftovers
from lsmlab.sim.results.stopping import uninterrupted

_MOUNTS: Final = Path("/proc/self/mountinfo")
_BLOCK: Final = Path("/sys/dev/block")
_IN_MEMORY: Final = ("tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "proc", "sysfs")
_OF_OTHERS: Final = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "virtiofs")
"""File systems of another machine: this machine has no drive for them."""
_SPARE_BYTES: Final = 2 << 30
"""Free space that a measurement leaves on the drive."""
_NAME: Final = "lsmlab-measure"
_HYPERVISORS: Final = ("virtio", "qemu", "vmware", "vbox", "google", "msft", "amazon")
"""Words in vendor, model or alias of a drive that a hypervisor or a provider of volumes emulates."""


@dataclass(frozen=True, slots=True)
class Disk:
    """The drive below a folder, as Linux describes it."""

    name: str
    """Name of the block device, such as nvme0n1; of the file system, if it has none of its own."""
    entry: Path | None
    """Its folder in /sys; None: unknown, such as below an overlay of a container."""

    @property
    def rotational(self) -> bool:
        """Whether it is a hard disk."""
        return self._read("queue/rotational") == "1" and not self.virtual

    @property
    def virtual(self) -> bool:
        """Whether it is a drive of a hypervisor, whose real kind is hidden."""
        about = " ".join(self._read(f"device/{name}") for name in ("vendor", "model", "modalias")).lower()
        return self.name.startswith(("vd", "xvd")) or any(word in about for word in _HYPERVISORS)

    @property
    def device_class(self) -> str:
        """Entry of configs/device with the constants of its kind: hdd, sata or nvme; nvme for what hides its kind."""
        if self.rotational:
            return "hdd"
        return "sata" if self.name.startswith("sd") and not self.virtual else "nvme"

    def _read(self, name: str) -> str:
        try:
            return (self.entry / name).read_text().strip() if self.entry is not None else ""
        except OSError:
            return ""


def disk_below(folder: Path, mounts: Path = _MOUNTS, block: Path = _BLOCK) -> Disk:
    """Return the drive below a folder. Raises InputError if the folder is in memory or on another machine."""
    kind, source = _file_system(folder, mounts)
    if kind in _IN_MEMORY:
        raise InputError(f"{folder}: is in memory ({kind}), not on a drive; name a folder on the drive of your store")
    if kind in _OF_OTHERS:
        raise InputError(f"{folder}: is on another machine ({kind}); name a folder on a drive of this machine")
    number = folder.stat().st_dev
    entry = block / f"{os.major(number)}:{os.minor(number)}"
    if not entry.exists() and Path(source).is_block_device():  # btrfs and others have numbers of their own
        number = Path(source).stat().st_rdev
        entry = block / f"{os.major(number)}:{os.minor(number)}"
    if not entry.exists():
        return Disk(kind, None)
    real = entry.resolve()
    whole = real.parent if (real / "partition").is_file() else real
    while len(below := sorted((whole / "slaves").glob("*"))) == 1:  # LVM and encryption above one drive
        whole = below[0].resolve()
        whole = whole.parent if (whole / "partition").is_file() else whole
    return Disk(whole.name, whole)


def _file_system(folder: Path, mounts: Path) -> tuple[str, str]:
    """Return type and source of the file system of a folder (proc(5), mountinfo)."""
    best, found = -1, ("", "")
    place = folder.resolve()
    for line in mounts.read_text().splitlines() if mounts.is_file() else []:
        left, _, right = line.partition(" - ")
        point = Path(left.split()[4].encode().decode("unicode_escape"))
        depth = len(point.parts)
        if depth >= best and (place == point or point in place.parents):
            kind, source, *_ = right.split()
            best, found = depth, (kind, source)
    return found


def check_room(folder: Path, needed_bytes: int) -> None:
    """Raise InputError if `folder` cannot hold a measurement of `needed_bytes`, or cannot be written."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name an existing one on the drive to measure")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written; name another folder on the drive to measure")
    free = shutil.disk_usage(folder).free
    if free < needed_bytes + _SPARE_BYTES:
        raise InputError(
            f"{folder}: {free / 1e9:.1f} GB free, but a measurement uses {needed_bytes / 1e9:.1f} GB and leaves "
            f"{_SPARE_BYTES / 1e9:.1f} GB free; free space, choose another folder, or use --quick"
        )


def remove_old(folder: Path) -> int:
    """Remove what killed measurements left in `folder`; return their number."""
    return remove_leftovers(folder / _NAME)


@contextmanager
def work_folder(folder: Path) -> Iterator[Path]:
    """Give a folder of this process in `folder`, and remove it at the end, also after Ctrl-C and SIGTERM.

    A process that was killed leaves its folder behind; the next one removes it (`remove_old`).
    """
    place = partial_path(folder / _NAME)
    try:
        with uninterrupted():
            place.mkdir()
        yield place
    finally:
        with uninterrupted():
            shutil.rmtree(place, ignore_errors=True)
