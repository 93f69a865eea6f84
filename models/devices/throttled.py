"""Caps over any device, as the Linux block cgroup sets them: an allowance per slice of time.

Source: Linux block/blk-throttle.c. A window of slices begins with the first request after a pause. By the end of its
n-th slice n x cap x slice bytes may have passed, as fast as the device takes them (`tg_within_bps_limit` rounds the
elapsed time up to whole slices); what comes after that waits for the next slice. Slices that are over leave the window
together with what they let pass, and what they left unused is lost (`throtl_trim_slice`); since Linux 6.15 the last of
them stays, so that an idle tenth of a second is made up for afterwards. A window without requests ends a slice after
the last one. The slice (DFL_THROTL_SLICE_HD) is 100 ms, and 20 ms for solid-state disks only where the kernel has the
"low" limit compiled in. Reads and writes are counted apart. The same code serves cgroup v1 (blkio.throttle.*) and v2
(io.max).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lsmlab.models.devices.base import Device, DeviceFacts, Flow, Grant, Load
from lsmlab.models.devices.sharing import fair_level
from lsmlab.models.errors import InputError

SLICE_S: Final = 0.1
"""DFL_THROTL_SLICE_HD, block/blk-throttle.c."""
IO_BYTES: Final = 512.0 * 2**10
"""Most bytes that the block layer puts in one operation: a 1 MiB write is seen as about two (specs/lessons.md, 3.9)."""
KEPT_SLICES: Final = 1
"""Slices that stay in a window when they are over: 1 since Linux 6.15 ("one extra slice is preserved"), 0 before."""
FILE_DISCARDS: Final = 1.75
"""Discards per deleted file on a file system mounted with -o discard: decision 0005 has the measurement."""
READ_IO_BYTES: Final = 611e3
"""The same of a read: mean of the recorded calibration runs (validation/cases), small reads apart."""
FILE_WRITES: Final = 3
"""Small writes that go with every file that is written: its end and its fsync."""
SYNC_WRITES: Final = 3
"""The same of the fsync of a directory or a manifest. Both fitted to the operations that the block layer counted in the
recorded calibration runs (validation/cases; 3.1 per file and 6.3 per job, which has one of each; lessons.md, 3.9)."""
FILE_READS: Final = 1.8
"""Small reads of a new file that is opened: its footer and index; from the same runs."""
_EMPTY_S: Final = 1e-3
"""Allowance that the cap gives in less time than this counts as used up: one timer tick (HZ = 1000) of the throttle."""
_TICK_S: Final = 1e-9
"""A slice with less time left is over: simulated time is a float."""
_BLOCKED_BYTES_PER_S: Final = 1.0
"""Rate of a stream that waits for the next slice: nothing, but for arithmetic that divides by it."""
_BLOCKED_SHARE: Final = 1e-6
"""The same of clients."""
_SLACK: Final = 1.0 + 1e-9
"""Rates equal to the cap are within it."""


class Window(NamedTuple):
    """The slices of one direction that still count (`throtl_grp`: slice_start, slice_end, bytes_disp, io_disp)."""

    age_s: float = 0.0
    """Since the first of them began."""
    left_s: float = 0.0
    """Until the window ends unless something passes; 0: the next request begins a new one."""
    passed_bytes: float = 0.0
    passed_ios: float = 0.0


class ThrottleState(NamedTuple):
    """What has passed in either direction, and the state of the device below."""

    inner: Any
    read: Window = Window()
    write: Window = Window()
    clock_s: float = 0.0
    """Since the start: the kernel rounds the end of a window up to whole slices of its clock."""


class _Direction(NamedTuple):
    """One direction of a load: the streams, the clients, and the limits that empty buckets have set so far."""

    streams: int
    request_bytes: float
    io_bytes: float
    """Bytes of one operation as the throttle counts them, on the average."""
    clients: float
    """Askers among the clients."""
    client_unit_bytes: float
    """Bytes of one client request."""
    limit: float
    """Bytes per second of one stream."""
    client_limit: float
    """Share of the clients' demand."""
    in_line: bool = False
    """Clients wait for the next slice like streams, as single reads do; else they are a steady trickle (the log)."""
    wait_s: float = 0.0
    """What clients in line wait, the allowance being used up."""


_NO_WINDOW: Final = Window()


def copies_in_caller(device: Device) -> bool:
    """Whether the thread that writes copies the bytes itself, on a core of its own; below a cap as well."""
    inner = device.device if isinstance(device, Throttled) else device
    return bool(getattr(inner, "copies_in_caller", False))


