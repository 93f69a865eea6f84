"""Load inferred from a LOG: writes per second, sizes of keys and values, number and distribution of keys."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
from lsmlab.models.tree.blobs import RECORD_HEADER_BYTES
from lsmlab.models.tree.memtable import encoded_entry_bytes
from lsmlab.models.tree.sst import expected_block
from lsmlab.models.units import format_bytes
from lsmlab.sim.results.series import spread
from lsmlab.validation.importer.reading import Floats, Reading, grid
from lsmlab.validation.importer.statistics import busy_readers
from lsmlab.validation.importer.trace_load import TraceLoad, per_write, settings_beside_log
from lsmlab.validation.logs.history.jobs import LogFile, LogJob
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.statistics_tables import ingested

_ALL_APART: Final = 0.98
"""Share of the values in blob files from which on all of them count as large."""
_WHOLE_THREAD: Final = 0.05
"""Part of a thread that shows none."""
_SEVERAL: Final = 1.5
"""Least writes per fsync of the WAL that show several synced threads."""
_SEQUENCE_BYTES: Final = 8
"""Bytes per key that raw_key_size has in addition to the user key: 7 of sequence number and 1 of type (dbformat.h)."""
_TELLING: Final = 40.0
"""Least mean number of entries of memtables without a repeated key that tells the share of overwrites: with uniform keys it is
then below 5 %."""
_LEAST_INGEST: Final = 0.1 * 2**30
"""Least bytes of writes that statistics tell: they print 0.01 GB, so it is known to 5 %."""
_ASSUMED_KEY: Final = 16.0
"""Bytes of a key where the LOG has only those of whole entries: db_bench's default."""
_FEWEST_DROPS: Final = 25
"""Least number of entries dropped by flushes for an estimate of the number of keys (error 20 %)."""
_ORDERED_SHARE: Final = 0.9
"""Keys count as written in order if trivial moves are at least this share of the jobs that move data out of L0."""
_SAME_RATE: Final = (0.8, 1.25)
"""Ratios of the rates of writes in a trace and in a LOG that count as equal."""
_OLDER: Final = 0.1
"""Least share of a store's bytes that counts as older than its statistics; a judgement: the sums are rounded."""
_PRELOADED: Final = 0.5
"""Least share of the keys that the store held at the LOG's begin, from which on it held all of them."""
_SKEWED: Final = 0.5
"""Writes count as skewed if `keys`, which assumes uniform writes, is below this share of the keys in the store."""


@dataclass
class InferredWorkload:
    """Writes, reads and keys as inferred from a LOG."""

    key_bytes: float | None = None
    """Mean bytes of a user key."""
    value_bytes: float | None = None
    """Mean bytes of a value."""
    value_range_bytes: tuple[float, float] | None = None
    """Smallest and largest mean value size of an SST file; None where values are in blob files."""
    table_value_bytes: float | None = None
    """Mean bytes of a value in an SST file, if it differs from `value_bytes` because of blob files."""
    compression_ratio: float | None = None
    """Compressed over uncompressed bytes of compressed data blocks; None if the LOG shows no compressed file."""
    writes: float = 0.0
    """Number of flushed entries, deletes included."""
    delete_share: float = 0.0
    reads: float = 0.0
    """Number of point reads; 0 if neither a LOG's RocksDB tickers nor a trace tell it."""
    scans: float = 0.0
    """Number of scans, in the same way."""
    trace: TraceLoad | None = None
    """Trace of operations of the same store."""
    from_trace: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the workload group that the trace tells better than the LOG."""
    seconds: Floats = field(default_factory=lambda: np.empty(0))
    """Starts of the intervals of `rate_per_s`."""
    rate_per_s: Floats = field(default_factory=lambda: np.empty(0))
    """Writes per second."""
    source: str = "none"
    """Source of the rate: report (of db_bench), memtables, statistics (a mean), or none."""
    until_s: float = 0.0
    """End of the last interval of `rate_per_s`."""
    fills: Sequence[tuple[float, float, float]] = ()
    """Memtable fills: (start, end, entries), times in seconds (`memtable_spans`)."""
    keys: float | None = None
    """Number of distinct keys, if all writes were uniform."""
    keys_error: float | None = None
    """Relative standard error of `keys`."""
    key_bytes_assumed: bool = False
    """Whether only the sum of `key_bytes` and `value_bytes` is known."""
    keys_assumed: bool = False
    """Whether `keys` is only the number of writes, because the LOG shows neither flushes nor db_bench's Entries."""
    stored_keys: float = 0.0
    """Largest number of entries in one level below L0; their keys are distinct."""
    entries_before: float = 0.0
    """Number of entries in the store when the LOG began."""
    overwrite_share: float | None = None
    """Share of the writes whose key exists already."""
    pattern: str = "overwrite"
    """overwrite (uniform), skewed, insert (every key new, in random order) or insert_ordered."""
    zipf_constant: float | None = None
    synced: bool = False
    """Whether writes wait for an fsync of the WAL."""
    threads: int | None = None
    short_lived: bool = False
    """Of one column family: whether each key is deleted soon after it was put."""
    families: Mapping[str, InferredWorkload] = field(default_factory=dict)
    """Loads by column family; empty where all load is on the default family."""
    notes: list[str] = field(default_factory=list)

    @property
    def operations(self) -> Floats:
        """Writes in each interval of `rate_per_s`."""
        return self.rate_per_s * np.diff(np.append(self.seconds, self.until_s))

    @property
    def write_bytes(self) -> float:
        """Mean key and value of a write of one column family; a delete has no value."""
        return (self.key_bytes or 0.0) + (1.0 - self.delete_share) * (self.value_bytes or 0.0)

    @property
    def entry_bytes(self) -> float:
        """Mean key and value of an entry, over all column families; 0 where the LOG does not have them."""
        parts = self.families.values()
        writes = sum(part.writes for part in parts)
        if not writes:
            return (self.key_bytes or 0.0) + (self.value_bytes or 0.0)
        return sum(part.writes * part.write_bytes for part in parts) / writes


