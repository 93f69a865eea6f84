"""Background errors of RocksDB: what a failed write of a job does, and when the database recovers.

Sources: db/error_handler.cc (`SetBGError`, severities), db/db_impl/db_impl_compaction_flush.cc
(`BackgroundCallCompaction`, `BackgroundCallFlush`, `EnoughRoomForCompaction`), file/sst_file_manager_impl.cc
(`ClearError`, `EnoughRoomForCompaction`), HISTORY.md of 6.12 (auto resume):
(behaviour/background-errors.md, A compaction fails; The device is full; A flush fails)
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from lsmlab.models import since
from lsmlab.models.version import Version

RETRY_S: Final = 1.0
"""Sleep of a background thread after a failed job, with its slot (`SleepForMicroseconds(1000000)`)."""
POLL_S: Final = 5.0
"""Interval in which SstFileManager looks for free space (`ClearError`)."""


class WriteFailure(Enum):
    """Reason why a write of a job fails."""

    IO_ERROR = "io_error"
    """Retryable I/O error of the device."""
    NO_SPACE = "no_space"
    """ENOSPC."""


class Severity(Enum):
    """Effect of an error on the database."""

    NONE = "none"
    """The job is queued again."""
    SOFT = "soft"
    """Also, compactions start only if there is room for their output, until space is free."""
    HARD = "hard"
    """No write is accepted and no job starts until space is free; then memtables are flushed and writes go on."""
    FATAL = "fatal"
    """No write is accepted until the database is opened again, which a run does not do."""


def severity(version: Version, failure: WriteFailure, *, flush: bool) -> Severity:
    """Return the effect of a failed write of a flush or of a compaction."""
    if failure is WriteFailure.IO_ERROR:
        return Severity.NONE if version >= since.RETRIES_IO_ERRORS else Severity.FATAL
    if version < since.WAITS_FOR_SPACE:
        return Severity.FATAL
    return Severity.HARD if flush else Severity.SOFT


def has_room(free_bytes: float, input_bytes: float, reserved_bytes: float, write_buffer_bytes: float) -> bool:
    """Return whether a compaction may start after ENOSPC.

    `reserved_bytes`: inputs of the running compactions. The inputs count twice, as in the source: once as reserved and
    once as the size that the compaction adds. `write_buffer_bytes` stay free for WAL and flush.
    """
    return free_bytes >= reserved_bytes + 2.0 * input_bytes + write_buffer_bytes
