"""Measure which part of a job's CPU time follows the bytes of its files (docs/decisions/0048).

usage: python benchmarks/job_profile.py [VALUE_BYTES ...]     (10 s per value size; db_bench and perf)

perf samples the stacks of a flush thread and of a compaction thread of db_bench without compression. A sample belongs to

- files: checksums, read and write calls, and copies to and from their buffers. These bytes shrink with compression.
- copies: copies of entries into data blocks, which are made before compression.
- blocks: the rest of the work per data block: index entries, allocation, opening. A block is full at a raw size.
- entries: everything else.

The shares of files in models/costs/jobs.py are the share of files in the first three.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

STORE_BYTES: Final = 600e6
"""Keys and values of all entries that db_bench writes."""
FLAGS: Final = {
    "key_size": 16, "compression_type": "none", "disable_wal": "true", "use_direct_reads": "true",
    "use_direct_io_for_flush_and_compaction": "true", "write_buffer_size": 2**26, "target_file_size_base": 2**26,
    "cache_size": 2**23, "disable_auto_compactions": "true", "level0_slowdown_writes_trigger": 1000,
    "level0_stop_writes_trigger": 1000,
}  # fmt: skip
JOBS: Final = {"flush": ("rocksdb:high", "fillrandom", "FlushJob"), "compaction": ("rocksdb:low", "compact", "CompactionJob")}
"""Thread, benchmark, and class in the stacks of each kind of job."""
FILES: Final = (
    "ComputeBuiltinChecksum", "RandomAccessFileReader", "WritableFileWriter", "FilePrefetchBuffer", "GetBlockContents",
)  # fmt: skip
COPIES: Final = "BlockBuilder::AddWithLastKey"
BLOCKS: Final = (
    "InitDataBlock", "BlockBasedTableBuilder::Flush", "WriteBlock", "WriteMaybeCompressedBlock", "AddIndexEntry",
    "BlockBuilder::Finish", "BlockFetcher", "OnKeyAdded",
)  # fmt: skip
_FRAME: Final = re.compile(r"\s+[0-9a-f]+ (.*) \(")


def main(values: list[int]) -> int:
    """Print the shares of each kind of job for each value size; return 0."""
    with tempfile.TemporaryDirectory() as folder:
        for value in values:
            for job, (thread, benchmark, name) in JOBS.items():
                found = Counter(part(stack) for stack in stacks(Path(folder), thread, benchmark, value) if name in stack)
                total, not_entries = found.total(), found.total() - found["entries"]
                shares = ", ".join(f"{key} {found[key] / total:.0%}" for key in ("entries", "blocks", "copies", "files"))
                print(f"{job:10s} {value:5d} B: {total:5d} samples, {shares}: share of files {found['files'] / not_entries:.2f}")
            shutil.rmtree(Path(folder) / "db")
    return 0


def stacks(folder: Path, thread: str, benchmark: str, value: int) -> Iterator[str]:
    """Yield the frames of each sample of a thread of db_bench, from the inside out, as one text."""
    flags = FLAGS | {
        "db": folder / "db", "num": round(STORE_BYTES / (16 + value)), "value_size": value, "benchmarks": benchmark,
        "use_existing_db": benchmark == "compact",
    }  # fmt: skip
    command = ["db_bench", *(f"--{key}={flag}" for key, flag in flags.items())]
    profile = str(folder / "profile")
    perf = ["perf", "record", "-q", "-F", "999", "-e", "cpu-clock", "--call-graph", "dwarf,16384", "-o", profile]
    subprocess.run([*perf, *command], check=True, capture_output=True)
    script = subprocess.run(["perf", "script", "-i", profile], check=True, capture_output=True, text=True).stdout
    for sample in script.split("\n\n"):
        if sample.startswith(thread):
            yield "\n".join(_FRAME.findall(sample))


def part(stack: str) -> str:
    """Return the kind of work of a sample."""
    if any(name in stack for name in FILES):
        return "files"
    if COPIES in stack and stack.startswith(("__memcpy", "__memmove")):
        return "copies"
    return "blocks" if any(name in stack for name in BLOCKS) else "entries"


if __name__ == "__main__":
    sys.exit(main([int(value) for value in sys.argv[1:]] or [100, 400, 1000, 2000]))
