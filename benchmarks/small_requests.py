"""Measure the waits of small requests: reads of a block and fsyncs of a log, beside others (docs/decisions/0038).

usage: python benchmarks/small_requests.py [SECONDS]        (4 s per line, 2 GiB of disk, two idle cores)

Three tables: blocks read by 1 to 8 clients at once (IOPS of the drive); reads and fsyncs beside one sequential stream (the
unit in which the drive alternates between requests); reads and fsyncs beside threads that compute and sleep (waits of a
woken thread for a core). Direct I/O; the log is buffered, as RocksDB's WAL is.
"""

from __future__ import annotations

import mmap
import multiprocessing as mp
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Event
from typing import Any, Final

FILE_BYTES: Final = 2**31
BLOCK_BYTES: Final = 4096
RECORD: Final = bytes(230)
"""Bytes of one write to the log: a WAL record of a key of 16 and a value of 200 bytes."""
LATE_S: Final = 0.5e-3
"""Longer operations wait for a core or for the drive, not for their own request."""
Probe = Callable[[str], Callable[[], Any]]


def prepare(folder: str) -> None:
    """Write the file that the probes read."""
    block = mmap.mmap(-1, 2**20)
    block.write(os.urandom(2**20))
    file = os.open(f"{folder}/data", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    for offset in range(0, FILE_BYTES, 2**20):
        os.pwrite(file, block, offset)
    os.fsync(file)
    os.close(file)


def reads(folder: str, size_bytes: int = BLOCK_BYTES) -> Callable[[], Any]:
    """Return a function that reads one random block."""
    file, block = os.open(f"{folder}/data", os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, size_bytes)
    return lambda: os.preadv(file, [block], random.randrange(FILE_BYTES // size_bytes) * size_bytes)


def fsyncs(folder: str) -> Callable[[], Any]:
    """Return a function that appends one record to a log and waits for its fdatasync."""
    file = os.open(f"{folder}/log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def append() -> None:
        os.write(file, RECORD)
        os.fdatasync(file)

    return append


def latencies(probe: Probe, folder: str, seconds: float) -> list[float]:
    """Return the sorted latencies in seconds of a probe in a closed loop."""
    operation, found, end = probe(folder), [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        operation()
        found.append(time.perf_counter() - start)
    return sorted(found)


def client(results: mp.SimpleQueue[list[float]], folder: str, seconds: float) -> None:
    """Read blocks and send the latencies."""
    results.put(latencies(reads, folder, seconds))


def stream(folder: str, write: bool, period_s: float, stop: Event) -> None:
    """Submit requests of 1 MiB, one at a time, every `period_s` on average."""
    file, block = os.open(f"{folder}/data", os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, 2**20)
    due = time.monotonic()
    while not stop.is_set():
        offset = random.randrange(FILE_BYTES >> 20) << 20
        os.pwrite(file, block, offset) if write else os.preadv(file, [block], offset)
        due += period_s * random.expovariate(1.0)
        time.sleep(max(0.0, due - time.monotonic()))


def compute(busy: float, cycle_s: float, stop: Event) -> None:
    """Compute for a share `busy` of the time, in stretches of `cycle_s` on average."""
    while not stop.is_set():
        cycle = cycle_s * random.expovariate(1.0)
        end = time.perf_counter() + cycle * busy
        while time.perf_counter() < end:
            pass
        time.sleep(cycle * (1.0 - busy))


def beside(
    probe: Probe, folder: str, seconds: float, others: Sequence[tuple[Callable[..., None], tuple[Any, ...]]]
) -> str:
    """Run a probe beside other processes; return its latencies as text."""
    stop = mp.Event()
    processes = [mp.Process(target=target, args=(*arguments, stop)) for target, arguments in others]
    for process in processes:
        process.start()
    time.sleep(0.3)
    found = latencies(probe, folder, seconds)
    stop.set()
    for process in processes:
        process.join()
    late = [x for x in found if x > LATE_S]
    return (
        f"mean {1e6 * sum(found) / len(found):4.0f} us, median {1e6 * found[len(found) // 2]:4.0f}; "
        f"above 0.5 ms {100.0 * len(late) / len(found):.2f} %, which adds {1e6 * sum(late) / len(found):3.0f} us to the mean"
    )


def main(seconds: float) -> None:
    """Print the three tables."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        prepare(folder)
        for clients in (1, 2, 4, 8):
            results: mp.SimpleQueue[list[float]] = mp.SimpleQueue()
            processes = [mp.Process(target=client, args=(results, folder, seconds)) for _ in range(clients)]
            for process in processes:
                process.start()
            found = [x for _ in processes for x in results.get()]
            for process in processes:
                process.join()
            print(
                f"{clients} clients: {len(found) / seconds:6.0f} reads/s, mean {1e6 * sum(found) / len(found):.0f} us"
            )
        for name, probe in (("reads", reads), ("fsyncs", fsyncs)):
            print(f"{name} alone: {beside(probe, folder, seconds, ())}")
            for write, period_s in ((True, 1.6e-3), (False, 3e-3)):
                text = beside(probe, folder, seconds, [(stream, (folder, write, period_s))])
                print(f"{name} beside a stream of {'writes' if write else 'reads'}: {text}")
            for cycle_s in (0.01, 0.1, 1.0):
                for busy in (0.5, 0.7, 1.0):
                    text = beside(probe, folder, seconds, [(compute, (busy, cycle_s))] * 2)
                    print(
                        f"{name} beside two threads, each {busy:.0%} of the time in stretches of {cycle_s:g} s: {text}"
                    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 4.0)
