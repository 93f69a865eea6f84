"""Persistent memory: bandwidth by number of threads and size of access, as measured.

Source of both tables: [P2] Yang et al., "An Empirical Guide to the Behavior and Use of Scalable Persistent Memory",
FAST 2020, data sets 04 (threads) and 05 (access size) of NVSL/OptaneStudy; Intel Optane DC PMM 256 GB, GB/s.
"""

# ruff: noqa: ARG002 -- the Device protocol fixes the arguments
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final

import numpy as np
from lsmlab.models.devices.base import DeviceClass, DeviceFacts, DeviceLoad, Grant
from lsmlab.models.devices.sharing import ServedDevice, Service, share
from lsmlab.models.units import quantity

Curves = dict[str, tuple[float, ...]]
"""GB/s by layout."""


def _with_two_modules(curves: Curves) -> Curves:
    """Add two interleaved modules, each of which serves half of the threads; one thread is as fast as on six modules."""
    threads = np.arange(1, len(curves["single"]) + 1)
    both = 2.0 * np.interp(threads / 2.0, threads, curves["single"])
    return {**curves, "interleaved2": tuple(np.minimum(curves["interleaved6"][0] * threads, both).tolist())}


_READ_BY_THREADS: Final = _with_two_modules({
    "interleaved6": (2.88, 5.75, 8.94, 11.63, 14.31, 16.63, 18.94, 21.13, 23.25, 24.94, 26.88, 28.75,
                     30.56, 32.13, 33.69, 34.88, 35.69, 36.56, 37.06, 37.19, 37.25, 37.63, 37.56, 37.56),
    "single": (2.92, 5.66, 6.45, 6.52, 6.51, 6.50, 6.50, 6.46, 6.39, 6.29, 6.14, 5.91,
               5.60, 5.25, 4.97, 4.73, 4.59, 4.30, 4.16, 4.10, 4.02, 3.97, 3.91, 3.89),
})  # fmt: skip
"""GB/s of 1..24 reading threads."""
_WRITE_BY_THREADS: Final = _with_two_modules({
    "interleaved6": (4.13, 8.19, 11.81, 12.50, 12.50, 12.31, 12.25, 12.00, 11.81, 11.63, 11.38, 10.69,
                     10.56, 10.00, 9.38, 10.00, 9.56, 9.00, 9.13, 8.75, 7.88, 8.25, 8.19, 7.50),
    "single": (2.22, 2.21, 2.21, 2.20, 2.12, 1.96, 1.73, 1.53, 1.37, 1.25, 1.16, 1.12,
               1.02, 0.98, 0.94, 0.94, 0.93, 0.84, 0.89, 0.86, 0.84, 0.78, 0.81, 0.80),
})  # fmt: skip
"""GB/s of 1..24 writing threads with the best store instructions. The two write columns of the interleaved data set are
probably swapped (the data set by access size names them in the other order), so this table assumes that the better one
is for non-temporal stores."""

_SIZES: Final = (64, 128, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 2097152)
_READ_BY_SIZE: Final = {
    "interleaved6": (9.67, 18.75, 33.65, 34.23, 32.29, 25.98, 29.33, 33.79, 36.52, 37.75, 37.93),
    "single": (1.675, 3.344, 6.505, 6.530, 6.519, 6.559, 6.502, 6.558, 6.520, 6.562, 6.511),
}
"""GB/s by bytes per access, at the best number of threads."""
_WRITE_BY_SIZE: Final = {
    "interleaved6": (3.166, 5.833, 12.188, 11.875, 11.354, 9.438, 10.958, 12.166, 12.583, 12.63, 12.65),
    "single": (0.555, 1.098, 2.207, 2.209, 2.223, 2.231, 2.233, 2.216, 2.217, 2.210, 2.210),
}


