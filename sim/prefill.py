"""Prefill: a workload that fills the databases before the measured workload starts."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import NO_KEYS
from lsmlab.models.tree.key_order import Ordered
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.base import Workload
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.progress import Progress
from lsmlab.sim.setting import Prefill


def prefill(
    phases: Sequence[Phase], before: Prefill, seed: np.random.SeedSequence, progress: Progress | None, *, alone: bool = True
) -> dict[str, Any]:  # fmt: skip
    """Run the workload `before` once and give its trees to the databases of each of `phases`, which are alike.

    The workload runs on the same engine and machine, with its own clock and the options of `prefill_options`. Then
    memtables are flushed and compactions run until none is due (db_bench's `flush,waitforcompaction`). Files with their
    table formats are kept; if the databases are `alone` on their machine, also page cache and device state. Counters, throttle
    and clock start from zero, as after reopening the databases. Keys that the measured workload would preload are not loaded.

    Returns the entry `prefill` of the summary. Raises InputError that names the key.
    """
    setup = phases[0].setup
    shares, workload = before.setting.shares, before.setting.workload
    samples = {
        family.name: _shared_sample(family.sample, family.workload, shares[family.name].load.workload(workload))
        for family in setup.families
    }
    inner = Phase(before.setting, seed.spawn(SEEDS), like=samples)
    inner.preload()
    inner.run(progress)
    end_s = inner.env.now
    inner.run_until_idle()
    inner.settle()
    facts = {
        "same_values": inner.setup.workload.values == setup.workload.values,
        "workload": inner.setup.workload.name,
        "operations": sum(g.served for g in inner.clients.groups),
        "duration_s": end_s,
        "settling_s": inner.env.now - end_s,
        "live_bytes": sum(family.tree.total_bytes() + family.tree.blobs.size_bytes for family in inner.families),
        "files_per_level": [
            sum(f.tree.file_count(i) for f in inner.families) for i in range(inner.families[0].tree.num_levels)
        ],
        **({"options": before.options} if before.options else {}),
    }
    for filled in inner.families:
        _begin_at(filled.tree, inner.env.now)
    for number, phase in enumerate(phases, 1):
        trees = [filled.tree if number == len(phases) else _copy(filled.tree) for filled in inner.families]
        _take_over(phase, trees)
    if alone:
        phases[0].machine.cache.take_over(inner.machine.cache)
        for volume, before_it in zip(phases[0].machine.volumes, inner.machine.volumes, strict=True):
            volume.device.begin(before_it.device.state)
    return facts


def _shared_sample(sample: KeySample, measured: Workload, workload: Workload) -> KeySample:
    """Return the sampled keys of the prefill workload, with the same key codes as those of the measured workload."""
    if measured.shards != workload.shards:
        raise InputError(f"prefill.shards: {workload.shards} must equal workload.shards, {measured.shards}")
    if measured.key_size != workload.key_size:
        raise InputError(f"prefill.key_size: {workload.key_size:g} must equal workload.key_size, {measured.key_size:g}")
    one = workload.shard()
    same_order = one.key_order == sample.order
    ordered = same_order and isinstance(one.key_order, Ordered)
    if not ordered and one.population != sample.population:
        raise InputError(
            f"prefill: {workload.population} keys must equal the {measured.population} keys of the workload, because keys are "
            "not in the order of their numbers; give both workloads the same number of keys"
        )
    hot = sample.hot[sample.hot < one.population] if same_order else NO_KEYS
    return KeySample(one.population, sample.rate, one.key_order, hot)


def _begin_at(tree: Tree, end_s: float) -> None:
    """Count times of a tree from `end_s`, the new time 0."""
    for file in tree.files():
        file.created_s -= end_s
        file.data_from_s -= end_s
        file.times = None if file.times is None else file.times - end_s
    for blob_file in tree.blobs.files:
        blob_file.created_s -= end_s
        blob_file.kept_until_s -= end_s


def _copy(tree: Tree) -> Tree:
    """Return a tree with files of its own, which have the same keys."""
    files = list(tree.files())
    arrays = [a for f in files for a in (f.keys, f.tombstones, f.blobs, f.times) if a is not None]
    # what nothing changes is in common: the memory of many alike databases is that of one
    kept = [*arrays, *(f.table_format for f in files)]
    return copy.deepcopy(tree, {id(one): one for one in kept})


def _take_over(phase: Phase, trees: Sequence[Tree]) -> None:
    """Give trees to the column families of a phase, and go on with the numbers of their files."""
    for family, tree in zip(phase.families, trees, strict=True):
        tree.begin_version()
        filled = [level for level in range(tree.num_levels) if tree.file_count(level)]
        tree.move_levels(family.picker.levels_at_open(filled))
        family.start_with_tree(tree)
    for database in phase.databases:
        numbers = [f.number for family in database.families for f in family.files()]
        numbers += [f.number for family in database.families for f in family.tree.blobs.files]
        last = max(numbers, default=0)
        database.file_numbers = itertools.count(last + 1)
