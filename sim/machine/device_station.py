"""Device as a shared station; between two changes of the load all times are computed, not simulated."""

from __future__ import annotations

import math
from array import array
from collections.abc import Generator
from typing import Any, Final

import simpy
from lsmlab.models.devices.base import Device, DeviceLoad, Flow, Grant
from lsmlab.models.devices.cap_limits import BLOCKED_BYTES_PER_S
from lsmlab.models.devices.capped import PAGE_BYTES, Capped
from lsmlab.sim.machine.queues import Alarm, OrderedQueue, SharedQueue
from lsmlab.sim.observers import Observers

_BINDS_S: Final = 10.0
"""Time for which a cap counts as one that binds after it has held up requests in three slices within `_AGAIN_S`."""
_AGAIN_S: Final = 1.0
"""A single hold may be that of two coarse steps that meet."""

_IDLE: Final = Grant(0.0, 0.0)
"""Grant of a device without any load."""

ClientFlow = tuple[float, float, float, float]
"""Demand of the clients: reads per second, bytes per read, queue depth, and bytes written per second."""


class TransferLog:
    """Times of transfers, for the per-second series. Columns: consumer (0 = clients), start, end, bytes."""

    WRITE: Final = 16
    """Added to a consumer's number for writes."""

    def __init__(self) -> None:
        self.rows = array("d")

    def start(self, event: simpy.Event, consumer: int, now_s: float, size_bytes: float) -> None:
        """Log a transfer that starts now and ends when `event` fires."""
        rows = self.rows

        def end(done: simpy.Event) -> None:
            rows.extend((consumer, now_s, done.env.now, size_bytes))

        assert event.callbacks is not None
        event.callbacks.append(end)


