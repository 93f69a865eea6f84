"""Core contention and waits for a core: the extra time of a thread while other threads run.

`runnable` is the number of runnable threads, `cores` the number of cores; `core_contention` and `time_slice` are
constants of `Host`. Sources: docs/decisions/0012 and 0015; Linux kernel/sched/fair.c for time slices.
"""

from __future__ import annotations

from lsmlab.models.costs.cost import Cost, of_host


def slowdown(runnable: float, cores: float, core_contention: float) -> float:
    """Return the factor by which core contention lengthens the CPU time of a thread (1: it runs alone).

    Threads on other cores share the processor's clock, caches and memory with it.
    """
    return 1.0 + core_contention * max(0.0, min(runnable, cores) - 1.0)


def core_share(runnable: float, cores: float, core_contention: float) -> float:
    """Return the speed of each of the `runnable` threads, as a share of its speed when it runs alone."""
    if runnable <= 0.0:
        return 1.0
    share = min(1.0, cores / runnable)
    return share / slowdown(runnable, cores, core_contention) if core_contention > 0.0 else share


def excess(runnable: float, cores: float) -> float:
    """Return the time that a thread waits for a core, divided by its CPU time."""
    return max(0.0, runnable / cores - 1.0)


def mean_wait_s(runnable: float, cores: float, time_slice: float) -> float:
    """Return the mean wait for a core in seconds: half a time slice, longer if several threads queue for each core."""
    return 0.5 * time_slice * max(1.0, runnable / cores - 1.0)


def busy_probability(runnable: float, cores: float) -> float:
    """Return the probability that one more thread than `runnable` finds no free core."""
    return min(1.0, max(0.0, runnable - cores + 1.0))


def wake_ups(requests: float, taken_share: float) -> Cost:
    """Return the time that a job waits for a core after its device requests.

    The job sleeps during each of `requests`. After a share `taken_share` of them it finds no free core and waits for
    one time slice (docs/decisions/0015).
    """
    return Cost(of_host(taken_share, time_slice=requests))


def client_wake_up(taken_share: float) -> Cost:
    """Return the mean time that a client waits for a core after one sleep.

    With the probability `taken_share` it finds no free core (docs/decisions/0038).
    """
    return Cost(of_host(taken_share, client_wake_up=1.0))
