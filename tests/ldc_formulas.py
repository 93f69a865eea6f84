"""Formulas of the LDC paper. k: fan-out, b: file size, n: bytes in the store.

See (behaviour/evaluations.md, LDC's evaluation).
"""

from __future__ import annotations

import math


def rewritten_per_moved_byte(fan_out: float, *, linked: bool) -> float:
    """Return the bytes of the lower level that are rewritten for each byte that moves into it."""
    return 1.0 if linked else fan_out


def write_amplification(fan_out: float, store_bytes: float, file_bytes: float, *, linked: bool) -> float:
    """Return the order of magnitude of W-Amp: number of levels * rewritten bytes per byte that moves into a level."""
    levels = math.log(store_bytes / file_bytes) / math.log(fan_out)
    return levels * rewritten_per_moved_byte(fan_out, linked=linked)


def job_bytes(fan_out: float, upper_files: float, file_bytes: float, *, linked: bool) -> float:
    """Return the bytes that one compaction reads; it writes about the same number."""
    return 2.0 * file_bytes if linked else (fan_out + 1.0) * upper_files * file_bytes


def write_tail_latency_s(
    fan_out: float, upper_files: float, file_bytes: float, write_bytes_per_s: float, read_bytes_per_s: float, *,
    linked: bool, pause_s: float = 0.0,
) -> float:  # fmt: skip
    """Return the latency of a write that waits for one compaction.

    `read_bytes_per_s` is the part of the device's write bandwidth that reads use.
    """
    waiting = job_bytes(fan_out, upper_files, file_bytes, linked=linked)
    return waiting / (write_bytes_per_s - read_bytes_per_s) + pause_s


def mix_throughput(write_share: float, writes_per_s: float, reads_per_s: float) -> float:
    """Return the operations per second of a mix, from the rates of writes alone and reads alone."""
    return 1.0 / (write_share / writes_per_s + (1.0 - write_share) / reads_per_s)
