"""Outputs and steps of a job, computed at its start; a step reads, computes and writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from lsmlab.models.costs.jobs import compaction_cpu, flush_cpu
from lsmlab.models.devices.capped import PAGE_BYTES
from lsmlab.models.options.fields import CompactionStyle, Compression
from lsmlab.models.policies.decisions import Compaction, CutContext
from lsmlab.models.policies.rocksdb.compression import CODECS
from lsmlab.models.tree.content import Content
from lsmlab.models.tree.files import NO_KEYS, BlobNumbers, KeyArray, KeyRange, SortedFile
from lsmlab.models.tree.merge import MergedStream, Tombstones
from lsmlab.models.tree.ranges import bottommost
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.machine.steps import (
    Step,
    compaction_steps,
    even_steps,
    flush_steps,
    split_at_halts,
    with_file_ends,
    with_point_reads,
)
from lsmlab.sim.store.jobs.blobs import BlobWork, compaction_blobs, flush_blobs
from lsmlab.sim.store.jobs.context import FamilyContext
from lsmlab.sim.store.jobs.merging import Merged, merged_files
from lsmlab.sim.store.jobs.ranges import with_ranges
from numpy.typing import NDArray

FINE_STEPS: Final = 16
"""Steps of a job on a capped device (docs/background/time.md)."""
COARSE_STEPS: Final = 4
"""Maximum number of steps of a job on an uncapped device. Its bandwidth follows the load at once, so 1 step and 32 steps
give the same throughput within 1 %."""
COARSE_STEP_S: Final = 0.5
"""CPU time in seconds per step on an uncapped device, short enough for the series per second."""


@dataclass(slots=True)
class FlushWork:
    """Output file and steps of a flush; the file is None if the flush writes no entries."""

    file: SortedFile | None
    steps: list[Step]
    cpu_s: float
    blobs: BlobWork | None = None


@dataclass(slots=True)
class CompactionWork:
    """Output files of a compaction, and the steps of each subcompaction."""

    outputs: list[SortedFile]
    parts: list[list[Step]]
    input_bytes: int
    output_bytes: int
    entries_in: float
    entries_out: float
    cpu_s: float
    blobs: BlobWork | None = None
    young: list[SortedFile] = field(default_factory=list)
    """Outputs for the level above the output level (`Engine.proximal_level`)."""

    @property
    def file_sizes(self) -> list[int]:
        """Bytes of all files that the job writes: SST files, then blob files."""
        return [f.size_bytes for f in self.outputs] + _blob_sizes(self.blobs)

    def added(self, output_level: int) -> list[tuple[int, list[SortedFile]]]:
        """Return the outputs by level."""
        if not self.young:
            return [(output_level, self.outputs)]
        young = set(map(id, self.young))
        return [(output_level - 1, self.young), (output_level, [f for f in self.outputs if id(f) not in young])]


def _blob_sizes(blobs: BlobWork | None) -> list[int]:
    return [] if blobs is None else [f.size_bytes for f in blobs.files]


def flush_work(
    family: FamilyContext, merged: Merged, entries_in: float, ranges: Sequence[KeyRange] = ()
) -> FlushWork:  # fmt: skip
    """Compute a flush to one L0 file. The flush reads overwritten entries but does not write them. `ranges`: range tombstones.

    See (behaviour/flush.md, Flush execution).

    Engines whose values stay in the WAL write keys and WAL offsets only.
    """
    content, host, keys, tombstones = family.content, family.database.machine.host, merged.keys, merged.tombstones
    engine = family.latest_options
    in_wal, compression = engine.picker.values_in_wal, engine.flush_compression(family.tree)
    blobs = flush_blobs(family, keys, tombstones)
    numbers = None if blobs is None else blobs.numbers
    stream, entries = (
        content.offsets(keys)
        if in_wal
        else content.stream(keys, tombstones, compressed=compression.compresses, blobs=numbers, older=merged.older)
    )
    files = content.files(
        stream, entries, tombstones, (), family.database.file_numbers, family.database.env.now, level=0, blobs=numbers
    )
    merged.note(files)
    files = with_ranges(family, files, ranges, level=0, below=0)
    if files and engine.flush_keeps_versions:
        _keep_versions(content, files[0], entries_in, float(stream.cumulative_bytes[-1]))
    sizes = [f.size_bytes for f in files] + _blob_sizes(blobs)
    size = sum(sizes)
    raw = content.raw_bytes(entries_in, entries_in * _deleted_share(files))
    written_bytes = raw * files[0].entries / entries_in if files and entries_in else 0.0
    cpu_s = flush_cpu(
        host, entries_in=entries_in, entries_out=float(entries[-1]), raw_bytes=raw,
        block_bytes=engine.options.block_size, compression_ratio=engine.compression_ratio if compression.compresses else 1.0,
        compress_bytes=written_bytes * CODECS[compression].compress, file_bytes=size,
    ).seconds(host)  # fmt: skip
    piece = _piece_bytes(family)
    steps = flush_steps(cpu_s, size, piece) if piece is not None else _even_steps(family, max(1, len(sizes)), size, 0.0, cpu_s)
    if piece is not None:
        steps = with_file_ends(steps, sizes or [0])
    return FlushWork(files[0] if files else None, steps, cpu_s, blobs)


def _keep_versions(content: Content, file: SortedFile, entries: float, data_bytes: float) -> None:
    """Scale the size and entries of a file of distinct keys to all `entries` written, overwritten ones included."""
    file.size_bytes = file.compensated_bytes = content.file_bytes(entries, data_bytes * entries / file.entries, 0)
    file.deletions *= entries / file.entries
    file.entries = entries


def compaction_work(family: FamilyContext, pick: Compaction) -> CompactionWork:
    """Compute a compaction: merge the picked files, cut the outputs, and list the steps of each subcompaction."""
    database, content, tree = family.database, family.content, family.tree
    inputs = [f for _, files in pick.inputs for f in files]
    merged = merged_files(family, pick, inputs)
    keys, tombstones = merged.keys, merged.tombstones
    compression = family.latest_options.output_compression(tree, pick)
    bounds = family.latest_options.subcompaction_bounds(tree, pick, keys, database.free_slots)
    blobs = compaction_blobs(family, pick, keys, tombstones, bounds)
    numbers = None if blobs is None else blobs.numbers
    stream, entries = content.stream(
        keys, tombstones, compressed=compression.compresses, blobs=numbers, older=merged.older
    )  # fmt: skip
    input_bytes = sum([f.compaction_bytes for f in inputs])
    entries_in = sum([f.compaction_entries for f in inputs])
    spans = list(zip([0, *bounds], [*bounds, len(keys)], strict=True))
    proximal, young = family.latest_options.proximal_level(tree, pick), list[SortedFile]()
    if proximal >= 0 and merged.newest is not None:
        stays = _young(family, pick, keys, merged.newest.times)
        parts_of = [
            [
                _outputs_of(family, pick._replace(output_level=level), inputs, stream, entries, tombstones, own, start, end)
                for level, own in ((proximal, stays), (pick.output_level, ~stays))
            ]
            for start, end in spans
        ]
        groups, young = [above + last for above, last in parts_of], [f for above, _ in parts_of for f in above]
    else:
        groups = [
            _outputs(family, pick, inputs, _slice(stream, start, end), entries[start : end + 1], tombstones, numbers, start)
            for start, end in spans
        ]
    outputs = [f for files in groups for f in files]
    if ranges := _kept_ranges(tree, pick, inputs):
        own = with_ranges(family, outputs, ranges, level=pick.output_level, below=pick.output_level + 1)
        groups, outputs = (groups, outputs) if outputs else ([own, *groups[1:]], own)
    merged.note(outputs)
    cold = family.latest_options.writes_cold(tree, pick)
    if cold:
        above = set(map(id, young))
        for file in outputs:
            file.cold = id(file) not in above
    missing, cold_missing = _missing_bytes(database.machine, inputs)
    runs = _runs(pick)
    total = sum([f.size_bytes for f in outputs])
    sizes = [[f.size_bytes for f in files] for files in groups]
    if blobs is not None:
        sizes = [own + [f.size_bytes for f in new] for own, new in zip(sizes, blobs.written, strict=True)]
        missing += round(blobs.device_bytes)
    moved_bytes = 0.0 if blobs is None else blobs.read.record_bytes + sum(_blob_sizes(blobs))
    volume = database.machine.cold if cold else database.machine.main
    slept_files = sum(map(len, sizes)) if volume.sleeps_in_fsync else 0
    cpu_s = _compaction_cpu_s(
        family, pick, compression, len(runs), entries_in, float(entries[-1]), input_bytes + total + moved_bytes, slept_files,
        0.0 if blobs is None else blobs.uncopied_bytes, len(groups),
    )  # fmt: skip
    shares = _shares(groups, total)
    if cold or cold_missing:
        away = [[f.size_bytes for f in files if f.cold] for files in groups]
        near = [
            [f.size_bytes for f in files if not f.cold] + own[len(files) :] for files, own in zip(groups, sizes, strict=True)
        ]
        parts = [
            _steps_on_two_devices(family, theirs, own, runs, share, share * missing, share * cpu_s)
            for theirs, own, share in zip(away, near, shares, strict=True)
        ]
        parts = [[step._replace(cold_share=cold_missing / missing if missing else 0.0) for step in part] for part in parts]
    else:
        parts = [
            _steps(family, own, runs, share, share * missing, share * cpu_s)
            for own, share in zip(sizes, shares, strict=True)
        ]
    if (halt_bytes := database.halt_bytes) is not None:
        whole = database.machine.style.whole_files
        parts = [split_at_halts(steps, halt_bytes, whole_files=whole) for steps in parts]
    from_wal = _values_from_wal(family, inputs)
    if from_wal:
        input_bytes += round(from_wal * content.entry.put)
        parts = [with_point_reads(p, s * from_wal) for p, s in zip(parts, shares, strict=True)]
    if blobs is not None and blobs.point_reads:
        each_bytes = blobs.read.record_bytes / blobs.read.blobs + PAGE_BYTES  # a record begins anywhere in a page
        parts = [with_point_reads(p, s * blobs.point_reads, each_bytes) for p, s in zip(parts, shares, strict=True)]
    entries_out = sum([f.entries for f in outputs])
    return CompactionWork(outputs, parts, input_bytes, total, entries_in, entries_out, cpu_s, blobs, young)


def _young(family: FamilyContext, pick: Compaction, keys: KeyArray, times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which keys are young and in the range of the inputs above the last level; universal compaction has no range.

    `times` at which the keys were flushed. See (behaviour/tiered-placement.md, Young data).
    """
    options = family.latest_options.options
    young: NDArray[np.bool_] = times > family.database.env.now - options.preclude_last_level_data_seconds
    if options.compaction_style is CompactionStyle.UNIVERSAL:
        return young
    above = [f for level, files in pick.inputs if level != pick.output_level for f in files]
    return young & (keys >= min(f.lo for f in above)) & (keys <= max(f.hi for f in above))