def infer_workload(reading: Reading) -> InferredWorkload:
    """Infer the load from the flushes, files and statistics of a LOG."""
    found = InferredWorkload()
    flushes = reading.jobs.done("flush")
    _sizes(found, reading, [f for job in flushes for f in job.outputs] or list(reading.jobs.files.values()), flushes)
    found.writes = float(sum(j.entries_in for j in flushes))
    deletes = sum(j.deletes_in for j in flushes)
    found.delete_share = deletes / found.writes if found.writes else 0.0
    found.fills = memtable_spans(reading)
    set_rate(found, reading)
    _before(found, reading)
    _keys(found, reading, flushes)
    found.compression_ratio = _compression_ratio(found, reading)
    found.reads = point_reads(reading.log, found.writes)
    found.synced = reading.writes_per_sync is not None
    found.threads = client_threads(reading.log) if reading.writes_per_sync is None else _synced_threads(reading.writes_per_sync)
    found.notes += _batches(reading)
    if (readers := busy_readers(reading)) is not None:
        found.threads = max(found.threads or 1, math.ceil(readers - _WHOLE_THREAD))
    return found


def with_trace(found: InferredWorkload, trace: TraceLoad) -> InferredWorkload:
    """Return the load of a LOG with what a trace of the same store tells: reads, distributions of keys and of sizes.

    Reads that the store counted itself stay. The trace's times are not used, because its clock may differ from the LOG's.
    """
    stored = round(max(found.stored_keys, found.entries_before, 0.0 if found.keys_assumed else found.keys or 0.0))
    entries = [float(number) for _, _, number in found.fills]
    trace = replace(trace, population=stored or None, memtable_entries=round(float(np.median(entries))) if entries else None)
    rate_per_s = float(found.operations.sum()) / found.until_s if found.until_s else None
    each = per_write(trace, rate_per_s)
    gets, seeks = each if each is not None and found.writes else (0.0, 0.0)
    notes = [*found.notes, *(f"trace: {note}" for note in trace.notes())]
    if found.reads and each is not None:
        notes.append(
            f"trace: {gets * found.writes:,.0f} gets follow from it; the {found.reads:,.0f} that the store counted are simulated"
        )
    if each is None:
        notes.append("trace: it has no writes and no times, so its reads cannot be set beside the writes of the LOG")
    traced_per_s = trace.writes_per_s
    if traced_per_s and rate_per_s and not _SAME_RATE[0] < traced_per_s / rate_per_s < _SAME_RATE[1]:
        notes.append(
            f"trace: {traced_per_s:,.0f} writes/s, but {rate_per_s:,.0f} in the LOG: it was sampled, or is of another time; reads"
            " are simulated in proportion to the writes"
        )
    settings = settings_beside_log(trace)
    if "num" in settings:
        settings["preload"] = float(found.entries_before >= _PRELOADED * settings["num"])
    return replace(
        found, reads=found.reads or gets * found.writes, scans=seeks * found.writes, trace=trace, from_trace=settings,
        notes=notes,
    )  # fmt: skip