class DeviceStation:
    """Device shared by background streams and clients.

    Background jobs call `read` and `write`; `set_clients` sets the clients' fluid demand. Observers of `changed` are
    called after each new grant that background work or the device's state causes, so that clients can react to it.
    """

    def __init__(self, env: simpy.Environment, device: Device, read_request_bytes: float, write_request_bytes: float,
                 queue_depth: float, *, reads_in_order: bool = False, writes_in_order: bool = False) -> None:  # fmt: skip
        """`reads_in_order`, `writes_in_order`: serve them in the order of submission instead of side by side."""
        self._env = env
        self.device = device
        self.state: Any = device.initial()
        self.reads_in_order = reads_in_order
        self.writes_in_order = writes_in_order
        self._readers = OrderedQueue() if reads_in_order else SharedQueue()
        self._writers = OrderedQueue() if writes_in_order else SharedQueue()
        self._last_s = 0.0
        self._alarm = Alarm(env, self._wake)
        self._planned = True
        """Whether rates and alarm are those of the present load."""
        self._postponed = False
        """Whether a plan at this moment follows, so that changes before it need none."""
        self._shape = (read_request_bytes, write_request_bytes, queue_depth)
        self._read_operation_bytes = self.request_bytes[0]
        self.clients: ClientFlow = (0.0, 4096.0, 1.0, 0.0)
        """Present demand of the clients: arguments of `set_clients`."""
        self._trimmed_bytes = 0.0
        self._small_writes = self._small_reads = 0.0
        self._held_s = (0.0, 0.0)
        """Last two times at which a cap held up background requests."""
        self._binds_s = 0.0
        """Last time at which it did so in three slices within a second."""
        self._flushing = 0
        """Flushes of the device's cache in progress."""
        self._loads: dict[tuple[int, int, ClientFlow], DeviceLoad] = {}
        """Load by numbers of readers and writers and demand of the clients."""
        self._grants: dict[tuple[int, int, ClientFlow], Grant] = {}
        """Grant by the same, in the present state of the device."""
        self._owed_s = 0.0
        self._owed = [0.0, 0.0, 0.0, 0.0]
        """Bytes read, bytes written, reads and writes during `_owed_s` that are not in the device's state yet."""
        self._grant = self._granted(self.clients)
        self.read_bytes = 0.0
        self.write_bytes = 0.0
        self.busy_s = 0.0
        self.changed = Observers[[]]()
        """Observers of a new grant of the device."""
        self.replaced = Observers[[]]()
        """Observers of a new device, whose fsync may take another time."""
        self.log = TransferLog()

    def read(self, size_bytes: float, consumer: int) -> simpy.Event:
        """Read sequentially; the event fires when the last byte has arrived."""
        return self._join(self._readers, size_bytes, consumer)

    def write(self, size_bytes: float, consumer: int) -> simpy.Event:
        """Write sequentially; the event fires when the last byte is on the device."""
        return self._join(self._writers, size_bytes, consumer + TransferLog.WRITE)

    def set_clients(self, read_iops: float, read_bytes: float, depth: float, write_bytes_per_s: float) -> None:
        """Set the clients' demand: reads per second, bytes per read, queue depth, and bytes written per second."""
        demand = (read_iops, read_bytes, depth, write_bytes_per_s)
        if demand != self.clients:
            self._sync()
            self.clients = demand
            self._loads.clear()
            if not self._postponed:
                self._release()
                self._plan()

    def grant_with(self, demand: ClientFlow) -> Grant:
        """Return the rates if the clients' demand were `demand` (arguments of `set_clients`), beside the present streams."""
        if demand == self.clients:
            return self.grant
        self._sync()
        if not self._postponed:
            self._release()
        return self._granted(demand)

    def alone_s_per_byte(self, device: Device | None = None) -> tuple[float, float]:
        """Return the time per byte, read and written, of one background stream on the idle device without caps.

        `device`: None for the present one.
        """
        device = (device or self.device).uncapped
        read_request, write_request, depth = self._shape
        read = device.allocate(device.initial(), DeviceLoad(1, 0, read_request, write_request, depth))
        write = device.allocate(device.initial(), DeviceLoad(0, 1, read_request, write_request, depth))
        return 1.0 / read.read_bytes_per_s, 1.0 / write.write_bytes_per_s

    @property
    def request_bytes(self) -> tuple[float, float]:
        """Bytes per operation of a background reader and writer, as a cap on operations counts them."""
        read_bytes, write_bytes, _ = self._shape
        if not isinstance(self.device, Capped):
            return read_bytes, write_bytes
        return min(read_bytes, self.device.io_bytes), min(write_bytes, self.device.io_bytes)

    def flush_cache(self) -> Generator[simpy.Event, Any, None]:
        """Flush the device's volatile cache; other writes wait until it ends."""
        self._hold(1)
        yield self._env.timeout(self.device.fsync_s(self.state))
        self._hold(-1)

    def _hold(self, change: int) -> None:
        self._sync()
        self._flushing += change
        self._replan()

    @property
    def grant(self) -> Grant:
        """Rates of the present load."""
        self._plan_if_needed()
        return self._grant

    def small_read(self, consumer: int) -> simpy.Event | None:
        """Read a page. Return its event, or None if it passes at once: no cap holds it up, nor requests in front of it."""
        return None if self._pages_pass(1, consumer, write=False) else self._join(self._readers, PAGE_BYTES, consumer)

    def small_write(self, consumer: int) -> simpy.Event | None:
        """Write a page; the same as `small_read`."""
        return None if self.small_writes_pass(1, consumer) else self.write(PAGE_BYTES, consumer)

    def small_writes_pass(self, count: int, consumer: int) -> bool:
        """Write `count` pages if all pass at once, and return whether they do."""
        return self._pages_pass(count, consumer + TransferLog.WRITE, write=True)

    def _pages_pass(self, count: int, consumer: int, *, write: bool) -> bool:
        self._sync()
        queue, in_order = (self._writers, self.writes_in_order) if write else (self._readers, self.reads_in_order)
        ahead_bytes = self._owed[write] + (queue.outstanding(math.inf) if in_order else 0.0)
        size_bytes = count * PAGE_BYTES
        if not self.device.page_passes(self.state, ahead_bytes + size_bytes - PAGE_BYTES, write=write):
            return False
        self._owed[write] += size_bytes
        if write:
            self.write_bytes += size_bytes
        else:
            self.read_bytes += size_bytes
        self.log.rows.extend((consumer, self._env.now, self._env.now, PAGE_BYTES) * count)
        return True

    def count_small(self, writes: float = 0.0, reads: float = 0.0) -> None:
        """Count small requests, whose bytes are negligible; without effect unless the device counts operations."""
        if not self.device.counts_operations:
            return
        self._sync()
        self._small_writes += writes
        self._small_reads += reads
        self._tell_device()
        self._replan()

    def trim(self, size_bytes: float) -> None:
        """Trim the bytes of a deleted file; the device's state includes them at its next update."""
        self._trimmed_bytes += size_bytes

    def begin(self, state: Any) -> None:
        """Start with the device state that an earlier phase of the run left."""
        self.state = state
        self._grants.clear()
        self._replan()

    def replace(self, device: Device) -> None:
        """Go on with other parameters of the device; its state stays."""
        self.settle()
        self.device = device
        self._read_operation_bytes = self.request_bytes[0]
        self._grants.clear()
        self._replan()
        self.replaced()

    @property
    def queued_write_bytes(self) -> float:
        """Bytes that background writers have submitted and the device has not written yet."""
        self._sync()
        return self._writers.outstanding(math.inf)

    @property
    def busy_so_far_s(self) -> float:
        """Busy time of the device up to now, in s; unlike `settle`, this changes no counter."""
        return self.busy_s + self.grant.utilisation * (self._env.now - self._last_s)

    @property
    def bursty(self) -> bool:
        """Whether the bandwidth depends on the bytes of the last moments: a cap binds. At the start, every cap may."""
        return self.device.bursty and self._env.now <= self._binds_s + _BINDS_S

    def settle(self) -> None:
        """Bring the accounts up to now."""
        self._sync()
        self._tell_device()

    def _join(self, queue: SharedQueue, size_bytes: float, consumer: int) -> simpy.Event:
        event = self._env.event()
        self._sync()
        queue.join(size_bytes, event)
        self.log.start(event, consumer, self._env.now, size_bytes)
        self._replan()
        return event

    def _sync(self) -> None:
        now_s = self._env.now
        elapsed_s = now_s - self._last_s
        if elapsed_s <= 0.0:
            return
        self._last_s = now_s
        grant, owed = self._grant if self._planned else _IDLE, self._owed
        iops, client_bytes, _, client_write = self.clients
        read_bytes, write_bytes = self._readers.advance(elapsed_s), self._writers.advance(elapsed_s)
        requests = read_bytes / self._read_operation_bytes
        if iops > 0.0 and (reads := iops * grant.client_read_share * elapsed_s) > 0.0:
            requests += reads
            read_bytes += reads * client_bytes
            self.log.rows.extend((0.0, now_s - elapsed_s, now_s, reads * client_bytes))
        if client_write > 0.0 and (logged := client_write * grant.client_write_share * elapsed_s) > 0.0:
            write_bytes += logged
            self.log.rows.extend((TransferLog.WRITE, now_s - elapsed_s, now_s, logged))
        if elapsed_s >= self.device.state_step_s and read_bytes == write_bytes == 0.0 < owed[0] + owed[1]:
            self._tell_device()  # a drive may use a pause, which the requests before it must not shorten
            owed = self._owed
        self.read_bytes += read_bytes
        self.write_bytes += write_bytes
        self.busy_s += grant.utilisation * elapsed_s
        owed[0] += read_bytes
        owed[1] += write_bytes
        owed[2] += requests
        owed[3] += write_bytes / self._shape[1]
        self._owed_s += elapsed_s
        if self._owed_s >= self.device.state_step_s or grant.valid_for_s != math.inf or self.bursty:
            self._tell_device()

    def _tell_device(self) -> None:
        """Advance the device's state by the counted requests; a state that is valid for long may lag by a step."""
        read_bytes, write_bytes, reads, writes = self._owed
        flow = Flow(read_bytes, write_bytes, reads, writes, self._trimmed_bytes, self._small_writes, self._small_reads)
        state = self.device.advance(self.state, self._owed_s, flow)
        if state is not self.state:
            self.state = state
            self._grants.clear()
        self._owed_s = self._trimmed_bytes = self._small_writes = self._small_reads = 0.0
        self._owed = [0.0, 0.0, 0.0, 0.0]

    def _wake(self) -> None:
        """Release complete transfers; plan only after the job of the last one has resumed: it may change the load again.

        A device that is idle then needs no plan until its next load.
        """
        self._sync()
        last = self._release()
        if last is None or last.callbacks is None or self.changed:  # observers see the grant before the job resumes
            self._plan_and_tell()
        else:
            self._planned, self._postponed = False, True
            last.callbacks.append(self._resumed)

    def _resumed(self, _: simpy.Event) -> None:
        """Plan after the job of the last complete transfer has resumed, unless the device is idle."""
        self._postponed = False
        if len(self._readers) or len(self._writers) or self.clients[0] or self.clients[3] or self._flushing:
            self._plan_if_needed()

    def _replan(self) -> None:
        """Plan after a change of the load, unless `_wake` has put off the plan of this moment."""
        if not self._postponed:
            self._release()
            self._plan_and_tell()

    def _plan_if_needed(self) -> None:
        if not self._planned:
            self._release()
            self._plan_and_tell()

    def _plan_and_tell(self) -> None:
        if self._plan():
            self.changed()

    def _release(self) -> simpy.Event | None:
        """Release complete transfers; return the event of the last one."""
        last_read = self._readers.release()
        return self._writers.release() or last_read

    def _plan(self) -> bool:
        """Get the rates of the present load, and set the alarm to the next departure or change of the rates.

        Return whether the grant has changed.
        """
        self._planned, self._postponed = True, False
        readers, writers = self._readers, self._writers
        before, grant = self._grant, self._granted(self.clients)
        self._grant = grant
        readers.rate = grant.read_bytes_per_s
        writers.rate = 0.0 if self._flushing else grant.write_bytes_per_s
        if grant.valid_for_s != math.inf and (
            (len(readers) and grant.read_bytes_per_s <= BLOCKED_BYTES_PER_S)
            or (len(writers) and grant.write_bytes_per_s <= BLOCKED_BYTES_PER_S)
        ):
            self._note_hold()
        valid_s = math.inf if self._flushing and not len(readers) else grant.valid_for_s
        self._alarm.set(min(readers.next_departure_s(), writers.next_departure_s(), valid_s))
        return grant != before  # by value: equal grants may be different objects

    def _note_hold(self) -> None:
        """Note that a cap holds up background requests; within one slice it is one hold."""
        now_s = self._env.now
        before_s, last_s = self._held_s
        if now_s <= last_s + self.device.state_step_s:
            return
        if now_s <= before_s + _AGAIN_S:
            self._binds_s = now_s
        self._held_s = last_s, now_s

    def _granted(self, demand: ClientFlow) -> Grant:
        """Return the rates of the present streams beside this demand of the clients."""
        key = len(self._readers), len(self._writers), demand
        grant = self._grants.get(key)
        if grant is None:
            load = self._loads.get(key)
            if load is None:
                load = self._loads[key] = DeviceLoad(*key[:2], *self._shape, *demand)
            grant = self.device.allocate(self.state, load)
            if grant.valid_for_s != math.inf and self._owed_s > 0.0:  # it depends on the bytes of the last moments
                self._tell_device()
                grant = self.device.allocate(self.state, load)
            self._grants[key] = grant
        return grant
