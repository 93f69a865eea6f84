"""Results per phase of a workload with phases: operations, latencies, jobs, stalls, and the tree at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.clients.group import READ, SCAN, WRITE, ClientGroup
from lsmlab.sim.results.series import Table
from lsmlab.sim.results.summary import latency_of

if TYPE_CHECKING:
    from lsmlab.models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class TreeState:
    """Size of one tree, or of several."""

    level_bytes: list[int]
    level_files: list[int]
    blob_bytes: int

    @classmethod
    def of(cls, tree: Tree) -> TreeState:
        """Return the present size of a tree."""
        return cls(tree.level_bytes(), tree.files_per_level(), tree.blobs.size_bytes)

    @classmethod
    def sum(cls, states: Sequence[TreeState]) -> TreeState:
        """Return the size of all trees together."""
        levels = range(max(len(state.level_bytes) for state in states))
        return cls(
            [sum(state.level_bytes[i] for state in states if i < len(state.level_bytes)) for i in levels],
            [sum(state.level_files[i] for state in states if i < len(state.level_files)) for i in levels],
            sum(state.blob_bytes for state in states),
        )


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """Phase that has ended."""

    name: str
    start_s: float
    end_s: float
    groups: list[ClientGroup]
    """Its client groups; none for an action on the store."""
    tree: TreeState
    """Trees of all databases at its end."""


def phase_rows(steps: Sequence[PhaseRecord], clients: ClientLoad, jobs: Table) -> list[dict[str, Any]]:
    """Return one row per phase for summary.json. A job belongs to the phase in which it ends."""
    return [_row(number, step, clients, jobs) for number, step in enumerate(steps)]


def _row(number: int, step: PhaseRecord, clients: ClientLoad, jobs: Table) -> dict[str, Any]:
    duration_s = step.end_s - step.start_s
    length_s = max(duration_s, 1e-9)
    operations = sum(g.served for g in step.groups if not g.spec.background)
    writes = sum(g.served * g.write_share for g in step.groups)
    reads = sum(g.served * (g.read_share + g.scan_share) for g in step.groups)
    ended = jobs["end_s"] <= step.end_s
    ended &= jobs["end_s"] > step.start_s if number else True
    written = {
        kind: int(jobs["write_bytes"][ended & (jobs["kind"] == kind)].sum()) for kind in ("flush", "compaction")
    }
    stalled_s = _stalled_s(clients, step)
    return {
        "phase": step.name,
        "start_s": step.start_s,
        "duration_s": duration_s,
        "operations": operations,
        "ops_per_s": operations / length_s,
        "write_ops_per_s": writes / length_s,
        "read_ops_per_s": reads / length_s,
        "write_latency_s": _latency(step, (WRITE,)),
        "read_latency_s": _latency(step, (READ, SCAN)),
        "stall_s": stalled_s,
        "stall_fraction": stalled_s / length_s,
        "flush_bytes": written["flush"],
        "compaction_write_bytes": written["compaction"],
        "write_amplification": sum(written.values()) / written["flush"] if written["flush"] and writes > 0.0 else None,
        "live_bytes": sum(step.tree.level_bytes) + step.tree.blob_bytes,
        "files_per_level": step.tree.level_files,
        "bytes_per_level": step.tree.level_bytes,
    }


def _latency(step: PhaseRecord, kinds: Sequence[int]) -> dict[str, float] | None:
    duration_s = max(step.end_s - step.start_s, 1e-9)
    seconds = np.arange(np.floor(step.start_s), np.ceil(step.end_s) + 1.0)
    if not step.groups or len(seconds) < 2:
        return None
    found, _ = latency_of(step.groups, kinds, seconds)
    return found.summary(duration_s) if found else None


def _stalled_s(clients: ClientLoad, step: PhaseRecord) -> float:
    """Time in s that writers of the phase waited for stalls."""
    waits = clients.waits.table()
    overlap = np.minimum(waits[:, 1], step.end_s) - np.maximum(waits[:, 0], step.start_s)
    return float((np.maximum(overlap, 0.0) * waits[:, 3]).sum())
