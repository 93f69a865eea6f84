"""Changes that an advice tries: the rows of the table that apply to a store, as overrides, in the order in which to try them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from lsmlab.models.engines.make import DEFAULT_FAMILY
from lsmlab.models.options.fields import DATABASE_OPTIONS, RocksDbOptions
from lsmlab.models.options.values import option_types
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.explain.holder_sentences import QueueFor, queue_for
from lsmlab.sim.store.memtables import WRITE_BUFFER_FULL
from lsmlab.sim.studies.candidate_rows import ChangeKind, Relief, Row, Symptom
from lsmlab.sim.studies.candidate_table import TABLE, in_effect
from lsmlab.sim.studies.present import OPTIONS, RATES, SHARED_BYTES, Present

_FAMILIES: Final = "++engine.families."
"""Head of an override of a column family's option, which the configuration need not have yet."""
_MIB: Final = 1 << 20
_SIZES: Final = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": _MIB, "KiB": 1 << 10}
_BYTES: Final = frozenset(f.name for f in fields(RocksDbOptions) if getattr(f.metadata.get("quantity"), "kind", "") == "bytes")
"""Options in bytes."""
_LEAST_SHARE: Final = 0.25
"""Share of the stalled time, or of all stalls, from which a resource or a column family counts beside the first."""
AT_ONCE: Final = "SetOptions, no restart"
"""Effort of a change that takes effect at once."""
AT_START: Final = frozenset((
    "min_write_buffer_number_to_merge", "max_write_buffer_size_to_maintain", "db_write_buffer_size", "compaction_pri",
    "use_direct_io_for_flush_and_compaction", "use_direct_reads", "rate_limiter_auto_tuned", "rate_limiter_mode", "bloom_bits",
    "compression_per_level",
))  # fmt: skip
"""Options that RocksDB reads only when it opens a store; SetOptions and SetDBOptions change the others at once."""
IN_CODE: Final = {
    "rate_limiter_bytes_per_sec": "RateLimiter::SetBytesPerSecond", "cache_size": "Cache::SetCapacity",
    "block_cache": "Cache::SetCapacity", "write_buffer_manager": "WriteBufferManager::SetBufferSize",
    "flush_threads": "Env::SetBackgroundThreads", "compaction_threads": "Env::SetBackgroundThreads",
}  # fmt: skip
"""Functions that change an option of an object at once."""
_NEW_FILES: Final = frozenset(("block_size", "bloom_bits", "enable_blob_files", "min_blob_size"))
"""Options of files, which old files get when they are compacted."""
_SMALL: Final = 0.125
"""Mean flush over memtable size below which most memtables were not full; overwritten keys and compression make it smaller."""
_STALLS: Final = {"memtables": "memtable", "l0": "l0", "pending": "pending"}
"""Kind of stall that a topic concerns."""
_WHERE: Final = {
    "memtables": "because all memtables were full", "l0": "because of too many L0 files", "pending": "because of compaction debt",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CandidateChange:
    """Change with the mechanism by which it may help."""

    overrides: tuple[str, ...]
    why: str
    kind: ChangeKind = ChangeKind.OPTIONS
    about: str = ""
    """What of the present state it concerns: a key of `condition`."""
    relieves: frozenset[Relief] = frozenset()
    """What it gives more of, or ends."""
    spares: frozenset[Relief] = frozenset()
    """What it needs less of."""
    restart: bool = False
    """Whether it makes an object of the store, or does without it."""

    @property
    def effort(self) -> str:
        """Return what it takes to make the change, in words."""
        if self.kind in (ChangeKind.OPTIONS, ChangeKind.COMPRESSION):
            options = {key.rpartition(".")[2] for key in self.keys}
            fixed = sorted(options & AT_START)
            calls = " and ".join(IN_CODE[name] for name in sorted(options & IN_CODE.keys()))
            effort = f"{calls}, no restart" if options <= IN_CODE.keys() else AT_ONCE
            effort = "restart with another object in the code" if self.restart else effort
            effort = f"restart: only then does RocksDB read {' and '.join(fixed)}" if fixed else effort
            old = self.kind is ChangeKind.COMPRESSION or options & _NEW_FILES
            return effort + ("; old files change when they are compacted" if old else "")
        if self.kind is ChangeKind.MIGRATION:
            return "restart and reorganization of all files (a full compaction)"
        if self.kind is ChangeKind.POLICIES:
            return "another storage engine, to which the data move" if "engine" in self.keys else "changed code of the engine"
        if self.kind is ChangeKind.APPLICATION:
            return "changed code or configuration of the application"
        if self.keys == {"device"}:
            return "a new drive, to which the data move"
        return "a larger machine or limit; restart"

    @property
    def name(self) -> str:
        """Return a short name without the prefix of RocksDB's options; a column family's option begins with the family's key."""
        return " ".join(_short(text) for text in self.overrides)

    @property
    def keys(self) -> set[str]:
        """Return the keys that the change sets."""
        return {text.partition("=")[0] for text in self.overrides}


def _short(override: str) -> str:
    """Return an override without the path of its option.

    >>> _short("engine.options.num_levels=5"), _short("++engine.families.lock.options.num_levels=5")
    ('num_levels=5', 'lock.num_levels=5')
    """
    key, equals, value = override.partition("=")
    if key.startswith(_FAMILIES):
        return f"{key.removeprefix(_FAMILIES).replace('.options.', '.', 1)}{equals}{value}"
    return override.removeprefix(f"{OPTIONS}.")


def name_of(parts: Sequence[CandidateChange]) -> str:
    """Return the name of changes that are made together."""
    return " + ".join(part.name for part in parts)


def candidates(present: Present, stalled: Sequence[str] = ()) -> list[CandidateChange]:
    """Return the changes to try: the rows of the table that apply to the store, in their order.

    `stalled`: names of the column families whose stalls hold writers back; options of a family are tried for these only, or
    for the default family (and with it for all families without values of their own) if there are none.
    """
    families = [family for name in stalled or (DEFAULT_FAMILY,) if (family := present.of_family(name)) is not None]
    found: dict[tuple[str, ...], CandidateChange] = {}
    for about, rows in TABLE.items():
        for row in rows:
            for state in families if is_of_family(row) else [present]:
                change = _change(about, row, state)
                if change is not None:
                    found.setdefault(change.overrides, change)
    return list(found.values())


def is_of_family(row: Row) -> bool:
    """Return whether a row changes options that a column family may have for itself."""
    return row.changes.keys() <= option_types().keys() - DATABASE_OPTIONS


def _change(about: str, row: Row, present: Present) -> CandidateChange | None:
    """Return a row with the values that follow from the present state; None if it changes nothing in effect."""
    if not row.where(present):
        return None
    texts = []
    for key, value in row.changes.items():
        of_rocksdb = key in option_types()
        now = present.value(key)
        if of_rocksdb and (now is None or not in_effect(key, present)):
            continue
        if not of_rocksdb and "." in key and now is None:
            continue
        then = value(present, now)
        if then is not None and then != now:
            path = f"{_FAMILIES}{present.family}.options" if present.family else OPTIONS
            texts.append(f"{f'{path}.{key}' if of_rocksdb else key}={_text(key, then)}")
    if not texts:
        return None
    family = f"column family {present.name}: " if present.family else ""
    return CandidateChange(tuple(texts), f"{family}{row.why}", row.kind, about, frozenset(row.relieves), frozenset(row.spares),
                           row.restart)  # fmt: skip


def stalled_families(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the column families of a run with a large share of its stalls, the most first; none if it has one family."""
    families = summary.get("column_families") or {}
    counts = {name: sum((family.get("stall_count") or {}).values()) for name, family in families.items()}
    total = sum(counts.values())
    return tuple(name for name in sorted(counts, key=lambda n: -counts[n]) if total and counts[name] >= _LEAST_SHARE * total)


_OF_STALLS: Final = (Symptom.MEMTABLE_STALL, Symptom.L0_STALL, Symptom.PENDING_STALL)
"""Kinds of stalls: each cause begins with one of them."""


_QUEUES: Final[Mapping[QueueFor, Relief]] = {
    QueueFor.DEVICE: Bottleneck.DEVICE_BANDWIDTH, QueueFor.CLIENTS: Symptom.CLIENTS,
}  # fmt: skip


def _has_small_flushes(summary: Mapping[str, Any]) -> bool:
    """Return whether most flushes were of memtables that were not full; of one family, their mean size tells."""
    databases = [one for group in (summary.get("databases") or {}).values() for one in group["each"]]
    families = [*(summary.get("column_families") or {}).values(), *databases]
    reasons: list[tuple[str, int]] = [count for family in families for count in (family.get("flush_reasons") or {}).items()]
    if reasons:
        return sum(n for reason, n in reasons if reason == WRITE_BUFFER_FULL) < 0.5 * sum(n for _, n in reasons)
    size, flushes = float((summary.get("options") or {}).get("write_buffer_size") or 0.0), int(summary.get("flush_count") or 0)
    return float(summary.get("flush_bytes") or 0.0) < _SMALL * size * flushes


def needs(summary: Mapping[str, Any]) -> list[Relief]:
    """Return what a run needs relief from: its bottleneck, the costliest causes of its stalls, then further resources.

    Without a bottleneck: what operations queue for, the causes of the few stalls, and reads.
    """
    found = summary.get("bottleneck") or {}
    resource = Bottleneck(found.get("resource") or Bottleneck.UNKNOWN)
    causes = found.get("lost_by_cause") or summary.get("stall_seconds") or summary.get("stall_count") or {}
    total = sum(value or 0.0 for value in causes.values())
    large = sorted((name for name in causes if total and (causes[name] or 0.0) >= _LEAST_SHARE * total), key=lambda n: -causes[n])
    kinds = [symptom for name in large for symptom in _OF_STALLS if name.startswith(symptom)]
    if resource is Bottleneck.NONE:
        queue = queue_for(summary)
        reads = [Symptom.READS] if summary.get("read_ops_per_s") else []
        return list(dict.fromkeys((*([_QUEUES[queue]] if queue else []), *kinds, *reads)))
    others = [Bottleneck(name) for name, share in (found.get("shares") or {}).items() if share >= _LEAST_SHARE]
    forced = [Symptom.SMALL_FLUSHES] if _has_small_flushes(summary) else []
    return list(dict.fromkeys((resource, *forced, *kinds, *others)))


def relieving(found: Sequence[CandidateChange], need: Relief, needed: Sequence[Relief] = ()) -> list[CandidateChange]:
    """Return the changes that relieve a need: those of different keys first, of these those that relieve more of `needed`."""
    mine = [change for change in found if need in change.relieves]
    keys = [frozenset(change.keys) for change in mine]
    again = {change.overrides: keys[:place].count(keys[place]) for place, change in enumerate(mine)}
    return sorted(mine, key=lambda change: (again[change.overrides], -len(change.relieves & set(needed))))


def promising(found: Sequence[CandidateChange], needed: Sequence[Relief], count: int) -> list[CandidateChange]:
    """Return the `count` most promising changes.

    First those that relieve what the store needs (`needs`), then those that spare it, then one of each topic in turn.
    """
    first = [change for need in needed for change in relieving(found, need, needed)]
    spare = [change for need in needed for change in found if need in change.spares]
    topics: dict[str, list[CandidateChange]] = {}
    for change in found:
        topics.setdefault(change.about, []).append(change)
    turns = [change for one in itertools.zip_longest(*topics.values()) for change in one if change is not None]
    return list({change.overrides: change for change in (*first, *spare, *turns)}.values())[:count]


def condition(about: str, summary: Mapping[str, Any]) -> str:
    """Return what a run showed of the part of the store that a change concerns, in words.

    `about`: a key of the table of candidates.
    """
    stalls, duration_s = summary.get("stall_seconds") or {}, float(summary.get("duration_s") or 0.0)
    if about in _STALLS and duration_s:
        shares = {kind: float(stalls.get(f"{_STALLS[about]}_{kind}") or 0.0) / duration_s for kind in ("stop", "slowdown")}
        return f"writers stood still {shares['stop']:.1%} of the time and were slowed {shares['slowdown']:.1%} {_WHERE[about]}"
    if about == "jobs":
        shares = (summary.get("bottleneck") or {}).get("shares") or {}
        jobs = (summary.get("options") or {}).get("max_background_jobs")
        share = f"{float(shares.get(Bottleneck.SLOTS) or 0.0):.0%} of the stalled time" if shares else "no stall"
        return f"{share} passed while work waited for a thread (max_background_jobs={jobs})"
    if about == "limiter" and (use := ((summary.get("bottleneck") or {}).get("uses") or {}).get("limiter")) is not None:
        return f"{use:.0%} of the rate limiter's rate was used during the stalls"
    if about == "reads" and (cache := summary.get("block_cache")) and cache.get("hit_rate") is not None:
        return f"the block cache had {cache['hit_rate']:.0%} of the blocks of reads"
    if about == "clients" and (over := summary.get("overload")):
        return f"{over['asked_ops_per_s']:,.0f} operations arrived per second, and {over['takes_ops_per_s']:,.0f} were served"
    if about == "blobs" and (blobs := summary.get("blobs")) and blobs.get("garbage_bytes") is not None:
        return f"{blobs['garbage_bytes'] / max(1.0, blobs['bytes']):.0%} of the bytes in blob files were garbage at the end"
    if about in ("levels", "universal", "blobs") and summary.get("write_amplification") is not None:
        return f"each user byte was written {summary['write_amplification']:.2f} times"
    if about == "cores" and (cpu := summary.get("cpu")):
        return f"flushes and compactions kept {cpu['background_busy_cores']:.1f} of {cpu['cores']:g} cores busy"
    if about in ("io", "device", "limits", "compression") and (device := summary.get("device")):
        use = f"the device was busy {device['utilisation']:.0%} of the time" if device.get("utilisation") is not None else ""
        return f"{use}, with {device['write_bytes_per_s'] / 1e6:,.0f} MB/s of writes".removeprefix(", with ")
    return f"writers were stopped or slowed {float(summary.get('stall_fraction') or 0.0):.1%} of the time"


def _text(key: str, value: object) -> str:
    """Return a value as an override has it.

    >>> _text("write_buffer_size", 1 << 21), _text("delayed_write_rate", 4e7), _text("compression", "kZSTD")
    ('2MiB', '40MB/s', 'kZSTD')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ":".join(map(str, value))
    if value and key.rpartition(".")[2] in RATES and isinstance(value, int | float):
        return f"{int(value) // _MIB}MiB/s" if value % _MIB == 0 else f"{value / 1e6:g}MB/s"
    if key in (*_BYTES, *SHARED_BYTES) and isinstance(value, int) and value:
        return next((f"{value // size}{unit}" for unit, size in _SIZES.items() if value % size == 0), str(value))
    return f"{value:g}" if isinstance(value, float) else str(value)
