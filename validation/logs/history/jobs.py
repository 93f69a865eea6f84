"""Background jobs of a LOG: one record per flush, compaction, trivial move and FIFO deletion."""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct
from types import MappingProxyType
from typing import Any, Final, TypeVar

from lsmlab.models.options.fields import Compression

_FILE: Final = Struct("<8q?B")
_COMPRESSIONS: Final = tuple(Compression)
_UNKNOWN: Final = -(1 << 63)
_LARGEST: Final = (1 << 63) - 1


def _number(index: int, text: str) -> property:
    """Return a property with a number of a file."""
    return property(lambda file: _FILE.unpack(file.packed)[index], doc=text)


def _known_number(index: int, text: str) -> property:
    """Return a property with a number of a file that may be None."""

    def value(file: LogFile) -> int | None:
        number = _FILE.unpack(file.packed)[index]
        return None if number == _UNKNOWN else number

    return property(value, doc=text)


class LogFile:
    """One SST file. Its numbers are packed, because a LOG of 1 GB has half a million files."""

    __slots__ = ("packed",)

    def __init__(
        self, number: int, size_bytes: int, entries: int | None = None, deletions: int = 0, raw_key_bytes: int = 0,
        raw_value_bytes: int = 0, data_bytes: int = 0, created_us: int | None = None, *, exact: bool = True,
        compression: Compression = Compression.NONE,
    ) -> None:  # fmt: skip
        numbers = (number, size_bytes, entries, deletions, raw_key_bytes, raw_value_bytes, data_bytes, created_us)
        kept = (_UNKNOWN if n is None else max(-_LARGEST, min(_LARGEST, n)) for n in numbers)
        self.packed = _FILE.pack(*kept, exact, _COMPRESSIONS.index(compression))

    number: int = _number(0, "File number.")  # type: ignore[assignment]
    size_bytes: int = _number(1, "Size.")  # type: ignore[assignment]
    entries: int | None = _known_number(2, "Entries; None if unknown.")  # type: ignore[assignment]
    deletions: int = _number(3, "Tombstones.")  # type: ignore[assignment]
    raw_key_bytes: int = _number(4, "Bytes of all keys.")  # type: ignore[assignment]
    raw_value_bytes: int = _number(5, "Bytes of all values.")  # type: ignore[assignment]
    data_bytes: int = _number(6, "Bytes of the data blocks.")  # type: ignore[assignment]
    created_us: int | None = _known_number(7, "Time at which the file was finished, with its fsync.")  # type: ignore[assignment]

    @property
    def exact(self) -> bool:
        """Whether the size is exact.

        Sizes of files written before the LOG began are known only from "Compaction start summary" lines, which round them.
        """
        return bool(_FILE.unpack(self.packed)[8])

    @property
    def compression(self) -> Compression:
        """Compression type of the data blocks; NONE also if unknown."""
        index: int = _FILE.unpack(self.packed)[9]
        return _COMPRESSIONS[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogFile) and self.packed == other.packed

    def __hash__(self) -> int:
        return hash(self.packed)


_Value = TypeVar("_Value", int, tuple[int, ...])


class PackedLevels(Mapping[int, _Value]):
    """Unchangeable values by level, packed: a dictionary takes five times as much memory."""

    __slots__ = ("_packed",)

    def __init__(self, values: Mapping[int, _Value]) -> None:
        self._packed = marshal.dumps(dict(values))

    def _values(self) -> dict[int, _Value]:
        values: dict[int, _Value] = marshal.loads(self._packed)
        return values

    def __getitem__(self, level: int) -> _Value:
        return self._values()[level]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def items(self) -> ItemsView[int, _Value]:
        """Return the pairs of level and value."""
        return self._values().items()


NO_LEVELS: Final[Mapping[int, Any]] = MappingProxyType({})


def packed(values: Mapping[int, _Value]) -> Mapping[int, _Value]:
    """Return values by level in little memory."""
    return PackedLevels(values) if values else NO_LEVELS


