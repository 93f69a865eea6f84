"""Caps over any device, as the Linux block cgroup sets them: an allowance per slice of time.

Source: Linux block/blk-throttle.c. A window of slices begins with the first request after a pause. Until the end of its
n-th slice the throttle dispatches n x cap x slice bytes at the speed of the device (`tg_within_bps_limit` rounds the
elapsed time up to whole slices); further requests wait for the next slice. Past slices leave the window together with
their bytes, and their unused allowance is lost (`throtl_trim_slice`). Since Linux 6.15 the last past slice stays, so
that the allowance of an idle tenth of a second is not lost. A window without requests ends one slice after the last
request. The slice (DFL_THROTL_SLICE_HD) is 100 ms, and 20 ms for solid-state disks only in kernels with the "low"
limit. Reads and writes count separately. The same code serves cgroup v1 (blkio.throttle.*) and v2 (io.max).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

from lsmlab.models.devices.base import Device, DeviceFacts, DeviceLoad, Flow, Grant, Layer, Peaks
from lsmlab.models.devices.cap_limits import SLICE_S, Allowance, CapRates, Direction, Units, hold
from lsmlab.models.errors import InputError

IO_BYTES: Final = 470e3
"""Mean bytes of an operation that a cap counts, in a large request read or written. The kernel splits a request where the
pages of its buffer are not contiguous in memory. Six calibration runs under a cap on operations, on five machines, have 364
to 563 kB in writes (mean 469, median 466) once the small requests below are taken off.

See (behaviour/device-and-kernel.md, Small requests).
"""
KEPT_SLICES: Final = 1
"""Past slices that stay in a window: 1 since Linux 6.15 ("one extra slice is preserved"), 0 before."""
FILE_DISCARDS: Final = 1.75
"""Discards per deleted file on a file system mounted with -o discard; measurement in decision 0005."""
FILE_WRITES: Final = 3
"""Small writes per written file that wait one for another: its end and its fsync."""
SYNC_WRITES: Final = 3
"""Small writes per fsync of a directory or a manifest."""
FILE_READS: Final = 2
"""Small reads at the open of a new file, of its footer and index, which wait one for another."""
FILE_PIECES: Final = 1
"""Further writes, and further reads, per written file: pieces of a buffer, which go with others and wait for nothing.

