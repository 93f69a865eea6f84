"""Performs requests to the drive under a folder, with threads: direct I/O past the page cache, or through it."""

from __future__ import annotations

import itertools
import math
import mmap
import os
import resource
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.validation.measure.patterns import Pattern, Timing

_CHUNK_BYTES: Final = 4 << 20
"""Bytes of random data, which every write takes a part of: drives may compress or find equal blocks."""
_WINDOWS: Final = 40
"""Parts of the time of a pattern for which its rate is kept."""
_DRAWN: Final = 1 << 16
"""Random places that a thread draws at once."""
_SHIFT_BYTES: Final = 1 << 16
"""Distance of the parts of the random data that successive writes take."""


class FileDrive:
    """File on the drive under test, which it creates and removes. A context manager."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        """Name a file of `size_bytes` in `folder`."""
        self.size_bytes = size_bytes
        self._path, self._log = folder / "requests", folder / "appended"
        self._stop = threading.Event()
        self._data = mmap.mmap(-1, _CHUNK_BYTES)
        self._data.write(np.random.default_rng(1).bytes(_CHUNK_BYTES))

    def __enter__(self) -> FileDrive:
        """Create the files. Raises InputError if the file system allows no direct I/O."""
        flags = os.O_RDWR | os.O_CREAT
        self._buffered = os.open(self._path, flags, 0o600)
        self._appended = os.open(self._log, flags | os.O_APPEND, 0o600)
        try:
            self._direct = os.open(self._path, flags | os.O_DIRECT, 0o600)
        except OSError:
            self._close(self._buffered, self._appended)
            place = self._path.parent.parent
            raise InputError(f"{place}: its file system allows no direct I/O; choose a folder on another one") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove the files."""
        self._close(self._direct, self._buffered, self._appended)

    def _close(self, *descriptors: int) -> None:
        for descriptor in descriptors:
            os.close(descriptor)
        self._path.unlink(missing_ok=True)
        self._log.unlink(missing_ok=True)

    def perform(self, patterns: Sequence[Pattern]) -> list[Timing]:
        """Perform patterns at once, each by its number of threads, and return the times of each.

        Raises InputError if the drive is full or a request fails.
        """
        self._stop.clear()
        used = _cpu_s()
        workers = [[_Worker(self, pattern, stream) for stream in range(pattern.streams)] for pattern in patterns]
        threads = [threading.Thread(target=worker.run, daemon=True) for worker in itertools.chain(*workers)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)  # so that Ctrl-C arrives
        finally:
            self._stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        for worker in itertools.chain(*workers):
            if worker.error is not None:
                raise InputError(f"{self._path.parent}: a request failed ({worker.error.strerror})") from worker.error
        cpu_s = _cpu_s() - used
        return [_timing(p, own, cpu_s) for p, own in zip(patterns, workers, strict=True)]


class _Worker:
    """Thread that performs the requests of one stream of a pattern."""

    def __init__(self, drive: FileDrive, pattern: Pattern, stream: int) -> None:
        self.drive, self.pattern, self.stream = drive, pattern, stream
        self.taken_s, self.ends_s = array("d"), array("d")
        self.began_s = math.inf
        self.synced_s: float | None = None
        self.error: OSError | None = None

    def run(self) -> None:
        """Perform requests until the time or the bytes of the pattern are used up, or the drive is stopped."""
        try:
            self._run(*self._request())
        except OSError as error:
            self.error = error
            self.drive._stop.set()

    def _run(self, request: Callable[[int], Any], places: Iterator[int]) -> None:
        pattern, stop, clock = self.pattern, self.drive._stop, time.perf_counter
        most = pattern.most_bytes / pattern.streams / pattern.request_bytes
        self.began_s = clock()
        until_s = self.began_s + pattern.seconds
        while (before := clock()) < until_s and len(self.taken_s) < most and not stop.is_set():
            request(next(places))
            after = clock()
            self.taken_s.append(after - before)
            self.ends_s.append(after)
        if pattern.writes and not pattern.direct and not pattern.synced:
            before = clock()
            os.fdatasync(self.drive._buffered)
            self.synced_s = clock() - before

    def _request(self) -> tuple[Callable[[int], Any], Iterator[int]]:
        """Return a function that performs a request at a place of the file, and the places."""
        drive, pattern = self.drive, self.pattern
        size, data = pattern.request_bytes, memoryview(drive._data)
        if pattern.synced:

            def append(_place: int) -> None:
                os.write(drive._appended, data[:size])
                os.fdatasync(drive._appended)

            return append, itertools.repeat(0)
        descriptor = drive._direct if pattern.direct else drive._buffered
        if pattern.writes:
            starts = itertools.cycle(range(0, _CHUNK_BYTES - size + 1, _SHIFT_BYTES))

            def write(place: int) -> None:
                first = next(starts)
                os.pwritev(descriptor, [data[first : first + size]], place)

            return write, self._places()
        buffer = [mmap.mmap(-1, size)]
        return lambda place: os.preadv(descriptor, buffer, place), self._places()

    def _places(self) -> Iterator[int]:
        """Yield the places of requests in the file, in bytes."""
        size, pattern = self.pattern.request_bytes, self.pattern
        if pattern.random:
            draws = np.random.default_rng([self.stream, 1])
            while True:
                yield from (draws.integers(0, self.drive.size_bytes // size, _DRAWN) * size).tolist()
        part = max(self.drive.size_bytes // pattern.streams // size, 1) * size
        yield from itertools.cycle(range(self.stream * part, (self.stream + 1) * part, size))


def _timing(pattern: Pattern, workers: Sequence[_Worker], cpu_s: float) -> Timing:
    taken = np.concatenate([np.asarray(w.taken_s) for w in workers])
    ends = np.concatenate([np.asarray(w.ends_s) for w in workers]) - min(w.began_s for w in workers)
    if not len(taken):
        raise InputError(f"{pattern.name}: no request ended in time; the drive is busy or very slow, measure again")
    elapsed_s = float(ends.max())
    counts, edges = np.histogram(ends, _WINDOWS, (0.0, elapsed_s))
    rates = counts * pattern.request_bytes / (elapsed_s / _WINDOWS)
    synced = [w.synced_s for w in workers if w.synced_s is not None]
    return Timing(
        pattern=pattern, requests=len(taken), elapsed_s=elapsed_s, mean_s=float(taken.mean()), median_s=float(np.median(taken)),
        cpu_s=cpu_s, windows=tuple(zip(edges[1:].tolist(), rates.tolist(), strict=True)),
        synced_s=max(synced, default=None),
    )  # fmt: skip


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
