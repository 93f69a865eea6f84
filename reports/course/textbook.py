"""Arithmetic of RocksDB's documentation (wiki: Tuning Guide, Leveled Compaction, Write Stalls, Bloom Filter)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

_DELAYED_STEP: Final = 0.8
"""Factor on the delayed write rate at each recompute that finds no less debt (behaviour/write-stalls.md, Delayed write rate)."""
_NEAR_STOP_STEP: Final = 0.6


def leveled_write_amplification(deeper_levels: float, multiplier: float) -> float:
    """Return bytes written per byte of a full leveled tree: flush 1, into an L1 as large as L0 2, each level below `multiplier`.

    The Tuning Guide counts so: with three levels below L1 and a multiplier of 10, 1 + 2 + 10 + 10 + 10 = 33. The write-ahead
    log is not counted.

    >>> leveled_write_amplification(3, 10)
    33.0
    """
    return 1.0 + 2.0 + float(multiplier) * deeper_levels


def levels_for(data_bytes: float, base_bytes: float, multiplier: float) -> int:
    """Return the number of levels below L0 whose targets hold the data; L1 has `base_bytes`.

    >>> levels_for(500e9, 512e6, 10)
    4
    """
    levels, target, held = 1, float(base_bytes), float(base_bytes)
    while held < data_bytes:
        target *= multiplier
        held += target
        levels += 1
    return levels


def held_by(levels: float, base_bytes: float, multiplier: float) -> float:
    """Return the bytes that this number of levels below L0 hold if all are full; L1 has `base_bytes`.

    >>> held_by(3, 256, 10)
    28416.0
    """
    return float(sum(base_bytes * multiplier**level for level in range(round(levels))))


def level_target(level: float, base_bytes: float, multiplier: float) -> float:
    """Return the target of a level below L0 in bytes, with static targets.

    >>> level_target(3, 256, 10)
    25600.0
    """
    return float(base_bytes * multiplier ** (level - 1))


def l0_bytes(write_buffer_bytes: float, merged: float, trigger: float) -> float:
    """Return the size of a full L0: write_buffer_size x min_write_buffer_number_to_merge x compaction trigger.

    The Tuning Guide asks for an L1 (max_bytes_for_level_base) of this size.

    >>> l0_bytes(64, 2, 4)
    512.0
    """
    return float(write_buffer_bytes) * merged * trigger


def dynamic_space_amplification(multiplier: float, levels: float = 8) -> float:
    """Return the space of a tree with dynamic level targets per byte of its last level: 1 + 1/m + 1/m² and so on.

    >>> round(dynamic_space_amplification(10), 2)
    1.11
    """
    return sum(1.0 / float(multiplier**level) for level in range(round(levels)))


def bloom_false_positives(bits_per_key: float) -> float:
    """Return the share of false positives of a Bloom filter with the best number of probes, bits x ln 2, rounded down.

    >>> round(bloom_false_positives(10), 4)
    0.0084
    """
    probes = max(1, math.floor(bits_per_key * math.log(2)))
    return float((1.0 - math.exp(-probes / bits_per_key)) ** probes)


def delayed_write_rate(start_bytes_per_s: float, steps: float, steps_near_stop: float = 0) -> float:
    """Return the delayed write rate after recomputes that find no less debt, some of them near a stop, in bytes per second.

    Each step takes a fifth, near a stop two fifths; the floor is 16 KiB/s.

    >>> round(delayed_write_rate(16.0 * 2**20, 10) / 2**20, 1)
    1.7
    """
    return max(16384.0, float(start_bytes_per_s * _DELAYED_STEP**steps * _NEAR_STOP_STEP**steps_near_stop))


def steps_to_rate(start_bytes_per_s: float, end_bytes_per_s: float) -> float:
    """Return the number of steps, each by a fifth, after which the delayed write rate is at most `end_bytes_per_s`.

    >>> steps_to_rate(16.0, 1.7)
    11.0
    """
    return float(math.ceil(math.log(end_bytes_per_s / start_bytes_per_s) / math.log(_DELAYED_STEP)))


def stall_state(value: float, slowdown: float, stop: float) -> str:
    """Return the state for a number of L0 files, or of pending bytes, against its two limits: free, delay or stop.

    >>> stall_state(20, 20, 36)
    'delay'
    """
    return "stop" if value >= stop else "delay" if value >= slowdown else "free"


def speedup_files(trigger: float, slowdown: float) -> float:
    """Return the number of L0 files from which compactions run in parallel (behaviour/write-stalls.md, Pressure).

    >>> speedup_files(4, 20)
    8.0
    """
    return float(min(2 * trigger, trigger + (slowdown - trigger) // 4))


def sustainable(work: float, room: float) -> str:
    """Return yes if the background work of a period fits into the bandwidth that clients leave, otherwise no.

    >>> sustainable(6120, 10980)
    'yes'
    """
    return "yes" if work <= room else "no"


FORMULAS: Final[dict[str, Callable[..., Any]]] = {
    formula.__name__: formula
    for formula in (
        leveled_write_amplification, levels_for, held_by, level_target, l0_bytes, dynamic_space_amplification,
        bloom_false_positives, delayed_write_rate, steps_to_rate, stall_state, speedup_files, sustainable,
    )
} | {"minimum": min, "maximum": max, "rounded": round}  # fmt: skip
"""Formulas that expressions may call."""
