"""Claims of the ADOC paper (Yu et al., FAST 2023) in its setting: fillrandom for an hour on four devices.

See (background/adoc.md, Three queues and one pool of servers).

Fig. 12 of the evaluation has absolute figures. The constants of the platform were not fitted to them, but to public
LOGs of the same machine. Most accepted ranges were written before the first simulation; those of absolute throughput,
YCSB and P99 were written after the first runs of RocksDB and ADOC (docs/reference/papers.md).
"""

from __future__ import annotations

from typing import Final

from lsmlab.validation.papers.adoc_measures import (
    DEVICES,
    best_over,
    ends,
    job_speed,
    knee,
    lowest_stalls,
    memtable_bytes,
    more_pending,
    of,
    on_all_devices,
    ops,
    p99,
    ratio,
    ratio_to_silk,
    redundancy_peak,
    scheme,
    silk_order,
    slowest_is_flush,
    smallest_gain,
    stalled,
    sweep_of,
    ycsb,
)
from lsmlab.validation.papers.claim import Claim
from lsmlab.validation.papers.claim_data import claim

PAPER: Final = "adoc"


def against(other: str, device: str) -> list[Claim]:
    """Return the claims of higher throughput and fewer stall seconds than a baseline on one device."""
    ours, theirs = scheme("adoc", device), scheme(other, device)
    return [
        claim(f"adoc.{device}.throughput_vs_{other}", (ours, theirs), ratio(ops, ours.name, theirs.name)),
        claim(f"adoc.{device}.stall_vs_{other}", (ours, theirs), ratio(stalled, ours.name, theirs.name)),
    ]  # fmt: skip


def _throughput() -> list[Claim]:
    silk_o, adoc = {d: scheme("silk_o", d) for d in DEVICES}, {d: scheme("adoc", d) for d in DEVICES}
    claims = [c for other in ("rocksdb", "rocksdb_at") for device in DEVICES for c in against(other, device)]
    claims += [
        claim("adoc.throughput_vs_at_most", on_all_devices("adoc", "rocksdb_at"), best_over(ops, "adoc", "rocksdb_at", max)),
        claim("adoc.stall_vs_at_most", on_all_devices("adoc", "rocksdb_at"), best_over(stalled, "adoc", "rocksdb_at", min)),
    ]  # fmt: skip
    for device in ("pmem", "nvme"):
        pair = (adoc[device], silk_o[device])
        claims.append(claim(f"adoc.{device}.throughput_vs_silk_o", pair, ratio(ops, pair[0].name, pair[1].name)))
    claims += [
        claim("adoc.pmem.stall_vs_silk_o", (adoc["pmem"], silk_o["pmem"]),
              ratio(stalled, adoc["pmem"].name, silk_o["pmem"].name)),
        claim("adoc.silk_order", tuple(scheme(f"silk_{s}", d) for s in "dpo" for d in ("pmem", "nvme")), silk_order),
        claim("adoc.nvme.defaults_vs_silk", tuple(scheme(s, "nvme") for s in ("rocksdb", "rocksdb_at", "silk_d", "silk_p")),
              ratio_to_silk),
    ]  # fmt: skip
    for device in DEVICES:
        pair = (adoc[device], silk_o[device])
        claims.append(claim(f"adoc.{device}.p99_vs_silk_o", pair, ratio(p99, pair[0].name, pair[1].name)))
    return claims


def _mechanism() -> list[Claim]:
    nvme = sweep_of("nvme")
    others = ("rocksdb", "rocksdb_at", "silk_d", "silk_p", "silk_o", "adoc")
    claims = [
        claim("adoc.nvme.lowest_memory_and_l0_stalls", tuple(scheme(s, "nvme") for s in others), lowest_stalls),
        claim("adoc.nvme.pending_stalls_rise", tuple(scheme(s, "nvme") for s in ("adoc", "silk_p", "silk_o")), more_pending),
        claim("adoc.nvme.l0_stalls_fall", (nvme[0], nvme[-1]), ends(lambda r: stalled(r, "l0"), "nvme")),
        claim("adoc.nvme.memory_stalls_rise", (nvme[0], nvme[-1]), ends(lambda r: stalled(r, "memtable"), "nvme")),
        claim("adoc.nvme.pending_stalls_peak", nvme, redundancy_peak),
        claim("adoc.nvme.flush_speed_falls", (nvme[0], nvme[-1]), ends(lambda r: job_speed(r, "flush"), "nvme")),
        claim("adoc.nvme.flush_is_slowest", (nvme[-1],), slowest_is_flush),
    ]  # fmt: skip
    return claims + [claim(f"adoc.{device}.knee", sweep_of(device), knee(device)) for device in ("pmem", "nvme")]


def _halves() -> list[Claim]:
    def half(knob: str, device: str, other: str) -> Claim:
        mine, theirs = scheme(f"adoc_{knob}", device), scheme(other, device)
        return claim(f"adoc.{device}.adoc_{knob}_vs_{other}", (mine, theirs), ratio(ops, mine.name, theirs.name))

    return [
        half("t", "pmem", "rocksdb"),
        half("t", "hdd", "adoc"),
        half("b", "hdd", "rocksdb"),
        half("b", "pmem", "adoc"),
        claim("adoc.both_best", on_all_devices("adoc", "adoc_t", "adoc_b"), smallest_gain),
    ]  # fmt: skip


def _absolute() -> list[Claim]:
    runs = {"nvme": ("rocksdb", "rocksdb_at", "silk_p", "silk_o", "adoc"), "pmem": ("silk_o", "adoc")}
    return [
        claim(f"adoc.{device}.{name}_ops", (scheme(name, device),), of(ops, f"{name}_{device}"))
        for device, names in runs.items()
        for name in names
    ]


def _ycsb() -> list[Claim]:
    claims = []
    for workload in ("load", "a", "b", "c", "f"):
        ours, theirs = ycsb("adoc", workload), ycsb("silk_o", workload)
        claims.append(claim(f"adoc.ycsb_{workload}.throughput_vs_silk_o", (ours, theirs), ratio(ops, ours.name, theirs.name)))
    ours, theirs = ycsb("adoc", "load"), ycsb("silk_o", "load")
    claims.append(claim("adoc.ycsb.memory_vs_silk_o", (ours, theirs), ratio(memtable_bytes, theirs.name, ours.name)))
    return claims


CLAIMS: Final = (*_absolute(), *_throughput(), *_mechanism(), *_halves(), *_ycsb())