def _outputs_of(
    family: FamilyContext, pick: Compaction, inputs: Sequence[SortedFile], stream: MergedStream, entries: NDArray[np.float64],
    tombstones: Tombstones, own: NDArray[np.bool_], start: int, end: int,
) -> list[SortedFile]:  # fmt: skip
    """Return the files of a subcompaction, which has the keys from `start` to `end` of the job, with its keys of `own` alone."""
    mine = start + np.flatnonzero(own[start:end])
    if not len(mine):
        return []
    data, counts = (np.concatenate(([0.0], np.cumsum(np.diff(column)[mine]))) for column in (stream.cumulative_bytes, entries))
    flags = None if tombstones is None else tombstones[mine]
    return _outputs(family, pick, inputs, MergedStream(stream.keys[mine], data), counts, flags, None, 0)


def _outputs(
    family: FamilyContext, pick: Compaction, inputs: Sequence[SortedFile], part: MergedStream, entries: NDArray[np.float64],
    tombstones: Tombstones, blobs: BlobNumbers | None, start: int,
) -> list[SortedFile]:  # fmt: skip
    """Return the output files of one subcompaction, which writes the keys from position `start` of the job on."""
    database = family.database
    if start:
        entries = entries - entries[0]
    if tombstones is not None:
        tombstones = tombstones[start : start + len(part.keys)]
    if blobs is not None:
        blobs = blobs[start : start + len(part.keys)]
    cuts = _cuts(family, pick, part) if len(part.keys) else ()
    return family.content.files(
        part, entries, tombstones, cuts, database.file_numbers, database.env.now, inputs, level=pick.output_level, blobs=blobs
    )


