"""Files of all trees over time: one row per stay of a file in a level, so that a page finds the tree at any instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.reports.explorer.packing import narrowed
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Events = Mapping[str, NDArray[Any]]
"""Columns of events.parquet."""

MOST_STAYS: Final = 60_000
"""Largest number of stays in a page: about 1 MB."""
FILE, FROZEN, SLICE, BLOB = 0, 1, 2, 3
"""Kinds of stays: a file in a level; a frozen file without a level, and a slice of it at the file that it is linked to
(LDC); a blob file."""
NEVER: Final = 2**32 - 1
"""Edit that ends a stay which lasts until the end of the run."""
_STAYS: Final = ("create", "move", "freeze", "link", "delete", "blob_create", "blob_delete")
"""Kinds of events that begin or end a stay."""
_KEYS: Final = 65_535
"""Steps of the key space in a page: more than the pixels of a screen."""


@dataclass(frozen=True)
class Edits:
    """Version edits in the order of time, and the row of each event's edit."""

    time_s: NDArray[np.float64]
    job: Ints
    """Number of the job; -1: the tree at the start."""
    tree: Ints
    """Number of the tree: shard and column family."""
    of_row: Ints
    """Edit by row of `rows`."""
    rows: Ints
    """Rows of events.parquet that change a tree."""


def trees_of(events: Events) -> tuple[list[tuple[int, str]], Ints]:
    """Return the (shard, column family) of each tree, and the number of the tree by row."""
    shards = np.asarray(events["shard"], dtype=np.int64)
    families = events.get("column_family", np.full(len(shards), "default", dtype=object))
    names = sorted(set(zip(shards.tolist(), families.tolist(), strict=True)))
    place = {name: number for number, name in enumerate(names)}
    return names, np.array([place[pair] for pair in zip(shards.tolist(), families.tolist(), strict=True)], dtype=np.int64)


def edits_of(events: Events, tree: Ints) -> Edits:
    """Return the version edits; `tree`: number of the tree by row."""
    kinds = events["kind"]
    rows = np.flatnonzero(np.isin(kinds, _STAYS))
    time_s, job, mine = (np.asarray(values)[rows] for values in (events["time_s"], events["job"], tree))
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (np.diff(time_s) != 0) | (np.diff(job) != 0) | (np.diff(mine) != 0)
    first = np.flatnonzero(begins)
    return Edits(time_s[first], job[first].astype(np.int64), mine[first], np.cumsum(begins) - 1, rows)


def stays_of(events: Events, tree: Ints, edits: Edits) -> dict[str, NDArray[Any]]:
    """Return one row per stay, in the order of edits: what, where, from which edit until which (`NEVER`: the end)."""
    rows, of_row = edits.rows, edits.of_row
    kind = events["kind"][rows]
    number = np.asarray(events["file"], dtype=np.int64)[rows]
    linked = np.asarray(events["linked_to"], dtype=np.int64)[rows]
    mine = tree[rows]
    is_link, is_delete = kind == "link", np.isin(kind, ("delete", "blob_delete"))
    span = max(int(number.max(initial=0)), int(linked.max(initial=0))) + 1
    file_key = mine * span + number
    death = np.full(len(rows), NEVER, dtype=np.int64)
    placed = np.flatnonzero(~is_link)
    order = placed[np.lexsort((placed, file_key[placed]))]
    follows = file_key[order[1:]] == file_key[order[:-1]]
    death[order[:-1][follows]] = of_row[order[1:][follows]]
    deleted = np.flatnonzero(is_delete)
    by_key = deleted[np.argsort(file_key[deleted], kind="stable")]
    links = np.flatnonzero(is_link)
    host = mine[links] * span + linked[links]
    found = np.searchsorted(file_key[by_key], host)
    ended = (found < len(by_key)) & (file_key[by_key][np.minimum(found, len(by_key) - 1)] == host) if len(by_key) else found < 0
    death[links[ended]] = of_row[by_key[found[ended]]]
    begins = np.flatnonzero(~is_delete)
    taken = rows[begins]
    what = np.select([kind[begins] == "freeze", is_link[begins], kind[begins] == "blob_create"], [FROZEN, SLICE, BLOB], FILE)
    return {
        "birth": of_row[begins], "death": death[begins], "kind": what, "tree": mine[begins], "number": number[begins],
        "level": np.asarray(events["to_level"], dtype=np.int64)[taken], "host": linked[begins],
        "smallest": np.asarray(events["smallest"])[taken], "largest": np.asarray(events["largest"])[taken],
        "bytes": np.asarray(events["bytes"])[taken], "entries": np.asarray(events["entries"])[taken],
        "rank": _ranks(events, edits)[begins],
    }  # fmt: skip


