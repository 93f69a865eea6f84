"""Measure what further writers cost: time of a write, and CPU time of the process per write (docs/decisions/0057).

usage: python benchmarks/write_groups.py [SECONDS]        (6 s per line; db_bench, two idle cores)

db_bench's fillrandom with 1 to 4 threads, with and without the WAL, values of 400 bytes and no compactions. The last column is
the handover of the write group: the time of a write beyond `group_share` times that of a single writer.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from typing import Final

from lsmlab.models.costs.operations import coreless_share, group_share

THREADS: Final = (1, 2, 4)
_OPTIONS: Final = (
    "--benchmarks=fillrandom", "--num=100000000", "--value_size=400", "--compression_type=none", "--write_buffer_size=8388608",
    "--max_write_buffer_number=6", "--max_background_jobs=2", "--use_direct_io_for_flush_and_compaction=true",
    "--disable_auto_compactions=true", "--level0_slowdown_writes_trigger=100000", "--level0_stop_writes_trigger=100000",
    "--soft_pending_compaction_bytes_limit=0", "--hard_pending_compaction_bytes_limit=0",
)  # fmt: skip


def measure(threads: int, seconds: float, *, logged: bool) -> tuple[float, float]:
    """Return the time from one write to the next and the CPU time of the process per write, in us."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = [f"--threads={threads}", f"--duration={seconds:g}", f"--db={folder}", f"--disable_wal={not logged}".lower()]
        output = subprocess.run(["db_bench", *_OPTIONS, *run], capture_output=True, text=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ((per_s, writes),) = re.findall(r"^fillrandom\s*:.*?(\d+) ops/sec [\d.]+ seconds (\d+) operations", output, re.MULTILINE)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e6 / float(per_s), 1e6 * cpu_s / float(writes)


def main() -> None:
    """Print one line per number of threads, without and with the WAL."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 6.0
    print("WAL  threads  us per write  CPU us per write  handover, us")
    for logged in (False, True):
        alone_us = 0.0
        for threads in THREADS:
            write_us, cpu_us = measure(threads, seconds, logged=logged)
            alone_us = alone_us or write_us
            share = group_share(threads, coreless_share(threads, 0.0, os.cpu_count() or 1))
            further_us = write_us - share * alone_us
            print(f"{'yes' if logged else 'no':3}  {threads:7}  {write_us:12.2f}  {cpu_us:16.2f}  {further_us:12.2f}")


if __name__ == "__main__":
    main()