def _values_from_wal(family: FamilyContext, inputs: Sequence[SortedFile]) -> float:
    """Return the number of values to read from WALs on the device, one read per value (TRIAD).

    WALs are recent, so reads hit the page cache if it has room for all WALs that L0 files refer to.
    """
    pending = [f for f in inputs if f.wal_bytes]
    if not pending or family.database.machine.cache.room_bytes >= sum(f.wal_bytes for f in family.tree.l0):
        return 0.0
    return sum(f.entries for f in pending)


def _slice(stream: MergedStream, start: int, end: int) -> MergedStream:
    if start == 0 and end == len(stream.keys):
        return stream
    data = stream.cumulative_bytes
    return MergedStream(stream.keys[start:end], data[start : end + 1] - data[start])


def _shares(groups: Sequence[Sequence[SortedFile]], total: int) -> list[float]:
    if total == 0:
        return [1.0 / len(groups)] * len(groups)
    return [sum([f.size_bytes for f in files]) / total for files in groups]


def _deleted_share(files: Sequence[SortedFile]) -> float:
    deletions = sum([f.deletions for f in files])
    return deletions / sum([f.entries for f in files]) if deletions else 0.0


def _compaction_cpu_s(
    family: FamilyContext, pick: Compaction, compression: Compression, runs: int, entries_in: float, entries_out: float,
    file_bytes: float, slept_files: int, uncopied_bytes: float, parts: int,
) -> float:  # fmt: skip
    """`uncopied_bytes`: value bytes of the entries that stay in blob files; `parts`: subcompactions."""
    machine, engine = family.database.machine, family.latest_options
    host, files = machine.host, [f for _, files in pick.inputs for f in files]
    direct_reads = not machine.style.overlap_reads
    deletions = entries_in * _deleted_share(files)
    raw = family.content.raw_bytes(entries_in, deletions) - uncopied_bytes
    raw_entry = raw / entries_in if entries_in else 0.0
    inputs = _compressed_inputs(family, pick)
    compressed_in = sum(entries for _, entries in inputs) / entries_in if entries_in else 0.0
    compressed = (compressed_in + (1.0 if compression.compresses else 0.0)) / 2.0
    others = [(f.table_format, f.compaction_entries) for f in _of_other_formats(family, pick)]
    saved = sum((1.0 - table_format.compression_ratio) * entries for table_format, entries in others)
    saved_in = saved / entries_in if others else 0.0
    return compaction_cpu(
        host, entries_in=entries_in, entries_out=entries_out, raw_bytes=raw, block_bytes=engine.options.block_size, runs=runs,
        checked_entries=entries_out if engine.cutter.inspects_keys(pick.output_level) else 0.0,
        compression_ratio=1.0 - compressed * (1.0 - engine.compression_ratio) - saved_in / 2.0,
        compress_bytes=entries_out * raw_entry * CODECS[compression].compress,
        decompress_bytes=raw_entry * sum(
            [
                *(CODECS[c].decompress * entries for c, entries in inputs),
                *(table_format.decompress * entries for table_format, entries in others),
            ]
        ),
        file_bytes=file_bytes, slept_files=slept_files, input_files=len(files),
        buffer_bytes=runs * parts * machine.style.readahead_bytes if direct_reads else 0.0,
    ).seconds(host)  # fmt: skip


