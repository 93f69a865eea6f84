"""A machine whose times can be computed in the head: 100 MiB/s in each direction, a cache flush of 0.1 s, free CPU costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import simpy
from device_catalogue import setup
from lsmlab.models.costs.host import Host
from lsmlab.models.devices.base import Device, DeviceLoad, Grant
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.machine import IoStyle, Machine
from lsmlab.sim.machine.page_cache import PageCache
from lsmlab.sim.store.write_shape import WriteShape

MIB = 2.0**20

SHAPE = WriteShape(
    batch_bytes=247, user_bytes=216, wal_bytes=0, memtable_entries=1e4, memtable_bytes=64e6, key_bytes=16, value_bytes=200,
    delete_share=0,
)  # fmt: skip
"""Writes of 200 B without a WAL."""



@dataclass(frozen=True)
class Plain(Device):
    """100 MiB/s shared by all readers, and as much by all writers after the clients' WAL; a cache flush takes 0.1 s."""

    name: str = "plain"

    def initial(self) -> None:
        """Return no state."""

    def allocate(self, state: None, load: DeviceLoad) -> Grant:
        """Grant equal shares."""
        written = 100 * MIB - load.client_write_bytes_per_s
        return Grant(100 * MIB / max(1, load.readers), written / max(1, load.writers), utilisation=float(load.writers > 0))

    def fsync_s(self, state: None) -> float:
        """Return the time of a cache flush in s."""
        return 0.1


def direct_io(**style: Any) -> IoStyle:
    """Return direct I/O without bursts. `style`: fields that differ."""
    direct: dict[str, Any] = {"overlap_writes": False, "whole_files": False, "overlap_reads": False}
    return IoStyle(**{**direct, "readahead_bytes": 2 * MIB, "burst_bytes": None, **style})


def plain_machine(
    env: simpy.Environment, cores: float = 8.0, limiter: LimiterStation | None = None, **style: Any
) -> Machine:
    """Return a machine without CPU costs of its own. `style`: fields of `IoStyle` other than those of direct I/O."""
    free = Host(**{f.name: 0.0 for f in fields(Host) if f.name.startswith(("file_", "job_", "unlink"))})
    station = DeviceStation(env, Plain(), 2 * MIB, MIB, 1.0)
    return Machine(env, station, CoreStation(env, cores, math.inf), PageCache(0.0), free, direct_io(**style), limiter)


def capped_machine(
    env: simpy.Environment, caps: Mapping[str, Any], cores: float = 2.0, in_order: bool = False, **style: Any
) -> Machine:
    """Return a machine with direct I/O on a real drive under caps; output files end without a time of their own."""
    station = DeviceStation(env, setup("samsung_970_pro", **caps).device, 2 * MIB, MIB, 1.0, reads_in_order=in_order)
    io = direct_io(burst_bytes=8e6, **style)
    return Machine(env, station, CoreStation(env, cores), PageCache(0.0), Host(file_overhead=0.0), io, None)