A regression of the operations that the block layer counted in 42 calibration runs on five machines gives 5.0 small writes per
file (standard error 0.6; 2.4 to 8.3 by machine) and 2.75 small reads (0.4). With four writes and three reads jobs behind a cap
agree with a replay of the kernel's rules (tests/test_kernel_caps.py). See (behaviour/device-and-kernel.md, Small requests).
"""
PAGE_BYTES: Final = 4096.0
"""Smallest write-back of the kernel, and size of a small read."""
_TICK_S: Final = 1e-9
"""Tolerance for the end of a slice: simulated time is a float."""


class ThrottleWindow(NamedTuple):
    """Slices of one direction that count (`throtl_grp`: slice_start, slice_end, bytes_disp, io_disp)."""

    age_s: float = 0.0
    """Time since the start of the first slice."""
    left_s: float = 0.0
    """Time until the window ends if no request comes; 0: the next request begins a new window."""
    passed_bytes: float = 0.0
    passed_ios: float = 0.0


class CapState(NamedTuple):
    """Windows of both directions, and the state of the device below."""

    inner: Any
    read: ThrottleWindow = ThrottleWindow()
    write: ThrottleWindow = ThrottleWindow()
    clock_s: float = 0.0
    """Time since the start: the kernel rounds the end of a window up to whole slices of its clock."""


_NO_WINDOW: Final = ThrottleWindow()


@dataclass(frozen=True)
class Capped(Layer):
    """Device behind caps. Within the allowance of a slice requests run at the speed of the device, then wait for the next.

    The caps are a gate in front of the device, which serves what has passed as it would without them. `iops_cap` applies to
    reads and to writes separately, like riops and wiops.
    """

    bursty: ClassVar[bool] = True
    write_cap: float | None = None
    """Cap on writes in bytes per second."""
    read_cap: float | None = None
    """Cap on reads in bytes per second."""
    iops_cap: float | None = None
    """Cap on operations per second."""
    io_bytes: float = IO_BYTES
    kept_slices: int = KEPT_SLICES
    file_discards: float = FILE_DISCARDS

    def __post_init__(self) -> None:
        for key, cap in (("write_cap", self.write_cap), ("read_cap", self.read_cap), ("iops_cap", self.iops_cap)):
            if cap is not None and cap <= 0:
                raise InputError(f"{key}: must be above 0, or null for no cap")

    def initial(self) -> CapState:
        """State without windows."""
        return CapState(self.device.initial())

    def allocate(self, state: CapState, load: DeviceLoad) -> Grant:
        """Compute the rates under `load`, valid until an allowance is used up or the slice ends."""
        read, write = self._capped(load)
        limited = load
        held_s = math.inf
        while True:
            grant = self.device.allocate(state.inner, limited)
            new_read, read_s, new_write, write_s = read, math.inf, write, math.inf
            if read is not None:
                reads = load.client_read_iops * read.client_limit * grant.client_read_share * load.client_read_bytes
                rates = (min(grant.read_bytes_per_s, read.limit), reads, grant.client_read_share)
                new_read, read_s = self._hold(read, rates, self.read_cap, state.read)
            if write is not None:
                logged = load.client_write_bytes_per_s * write.client_limit * grant.client_write_share
                rates = (min(grant.write_bytes_per_s, write.limit), logged, grant.client_write_share)
                new_write, write_s = self._hold(write, rates, self.write_cap, state.write)
            if new_read is read and new_write is write:
                return _answer(load, limited, grant, read, write, min(read_s, write_s, held_s))
            held_s = min(held_s, math.inf if new_read is read else read_s, math.inf if new_write is write else write_s)
            read, write = new_read, new_write
            limited = _limited(load, read, write)

    def _capped(self, load: DeviceLoad) -> tuple[Direction | None, Direction | None]:
        """Return (reads, writes) of a load; None for a direction without caps or without requests."""
        read = write = None
        if self._caps_reads and (load.readers or load.client_read_iops > 0.0):
            read = Direction(
                load.readers, load.read_request_bytes, self.io_bytes, max(1.0, load.client_read_depth),
                load.client_read_bytes, load.client_read_iops * load.client_read_bytes, load.read_limit_bytes_per_s, 1.0,
                queued=True,
            )  # fmt: skip
        if self._caps_writes and (load.writers or load.client_write_bytes_per_s > 0.0):
            write = Direction(
                load.writers, load.write_request_bytes, self.io_bytes, 1.0, load.write_request_bytes,
                load.client_write_bytes_per_s, load.write_limit_bytes_per_s, 1.0,
            )  # fmt: skip
        return read, write

    @property
    def state_step_s(self) -> float:  # type: ignore[override]
        """Simulated seconds between two calls of `advance` while no cap limits a rate: one slice."""
        return SLICE_S

    @property
    def counts_operations(self) -> bool:
        """Return whether there is a cap on operations."""
        return self.iops_cap is not None

    def page_passes(self, state: CapState, ahead_bytes: float, *, write: bool) -> bool:
        """Return whether the allowances let a page pass now, behind `ahead_bytes` of the same direction.

        Numbers of operations are means, so half of one counts as one.
        """
        window, cap = (state.write, self.write_cap) if write else (state.read, self.read_cap)
        allowances, _ = self._allowances(window, cap, (1.0 / self.io_bytes, 1.0 / self.io_bytes))
        for _, left, (per_byte, _) in allowances:
            own = PAGE_BYTES if per_byte == 1.0 else 0.5
            if ahead_bytes * per_byte + own > left:
                return False
        return True

    @cached_property
    def _caps_reads(self) -> bool:
        return self.read_cap is not None or self.iops_cap is not None

    @cached_property
    def _caps_writes(self) -> bool:
        return self.write_cap is not None or self.iops_cap is not None

    def advance(self, state: CapState, elapsed_s: float, flow: Flow) -> CapState:
        """Count the transfers against the allowance, and remove past slices from the windows."""
        clock_s = state.clock_s + elapsed_s
        read = write = _NO_WINDOW
        if self._caps_reads:
            ios = max(flow.reads, flow.read_bytes / self.io_bytes) + flow.small_reads
            read = self._moved(state.read, elapsed_s, clock_s, flow.read_bytes, ios, self.read_cap)
        if self._caps_writes:
            ios = max(flow.writes, flow.write_bytes / self.io_bytes) + flow.small_writes
            write = self._moved(state.write, elapsed_s, clock_s, flow.write_bytes, ios, self.write_cap)
        return CapState(self.device.advance(state.inner, elapsed_s, flow), read, write, clock_s)

    def _moved(
        self, window: ThrottleWindow, elapsed_s: float, clock_s: float, size_bytes: float, ios: float, cap: float | None
    ) -> ThrottleWindow:
        """Return the window after a transfer of `size_bytes` in `elapsed_s`."""
        age_s, left_s, passed_bytes, passed_ios = window
        if size_bytes <= 0.0 and ios <= 0.0:
            left_s -= elapsed_s
            return ThrottleWindow(age_s + elapsed_s, left_s, passed_bytes, passed_ios) if left_s > _TICK_S else _NO_WINDOW
        if left_s <= 0.0:
            age_s = passed_bytes = passed_ios = 0.0
        age_s += elapsed_s
        passed_bytes += size_bytes
        passed_ios += ios
        over = math.floor(age_s / SLICE_S + _TICK_S) - self.kept_slices
        if over > 0:
            age_s -= over * SLICE_S
            passed_bytes = max(0.0, passed_bytes - (cap or math.inf) * over * SLICE_S)
            passed_ios = max(0.0, passed_ios - (self.iops_cap or math.inf) * over * SLICE_S)
        end_s = math.ceil((clock_s + SLICE_S) / SLICE_S - _TICK_S) * SLICE_S
        return ThrottleWindow(age_s, end_s - clock_s, passed_bytes, passed_ios)

    def fsync_s(self, state: CapState) -> float:
        """Time of an fsync of the device below: the throttle does not count cache flushes."""
        return self.device.fsync_s(state.inner)

    def facts(self, state: CapState, live_bytes: float) -> DeviceFacts:
        """Return the facts of the device below."""
        return self.device.facts(state.inner, live_bytes)

    def peaks(self) -> Peaks:
        """Upper bounds of the rates of the device below and of the caps on bytes."""
        read, write = self.device.peaks()
        return Peaks(min(read, self.read_cap or math.inf), min(write, self.write_cap or math.inf))

    @property
    def uncapped(self) -> Device:
        """Return the device below."""
        return self.device

    def worker_share(self, write_alone_s: float) -> float:
        """Return the share of the time in which a kernel thread copies the writes that a cap has let pass.

        The throttle dispatches held requests in a kernel thread (Linux block/blk-throttle.c
        `blk_throtl_dispatch_work_fn`), and a driver that copies does so in that thread.
        """
        caps = [self.write_cap, None if self.iops_cap is None else self.iops_cap * self.io_bytes]
        if not self.copies_in_caller or not any(caps):
            return 0.0
        return min([1.0, *(cap * write_alone_s for cap in caps if cap is not None)])

    def _hold(
        self, side: Direction, rates: CapRates, cap: float | None, window: ThrottleWindow
    ) -> tuple[Direction, float]:
        """Return the direction with the limits of used-up allowances (the same object without any), and their validity in s."""
        operations = 1.0 / min(side.request_bytes, side.io_bytes), 1.0 / min(side.client_unit_bytes, side.io_bytes)
        return hold(side, rates, *self._allowances(window, cap, operations))

    def _allowances(self, window: ThrottleWindow, cap: float | None, operations: Units) -> tuple[list[Allowance], float]:
        """Return what remains of the caps on bytes and on operations in this slice, and the rest of the slice in s.

        `operations`: operations per byte of a stream and of a client.
        """
        # the kernel trims past slices at the next request
        slices = math.floor(window.age_s / SLICE_S + _TICK_S)
        over = max(0, slices - self.kept_slices)
        counted_s, over_s = (slices + 1 - over) * SLICE_S, over * SLICE_S
        found = []
        if cap is not None:
            found.append(Allowance(cap, cap * counted_s - max(0.0, window.passed_bytes - cap * over_s)))
        if self.iops_cap is not None:
            left = self.iops_cap * counted_s - max(0.0, window.passed_ios - self.iops_cap * over_s)
            found.append(Allowance(self.iops_cap, left, operations))
        return found, (slices + 1) * SLICE_S - window.age_s


def _limited(load: DeviceLoad, read: Direction | None, write: Direction | None) -> DeviceLoad:
    """Return the load under the limits of both directions."""
    iops, read_limit = load.client_read_iops, load.read_limit_bytes_per_s
    logged, write_limit = load.client_write_bytes_per_s, load.write_limit_bytes_per_s
    if read is not None:
        iops, read_limit = iops * read.client_limit, read.limit
    if write is not None:
        logged, write_limit = logged * write.client_limit, write.limit
    return DeviceLoad(
        load.readers, load.writers, load.read_request_bytes, load.write_request_bytes, load.queue_depth,
        iops, load.client_read_bytes, load.client_read_depth, logged, read_limit, write_limit,
    )  # fmt: skip


def _answer(
    load: DeviceLoad, limited: DeviceLoad, grant: Grant, read: Direction | None, write: Direction | None, valid_s: float
) -> Grant:
    """Return the device's grant for the `limited` load as the grant for `load`, valid for `valid_s` at most."""
    if limited is load and valid_s >= grant.valid_for_s:
        return grant
    read_per_s, write_per_s, served, latency_s, logged, used, queued_s, device_valid_s = grant
    if write is not None:
        write_per_s = min(write_per_s, write.limit)
        logged *= write.client_limit
    if read is not None:
        read_per_s = min(read_per_s, read.limit)
        served *= read.client_limit
    if read is not None and read.wait_s > 0.0:
        latency_s = max(latency_s, read.wait_s)
    elif served < 1.0 and load.client_read_iops > 0:  # Little's law: the maximum number of reads is outstanding
        latency_s = max(latency_s, max(1.0, load.client_read_depth) / (served * load.client_read_iops))
    return Grant(read_per_s, write_per_s, served, latency_s, logged, used, queued_s, min(valid_s, device_valid_s))


@dataclass(frozen=True)
class BackgroundCap(Layer):
    """Device whose background streams share a rate: all are slowed by the same factor when they would exceed it.

    Source: SILK's evaluation gives the store 200 MB/s for its internal operations (behaviour/evaluations.md, SILK's evaluation).
    """

    bytes_per_s: float

    def allocate(self, state: Any, load: DeviceLoad) -> Grant:
        """Compute the rates under `load`: the device's own, unless background streams would exceed the cap together."""
        grant = self.device.allocate(state, load)
        wanted = load.readers * grant.read_bytes_per_s + load.writers * grant.write_bytes_per_s
        if wanted <= self.bytes_per_s:
            return grant
        share = self.bytes_per_s / wanted
        return self.device.allocate(
            state,
            load._replace(
                read_limit_bytes_per_s=share * grant.read_bytes_per_s, write_limit_bytes_per_s=share * grant.write_bytes_per_s
            ),
        )