def _compressed_inputs(family: FamilyContext, pick: Compaction) -> list[tuple[Compression, float]]:
    """Return (compression, entries) of the input files of each compressed level, without those of other table formats.

    A file keeps no note of its compression; its level's present one is taken.
    """
    engine, tree = family.latest_options, family.tree
    if engine.compression_ratio == 1.0:
        return []
    levels = [
        (engine.flush_compression(tree) if level == 0 else engine.level_compression(tree, level), files)
        for level, files in pick.inputs
    ]
    others = {f.number for f in _of_other_formats(family, pick)}
    return [
        (c, sum([f.compaction_entries for f in files if f.number not in others])) for c, files in levels if c.compresses
    ]


def _of_other_formats(family: FamilyContext, pick: Compaction) -> list[SortedFile]:
    """Return the input files whose blocks were written with other table options than those of this run."""
    own, *others = family.table_formats
    return [f for _, files in pick.inputs for f in files if not f.table_format.same_blocks(own)] if others else []


def _cuts(family: FamilyContext, pick: Compaction, part: MergedStream) -> Sequence[int]:
    """Return the indices of keys at which output files begin: at `Compaction.cut_keys`, and where the cutter cuts."""
    if pick.output_level == 0:
        return ()  # an L0 output is never split
    if not pick.cut_keys:
        return _cutter_cuts(family, pick, part)
    n = len(part.keys)
    borders = sorted({i for i in part.keys.searchsorted(pick.cut_keys).tolist() if 0 < i < n})
    cuts: list[int] = []
    for start, end in zip([0, *borders], [*borders, n], strict=True):
        cuts += [start, *(start + i for i in _cutter_cuts(family, pick, _slice(part, start, end)))]
    return cuts[1:]


