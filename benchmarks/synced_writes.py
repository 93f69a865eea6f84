"""Measure groups of synced writes: writes per fsync of the WAL, and the time from one fsync to the next (docs/decisions/0042).

usage: python benchmarks/synced_writes.py [SECONDS]        (3 s per line and repeat; db_bench, two idle cores)

db_bench's fillrandom with sync, 1 to 8 threads and values of 100 to 4000 bytes; memtables of 256 MiB, so that no flush runs. The
number of writes per fsync is that of the LOG. The last column is the model with the fsync of one thread and 100 bytes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import group_wake_ups, synced_group, wal_fsync_factor

THREADS: Final = (1, 2, 4, 8)
VALUES: Final = (100, 500, 1000, 2000, 4000)
REPEATS: Final = 2
_RECORD: Final = 36
"""Bytes of a WAL record besides the value: key, headers of the record and of the batch."""
_OPTIONS: Final = (
    "--benchmarks=fillrandom", "--num=20000", "--sync=true", "--compression_type=none", f"--write_buffer_size={2**28}",
)  # fmt: skip


def measure(threads: int, value_bytes: int, seconds: float) -> tuple[float, float]:
    """Return the time of a write in us and the writes per fsync of one run."""
    with tempfile.TemporaryDirectory() as folder:
        run = [f"--threads={threads}", f"--value_size={value_bytes}", f"--duration={seconds:g}", f"--db={folder}/db"]
        output = subprocess.run(["db_bench", *_OPTIONS, *run], capture_output=True, text=True, check=True).stdout
        log = Path(folder, "db", "LOG").read_text(encoding="utf-8", errors="replace")
    write_us = float(re.findall(r"^fillrandom\s*:\s*([\d.]+) micros/op", output, re.MULTILINE)[-1])
    return write_us, float(re.findall(r"Cumulative WAL: .* ([\d.]+) writes per sync", log)[-1])


def main() -> None:
    """Print one line per number of threads and size of the value."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    out = sys.stdout.write
    alone_us = 0.0
    out("value, bytes  threads  writes per fsync (model)  time between fsyncs, us (model)\n")
    for value_bytes in VALUES:
        for threads in THREADS:
            runs = [measure(threads, value_bytes, seconds) for _ in range(REPEATS)]
            sizes = [size for _, size in runs]
            times = [write_us / threads * size for write_us, size in runs]
            size = synced_group(threads)
            alone_us = alone_us or sum(times) / len(times) / wal_fsync_factor(value_bytes + _RECORD)
            waking_us = 1e6 * group_wake_ups(threads).seconds(Host())
            model_us = alone_us * wal_fsync_factor(size * (value_bytes + _RECORD)) + waking_us
            out(
                f"{value_bytes:12d}  {threads:7d}  {' '.join(f'{s:.2f}' for s in sizes)} ({size:.2f})  "
                f"{' '.join(f'{t:.0f}' for t in times)} ({model_us:.0f})\n"
            )


if __name__ == "__main__":
    main()
