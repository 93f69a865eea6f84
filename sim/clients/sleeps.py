"""Sleeps of delayed writers: RocksDB's delay bucket gives the number of steps, the host the length of a step."""

from __future__ import annotations

from typing import Final, NamedTuple

from lsmlab.models.costs.host import Host
from lsmlab.models.policies.rocksdb.delay import sleep_shares
from lsmlab.models.version import Version

ASKED_S: Final = 1.001e-3
"""Sleep that RocksDB asks for per step; `Host.sleep_step` also contains timer slack and wake-up."""


class Sleeps(NamedTuple):
    """Sleeps of a delayed write group at one delayed write rate."""

    mean_s: float
    lengths: tuple[tuple[float, float], ...]
    """Pairs of (seconds, share of the sleeps)."""

    @property
    def longest_s(self) -> float:
        """Longest sleep in seconds."""
        return self.lengths[-1][0]


def sleeps_at(rate_bytes_per_s: float, group_bytes: float, busy_s: float, host: Host, version: Version) -> Sleeps:
    """Sleeps of a write group of `group_bytes` while the delayed rate is `rate_bytes_per_s`; `busy_s`: its time without one."""
    shares = sleep_shares(rate_bytes_per_s, group_bytes, busy_s, host.sleep_step, version) or ((1, 1.0),)
    total = sum(share for _, share in shares)
    lengths = tuple((steps * host.sleep_step, share / total) for steps, share in shares)
    return Sleeps(sum(sleep_s * share for sleep_s, share in lengths), lengths)


def fixed_sleep(asked_s: float, host: Host) -> Sleeps:
    """Sleep of a throttle that asks for a fixed time (`ThrottleState.sleep_s`)."""
    sleep_s = asked_s + max(0.0, host.sleep_step - ASKED_S)
    return Sleeps(sleep_s, ((sleep_s, 1.0),))