def _cutter_cuts(family: FamilyContext, pick: Compaction, part: MergedStream) -> Sequence[int]:
    engine, tree = family.latest_options, family.tree
    lo, hi = int(part.keys[0]), int(part.keys[-1])
    grandparents = engine.cutter.guide_level(tree, pick.output_level, lo, hi)
    glo = ghi = gsize = NO_KEYS
    if grandparents is not None:
        level = tree.levels[grandparents]
        i, j = level.overlapping(lo, hi)
        glo, ghi, gsize = level.lo[i:j], level.hi[i:j], level.sizes(i, j)
    target = pick.max_output_bytes or engine.target_file_bytes(tree, pick.output_level)
    return engine.cutter.cuts(
        part,
        CutContext(
            output_level=pick.output_level,
            target_bytes=target,
            max_compaction_bytes=engine.options.max_compaction_bytes,
            bottommost=not len(gsize) and bottommost(tree, pick.output_level, lo, hi),
            grandparent_lo=glo,
            grandparent_hi=ghi,
            grandparent_size=gsize,
        ),
    )


def _kept_ranges(tree: Tree, pick: Compaction, inputs: Sequence[SortedFile]) -> list[KeyRange]:
    """Return the range tombstones that a job keeps: all, unless there is nothing below it that they could delete."""
    ranges = [one for file in inputs for one in file.ranges]
    if not ranges or pick.output_level == 0:
        return ranges
    lo, hi = min(f.lo for f in inputs), max(f.hi for f in inputs)
    return [] if bottommost(tree, pick.output_level, lo, hi) else ranges