@dataclass(frozen=True)
class Throttled:
    """A device under caps. Within the allowance of a slice everybody runs as fast as the device; then all wait for the next.

    `iops_cap` holds for reads and for writes separately, like riops and wiops.
    """

    device: Device
    write_cap: float | None = None
    """Bytes per second."""
    read_cap: float | None = None
    """Bytes per second."""
    iops_cap: float | None = None
    """Operations per second."""
    slice_s: float = SLICE_S
    io_bytes: float = IO_BYTES
    read_io_bytes: float = READ_IO_BYTES
    kept_slices: int = KEPT_SLICES
    file_discards: float = FILE_DISCARDS

    def __post_init__(self) -> None:
        for key in ("write_cap", "read_cap", "iops_cap"):
            cap = getattr(self, key)
            if cap is not None and cap <= 0:
                raise InputError(f"{key}: must be above 0, or null for no cap")

    @property
    def name(self) -> str:
        """Name of the device below."""
        return self.device.name

    def initial(self) -> ThrottleState:
        """Nothing has passed yet."""
        return ThrottleState(self.device.initial())

    def allocate(self, state: ThrottleState, load: Load) -> Grant:
        """How much each asker gets; valid until an allowance is used up or the slice ends."""
        read = _Direction(
            load.readers, load.read_request_bytes, self.read_io_bytes, max(1.0, load.client_read_depth),
            load.client_read_bytes, load.read_limit_bytes_per_s, 1.0, in_line=True,
        )  # fmt: skip
        write = _Direction(
            load.writers, load.write_request_bytes, self.io_bytes, 1.0, load.write_request_bytes,
            load.write_limit_bytes_per_s, 1.0,
        )  # fmt: skip
        limited = load
        held_s = math.inf
        while True:
            grant = self.device.allocate(state.inner, limited)
            reads = load.client_read_iops * read.client_limit * grant.client_read_share * load.client_read_bytes
            logged = load.client_write_bytes_per_s * write.client_limit * grant.client_write_share
            stream = min(grant.read_bytes_per_s, read.limit)
            new_read, read_s = self._bind(read, stream, reads, grant.client_read_share, self.read_cap, state.read)
            stream = min(grant.write_bytes_per_s, write.limit)
            new_write, write_s = self._bind(write, stream, logged, grant.client_write_share, self.write_cap, state.write)
            if new_read is None and new_write is None:
                return self._answer(load, limited, grant, read, write, min(read_s, write_s, held_s))
            held_s = min(held_s, read_s if new_read else math.inf, write_s if new_write else math.inf)
            read, write = new_read or read, new_write or write
            limited = Load(
                load.readers, load.writers, load.read_request_bytes, load.write_request_bytes, load.queue_depth,
                load.client_read_iops * read.client_limit, load.client_read_bytes, load.client_read_depth,
                load.client_write_bytes_per_s * write.client_limit, read.limit, write.limit,
            )  # fmt: skip

    def advance(self, state: ThrottleState, elapsed_s: float, flow: Flow) -> ThrottleState:
        """What passed counts against the allowance; slices that are over leave the window."""
        read_ios = max(flow.reads, flow.read_bytes / self.read_io_bytes) + flow.small_reads
        write_ios = max(flow.writes, flow.write_bytes / self.io_bytes) + flow.small_writes
        clock_s = state.clock_s + elapsed_s
        return ThrottleState(
            self.device.advance(state.inner, elapsed_s, flow),
            self._moved(state.read, elapsed_s, clock_s, flow.read_bytes, read_ios, self.read_cap),
            self._moved(state.write, elapsed_s, clock_s, flow.write_bytes, write_ios, self.write_cap),
            clock_s,
        )

    def _moved(
        self, window: Window, elapsed_s: float, clock_s: float, size_bytes: float, ios: float, cap: float | None
    ) -> Window:
        """The window after `size_bytes` more have passed in `elapsed_s`; without a cap nobody counts."""
        if cap is None and self.iops_cap is None:
            return _NO_WINDOW
        if size_bytes <= 0.0 and ios <= 0.0:
            left_s = window.left_s - elapsed_s
            if left_s <= _TICK_S:
                return _NO_WINDOW
            return Window(window.age_s + elapsed_s, left_s, window.passed_bytes, window.passed_ios)
        if window.left_s <= 0.0:
            window = _NO_WINDOW
        age_s = window.age_s + elapsed_s
        passed_bytes, passed_ios = window.passed_bytes + size_bytes, window.passed_ios + ios
        over = math.floor(age_s / self.slice_s + _TICK_S) - self.kept_slices
        if over > 0:
            age_s -= over * self.slice_s
            passed_bytes = max(0.0, passed_bytes - (cap or math.inf) * over * self.slice_s)
            passed_ios = max(0.0, passed_ios - (self.iops_cap or math.inf) * over * self.slice_s)
        end_s = math.ceil((clock_s + self.slice_s) / self.slice_s - _TICK_S) * self.slice_s
        return Window(age_s, end_s - clock_s, passed_bytes, passed_ios)

    @property
    def state_step_s(self) -> float:
        """The simulation has to tell this device at once what passed: a slice is short."""
        return 0.0

    def fsync_s(self, state: ThrottleState) -> float:
        """As the device below: the throttle does not count cache flushes."""
        return self.device.fsync_s(state.inner)

    def facts(self, state: ThrottleState, live_bytes: float) -> DeviceFacts:
        """As the device below."""
        return self.device.facts(state.inner, live_bytes)

    def _bind(
        self, side: _Direction, stream_rate: float, client_rate: float, share: float, cap: float | None, window: Window
    ) -> tuple[_Direction | None, float]:
        """Limits that one direction's used-up allowances set now (None: no new ones), and the time until that changes.

        `share` of the clients' demand is what the device itself grants; it may grant more once others are bound. The new
        limits add up to the cap at most, whatever it grants then: so the search for them ends.
        """
        valid_s = math.inf
        if (cap is None and self.iops_cap is None) or (side.streams == 0 and client_rate == 0.0):
            return None, valid_s
        bound = False
        # as the next request finds it: slices that are over go first
        slices = math.floor(window.age_s / self.slice_s + _TICK_S)
        over = max(0, slices - self.kept_slices)
        slice_left = (slices + 1) * self.slice_s - window.age_s
        counted_s = (slices + 1 - over) * self.slice_s
        over_s = over * self.slice_s
        buckets = []
        if cap is not None:
            buckets.append((cap, window.passed_bytes, 1.0, 1.0))
        if self.iops_cap is not None:
            per_stream = 1.0 / min(side.request_bytes, side.io_bytes)
            per_client = 1.0 / min(side.client_unit_bytes, side.io_bytes)
            buckets.append((self.iops_cap, window.passed_ios, per_stream, per_client))
        for bucket_cap, passed, stream_unit, client_unit in buckets:
            stream, client = stream_rate * stream_unit, client_rate * client_unit
            rate = side.streams * stream + client
            left = bucket_cap * counted_s - max(0.0, passed - bucket_cap * over_s)
            if side.in_line and client > 0.0:
                if side.wait_s > 0.0:
                    continue
                if left <= bucket_cap * _EMPTY_S:
                    valid_s = min(valid_s, slice_left)
                    side = side._replace(
                        limit=_BLOCKED_BYTES_PER_S, client_limit=side.client_limit * _BLOCKED_SHARE, wait_s=self.slice_s
                    )
                    stream_rate, client_rate, bound = _BLOCKED_BYTES_PER_S, client_rate * _BLOCKED_SHARE, True
                elif rate > bucket_cap * _SLACK:
                    valid_s = min(valid_s, slice_left, left / rate)
                continue
            if rate <= bucket_cap * _SLACK:
                continue
            if client > 0.0:
                # they are a fluid whose bursts nobody sees: they get their fair share of the cap, streams what is left
                each = fair_level([(float(side.streams), stream), (side.clients, client / side.clients)], bucket_cap)
                factor = min(1.0, each * side.clients / client)
                if factor < 1.0:
                    side, share = side._replace(client_limit=side.client_limit * share * factor), 1.0
                    client_rate, client, bound = client_rate * factor, client * factor, True
            if not side.streams or stream_rate <= _BLOCKED_BYTES_PER_S:
                continue
            valid_s = min(valid_s, slice_left)
            left -= client * slice_left
            if left > bucket_cap * _EMPTY_S:
                valid_s = min(valid_s, left / (side.streams * stream))
                continue
            side = side._replace(limit=_BLOCKED_BYTES_PER_S)
            stream_rate, bound = _BLOCKED_BYTES_PER_S, True
        return side if bound else None, valid_s

    def _answer(
        self, load: Load, limited: Load, grant: Grant, read: _Direction, write: _Direction, valid_s: float
    ) -> Grant:
        if limited is load and valid_s >= grant.valid_for_s:
            return grant
        served = read.client_limit * grant.client_read_share
        latency_s = grant.client_read_latency_s
        if read.wait_s > 0.0:
            latency_s = max(latency_s, read.wait_s)
        elif served < 1.0 and load.client_read_iops > 0:  # Little's law, as all reads that may be outstanding are
            latency_s = max(latency_s, max(1.0, load.client_read_depth) / (served * load.client_read_iops))
        return Grant(
            read_bytes_per_s=min(grant.read_bytes_per_s, read.limit),
            write_bytes_per_s=min(grant.write_bytes_per_s, write.limit),
            client_read_share=served,
            client_read_latency_s=latency_s,
            client_write_share=write.client_limit * grant.client_write_share,
            utilisation=grant.utilisation,
            valid_for_s=min(valid_s, grant.valid_for_s),
        )
