"""Claims of SILK under YCSB: P99 at a steady rate, throughput at full speed.

See (behaviour/evaluations.md, SILK's evaluation).

At a rate that both engines sustain, both have the same throughput. So a cost in throughput is visible only without a
rate limit on the clients; the released driver runs YCSB in this way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lsmlab.validation.papers.claim import Claim, Setting
from lsmlab.validation.papers.claim_data import claim
from lsmlab.validation.papers.silk_measures import latency, ratio, served
from lsmlab.validation.papers.silk_settings import run

KEYS: Final = {
    "uniform": (), "zipf": ("workload.distribution=scrambled_zipfian",), "latest": ("workload.distribution=latest",),
}  # fmt: skip
DRAWN: Final = ("uniform", "zipf")
"""Key distributions of the write-heavy mixes; mix D reads the latest keys, the others use uniform keys."""
WRITE_HEAVY: Final = ("a", "f")
READS: Final = ("b", "c", "d", "e")
_UNMONITORED: Final = ("engine/scheduler=silk_priorities",)
"""Override for the released driver (tools/db_bench_tool.cc): YCSBWorkloadA to F are closed loops, and the thread that measures
the clients and sets the limit of background I/O exists in LongPeakTest alone (background/silk.md, Against the paper)."""
_FULL_SPEED: Final = ("workload=full_speed", "~workload.rate", "~workload.queue_per_thread")


def _mix(**shares: float) -> tuple[str, ...]:
    return tuple(f"workload.{kind}={share}" for kind, share in shares.items())


MIXES: Final = {
    "a": (), "b": _mix(read=0.95, update=0.05), "c": _mix(read=1, update=0),
    "d": _mix(read=0.95, update=0, insert=0.05),
    "e": _mix(read=0, update=0, scan=0.95, insert=0.05), "f": _mix(update=0, read_modify_write=0.5),
}


def steady(engine: str, mix: str, keys: str = "uniform") -> Setting:
    """Return an engine at 18 K op/s in open loop."""
    return run(f"{engine}_{mix}_{keys}", "ycsb", f"engine={engine}", *MIXES[mix], *KEYS[keys])


def full_speed(engine: str, mix: str, keys: str = "uniform") -> Setting:
    """Return an engine with eight workers at full speed (closed loop), as the released driver runs YCSB."""
    engines = (f"engine={engine}", *(_UNMONITORED if engine == "silk" else ()))
    return run(f"{engine}_{mix}_{keys}_full_speed", "ycsb", *engines, *_FULL_SPEED, *MIXES[mix], *KEYS[keys])


def _p99(mix: str, keys: str) -> Claim:
    above, below = steady("rocksdb", mix, keys), steady("silk", mix, keys)
    return claim(f"silk.ycsb.{mix}_{keys}.p99", (above, below), ratio(latency("write", "p99"), above.name, below.name))


def _throughput(mix: str, keys: str) -> Claim:
    ours, theirs = full_speed("silk", mix, keys), full_speed("rocksdb", mix, keys)
    return claim(f"silk.ycsb.{mix}_{keys}.throughput", (ours, theirs), ratio(served, ours.name, theirs.name))


def _reads(mix: str) -> Claim:
    keys = "latest" if mix == "d" else "uniform"
    ours, theirs = (replace(full_speed(engine, mix, keys), seeds=1) for engine in ("silk", "rocksdb"))
    return claim(f"silk.ycsb.{mix}.throughput", (ours, theirs), ratio(served, ours.name, theirs.name))


def _most() -> Claim:
    pairs = [(steady("rocksdb", mix, keys), steady("silk", mix, keys)) for mix in WRITE_HEAVY for keys in DRAWN]
    ratios = [ratio(latency("write", "p99"), above.name, below.name) for above, below in pairs]
    return claim("silk.ycsb.p99_most", tuple(s for pair in pairs for s in pair), lambda o: max(one(o) for one in ratios))


def _reads_alone() -> Claim:
    above, below = steady("rocksdb", "c"), steady("silk", "c")
    return claim("silk.ycsb.c.p99", (above, below), ratio(latency("read", "p99"), above.name, below.name))  # fmt: skip


YCSB: Final[tuple[Claim, ...]] = (
    *(_p99(mix, keys) for mix in WRITE_HEAVY for keys in DRAWN), _most(),
    *(_throughput(mix, keys) for mix in WRITE_HEAVY for keys in DRAWN), *(_reads(mix) for mix in READS), _reads_alone(),
)  # fmt: skip