def _sizes(found: InferredWorkload, reading: Reading, files: Sequence[LogFile], flushes: Sequence[LogJob]) -> None:
    told = [f for f in files if f.entries and f.raw_key_bytes]
    entries = sum(f.entries or 0 for f in told)
    if entries:
        values = [(f.raw_value_bytes, (f.entries or 0) - f.deletions) for f in told]
        found.key_bytes = max(1.0, sum(f.raw_key_bytes for f in told) / entries - _SEQUENCE_BYTES)
        puts = sum(n for _, n in values)
        found.value_bytes = sum(size for size, _ in values) / puts if puts else 0.0
        means = [size / n for size, n in values if n > 0]
        found.value_range_bytes = (min(means), max(means)) if means else None
        if any(job.blobs for job in reading.jobs.jobs):
            _blob_sizes(found, flushes)
        return
    setup = reading.log.bench_setup
    if "Keys" in setup and "Values" in setup:
        found.key_bytes, found.value_bytes = float(setup["Keys"]), float(setup["Values"])
        return
    statistics = reading.summary
    if statistics.get("operations") and (statistics.get("user_bytes_written") or 0.0) >= _LEAST_INGEST:
        mean = statistics["user_bytes_written"] / statistics["operations"]
        found.key_bytes, found.value_bytes, found.key_bytes_assumed = _ASSUMED_KEY, max(0.0, mean - _ASSUMED_KEY), True
        found.notes.append(
            f"keys of {_ASSUMED_KEY:g} bytes are assumed, the rest of the {mean:,.0f} bytes that the statistics show for a write "
            "is value"
        )
        return
    payload = [(j.payload_bytes, j.entries_in) for j in flushes if j.payload_bytes and j.entries_in]
    if payload:
        mean = sum(size for size, _ in payload) / sum(n for _, n in payload)
        found.key_bytes, found.value_bytes, found.key_bytes_assumed = _ASSUMED_KEY, max(0.0, mean - _ASSUMED_KEY), True
        found.notes.append("the LOG does not contain table properties: keys of 16 bytes are assumed, the rest is value")


def _blob_sizes(found: InferredWorkload, flushes: Sequence[LogJob]) -> None:
    """Replace the mean value size, which the SST files have as that of blob indexes where values are in blob files.

    The size follows from the bytes in the memtables; without these, from the records of blob files, which may be compressed.
    """
    found.table_value_bytes, found.value_range_bytes = found.value_bytes, None
    key = found.key_bytes or 0.0
    full = [job for job in flushes if job.payload_bytes and job.entries_in > job.deletes_in]
    puts = sum(job.entries_in - job.deletes_in for job in full)
    blobs, records = sum(job.blobs for job in flushes), sum(job.blob_write_bytes for job in flushes)
    if puts:
        overhead = encoded_entry_bytes(round(key), 0)
        payload = sum((job.payload_bytes or 0) - job.deletes_in * overhead for job in full)
        found.value_bytes = max(0.0, payload / puts - overhead - 1.0)  # a longer value takes a longer varint
    elif blobs:
        found.value_bytes = max(0.0, records / blobs - RECORD_HEADER_BYTES - key)
    else:
        found.notes.append(
            "workload: values are in blob files, and no flush shows their size; set workload.value_size to that of your values"
        )
        return
    written = sum(job.entries_out for job in flushes)
    if blobs and blobs < _ALL_APART * written:
        found.notes.append(
            f"workload: {blobs / written:.0%} of the values are in blob files; the load has one value size, so all of them or "
            "none are in the simulated ones. Set workload.value_size_distribution_type, value_size_min and value_size_max"
        )


