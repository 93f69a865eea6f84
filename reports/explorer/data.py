"""Data of the explorer of one run: jobs, stalls, files of the tree over time, memtables and curves."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from lsmlab.reports.explorer.jobs import chosen_jobs, job_data, places
from lsmlab.reports.explorer.packing import narrowed
from lsmlab.reports.explorer.stalls import chain_keys, stall_data
from lsmlab.reports.explorer.tree import Edits, Events, edits_of, garbage_of, stay_columns, stays_of, thinned, trees_of
from lsmlab.reports.explorer.words import REASONS, engine_note
from lsmlab.reports.palette import BLOBS, level_color
from lsmlab.reports.run_data import RunData, number
from lsmlab.reports.timeline import Timeline
from numpy.typing import NDArray

_OPTIONS: Final = (
    "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger",
    "max_write_buffer_number", "write_buffer_size",
)  # fmt: skip
MOST_PICKS: Final = 150_000
"""Largest number of levels at picks in a page: about 1 MB."""
_COLORS: Final = 12
"""Levels with a colour in the page."""


def explorer_data(run: RunData, timeline: Timeline) -> dict[str, Any]:
    """Return nested mappings and arrays for `packing.pack`. Times are in seconds, sizes in bytes."""
    rows = chosen_jobs(run, chain_keys(run))
    engine = str(run.summary.get("engine", ""))
    return {
        "duration_s": run.duration_s,
        "jobs": job_data(run, rows),
        "stalls": stall_data(run, rows),
        "tree": tree_data(run, rows),
        "curves": {
            "end_s": narrowed(timeline.end_s, "f8"),
            "writes": _per_second(run, timeline, "write_ops"), "reads": _per_second(run, timeline, "read_ops"),
        },
        "options": {name: value for name in _OPTIONS if (value := run.option(name)) is not None},
        "reasons": dict(REASONS),
        "level_colors": [level_color(level) for level in range(_COLORS)], "blob_color": BLOBS,
        "blob_cutoff": run.option("blob_garbage_collection_age_cutoff")
        if run.options.get("enable_blob_garbage_collection") else None,
        "engine": engine, "engine_note": engine_note(engine),
    }  # fmt: skip


def _per_second(run: RunData, timeline: Timeline, name: str) -> NDArray[Any]:
    return narrowed(timeline.mean(run.rate(name)), "f4")


def tree_data(run: RunData, job_rows: NDArray[np.int64]) -> dict[str, Any] | None:
    """Return the stays of all files, version edits and memtable switches; None for a run without events.parquet."""
    events = run.events
    if events is None or not len(events["time_s"]):
        return None
    names, tree = trees_of(events)
    edits = edits_of(events, tree)
    keys = run.jobs["key"][job_rows] if len(job_rows) else np.empty(0, dtype=np.int64)
    shards = np.array([shard for shard, _ in names], dtype=np.int64)
    edit_jobs = places(keys, np.where(edits.job < 0, -1, shards[edits.tree] * 2**32 + edits.job))
    stays = stays_of(events, tree, edits)
    kept, shown = thinned(stays, len(edits.time_s))
    switches = np.flatnonzero(events["kind"] == "switch")
    several = len({shard for shard, _ in names}) > 1
    return {
        "names": [f"shard {shard}, {family}" if several else family for shard, family in names],
        "shards": narrowed(shards, "u2"), "families": [family for _, family in names],
        "edits": {"time_s": narrowed(edits.time_s, "f8"), "job": edit_jobs, "tree": narrowed(edits.tree, "u2")},
        "shown": None if shown is None else narrowed(shown, "u4"),
        "stays": stay_columns(kept),
        "key_top": max(1.0, float(np.max(kept["largest"], initial=1.0))),
        "inputs": _inputs(events, tree, edits, kept, shards, keys), "garbage": garbage_of(events, tree, kept),
        "switches": {
            "time_s": narrowed(events["time_s"][switches], "f8"), "tree": narrowed(tree[switches], "u2"),
            "entries": narrowed(events["entries"][switches], "f4"), "bytes": narrowed(events["bytes"][switches], "f4"),
        },
        "picks": _picks(events, tree, shards, keys),
        "job_tree": _job_trees(run, job_rows, names),
        "targets": _targets(run),
    }  # fmt: skip


def _inputs(
    events: Events, tree: NDArray[np.int64], edits: Edits, stays: dict[str, NDArray[Any]], shards: NDArray[np.int64],
    keys: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """Return stay and job of each input of a compaction that committed no edit."""
    rows = np.flatnonzero(events["kind"] == "input")
    birth, death = stays["birth"], stays["death"]
    of_file: dict[tuple[int, int], list[int]] = {}
    wanted = {(int(tree[row]), int(events["file"][row])) for row in rows.tolist()}
    for stay, file in enumerate(zip(stays["tree"].tolist(), stays["number"].tolist(), strict=True)):
        if file in wanted:
            of_file.setdefault(file, []).append(stay)
    found = []
    for row in rows.tolist():
        now = int(np.searchsorted(edits.time_s, events["time_s"][row], "right"))
        alive = [s for s in of_file.get((int(tree[row]), int(events["file"][row])), []) if birth[s] < now <= death[s]]
        if alive:
            found.append((alive[-1], int(shards[tree[row]]) * 2**32 + int(events["job"][row])))
    stays_found, jobs_found = (np.array([pair[i] for pair in found], dtype=np.int64) for i in (0, 1))
    return {"stay": narrowed(stays_found, "u4"), "job": places(keys, jobs_found)}


def _picks(
    events: Events, tree: NDArray[np.int64], shards: NDArray[np.int64], keys: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return level, score and target of each level at the picks of at most `MOST_PICKS` / 7 compactions, evenly spread."""
    rows = np.flatnonzero(events["kind"] == "pick")
    job = places(keys, shards[tree[rows]] * 2**32 + events["job"][rows])
    every = -(-len(rows) // MOST_PICKS) or 1
    begins = np.concatenate(([True], job[1:] != job[:-1])) if len(rows) else np.empty(0, dtype=bool)
    kept = (job >= 0) & ((np.cumsum(begins) - 1) % every == 0)
    score = events["score"][rows[kept]] if "score" in events else np.empty(0)
    return {
        "job": job[kept], "level": narrowed(events["from_level"][rows[kept]], "i1"), "score": narrowed(score, "f4"),
        "target": narrowed(events["bytes"][rows[kept]], "f4"), "tree": narrowed(tree[rows[kept]], "u2"),
    }  # fmt: skip


def _job_trees(run: RunData, rows: NDArray[np.int64], names: list[tuple[int, str]]) -> NDArray[Any]:
    """Return the number of the tree of each job."""
    place = {name: i for i, name in enumerate(names)}
    if len(names) <= 1 or not len(rows):
        return np.zeros(len(rows), dtype="<u2")
    families = run.jobs.get("column_family")
    texts = ["default"] * len(rows) if families is None else families[rows].tolist()
    pairs = zip(run.jobs["shard"][rows].astype(int).tolist(), texts, strict=True)
    return np.array([place.get(pair, 0) for pair in pairs], dtype="<u2")


def _targets(run: RunData) -> dict[str, float]:
    """Return the target size of each level at the end of the run, summed over shards."""
    rows = run.summary.get("levels") or []
    return {str(row["level"]): target for row in rows if (target := number(row, "target_bytes"))}
