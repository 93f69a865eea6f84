"""Numbers of a run for summary.json, computed from its records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from lsmlab.models.devices.make import DeviceSetup
from lsmlab.models.policies.decisions import THROTTLE_CAUSES
from lsmlab.models.tree.merge import live_keys
from lsmlab.models.tree.sst import bloom_filter_bytes
from lsmlab.sim.clients.all_clients import AllClients
from lsmlab.sim.clients.group import WRITE, ClientGroup
from lsmlab.sim.clients.latency import Floats, LatencyDistribution, Unstalled, waiting_mixture
from lsmlab.sim.machine.device_station import DeviceStation, TransferLog
from lsmlab.sim.machine.machine import Consumer, Machine
from lsmlab.sim.results.job_sums import JobSums, write_amplification
from lsmlab.sim.results.level_tables import compaction_stats, files_per_level, level_rows
from lsmlab.sim.results.series import waiting_pieces
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.records import CAUSES, shown_causes

if TYPE_CHECKING:
    from lsmlab.sim.setup import FamilySetup, Setup

_YEAR_S: Final = 365.25 * 86400.0


def latency_of(
    groups: Sequence[ClientGroup], kinds: Sequence[int], seconds: Floats
) -> tuple[LatencyDistribution | None, Floats]:
    """Return the latency distribution of the operations of client groups, and its pieces; None without such operations.

    `kinds`: (WRITE,), or READ, SCAN or both; `seconds`: edges of the intervals of the pieces, in s.
    """
    unstalled: list[Unstalled] = []
    tables: list[Floats] = []
    for group in groups:
        share = sum(group.shares[k] for k in kinds)
        if share == 0.0:
            continue
        pieces = _group_pieces(group, kinds, seconds, share)
        counted = [item for kind in kinds for item in group.unstalled.of(kind)]
        total = group.served * share
        plain = sum(u.count for u, _, _ in counted)
        excess = plain + float(pieces[:, 1].sum()) - total
        scale = max(0.0, 1.0 - excess / plain) if plain > 0 else 0.0
        for part, busy, residual_s in counted:
            scaled = Unstalled(part.count * scale, part.mean_s, part.spread)
            if group.closed:
                unstalled.append(scaled)
            else:
                plain_part, waiting = waiting_mixture(scaled, busy, group.servers, residual_s)
                unstalled.append(plain_part)
                tables.append(waiting)
        tables.append(pieces)
    if not unstalled and not tables:
        return None, np.empty((0, 4))
    pieces = np.concatenate(tables) if tables else np.empty((0, 4))
    distribution = LatencyDistribution(unstalled, pieces)
    return (distribution if distribution.count > 0 else None), pieces


def _group_pieces(group: ClientGroup, kinds: Sequence[int], seconds: Floats, share: float) -> Floats:
    own = group.write_pieces.table() if WRITE in kinds else np.empty((0, 4))
    queued = waiting_pieces(group, seconds)
    if len(queued):
        queued = queued.copy()
        queued[:, 1] *= share  # all operations of a group wait in one queue, reads behind stalled writes
    return np.concatenate((own, queued))


def summarise(
    setup: Setup, machine: Machine, families: Sequence[ColumnFamily], clients: AllClients, jobs: JobSums, duration_s: float
) -> dict[str, Any]:
    """Return all numbers of summary.json except latencies, chains, memory, reads, and facts of the caller such as the seed."""
    stations, cores = [volume.device for volume in machine.volumes], machine.cores
    live, unique = _space(families)
    cold = sum(f.size_bytes for family in families for f in family.files() if f.cold) if machine.cold is not machine.main else 0
    return {
        **_throughput(clients, duration_s),
        **_work(jobs, sum(family.ingested_bytes for family in families)),
        **_blobs(families, jobs),
        **_wals(families),
        "read_amplification": None,
        "space_amplification": max(1.0, live / unique) if unique > 0 else 1.0,
        "live_bytes": live,
        "live_entries": sum(s.tree.live_entries() for s in families),
        "preloaded_entries": sum(s.recorder.entries_preloaded for s in families),
        "dropped_entries": sum(s.recorder.entries_dropped_by_drop for s in families),
        "device_bytes_written": sum(station.write_bytes for station in stations),
        "device_bytes_read": sum(station.read_bytes for station in stations),
        **_stalls(families, clients, duration_s),
        "files_per_level": files_per_level(families),
        "levels": level_rows(families, jobs),
        "compaction_stats": compaction_stats(families, jobs),
        "device": _device_facts(setup.setting.device, machine.device, live - cold, duration_s),
        **_devices(setup, machine, live - cold, cold, duration_s),
        "cpu": {
            "cores": cores.cores,
            "background_core_seconds": cores.busy_s,
            "background_busy_cores": cores.busy_s / duration_s,
        },
    }


def _throughput(clients: AllClients, duration_s: float) -> dict[str, Any]:
    traffic = clients.totals()
    reported = sum(g.served for g in clients.groups if not g.spec.background)
    return {
        "duration_s": duration_s,
        "ops_per_s": reported / duration_s,
        "write_ops_per_s": traffic.writes / duration_s,
        "read_ops_per_s": traffic.reads / duration_s,
        "operations": reported,
        "user_bytes_written": clients.user_bytes_written(),
    }


def _work(jobs: JobSums, ingested_bytes: int) -> dict[str, Any]:
    """Return counts, bytes and write amplification of background jobs."""
    kinds = jobs.count("kind")
    flush_bytes = jobs.where("kind", "flush").moved("write")
    merges = jobs.where("kind", "compaction")
    compaction_bytes = merges.moved("write")
    reasons = jobs.count("reason") - jobs.where("kind", "flush").count("reason")
    return {
        "flush_count": kinds["flush"],
        "flush_bytes": flush_bytes,
        "compaction_count": len(merges),
        "trivial_move_count": kinds["trivial_move"],
        "drop_count": kinds["drop"],
        "link_count": kinds["link"],
        "discarded_count": kinds["discarded"],
        "discarded_bytes": jobs.where("kind", "discarded").whole("write_bytes"),
        "halted_s": jobs.real("halted_s"),
        "job_reasons": dict(sorted(reasons.items())),
        "compaction_read_bytes": merges.moved("read"),
        "compaction_write_bytes": compaction_bytes,
        "write_amplification": write_amplification(flush_bytes, compaction_bytes, ingested_bytes),
        **({"ingested_bytes": ingested_bytes} if ingested_bytes else {}),
    }


def _blobs(families: Sequence[ColumnFamily], jobs: JobSums) -> dict[str, Any]:
    """Return the key `blobs`: blob files at the end and bytes of their jobs; nothing for a store without blob files."""
    if not any(family.tree.blobs.stamp for family in families):
        return {}
    states = [family.tree.blobs for family in families]
    size, garbage = sum(state.size_bytes for state in states), sum(state.garbage_bytes for state in states)
    merges = jobs.where("kind", "compaction")
    return {
        "blobs": {
            "files": sum(len(state.files) for state in states),
            "bytes": size,
            "garbage_bytes": garbage,
            "space_amplification": size / (size - garbage) if size > garbage else 0.0,
            "flush_write_bytes": jobs.where("kind", "flush").blob_bytes("write"),
            "compaction_read_bytes": merges.blob_bytes("read"),
            "compaction_write_bytes": merges.blob_bytes("write"),
        }
    }


def _wals(families: Sequence[ColumnFamily]) -> dict[str, Any]:
    """Return the key `wal`: bytes of WALs that were not deleted; nothing for a store without WAL."""
    databases = list({id(f.database): f.database for f in families}.values())
    if not any(database.wals.peak_bytes for database in databases):
        return {}
    now = sum(database.wals.closed_bytes + database.current_wal_bytes() for database in databases)
    return {"wal": {"bytes": now, "peak_bytes": max(now, sum(database.wals.peak_bytes for database in databases))}}


def _stalls(families: Sequence[ColumnFamily], clients: AllClients, duration_s: float) -> dict[str, Any]:
    waits = clients.waits()
    causes = shown_causes(CAUSES[int(i)] for i in set(waits[:, 2].tolist()))
    seconds = {
        cause.value: float(((waits[:, 1] - waits[:, 0]) * waits[:, 3])[waits[:, 2] == CAUSES.index(cause)].sum())
        for cause in causes
    }
    return {
        "stall_fraction": sum(seconds.values()) / duration_s,
        "stall_seconds": seconds,
        "stall_count": {cause.value: sum(s.recorder.stall_counts[cause] for s in families) for cause in THROTTLE_CAUSES},
        "longest_stall_s": min(clients.longest_wait_s, duration_s),  # a delay may outlast the run
    }


def _space(families: Sequence[ColumnFamily]) -> tuple[float, float]:
    """Return (bytes of all files, bytes of the newest versions of all live keys)."""
    live = unique = 0.0
    for family in families:
        files = family.files()
        live += sum(f.size_bytes for f in files) + family.tree.blobs.size_bytes
        keys = live_keys(files) if family.content.apart is None else list(live_keys(files))
        unique += family.content.total_bytes(keys)
        unique += sum(family.content.blob_bytes(part) for part in keys) if isinstance(keys, list) else 0.0
    return live, unique


def _device_facts(setup: DeviceSetup, station: DeviceStation, live_bytes: float, duration_s: float) -> dict[str, Any]:
    facts = station.device.facts(station.state, live_bytes)
    written_per_s = station.write_bytes / duration_s
    years = None
    if facts.endurance_bytes is not None and written_per_s > 0:
        years = facts.endurance_bytes / written_per_s / _YEAR_S
    return {
        "name": station.device.name,
        "utilisation": _utilisation(setup, station, duration_s),
        "read_bytes_per_s": station.read_bytes / duration_s,
        "write_bytes_per_s": written_per_s,
        "page_cache_bytes": setup.page_cache_bytes,
        "flash_write_amplification": facts.flash_write_amplification,
        "endurance_bytes": facts.endurance_bytes,
        "endurance_used": station.write_bytes / facts.endurance_bytes if facts.endurance_bytes else None,
        "years_left": years,
    }


def _devices(setup: Setup, machine: Machine, live_bytes: float, cold_bytes: float, duration_s: float) -> dict[str, Any]:
    """Return the key `devices`: what each device of a store on several did; nothing for a store on one."""
    if len(machine.volumes) == 1:
        return {}
    setting = setup.setting
    found = {}
    for key, device, volume, stored in (
        ("device", setting.device, machine.main, live_bytes), ("cold_device", setting.cold_device, machine.cold, cold_bytes),
        ("wal_device", setting.wal_device, machine.wal, 0.0),
    ):  # fmt: skip
        if device is None:
            continue
        station = volume.device
        log = np.frombuffer(station.log.rows, dtype=np.float64).reshape(-1, 4)
        jobs = log[log[:, 0] % TransferLog.WRITE > Consumer.CLIENT]
        found[key] = {
            **_device_facts(device, station, stored, duration_s),
            "table_bytes": stored,
            "bytes_read": station.read_bytes,
            "bytes_written": station.write_bytes,
            "queue": float((jobs[:, 2] - jobs[:, 1]).sum()) / duration_s,
            "price_usd": device.settings.price_usd,
        }
    return {"devices": found}


def _utilisation(setup: DeviceSetup, station: DeviceStation, duration_s: float) -> float:
    """Return the used share of the device's time, or of the cap's bandwidth if larger."""
    caps = setup.settings
    shares = [station.busy_s / duration_s]
    for moved, cap in ((station.write_bytes, caps.write_cap), (station.read_bytes, caps.read_cap)):
        if cap:
            shares.append(moved / duration_s / cap)
    return min(1.0, max(shares))  # with the allowance of the first slice, a share can exceed 1


def last_second(curve_end_s: float) -> int:
    """Return the number of one-second intervals that cover the run."""
    return max(1, math.ceil(curve_end_s - 1e-9))


def memory_summary(setup: Setup, families: Sequence[ColumnFamily]) -> dict[str, Any]:
    """Return bytes by use at the end of the run.

    RocksDB keeps the filters and index blocks of open files in memory; by default all files stay open. With
    `cache_index_and_filter_blocks` they are in the block cache, and their bytes outside of it are 0.
    """
    filters = tails = metadata = 0.0
    for family in families:
        setup_of = next(one for one in setup.families if one.name == family.name)
        opened = {table_format: table_format.opened(family.latest_options.reads_filters) for table_format in family.table_formats}
        tail_bytes = {table_format: setup_of.entry_in(one).tail for table_format, one in opened.items()}
        files = list(family.tree.files())
        open_share = min(1.0, setup.engine.table_reads.open_tables / max(1, len(files)))
        if setup_of.engine.options.caches_tails:
            open_share = 0.0
        for file in files:
            table_format = opened[file.table_format]
            filter_bytes = bloom_filter_bytes(file.entries, table_format.bloom_bits, format_version=table_format.format_version)
            filters += open_share * filter_bytes
            tails += open_share * file.entries * tail_bytes[file.table_format]
        metadata += family.latest_options.picker.metadata_bytes(family.tree)
    parts = {
        "memtable_bytes": sum(s.options.max_write_buffer_number * s.options.write_buffer_size for s in families),
        "block_cache_bytes": setup.engine.options.cache_size,
        "filter_bytes": round(filters),
        "index_bytes": max(0, round(tails - filters)),
        "metadata_bytes": round(metadata),
    }
    if any(family.history.keeps for family in families):
        parts["memtable_history_bytes"] = round(sum(family.history.allocated_bytes for family in families))
    own = [one.engine.options for one in setup.families]
    if blob_cache_bytes := sum(options.blob_cache_size for options in own if options.use_blob_cache):
        parts["blob_cache_bytes"] = blob_cache_bytes
    return {**parts, "total_bytes": sum(parts.values())}


def family_summaries(setup: Setup, families: Sequence[ColumnFamily], jobs: JobSums) -> dict[str, dict[str, Any]]:
    """Return sizes, flushes, compactions, levels and stall counts by column family, summed over shards."""
    return {
        one.name: _family_summary(one, [f for f in families if f.name == one.name], jobs.where("column_family", one.name))
        for one in setup.families
    }


def _family_summary(setup: FamilySetup, families: Sequence[ColumnFamily], jobs: JobSums) -> dict[str, Any]:
    flushes, compactions = (jobs.where("kind", kind) for kind in ("flush", "compaction"))
    flush_bytes, compaction_bytes = (kind.moved("write") for kind in (flushes, compactions))
    return {
        "write_share": setup.share.writes,
        "read_share": setup.share.reads,
        **_blobs(families, jobs),
        "live_bytes": sum(f.tree.total_bytes() + f.tree.blobs.size_bytes for f in families),
        "live_entries": sum(f.tree.live_entries() for f in families),
        "preloaded_entries": sum(f.recorder.entries_preloaded for f in families),
        "dropped_entries": sum(f.recorder.entries_dropped_by_drop for f in families),
        "flush_count": len(flushes),
        "flush_bytes": flush_bytes,
        "flush_reasons": dict(sorted(flushes.count("reason").items())),
        "wal_kept_bytes": max(f.database.wals.kept_bytes.get(f.number, 0.0) for f in families),
        "compaction_count": len(compactions),
        "compaction_write_bytes": compaction_bytes,
        "write_amplification": write_amplification(flush_bytes, compaction_bytes, sum(f.ingested_bytes for f in families)),
        "stall_count": {cause.value: sum(f.recorder.stall_counts[cause] for f in families) for cause in THROTTLE_CAUSES},
        "files_per_level": files_per_level(families),
        "levels": level_rows(families, jobs),
        "compaction_stats": compaction_stats(families, jobs),
    }
