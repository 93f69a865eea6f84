"""SILK under YCSB (engines.md §4.5 to §4.7): P99 at a steady rate, throughput at full speed.

At a rate that both engines serve, throughput is that rate; a cost can only show when clients are held to none.
"""

from __future__ import annotations

from typing import Final

from lsmlab.validation.papers.claim import Claim, Setting
from lsmlab.validation.papers.silk_measures import latency, ratio, served
from lsmlab.validation.papers.silk_settings import run

KEYS: Final = {"uniform": (), "zipf": ("workload.distribution=scrambled_zipfian",)}
WRITE_HEAVY: Final = ("a", "f")
READS: Final = ("b", "c", "d", "e")
_FULL_SPEED: Final = ("workload=full_speed", "~workload.rate", "~workload.queue_per_thread")


def _mix(**shares: float) -> tuple[str, ...]:
    return tuple(f"workload.{kind}={share}" for kind, share in shares.items())


MIXES: Final = {
    "a": (), "b": _mix(read=0.95, update=0.05), "c": _mix(read=1, update=0),
    "d": (*_mix(read=0.95, update=0, insert=0.05), "workload.distribution=latest"),
    "e": _mix(read=0, update=0, scan=0.95, insert=0.05), "f": _mix(update=0, read_modify_write=0.5),
}  # fmt: skip


def steady(engine: str, mix: str, keys: str = "uniform") -> Setting:
    """An engine at 18 K op/s in open loop."""
    return run(f"{engine}_{mix}_{keys}", "ycsb", f"engine={engine}", *MIXES[mix], *KEYS[keys])


def full_speed(engine: str, mix: str, keys: str = "uniform") -> Setting:
    """An engine with the eight workers at full speed."""
    return run(f"{engine}_{mix}_{keys}_full_speed", "ycsb", f"engine={engine}", *_FULL_SPEED, *MIXES[mix], *KEYS[keys])


def _p99(mix: str, keys: str) -> Claim:
    above, below = steady("rocksdb", mix, keys), steady("silk", mix, keys)
    return Claim(
        f"silk.ycsb.{mix}_{keys}.p99", f"P99 write of RocksDB over SILK, YCSB {mix.upper()}, {keys} keys, 18 K op/s",
        "up to two orders of magnitude", (2.0, 316.0), 1.0, (above, below),
        ratio(latency("write", "p99"), above.name, below.name), "flushes and L0 compactions come first",
        tolerance_from="as silk.peaks.rocksdb: from a factor of two to two orders and a half",
    )  # fmt: skip


def _throughput(mix: str, keys: str) -> Claim:
    ours, theirs = full_speed("silk", mix, keys), full_speed("rocksdb", mix, keys)
    return Claim(
        f"silk.ycsb.{mix}_{keys}.throughput", f"operations per second of SILK over RocksDB, YCSB {mix.upper()}, {keys} keys, "
        "full speed", "at most 7 % lower", (0.93, 1.07), 0.5, (ours, theirs), ratio(served, ours.name, theirs.name),
        "the same work in another order", tolerance_from="the paper's bound, either way; neutral: half",
    )  # fmt: skip


def _reads(mix: str) -> Claim:
    ours, theirs = full_speed("silk", mix), full_speed("rocksdb", mix)
    return Claim(
        f"silk.ycsb.{mix}.throughput", f"operations per second of SILK over RocksDB, YCSB {mix.upper()}, full speed",
        "no cost to speak of", (0.965, 1.035), 0.5, (ours, theirs), ratio(served, ours.name, theirs.name),
        "there is hardly any background work to order", tolerance_from="half of the 7 % of writes, either way; neutral: half",
    )  # fmt: skip


def _most() -> Claim:
    pairs = [(steady("rocksdb", mix, keys), steady("silk", mix, keys)) for mix in WRITE_HEAVY for keys in KEYS]
    ratios = [ratio(latency("write", "p99"), above.name, below.name) for above, below in pairs]
    return Claim(
        "silk.ycsb.p99_most", "P99 write of RocksDB over SILK, YCSB A and F, uniform and Zipfian keys: the largest",
        "two orders of magnitude", (31.6, 316.0), 1.0, tuple(s for pair in pairs for s in pair),
        lambda outcomes: max(one(outcomes) for one in ratios), "flushes and L0 compactions come first",
        tolerance_from="the paper's words, half an order of magnitude either way",
    )  # fmt: skip


def _reads_alone() -> Claim:
    above, below = steady("rocksdb", "c"), steady("silk", "c")
    return Claim(
        "silk.ycsb.c.p99", "P99 read of RocksDB over SILK, YCSB C, 18 K op/s", 1.0, (0.8, 1.25), 2.0, (above, below),
        ratio(latency("read", "p99"), above.name, below.name), "without writes there is no background work",
        tolerance_from="reads alone are unaffected; range and neutral value as silk.motivation.p50",
    )  # fmt: skip


YCSB: Final[tuple[Claim, ...]] = (
    *(_p99(mix, keys) for mix in WRITE_HEAVY for keys in KEYS), _most(),
    *(_throughput(mix, keys) for mix in WRITE_HEAVY for keys in KEYS), *(_reads(mix) for mix in READS), _reads_alone(),
)  # fmt: skip