class Layout(Enum):
    """Layouts of the modules."""

    INTERLEAVED6 = "interleaved6"
    """Six modules, interleaved in pieces of 4 KiB."""
    INTERLEAVED2 = "interleaved2"
    """Two modules, interleaved in pieces of 4 KiB."""
    SINGLE = "single"
    """One module."""


@dataclass(frozen=True, kw_only=True)
class Pmem(ServedDevice):
    """Persistent memory behind a file system: the total bandwidth rises with threads and, for writes, falls again."""

    device_class: ClassVar[DeviceClass] = "pmem"
    name: str = "pmem"
    layout: Layout = Layout.INTERLEAVED6
    read_latency: float = quantity("seconds")
    """Time of one random load on idle memory."""
    write_latency: float = quantity("seconds")
    """Time of one store on idle memory."""
    fsync_latency: float = quantity("seconds")
    """Software time of one synchronous WAL write through the file system."""
    write_bandwidth: float | None = quantity("bytes_per_s", None, low=1.0)
    """Peak of the total write bandwidth over the number of threads, to which the curve is scaled; None: the curve's
    peak."""
    copies_in_caller: ClassVar[bool] = True
    """The driver copies in the thread of the caller (Linux drivers/nvdimm/pmem.c)."""
    capacity: float | None = quantity("bytes", None)
    endurance: float | None = quantity("bytes", None)

    def allocate(self, state: None, load: DeviceLoad) -> Grant:
        """Compute the rates under `load`."""
        if load.queue_depth > 1.0:  # the driver copies in the caller's thread, without a queue
            load = load._replace(queue_depth=1.0)
        readers = load.readers + (min(load.client_read_depth, 1e3) if load.client_read_iops > 0 else 0.0)
        writers = load.writers + (1.0 if load.client_write_bytes_per_s > 0 else 0.0)
        threads = round(max(1.0, readers)), round(max(1.0, writers))
        return share(self._service(*threads, load.read_request_bytes, load.write_request_bytes), load)

    def facts(self, state: None, live_bytes: float) -> DeviceFacts:
        """Return the rated endurance; the amplification of the media (256-byte lines) is not modelled."""
        return DeviceFacts(endurance_bytes=self.endurance)

    def _make_service(self, readers: int, writers: int, read_bytes: float, write_bytes: float) -> Service:
        layout = self.layout.value
        sized = "interleaved6" if self.layout is Layout.INTERLEAVED6 else "single"
        read_share = _by_size(_READ_BY_SIZE[sized], read_bytes)
        write_share = _by_size(_WRITE_BY_SIZE[sized], write_bytes)
        read, write = _READ_BY_THREADS[layout], _WRITE_BY_THREADS[layout]
        scale = self.write_bandwidth / (max(write) * 1e9) if self.write_bandwidth is not None else 1.0
        return Service(
            read_bandwidth=_by_threads(read, readers) * read_share,
            write_bandwidth=_by_threads(write, writers) * scale * write_share,
            read_request_s=0.0,
            write_request_s=0.0,
            wal_request_s=0.0,
            client_read_request_s=0.0,
            read_latency_s=self.read_latency,
            write_latency_s=self.write_latency,
            client_read_latency_s=self.read_latency,
            stream_read_bandwidth=_by_threads(read, 1) * read_share,
            stream_write_bandwidth=_by_threads(write, 1) * scale * write_share,
            interleave_bytes=4096.0,  # [P2]: interleaving size of the modules
        )


def _by_threads(curve: tuple[float, ...], threads: int) -> float:
    """Bytes per second of `threads` threads; beyond the measured 24 threads the value of the last point."""
    return curve[min(threads, len(curve)) - 1] * 1e9


def _by_size(curve: tuple[float, ...], size_bytes: float) -> float:
    """Bandwidth at an access size as a share of the best, interpolated over the logarithm of the size."""
    return float(np.interp(np.log2(max(size_bytes, 1.0)), np.log2(_SIZES), curve)) / max(curve)
