"""Numbers of a job from text lines and SST files besides its events, and the choice between sources that disagree."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from lsmlab.models.options.fields import Compression
from lsmlab.validation.logs.history.jobs import LogFile, LogJob
from lsmlab.validation.logs.record_list import Record
from lsmlab.validation.logs.records import Event, InstalledLine, JobLine, is_count, whole_number

_INPUTS: Final = re.compile(r"(\d+)@(\d{1,2})(?!\d)")
_TO_LEVEL: Final = re.compile(r"files to L(\d{1,2})(?!\d)")
_COMPACTED: Final = re.compile(r"Compacted .*=> (\d+) bytes")
_GENERATED: Final = re.compile(r"Generated table #(\d+): (\d+) keys, (\d+) bytes")
_BLOB_FILE: Final = re.compile(r"Generated blob file #(\d+): (\d+) total blobs, (\d+) total bytes")
_BLOB_MEGABYTES: Final = re.compile(r"MB in\(\d+\.?\d*, \d+\.?\d* \+(\d+\.?\d*) blob\)")
_FLUSHED: Final = re.compile(r"Level-0 flush table #(\d+): (\d+) bytes (.*)")
_FLUSH_TIMES: Final = re.compile(r"Flush lasted (\d+) microseconds, and (\d+) cpu microseconds")
_RECORDS: Final = re.compile(r"records in: (\d+), records dropped: (\d+)")
_LISTED: Final = re.compile(r"(\d+)\((\d+)([KMG]?B)\)")
_MEGABYTES: Final = re.compile(r"MB in\((\d+(?:\.\d+)?), (\d+(?:\.\d+)?)")
_ABORTED: Final = re.compile(
    r"Shutdown in progress|Column family dropped|Corruption|IO error|Aborted|Incomplete|Busy|paused"
)
_UNITS: Final = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


@dataclass(slots=True)
class JobText:
    """Numbers of one job from its text lines."""

    first: Record | None = None
    """First line of the job ("Flushing" or "Compacting")."""
    family: str = ""
    level: int | None = None
    """Output level."""
    inputs: dict[int, int] = field(default_factory=dict)
    """Number of input files by level."""
    write_bytes: int | None = None
    files: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Output files: file number to (entries, bytes); the lines of a flush do not give the entries (0)."""
    blob_files: dict[int, tuple[int, int]] = field(default_factory=dict)
    """New blob files: file number to (blobs, bytes of their records)."""
    failed: bool = False
    """Whether the status of a flush is not OK."""

    def read_line(self, line: JobLine) -> None:
        """Read one text line of the job."""
        text = line.text
        if text.startswith(("Flushing", "Compacting")):
            self.first, self.family = line, line.column_family
        if text.startswith("Compact") and (found := _TO_LEVEL.search(text)):
            self.level = int(found[1])
            self.inputs = {int(level): int(n) for n, level in _INPUTS.findall(text)}
        if found := _COMPACTED.match(text):
            self.write_bytes = int(found[1])
        elif found := _GENERATED.match(text):
            self.files[int(found[1])] = (int(found[2]), int(found[3]))
        elif found := _BLOB_FILE.match(text):
            self.blob_files[int(found[1])] = (int(found[2]), int(found[3]))
        elif found := _FLUSHED.match(text):
            self.files[int(found[1])] = (0, int(found[2]))
            self.failed |= "OK" not in found[3]


def flush_times_s(text: str) -> tuple[float, float] | None:
    """Return duration and CPU time of a flush without its commit, in a "Flush lasted" line."""
    found = _FLUSH_TIMES.match(text)
    return (int(found[1]) / 1e6, int(found[2]) / 1e6) if found else None


def listed_files(inputs: str) -> list[list[LogFile]]:
    """Return the files by input level, with rounded sizes, in text such as "[19(6632KB) 18(6632KB)], [12(8233KB)]"."""
    return [
        [LogFile(int(number), int(size) * _UNITS[unit], exact=False) for number, size, unit in _LISTED.findall(part)]
        for part in inputs.split("], ")
    ]


def megabytes_read(text: str) -> tuple[int, int] | None:
    """Return bytes read from upper levels and from the output level, in a "compacted to:" line (exact to 0.1 MB)."""
    found = _MEGABYTES.search(text)
    return (round(float(found[1]) * _UNITS["MB"]), round(float(found[2]) * _UNITS["MB"])) if found else None


def blob_bytes_read(text: str) -> int | None:
    """Return the bytes read from blob files, in a "compacted to:" line (exact to 0.1 MB); None if it does not tell them."""
    found = _BLOB_MEGABYTES.search(text)
    return round(float(found[1]) * _UNITS["MB"]) if found else None


def aborted(job: LogJob, event: Event, line: InstalledLine) -> bool:
    """Return whether the output of a compaction was discarded; if so, set the job's numbers from its event.

    The event and the text lines of an aborted job are not compared: the job may have stopped at any point.
    """
    if not _ABORTED.search(line.text):
        return False
    job.status = "aborted"
    job.output_level = event.level("output_level") or job.output_level
    job.output_files = event.whole("num_output_files") or len(job.outputs)
    job.write_bytes = event.whole("total_output_size") or 0
    job.entries_in = event.whole("num_input_records") or 0
    job.entries_out = event.whole("num_output_records") or 0
    return True


def text_entries(line: InstalledLine | None, event: Event, subcompactions: int) -> tuple[int | None, int | None]:
    """Return the entries read and written according to the text line; (None, None) without them.

    RocksDB 6.4 omits one entry of each subcompaction except the first from the line. A difference to the event that
    this explains is corrected.
    """
    found = _RECORDS.search(line.text) if line else None
    if found is None:
        return None, None
    entries_in, entries_out = int(found[1]), int(found[1]) - int(found[2])
    stated_in, stated_out = event.whole("num_input_records"), event.whole("num_output_records")
    if stated_in is not None and 0 < stated_in - entries_in < subcompactions:
        entries_in = stated_in
    if stated_out is not None and 0 < stated_out - entries_out < subcompactions:
        entries_out = stated_out
    return entries_in, entries_out


COMPRESSIONS: Final = {
    "Snappy": Compression.SNAPPY, "Zlib": Compression.ZLIB, "BZip2": Compression.BZIP2, "LZ4": Compression.LZ4,
    "LZ4HC": Compression.LZ4HC, "Xpress": Compression.XPRESS, "ZSTD": Compression.ZSTD,
    "ZSTDNotFinal": Compression.ZSTD_NOT_FINAL,
}  # fmt: skip
"""Compression types by their names in table properties (`CompressionTypeToString`)."""


def file_of(event: Event, number: int, size: int) -> tuple[LogFile, int]:
    """Return the file of a table_file_creation event, and its range tombstones, which are none of its entries.

    RocksDB counts them as entries and as deletions. Release 5.7 writes some properties as text, with other names.
    """
    properties = event.data.get("table_properties")
    numbers = properties if isinstance(properties, dict) else event.data

    def whole(name: str) -> int | None:
        value = numbers.get(name)
        return whole_number(value) if isinstance(value, str) else value if is_count(value) else None

    entries, ranges = whole("num_entries"), whole("num_range_deletions") or 0
    file = LogFile(
        number,
        size,
        None if entries is None else max(0, entries - ranges),
        max(0, (whole("num_deletions") or whole("kDeletedKeys") or 0) - ranges),
        whole("raw_key_size") or 0,
        whole("raw_value_size") or 0,
        whole("data_size") or 0,
        event.time_us,
        compression=COMPRESSIONS.get(str(numbers.get("compression")), Compression.NONE),
    )
    return file, ranges
