"""What `lsmlab measure` is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.studies.request import argument, option
from lsmlab.validation.measure.drive import FULL, QUICK, Effort
from lsmlab.validation.measure.stages import STORE_BYTES

DEFAULT: Final = Path("machine.yaml")


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """Measure the drive below a folder and the cores of this machine, in about five minutes and without root, and write machine.yaml: constants with their errors, for machine=machine.yaml of every verb. Nothing else should run meanwhile. Files are written only in the folder, at most 4 GiB, and removed at the end. The cores are measured by short runs of db_bench, if it is on the PATH, or else of the package rocksdict."""  # noqa: E501 (help text)

    folder: Path | None = argument("DIR", "a folder on the drive to measure (default: the working directory)", optional=True)
    quick: bool = option(False, "measure for about one minute: larger errors, fewer constants")
    drive_only: bool = option(False, "measure the drive alone; the cores stay those of host=default")
    out: Path = option(DEFAULT, "write the file here (default: machine.yaml)", metavar="FILE")
    db_bench: Path | None = option(None, "path of db_bench (default: searched on the PATH)", metavar="PATH")
    dry_run: bool = option(False, "print what would be measured, and measure nothing")
    json: bool = option(False, "print one JSON document and nothing else")

    @property
    def place(self) -> Path:
        """Folder on the drive to measure."""
        return self.folder or Path()

    @property
    def effort(self) -> Effort:
        """Length of the measurement of the drive."""
        return QUICK if self.quick else FULL

    @property
    def needed_bytes(self) -> int:
        """Most bytes in the folder at a time: of the file of requests, or of a store."""
        return self.effort.file_bytes if self.drive_only else max(self.effort.file_bytes, STORE_BYTES)

    def check(self) -> None:
        """Raise InputError for options that contradict each other, or a file that cannot be written."""
        if self.drive_only and self.db_bench is not None:
            raise InputError("--db-bench: --drive-only runs no RocksDB; leave one of them out")
        if self.out.suffix not in (".yaml", ".yml"):
            raise InputError(f"--out {self.out}: must end in .yaml, so that machine={self.out} is read as a file")
        if not self.out.parent.is_dir():
            raise InputError(f"--out {self.out}: its folder does not exist; create it, or choose another one")