def _compression_ratio(found: InferredWorkload, reading: Reading) -> float | None:
    """Return the data-block bytes of the compressed files, divided by those that the same entries take uncompressed."""
    files = [f for f in reading.jobs.files.values() if f.compression.compresses and f.entries and f.data_bytes]
    if not files or found.key_bytes is None:
        return None
    stored, keys = max(found.stored_keys, found.entries_before, 1.0), round(found.key_bytes)
    block = partial(expected_block, keys, population=max(found.keys or stored, stored), entries=stored)
    tombstones = sum(f.deletions for f in files)
    puts = sum(f.entries or 0 for f in files) - tombstones
    value_bytes = sum(f.raw_value_bytes for f in files) / puts if puts else 0.0
    raw_bytes = puts * block(value_bytes).entry_bytes
    raw_bytes += tombstones * block(0.0).entry_bytes if tombstones else 0.0
    return sum(f.data_bytes for f in files) / raw_bytes


def set_rate(found: InferredWorkload, reading: Reading) -> None:
    """Set the writes per second from db_bench's report, or else from the entries and fill time of each memtable."""
    if reading.report is not None:
        found.seconds, found.rate_per_s = reading.report
        found.source = "report"
        length = found.seconds[-1] - found.seconds[-2] if len(found.seconds) > 1 else 1.0
        found.until_s = float(found.seconds[-1] + length)
        return
    if not found.fills or reading.from_tables:
        _mean_rate(found, reading)
        return
    start, end, entries = (np.array(column, dtype=np.float64) for column in zip(*found.fills, strict=True))
    found.until_s = float(end.max())
    edges = grid(found.until_s)
    amounts = spread_writable(reading, start, end, entries, edges)
    found.seconds = edges[:-1]
    found.rate_per_s = amounts / np.maximum(np.diff(np.append(found.seconds, found.until_s)), 1e-9)
    found.source = "memtables"


def _mean_rate(found: InferredWorkload, reading: Reading) -> None:
    """Set one constant rate from the statistics, for a LOG without memtable fills."""
    told = reading.summary
    length, rate = told.get("operations_until_s"), told.get("write_ops_per_s")
    if length and rate and length > 1.0:
        found.seconds, found.rate_per_s = np.array([0.0, length / 2]), np.array([rate, rate])
        found.source, found.until_s, found.writes = "statistics", float(length), rate * length


def _before(found: InferredWorkload, reading: Reading) -> None:
    """Set the number of entries in the store when it was opened."""
    if reading.from_tables:
        _before_statistics(found, reading)
        return
    opening = reading.log.openings[0] if reading.log.openings else None
    if opening is not None and opening.sst_files == 0:
        return
    made = {f.number for job in reading.jobs.jobs for f in job.outputs}
    old = [f for number, f in reading.jobs.files.items() if number not in made]
    files = opening.sst_files if opening is not None and opening.sst_files is not None else len(old)
    in_table = found.value_bytes if found.table_value_bytes is None else found.table_value_bytes
    entry = (found.key_bytes or 16.0) + (in_table or 100.0)
    if old:
        found.entries_before = files * sum(f.size_bytes for f in old) / len(old) / entry
    elif files:
        table = max((f.size_bytes for f in reading.jobs.files.values()), default=0)
        found.entries_before = files * table / entry
    if files:
        found.notes.append(f"the store had {files:,} files when the LOG began; their entries are estimated from sizes")


def _before_statistics(found: InferredWorkload, reading: Reading) -> None:
    """Set the number of entries before the open from bytes: what the store has and was not flushed or ingested since."""
    told, entry = reading.summary, (found.key_bytes or 0.0) + (found.value_bytes or 0.0)
    live, flushed = told["live_bytes"], told["flush_bytes"]
    if live is None or flushed is None or not entry:
        return
    older = live - flushed - ingested(reading.log, "bytes")
    if older > _OLDER * live:
        found.entries_before = older / entry
        found.notes.append(
            f"the store had {format_bytes(older)} or more before its statistics begin: it has {format_bytes(live)}, and "
            f"{format_bytes(flushed)} were flushed"
        )


def _batches(reading: Reading) -> list[str]:
    """Return a note on writes of several keys each, by the last statistics; none without such."""
    dump = next((d for d in reversed(reading.log.dumps) if d.db.get("cumulative_writes")), None)
    keys = dump.db.get("cumulative_keys", 0.0) / dump.db["cumulative_writes"] if dump is not None else 0.0
    if keys < _SEVERAL:
        return []
    return [
        f"workload: a write has {keys:,.1f} keys, and rates count keys; each key is simulated as a write, which takes more "
        "CPU time and, with sync, as many fsyncs"
    ]


