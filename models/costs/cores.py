"""Core contention and waits for a core: how much longer a thread computes beside others.

`wanted` threads want one of `cores`; `core_contention` and `time_slice` are the constants of `Host`. Sources:
docs/decisions/0012 and 0015; Linux kernel/sched/fair.c for time slices.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.costs.cost import Cost, of_host
from lsmlab.models.sums import float_sum


def neighbours(wanted: float, cores: float) -> float:
    """Further threads that run beside a running one."""
    return max(0.0, min(wanted, cores) - 1.0)


def slowdown(wanted: float, cores: float, core_contention: float) -> float:
    """How much longer a thread computes on a core of its own: clock, caches and memory are shared with its neighbours."""
    return 1.0 + core_contention * neighbours(wanted, cores)


def core_share(wanted: float, cores: float, core_contention: float) -> float:
    """Part of an unshared core that each of the `wanted` threads gets."""
    if wanted <= 0.0:
        return 1.0
    share = min(1.0, cores / wanted)
    return share / slowdown(wanted, cores, core_contention) if core_contention > 0.0 else share


def excess(wanted: float, cores: float) -> float:
    """Time that a thread waits for a core by the time that it computes."""
    return max(0.0, wanted / cores - 1.0)


def mean_wait_s(wanted: float, cores: float, time_slice: float) -> float:
    """Mean wait for a core: half a time slice, longer where several threads come first."""
    return 0.5 * time_slice * max(1.0, wanted / cores - 1.0)


def taken(wanted: float, cores: float) -> float:
    """Probability that one thread more than these `wanted` finds none of the cores free."""
    return min(1.0, max(0.0, wanted - cores + 1.0))


def wake_ups(requests: float, taken_share: float) -> Cost:
    """Wait of a job that slept for `requests` of the device and found all cores taken after `taken_share` of them.

    A time slice each time (docs/decisions/0015).
    """
    return Cost(of_host(taken_share, time_slice=requests))


def contended(computing_s: float, threads: Sequence[tuple[float, float]], cores: float) -> Cost:
    """Time that core contention adds to `computing_s` of CPU time.

    `threads`: (share of the time, threads that want a core in it).
    """
    mean = float_sum(share * (1.0 + excess(wanted, cores)) * neighbours(wanted, cores) for share, wanted in threads)
    return Cost(of_host(core_contention=computing_s * mean))
