"""Settings for SILK's claims: the experiments of the paper by engine and variant.

See (behaviour/evaluations.md, SILK's evaluation).
"""

from __future__ import annotations

from typing import Final

from lsmlab.validation.papers.claim import Setting


def run(name: str, experiment: str, *overrides: str) -> Setting:
    """Return an experiment of configs/experiment/silk_*.yaml with overrides."""
    return Setting(f"{experiment}:{name}", (f"experiment=silk_{experiment}", *overrides))


_AT: Final = ("engine=rocksdb_at", "engine.version=5.9")  # first release with an auto-tuned rate limiter
_TRIAD: Final = ("engine=triad", "engine.picker.wal_as_l0=false")  # the WAL is off in SILK's measurements
_ONLY_BANDWIDTH: Final = ("engine/scheduler=silk_bandwidth",)
_ONLY_PRIORITIES: Final = ("engine/scheduler=silk_priorities",)

PRODUCTION: Final = {
    "silk": run("silk", "production", "engine=silk"), "at": run("at", "production", *_AT),
    "rocksdb": run("rocksdb", "production", "engine=rocksdb"), "triad": run("triad", "production", *_TRIAD),
}  # fmt: skip
DAY: Final = run("day", "production", "engine=silk", "workload.duration=3000s")
_MEMORY: Final = ("engine.options.write_buffer_size=100MB", "engine.options.max_write_buffer_number=10")
_LONG: Final = "workload.duration=2500s"
"""Override for the time of a collapse: with a limit of 90 MB/s L0 is full after 1,600 s."""

MOTIVATION: Final = {
    "rocksdb": run("rocksdb", "motivation"), "triad": run("triad", "motivation", *_TRIAD),
    "control": run("control", "motivation", "engine.options.disable_auto_compactions=true"),
    **{
        f"fixed{rate}": run(f"fixed{rate}", "motivation", f"engine.options.rate_limiter_bytes_per_sec={rate}MB/s", _LONG)
        for rate in (50, 75, 90)
    },
    "memory": run("memory", "motivation", *_MEMORY),
    "memory_long": run("memory_long", "motivation", *_MEMORY, _LONG),
    "rocksdb_long": run("rocksdb_long", "motivation", _LONG),
}  # fmt: skip
PEAKS: Final = {
    **{str(s): run(f"silk_{s}s", "peaks", "engine=silk", f"workload.peak={s}s") for s in (10, 50, 100)},
    "rocksdb": run("rocksdb_50s", "peaks", "engine=rocksdb", "workload.peak=50s"),
}
HALVES: Final = {
    "both": run("both", "breakdown", "engine=silk"),
    "bandwidth": run("bandwidth", "breakdown", "engine=silk", *_ONLY_BANDWIDTH),
    "priorities": run("priorities", "breakdown", "engine=silk", *_ONLY_PRIORITIES),
    "unpreempted": run("unpreempted", "breakdown", "engine=silk", "engine.scheduler.preemption=false"),
    "reads": run("reads", "breakdown", "engine=silk", "engine.scheduler.limit_reads=true"),
}
ONE: Final = {
    "50": run("50:50", "one_peak", "engine=silk"),
    "90": run("90:10", "one_peak", "engine=silk", "workload.read=0.1", "workload.update=0.9"),
}
WIDE: Final = (
    "engine=silk", "initial_tree=null",
    "workload.value_size=4KiB", "workload.num=125M", "workload.peak=20s", "workload.peak_rate=40000",
    "workload.read=0.9", "workload.update=0.1",
)  # fmt: skip
"""Overrides for values of 4 KiB at 40 K op/s: the client bandwidth C is 164 MB/s, above T - I_min."""
PAUSES: Final = run("pause", "peaks", *WIDE)