def _keys(found: InferredWorkload, reading: Reading, flushes: Sequence[LogJob]) -> None:
    pairs = [(j.entries_in, j.entries_in - j.entries_out) for j in flushes if j.entries_in and j.entries_out]
    dropped = sum(max(0, d) for _, d in pairs)
    merged = [j for j in reading.jobs.done("compaction") if j.entries_in]
    removed = sum(j.entries_in - j.entries_out for j in merged)
    found.stored_keys = _stored(reading) or float(max((j.entries_out for j in flushes), default=0))
    if found.source == "statistics":
        entries = reading.log.bench_setup.get("Entries", "")
        dropped_late = sum(row["entries_dropped"] for row in reading.summary["levels"])
        if reading.summary["levels"] and not dropped_late:
            found.pattern, found.overwrite_share = "insert", 0.0
            return
        found.keys_assumed = not entries.isdigit()
        found.keys = max(found.writes, found.entries_before) if found.keys_assumed else float(entries)
        found.notes.append(
            "the number of keys is db_bench's Entries, or that of the writes or of the entries before, whichever is larger: the "
            "LOG has no flushes from which to infer it"
        )
    elif dropped >= _FEWEST_DROPS:
        found.keys = distinct_keys([n for n, _ in pairs], dropped)
        found.keys_error = 1.0 / math.sqrt(dropped)
    elif not removed and found.writes and not merged and sum(n * n for n, _ in pairs) < _TELLING * found.writes:
        found.keys, found.keys_assumed = found.writes, True
        found.notes.append("too few writes to tell whether keys repeat: as many keys as writes are assumed")
    elif not removed and found.writes:
        found.pattern = _insert_pattern(reading)
        found.overwrite_share = 0.0
        return
    elif found.writes:
        found.keys = max(found.stored_keys, found.writes, found.entries_before)
        found.notes.append(
            "too few overwrites to infer the number of keys: the number of writes or of the store's entries is assumed, "
            "whichever is larger"
        )
    if found.keys is None:
        return
    if found.keys < _SKEWED * found.stored_keys:
        found.pattern = "skewed"
        found.zipf_constant = zipf_constant(found.keys, max(found.stored_keys, found.entries_before))
    present = min(found.keys, found.entries_before)
    distinct = (found.keys - present) * -math.expm1(-found.writes / found.keys)
    if found.writes and found.pattern == "overwrite":
        found.overwrite_share = 1.0 - distinct / found.writes
    elif merged:
        found.overwrite_share = min(1.0, (removed + dropped) / max(found.writes, 1.0))


def _stored(reading: Reading) -> float:
    """Return the largest number of entries in a level below L0 at the end of the LOG; their keys are distinct."""
    entries: dict[int, float] = defaultdict(float)
    places: dict[int, int] = {}
    for job in sorted(reading.jobs.done("flush", "compaction", "trivial_move"), key=lambda j: j.end_us or 0):
        numbers = [n for files in job.inputs.values() for n in files]
        for number in numbers:
            level = places.pop(number, None)
            if level is not None:
                entries[level] -= _entries(reading, number)
        arrived = numbers if job.kind == "trivial_move" else [f.number for f in job.outputs]
        for number in arrived:
            places[number] = job.output_level
            entries[job.output_level] += _entries(reading, number)
    return max((n for level, n in entries.items() if level > 0), default=0.0)


def _entries(reading: Reading, number: int) -> float:
    known = reading.jobs.files.get(number)
    return float(known.entries or 0) if known else 0.0


def _insert_pattern(reading: Reading) -> str:
    moves = [j for j in reading.jobs.done("trivial_move") if j.start_level == 0]
    merges = [j for j in reading.jobs.done("compaction") if j.start_level == 0 and j.output_level > 0]
    ordered = bool(moves) and len(moves) >= _ORDERED_SHARE * (len(moves) + len(merges))
    return "insert_ordered" if ordered else "insert"


