"""Client reads beside background streams, against a simulated drive that serves requests in turn."""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np
import pytest
from lsmlab.models.devices.base import DeviceLoad
from lsmlab.models.devices.sharing import Service, share

PIECE_BYTES = 128 * 2**10
DRIVE = Service(
    read_bandwidth=530e6, write_bandwidth=430e6, read_request_s=0.0, write_request_s=0.0, wal_request_s=0.0,
    client_read_request_s=0.0, read_latency_s=0.0, write_latency_s=0.0, client_read_latency_s=110e-6,
    stream_read_bandwidth=530e6, stream_write_bandwidth=430e6, interleave_bytes=PIECE_BYTES,
)  # fmt: skip
READ_BYTES = 5936.0
"""A read takes 11.2 us of the drive: 89,000 reads per second."""


def reads_per_s(readers: int, writers: int, threads: int, thinking_s: float, until_s: float = 2.0) -> float:
    """Return the reads per second of `threads` with random pauses; pieces and reads are served in order of arrival."""
    rng = np.random.default_rng(1)
    waiting = deque([PIECE_BYTES / 530e6] * readers + [PIECE_BYTES / 430e6] * writers)
    client_s = READ_BYTES / 530e6
    coming = [thinking_s * (i + 0.5) / threads for i in range(threads)]
    now_s, done = 0.0, 0
    while now_s < until_s:
        while coming and coming[0] <= now_s:
            heapq.heappop(coming)
            waiting.append(client_s)
        served_s = waiting.popleft()
        now_s += served_s
        if served_s == client_s:
            done += 1
            heapq.heappush(coming, now_s + DRIVE.client_read_latency_s + thinking_s * float(rng.exponential()))
            continue
        while coming and coming[0] <= now_s:  # reads that arrive meanwhile go before the stream's next piece
            heapq.heappop(coming)
            waiting.append(client_s)
        waiting.append(served_s)
    return done / until_s


def granted_per_s(readers: int, writers: int, threads: int, thinking_s: float) -> float:
    """Return the reads per second at the latency that the device grants, by fixed-point iteration."""
    reads = threads / (DRIVE.client_read_latency_s + thinking_s)
    for _ in range(200):
        load = DeviceLoad(
            readers=readers, writers=writers, client_read_iops=reads, client_read_bytes=READ_BYTES, client_read_depth=threads
        )
        latency_s = share(DRIVE, load).client_read_latency_s
        reads = 0.5 * reads + 0.5 * threads / (latency_s + thinking_s)
    return reads


@pytest.mark.parametrize("thinking_s", [0.0, 30e-6, 150e-6])
@pytest.mark.parametrize(("readers", "writers"), [(1, 0), (0, 1), (1, 1), (0, 3), (3, 0), (3, 3), (5, 5)])
def test_reads_wait_for_a_piece_of_every_stream(readers: int, writers: int, thinking_s: float) -> None:
    """Each read of eight threads waits for one piece of every stream and on average half of the piece in progress."""
    turns = reads_per_s(readers, writers, 8, thinking_s)

    assert granted_per_s(readers, writers, 8, thinking_s) == pytest.approx(turns, rel=0.13)