@dataclass(slots=True)
class LogJob:
    """One background job."""

    job: int
    kind: str
    """flush, compaction, trivial_move, drop (FIFO deletion), ingestion (of files into one level) or recovery (flush of entries
    replayed from the WAL)."""
    opening: int
    thread: str
    start_us: int
    end_us: int | None = None
    """Time of the commit; None if the LOG does not show it."""
    column_family: str = "default"
    reason: str = ""
    start_level: int = -1
    output_level: int = -1
    score: float = 0.0
    inputs: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: NO_LEVELS)
    """Numbers of the input files by level."""
    input_bytes: Mapping[int, int] = field(default_factory=lambda: NO_LEVELS)
    """Bytes read by level. A level is absent if the sizes of its input files are unknown."""
    outputs: list[LogFile] = field(default_factory=list)
    output_files: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    moved_bytes: int = 0
    blob_files: int = 0
    """New blob files."""
    blobs: int = 0
    """Blobs in them."""
    blob_write_bytes: int = 0
    """Bytes of their records; not in `write_bytes`."""
    blob_read_bytes: int = 0
    """Bytes of the records that a compaction read, exact to 0.1 MiB; not in `read_bytes`."""
    blob_read_known: bool = False
    """Whether the LOG tells `blob_read_bytes` of a compaction."""
    entries_in: int = 0
    entries_out: int = 0
    deletes_in: int = 0
    memtables: int = 0
    payload_bytes: int | None = None
    """Bytes of keys and values in the memtables of a flush (total_data_size)."""
    wall_s: float | None = None
    """Duration without the commit: compaction_time_micros, or for a flush the line "Flush lasted" (in 7.8, not in
    6.11)."""
    cpu_s: float | None = None
    """CPU time of the job's threads: compaction_time_cpu_micros, or for a flush "Flush lasted"."""
    write_s: float | None = None
    """Time in write calls (file_write_nanos); None without report_bg_io_stats."""
    prepare_s: float = 0.0
    """Time in calls that allocate space for writes (file_prepare_write_nanos)."""
    sync_s: float | None = None
    """Time in fsyncs; None without report_bg_io_stats."""
    subcompactions: int = 1
    status: str = "unfinished"
    """ok, aborted (the output was discarded), or unfinished (the LOG does not show the end)."""
    lsm_state: tuple[int, ...] | None = None
    """Files per level after the commit."""
    immutables: int | None = None
    """Immutable memtables after the commit."""
    line: int = 0
    """Line number of the job's last event."""
    deletions: int = 0
    """Input files that the job deleted."""

    @property
    def all_read_bytes(self) -> int:
        """Bytes read from SST files and blob files."""
        return self.read_bytes + self.blob_read_bytes

    @property
    def all_write_bytes(self) -> int:
        """Bytes written to SST files and blob files."""
        return self.write_bytes + self.blob_write_bytes

    @property
    def writing_s(self) -> float | None:
        """Time in write calls and in calls that allocate space for writes; None without report_bg_io_stats."""
        return None if self.write_s is None else self.write_s + self.prepare_s

    @property
    def done(self) -> bool:
        """Whether the job's result was committed."""
        return self.status == "ok"

    @property
    def runs(self) -> int:
        """Sorted runs that the job merges: the files of L0, and the other levels."""
        return max(1, sum(len(files) if level == 0 else 1 for level, files in self.inputs.items()))

    @property
    def input_files(self) -> int:
        """Number of input files from levels other than the output level."""
        return sum(len(files) for level, files in self.inputs.items() if level != self.output_level)

    @property
    def input_files_output_level(self) -> int:
        """Number of input files from the output level."""
        return len(self.inputs.get(self.output_level, ()))


@dataclass(slots=True)
class LogBlobFile:
    """Blob file of which a LOG has the events."""

    size_bytes: int
    created_us: int
    job: LogJob | None = None
    """Job that wrote it; None if the LOG does not tell."""
    deleted_us: int | None = None
    """Time at which it was removed from the device; None: never in the LOG."""

    def exists(self, time_us: int) -> bool:
        """Return whether the file belongs to the store at a time: its job has committed it, and it is not deleted."""
        since_us = self.created_us
        if self.job is not None:
            if not self.job.done or self.job.end_us is None:
                return False
            since_us = self.job.end_us
        return since_us <= time_us and (self.deleted_us is None or self.deleted_us > time_us)


@dataclass
class LogJobs:
    """All jobs of a LOG, and its inconsistencies."""

    jobs: list[LogJob] = field(default_factory=list)
    """Jobs by start time."""
    files: dict[int, LogFile] = field(default_factory=dict)
    """Known SST files by number. If several stores in one LOG use a number, the last file with it is kept."""
    families: list[str] = field(default_factory=list)
    """Names of the column families."""
    problems: Counter[str] = field(default_factory=Counter)
    """Number of gaps and contradictions by kind; `PROBLEMS` explains the kinds."""
    blob_files: dict[int, LogBlobFile] = field(default_factory=dict)
    """Blob files by number, from their events (6.25 and later)."""
    old_blob_files_deleted_us: list[int] = field(default_factory=list)
    """Times at which blob files that are older than these were deleted."""

    def done(self, *kinds: str) -> list[LogJob]:
        """Return the committed jobs of these kinds."""
        return [job for job in self.jobs if job.kind in kinds and job.done]

    def most_frequent(self, candidates: Sequence[int | None], default: int = 0) -> int:
        """Return the most frequent number; the first one if all differ; `default` if there is none.

        A disagreement and a missing number are counted as problems.
        """
        numbers = Counter(n for n in candidates if n is not None)
        if len(numbers) != 1:
            self.problems["contradictions" if numbers else "unknown_numbers"] += 1
        return next((n for n, _ in numbers.most_common(1)), default)


PROBLEMS: Final = {
    "missing_starts": "jobs with an end but no start",
    "missing_ends": "jobs without an end whose thread started another job",
    "unfinished": "jobs still running at the end of the LOG or at the next open of the store",
    "contradictions": "numbers of a job that differ between its event, its lines and its files",
    "unknown_numbers": "numbers of a job that the LOG does not contain, so that totals lack them",
    "orphan_files": "SST files that no job in the LOG wrote",
    "lsm_jumps": "commits whose files per level do not follow from the jobs before them (jobs are missing)",
    "table_mismatches": "statistics tables that contradict the sum of the jobs before them",
    "stall_mismatches": "stall counters that contradict the number of stall lines before them",
    "missing_stall_lines": "recomputed stall conditions without a stall line although L0 files or memtables are at a limit",
    "no_events": "file without job events, such as db_bench's output (its statistics, if any, have the numbers of jobs)",
    "no_beginning": "LOG that begins after the store was opened",
    "no_end": "LOG that ends before the store was closed",
}
"""Meaning of each kind that `LogJobs.problems` and `check_log` count."""