def _runs(pick: Compaction) -> list[list[int]]:
    """Return the file sizes of each sorted run of the k-way merge: L0 files and slices are runs of their own."""
    runs: list[list[int]] = []
    for level, files in pick.inputs:
        runs += [[f.size_bytes] for f in files] if level == 0 else [[f.size_bytes for f in files]]
        runs += [[s.size_bytes] for f in files for s in f.slices]
    return runs


def _steps(
    family: FamilyContext, file_sizes: Sequence[int], runs: Sequence[Sequence[int]], share: float, read_bytes: float,
    cpu_s: float,
) -> list[Step]:  # fmt: skip
    """Return the steps of one subcompaction, which reads `share` of every sorted run and writes files of `file_sizes`."""
    size = sum(file_sizes)
    piece = _piece_bytes(family)
    if piece is not None:
        sizes = [[share * size for size in run] for run in runs]
        ahead = family.database.machine.style.readahead_bytes
        steps = compaction_steps(sizes, read_bytes, cpu_s, size, readahead_bytes=ahead, piece_bytes=piece)
        return with_file_ends(steps, file_sizes)
    if size == 0:
        return [Step(read_bytes, cpu_s, 0.0)]
    return _even_steps(family, len(file_sizes), size, read_bytes, cpu_s)


def _steps_on_two_devices(
    family: FamilyContext, cold_sizes: Sequence[int], sizes: Sequence[int], runs: Sequence[Sequence[int]], share: float,
    read_bytes: float, cpu_s: float,
) -> list[Step]:  # fmt: skip
    """Return the same as `_steps`, for files of `cold_sizes` on `cold_device` and others, such as blob files, of `sizes`.

    Reads and CPU time are divided by the bytes written. The files on one device are written before those on the other one.
    """
    total = sum(cold_sizes) + sum(sizes)
    steps: list[Step] = []
    for cold, own in ((True, cold_sizes), (False, sizes)):
        if own or not (cold or total):
            part = sum(own) / total if total else 1.0
            mine = _steps(family, own, runs, share * part, part * read_bytes, part * cpu_s)
            steps += [step._replace(cold=True) for step in mine] if cold else mine
    return steps


def _missing_bytes(machine: Machine, inputs: Sequence[SortedFile]) -> tuple[int, int]:
    """Return the bytes of the inputs of a job that it reads from devices, and those of them from `cold_device`."""
    missing = cold_missing = 0
    for volume, files in machine.by_volume(inputs):
        size = machine.cache.missing_bytes(files)
        missing += size
        cold_missing += 0 if volume is machine.main else size
    return missing, cold_missing


def _piece_bytes(family: FamilyContext) -> float | None:
    """Return the bytes to write per step; None if the order of reads and writes does not change the duration of the job.

    The order matters with a cap or a rate limiter, unless writes overlap with computing or whole files are written by fsync.
    """
    machine = family.database.machine
    return None if machine.style.whole_files or machine.style.overlap_writes else machine.piece_bytes


def _even_steps(family: FamilyContext, files: int, size_bytes: int, read_bytes: float, cpu_s: float) -> list[Step]:
    """Return equal steps: `FINE_STEPS` while a cap binds, at most `COARSE_STEPS` elsewhere.

    With a journal, every file has the same number of steps, and its last step ends with the fsync. A step writes at least
    one buffer (1 MiB), or a whole file where files reach the device only with their fsync.
    """
    machine = family.database.machine
    count = FINE_STEPS if machine.bursty else min(COARSE_STEPS, math.ceil(cpu_s / COARSE_STEP_S))
    if machine.main.journal is None:
        finest = files if machine.style.whole_files else math.ceil(size_bytes / 2**20)
        count = max(1, min(count, finest))
        return even_steps(read_bytes, cpu_s, size_bytes, count)
    per_file = 1 if machine.style.whole_files else max(1, math.ceil(count / files))
    count = files * per_file
    step = Step(read_bytes / count, cpu_s / count, size_bytes / count)
    last = Step(step.read_bytes, step.cpu_s, step.write_bytes, ends_file=True)
    return ([step] * (per_file - 1) + [last]) * files