def distinct_keys(batches: Sequence[int], dropped: int) -> float:
    """Return the number of equally likely keys for which uniform batches have `dropped` repeated keys, by bisection.

    `batches`: number of draws per batch, such as entries of a memtable. A batch of E draws from N keys has
    N (1 - e^(-E/N)) distinct keys on average.

    >>> round(distinct_keys([56_030], 375) / 1e6, 1)  # a memtable of 56,030 entries that left 55,655 in its file
    4.2
    """
    draws = np.array(batches, dtype=np.float64)
    low, high = math.log(max(1.0, float(draws.max()) * 1e-3)), math.log(1e15)
    for _ in range(100):
        middle = (low + high) / 2
        keys = math.exp(middle)
        repeated = float((draws + keys * np.expm1(-draws / keys)).sum())
        low, high = (middle, high) if repeated > dropped else (low, middle)
    return math.exp((low + high) / 2)


def zipf_constant(effective: float, keys: float) -> float:
    """Return the Zipf exponent at which two draws from `keys` keys are equal with probability 1 / `effective`."""
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        equal = _harmonic(keys, 2 * middle) / _harmonic(keys, middle) ** 2
        low, high = (middle, high) if equal < 1.0 / effective else (low, middle)
    return (low + high) / 2


def _harmonic(keys: float, power: float) -> float:
    """Return the sum of k^-power for k = 1 to `keys`: the first 10,000 terms exactly, the rest as an integral."""
    first = int(min(keys, 10_000))
    total = float((np.arange(1, first + 1, dtype=np.float64) ** -power).sum())
    if keys > first:
        a, b = first + 0.5, keys + 0.5
        total += math.log(b / a) if abs(power - 1) < 1e-9 else (b ** (1 - power) - a ** (1 - power)) / (1 - power)
    return total


def _synced_threads(writes_per_sync: float) -> int:
    """Return the number of threads with synced writes: twice those of a write group (models/costs/operations.py, synced_group).

    Two threads cannot be told from one.
    """
    return max(1, 2 * math.floor(writes_per_sync)) if writes_per_sync >= _SEVERAL else 1


def point_reads(log: RocksDbLog, writes: float) -> float:
    """Return the point reads beside `writes` entries: in the proportion that the store's tickers count, up to their last dump."""
    read, written = (log.ticker_sum(f"rocksdb.number.keys.{kind}") for kind in ("read", "written"))
    return read * writes / written if read and written and writes else read


def client_threads(log: RocksDbLog) -> int | None:
    """Return the number of writing threads: writes per commit group in the last statistics; None without statistics."""
    for dump in reversed(log.dumps):
        groups, writes = dump.db.get("cumulative_commit_groups"), dump.db.get("cumulative_writes")
        if groups and writes:
            return max(1, math.ceil(writes / groups - 0.05))
    return None


def memtable_spans(reading: Reading) -> list[tuple[float, float, float]]:
    """Return (start, end, entries) of each memtable fill; times in seconds after the origin."""
    return [(reading.seconds(f.start_us), reading.seconds(f.end_us), f.entries) for f in reading.fills]


def spread_writable(reading: Reading, start: Floats, end: Floats, amount: Floats, edges: Floats) -> Floats:
    """Spread each amount evenly over its time span outside write stops; return the amount per interval of `edges`."""
    stops = [
        (reading.seconds(s.start_us), reading.seconds(s.end_us)) for s in reading.stalls.intervals if s.cause.stops
    ]
    if not stops:
        return spread(start, end, amount, edges)
    # spread on a clock that is halted while writers are stopped
    borders = np.unique(np.concatenate((edges, start, end, np.array(stops).ravel())))
    halted, resumed = (np.array(column, dtype=np.float64) for column in zip(*stops, strict=True))
    stopped = spread(halted, resumed, resumed - halted, borders)
    open_s = np.concatenate(([0.0], np.cumsum(np.maximum(np.diff(borders) - stopped, 0.0))))
    first, last = np.interp(start, borders, open_s), np.interp(end, borders, open_s)
    whole = np.interp(edges, borders, open_s)
    blocked = last - first <= 1e-6
    result = spread(first[~blocked], last[~blocked], amount[~blocked], _ascending(whole))
    return result + spread(start[blocked], end[blocked], amount[blocked], edges)


def _ascending(values: Floats) -> Floats:
    """Make ascending values strictly ascending, by 1e-9 per index, so that no interval has length 0."""
    return values + np.arange(len(values)) * 1e-9