def garbage_of(events: Events, tree: Ints, stays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return stay, time and bytes of the garbage of blob files among `stays`, one row per growth, in the order of time."""
    rows = np.flatnonzero(events["kind"] == "blob_garbage")
    blobs = np.flatnonzero(stays["kind"] == BLOB)
    files = zip(stays["tree"][blobs].tolist(), stays["number"][blobs].tolist(), strict=True)
    place = dict(zip(files, blobs.tolist(), strict=True))
    wanted = zip(tree[rows].tolist(), np.asarray(events["file"])[rows].tolist(), strict=True)
    stay = np.array([place.get(file, -1) for file in wanted], dtype=np.int64)
    kept = rows[stay >= 0]
    return {
        "stay": narrowed(stay[stay >= 0], "u4"), "time_s": narrowed(np.asarray(events["time_s"])[kept], "f8"),
        "bytes": narrowed(np.asarray(events["bytes"])[kept], "f4"),
    }  # fmt: skip


def _ranks(events: Events, edits: Edits) -> Ints:
    """Return the age rank of each file that enters L0: of two L0 files, the one with the higher rank is newer.

    New files come before all others, or take the place of the newest L0 file that the same edit removes. Of files with the
    same rank, the one that was added first is newer.
    """
    kinds, rows = events["kind"], edits.rows
    source, level = (np.asarray(events[name])[rows] for name in ("from_level", "to_level"))
    ranks = np.zeros(len(rows), dtype=np.int64)
    rank_of: dict[tuple[int, int], int] = {}
    edit, place, newest = -1, -1, 0
    numbers, which = np.asarray(events["file"])[rows], edits.tree[edits.of_row]
    for row in np.flatnonzero(((source == 0) | (level == 0)) & (kinds[rows] != "link")).tolist():
        if edits.of_row[row] != edit:
            edit, place, newest = int(edits.of_row[row]), -1, newest + 1
        file = int(which[row]), int(numbers[row])
        if source[row] == 0:
            place = rank_of.pop(file, place)
        if level[row] == 0:
            ranks[row] = rank_of[file] = newest if place < 0 else place
    return ranks


def thinned(stays: dict[str, NDArray[Any]], edits: int, most: int = MOST_STAYS) -> tuple[dict[str, NDArray[Any]], Ints | None]:
    """Return at most `most` stays, and the edits after which the tree is shown; None: after every edit.

    A longer run keeps the files that exist after some edits, evenly spread over the run, as many as fit.
    """
    birth, death = stays["birth"], stays["death"]
    if len(birth) <= most:
        return stays, None
    low, high, best = 2, max(2, min(edits, most)), np.array([0, edits - 1], dtype=np.int64)
    while low <= high:
        count = (low + high) // 2
        shown = np.unique(np.linspace(0, edits - 1, count).round().astype(np.int64))
        if int(_seen(birth, death, shown).sum()) <= most:
            best, low = shown, count + 1
        else:
            high = count - 1
    kept = _seen(birth, death, best)
    return {name: values[kept] for name, values in stays.items()}, best


def _seen(birth: Ints, death: Ints, shown: Ints) -> NDArray[np.bool_]:
    """Mark the stays that last over at least one of the edits `shown`."""
    return np.searchsorted(shown, birth) < np.searchsorted(shown, death)


def stay_columns(stays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the stays as narrow columns for a page; keys as steps of 1/65535 of the key space."""
    dtypes = {"birth": "u4", "death": "u4", "kind": "u1", "tree": "u2", "number": "u4", "level": "i1", "host": "i4",
              "rank": "u4", "bytes": "f4", "entries": "f4"}  # fmt: skip
    top = max(1.0, float(np.max(stays["largest"], initial=1.0)))
    keys = {
        name: narrowed(np.clip(np.round(np.asarray(stays[name], dtype=np.float64) / top * _KEYS), 0, _KEYS), "u2")
        for name in ("smallest", "largest")
    }
    columns = {name: narrowed(stays[name], dtype) for name, dtype in dtypes.items()}
    if not (stays["kind"] == SLICE).any():
        del columns["host"]
    return {**columns, **keys}
