"""Public traces of caches in CSV files: Twitter's clusters (Yang et al., OSDI 2020) and Meta's key-value cache (CacheLib).

- Twitter, without a heading: time in s, anonymized key (which may contain commas), key size, value size, client, operation,
  time to live (github.com/twitter/cache-trace).
- Meta, with a heading: key, op, size, op_count, key_size and others, in the order of the heading; op_time in newer ones
  (cachelib/cachebench/workload/KVReplayGenerator.h). A row stands for op_count equal operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from lsmlab.models.text.files import TextLines
from lsmlab.models.traces.operations import MOST_OPERATIONS, UNKNOWN, Kind, OperationList, Operations

_TWITTER: Final[Mapping[str, tuple[Kind, ...]]] = {
    "get": (Kind.GET,), "gets": (Kind.GET,), "delete": (Kind.DELETE,),
    **dict.fromkeys(("set", "add", "replace", "cas"), (Kind.PUT,)),
    **dict.fromkeys(("append", "prepend", "incr", "decr"), (Kind.GET, Kind.PUT)),
}  # fmt: skip
"""Operations of a store by those of memcached: the last four read the value that they change."""
_META: Final[Mapping[str, tuple[Kind, ...]]] = {
    "GET": (Kind.GET,), "GET_LEASE": (Kind.GET,), "SET": (Kind.PUT,), "SET_LEASE": (Kind.PUT,), "DELETE": (Kind.DELETE,),
}  # fmt: skip
_COLUMNS: Final = ("key", "op", "size", "op_count", "key_size")
_FEWEST: Final = 7
"""Columns of Twitter's traces."""
_LONGEST_NUMBER: Final = 12


def is_cache_trace(line: str) -> bool:
    """Whether a file with this first line is one of these."""
    cells = line.strip().split(",")
    return set(_COLUMNS) <= set(cells) or (len(cells) >= _FEWEST and cells[-2] in _TWITTER and cells[0].isdigit())


def read_cache_trace(path: Path) -> Operations:
    """Read a CSV file, plain or compressed. Raises InputError with the number of the first bad line."""
    found = OperationList(str(path), "line")
    lines = enumerate(TextLines(path, MOST_OPERATIONS), 1)
    number, first = next(lines, (1, ""))
    heading = first.strip().split(",")
    notes = ["keys are anonymized: their order, and so which of them are neighbours, is unknown"]
    if set(_COLUMNS) <= set(heading):
        timed = _read_meta(found, lines, {name: i for i, name in enumerate(heading)})
        form = "trace of CacheLib"
        if not timed:
            notes.append("the trace has no times; set workload.rate, or simulate it at full speed")
    else:
        _read_twitter(found, _and_first(number, first, lines))
        form, timed = "trace of memcached (Twitter)", True
        notes.append("times to live are not simulated")
    notes.append("operations of a cache: a get that misses may be followed by a put, and evictions are no deletes")
    return found.finished(form, timed=timed, ordered=False, absolute=False, complete=False, notes=tuple(notes))


def _and_first(number: int, line: str, rest: Iterable[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    yield number, line
    yield from rest


def _read_twitter(found: OperationList, lines: Iterable[tuple[int, str]]) -> None:
    for number, line in lines:
        cells = line.strip().split(",")
        if cells == [""]:
            continue
        if len(cells) < _FEWEST or cells[-2] not in _TWITTER:
            raise found.damaged(number, "it is not: time, key, key size, value size, client, operation, time to live")
        time_s, key_bytes, size = (_number(found, number, text) for text in (cells[0], cells[-5], cells[-4]))
        _add(found, number, _TWITTER[cells[-2]], ",".join(cells[1:-5]), key_bytes, size, time_s)


def _read_meta(found: OperationList, lines: Iterable[tuple[int, str]], columns: Mapping[str, int]) -> bool:
    """Read the rows below a heading; return whether they have times."""
    timed = "op_time" in columns
    for number, line in lines:
        cells = line.strip().split(",")
        if cells == [""]:
            continue
        if len(cells) <= max(columns[name] for name in _COLUMNS) or cells[columns["op"]] not in _META:
            raise found.damaged(number, f"it is not a row of {', '.join(columns)}")
        size, times, key_bytes = (_number(found, number, cells[columns[name]]) for name in ("size", "op_count", "key_size"))
        time_s = _number(found, number, cells[columns["op_time"]]) if timed else 0
        _add(found, number, _META[cells[columns["op"]]], cells[columns["key"]], key_bytes, size, time_s, times)
    return timed


def _add(
    found: OperationList, number: int, kinds: Iterable[Kind], key: str, key_bytes: int, size: int, time_s: int, times: int = 1,
) -> None:  # fmt: skip
    """Add the operations of a row. A get has the size of the value that it found; 0: it missed."""
    for kind in kinds:
        value_bytes = 0 if kind is Kind.DELETE else size or UNKNOWN if kind is Kind.GET else size
        raw = key.encode("utf-8", "surrogatepass")
        found.add(number, kind, raw, value_bytes, time_s * 1_000_000, key_bytes=key_bytes, times=times)


def _number(found: OperationList, number: int, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise found.damaged(number, f"{text[:20]!r} is no whole number")
    return int(text)

