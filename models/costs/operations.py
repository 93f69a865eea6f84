"""CPU time of one write, point read or scan, and the serial part of a group commit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lsmlab.models.costs.cost import Cost, of_host

if TYPE_CHECKING:
    from lsmlab.models.costs.host import Host

_SHALLOW_BYTES: Final = 2.0**26
"""Smallest memtable for which a growing cost was measured (docs/decisions/0015): `Host.write_op` is a write into it."""


def depth(memtable_bytes: float) -> float:
    """Doublings of a memtable beyond 64 MiB of keys and values.

    The larger the memtable, the less of the path through its skip list is in the processor's caches.
    """
    return max(0.0, math.log2(max(memtable_bytes, 1.0) / _SHALLOW_BYTES))


def write_cpu(user_bytes: float, *, logged: bool, statistics: bool = False, memtable_bytes: float = 0.0) -> Cost:
    """CPU time of one write by a single client thread, memtable insert included.

    `user_bytes`: key and value. `logged`: through the write-ahead log. `statistics`: the store keeps statistics.
    """
    return Cost(
        of_host(write_op=1.0, write_byte=user_bytes, wal_op=float(logged), statistics_op=float(statistics)),
        of_host(write_depth=depth(memtable_bytes)),
    )


def point_read_cpu(*, runs: float, blocks: float, block_bytes: float = 0.0, opens: float = 0.0) -> Cost:
    """CPU time of one point read that probes `runs` sorted runs, searches `blocks` of `block_bytes` and opens `opens` tables."""
    return Cost(
        of_host(read_op=1.0, read_run=runs),
        of_host(blocks, read_block=1.0, checksum_byte=block_bytes),
        of_host(table_open=opens),
    )


def scan_cpu(*, runs: float, entries: float, block_bytes: float = 0.0, opens: float = 0.0) -> Cost:
    """CPU time of one scan: a seek with one block in each of `runs` sorted runs, then `entries` that the iterator passes."""
    return Cost(
        of_host(read_op=1.0),
        of_host(runs, read_block=1.0, checksum_byte=block_bytes, read_run=1.0),
        of_host(scan_entry=entries),
        of_host(table_open=opens),
    )


def sleep_penalties(sleeps: float) -> Cost:
    """Time that a delayed writer loses after its sleeps, beside the sleeps themselves."""
    return Cost(of_host(sleep_penalty=sleeps))


def switch_s(host: Host, memtable_entries: float) -> float:
    """Mean wait of a write for memtable switches: one of `memtable_entries` writes makes the switch."""
    return host.switch / memtable_entries


def serial_share(write_serial: float, writers: int) -> float:
    """Part of a write that only one of `writers` threads at a time can do; all of it for a single thread."""
    return write_serial if writers > 1 else 1.0


def throughput_share(write_serial: float, writers: int) -> float:
    """Time between two writes of `writers` threads by the time of one write: the serial part, or an even share if larger."""
    return max(serial_share(write_serial, writers), 1.0 / writers)


def coreless_leader(write_serial: float, writers: int, background: float, cores: float) -> float:
    """How much longer the serial part takes where the leader of a write group has no core of its own: 1 to 2.

    The leader loses its core to one of the `background` threads after each slice, for a slice, and all writers wait.
    """
    beyond = background + min(writers, 1.0 / write_serial) - cores
    return 1.0 + min(1.0, max(0.0, beyond))
