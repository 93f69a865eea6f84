"""Plain lines of a RocksDB LOG: split into time stamp and message, converted to records, and the JSON of events."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.text.plain_lines import NO_THREAD
from lsmlab.models.text.stamps import OWN_STAMP
from lsmlab.validation.logs import records
from lsmlab.validation.logs.clock import Clock
from lsmlab.validation.logs.record_list import Record

_STAMP: Final = rf"{OWN_STAMP}(?:\.\d{{1,6}})?"
_LINE: Final = re.compile(rf"({_STAMP}) (\S+) (?:\(Original Log Time ({_STAMP})\) )?")
_HEAD: Final = re.compile(r"(?:\[(?:WARN|ERROR|FATAL|HEADER|DEBUG)\] ?)?(?:\[[^\]]*:\d+\] ?)?(?:\[([^\]]*)\]:? )?")
_NEAR: Final = re.compile(
    r"writes because|compaction threads|immutable memtables|level-0 files|pending compaction bytes \d+( rate|\s*$)|"
    r"\"time_micros\": |"
    r"\"job\": \d+|\"event\": \"|\[JOB \d+\] (?:Level-0 flush|Compact|Generated|Flush)|"
    r"files to L\d|lumn_family\.cc|Level-0 commit table #\d+: |memtables?: \d+\.$"
)
_NOT_DAMAGED: Final = re.compile(
    r"(?:\[JOB \d+\] )?(?:Level-0 commit (?:flush result of )?table #\d+.* started|Level-0 flush table #\d+: started|"
    r"Compaction error|Flushing|Column family|Level summary: )"
)
_ENDLESS: Final = re.compile(r"\d{19}")
"""Digits of a number above `records.LARGEST`."""

KNOWN_EVENTS: Final = frozenset(
    (
        "flush_started", "flush_finished", "compaction_started", "compaction_finished", "trivial_move",
        "table_file_creation", "table_file_deletion", "blob_file_creation", "blob_file_deletion",
        "recovery_started", "recovery_finished", "ingest_finished", "refit_level", "stats",
    )
)  # fmt: skip

_FIELD: Final = re.compile(r'"(\w+)": (-?\d+\.?\d*(?:[eE][-+]?\d+)?(?=[,}\]])|"(?:[^"\\]|\\.)*"|\[[^\]\[]*\]|\{)')
_PROPERTIES: Final = frozenset(
    (
        "data_size", "index_size", "raw_key_size", "raw_value_size", "num_entries", "num_deletions", "num_range_deletions",
        "kDeletedKeys", "compression",
    )
)  # fmt: skip
"""Table properties that are read. An event has 35 of them, which would be most of the memory for a large LOG."""


@dataclass(frozen=True, slots=True)
class Line:
    """A message with its time."""

    time_us: int
    """Local wall clock; for a line without a time stamp, the time of the line before it."""
    thread: str
    message: str
    stamped: bool
    stated_us: int = 0
    """Time in the line's stamp, even if `Clock` did not accept it."""


def split_line(text: str, clock: Clock) -> list[Line]:
    """Split a plain line into messages: one, or several if a line break was lost; none if the line is blank."""
    first = _LINE.match(text)
    if first is not None and not _another_stamp(text, first.end()):
        return [_stamped(text, first, len(text), clock)]
    stamps = list(_LINE.finditer(text))
    if not stamps:
        return [Line(clock.last_us, "", text, stamped=False)] if text.strip() else []
    lines = []
    if stamps[0].start():
        lines.append(Line(clock.last_us, "", text[: stamps[0].start()], stamped=False))
    for i, found in enumerate(stamps):
        end = stamps[i + 1].start() if i + 1 < len(stamps) else len(text)
        lines.append(_stamped(text, found, end, clock))
    return lines


def _another_stamp(text: str, start: int) -> bool:
    """Whether a time stamp may follow after `start`: look for its slashes, as regular expressions are slow."""
    at = text.find("/", start)
    while at >= 0:
        if text[at + 3 : at + 4] == "/" and text[at + 6 : at + 7] == "-":
            return True
        at = text.find("/", at + 1)
    return False


def _stamped(text: str, found: re.Match[str], end: int, clock: Clock) -> Line:
    time_us, stated_us = clock.read(found[1])
    if found[3]:
        time_us = clock.original(found[3], time_us)
    return Line(time_us, "" if found[2] == NO_THREAD else found[2], text[found.end() : end], True, stated_us)


def read_line(message: str, time_us: int, thread: str, number: int, opening: int) -> Record | None:
    """Convert a message to its record; None for a message of any other kind than those in `records`."""
    head = _HEAD.match(message)
    assert head is not None
    text = message[head.end() :]
    for kind in _KINDS.get(text.split(" ", 1)[0], ()):
        if found := kind.PATTERN.match(text):
            if _ENDLESS.search(text):
                return None
            values = {name: _CONVERTERS.get(name, int)(value) for name, value in found.groupdict().items()}
            family = sys.intern(head[1] or "default")
            record: Record = kind(time_us, sys.intern(thread), number, opening, family, **values)
            return record
    return None


def looks_damaged(message: str) -> bool:
    """Whether a message that could not be read resembles a known message, and so is probably damaged."""
    if not _NEAR.search(message):
        return False
    head = _HEAD.match(message)
    return not _NOT_DAMAGED.match(message, head.end() if head else 0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose names, and short texts, are in memory once for all events."""
    return {sys.intern(name): sys.intern(value) if isinstance(value, str) and len(value) < 40 else value for name, value in pairs}


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object)


def parse_event(text: str) -> tuple[dict[str, Any], bool]:
    """Return the fields of an event's JSON, and whether the JSON is complete. Ignore text after the closing brace."""
    try:
        value, _ = _DECODER.raw_decode(text)
        if isinstance(value, dict):
            return _needed(value), True
    except (ValueError, RecursionError):
        pass
    data: dict[str, Any] = {}
    target = data
    for name, value in _FIELD.findall(text):
        if value == "{":  # table_properties, the only nested object of an event and its last field
            target = data[name] = {}
            continue
        try:
            target[name] = json.loads(value)
        except ValueError:
            continue
    return data, False


def _needed(event: dict[str, Any]) -> dict[str, Any]:
    properties = event.get("table_properties")
    if isinstance(properties, dict):
        event["table_properties"] = {name: properties[name] for name in _PROPERTIES if name in properties}
    return event


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split())


_CONVERTERS: Final[dict[str, Callable[[str], Any]]] = {"text": str, "inputs": str, "lsm_state": _numbers}
"""Functions that convert the groups of a `PATTERN`; all others are integers."""
_KINDS: Final[dict[str, tuple[type[Any], ...]]] = {
    "Stalling": (records.StallLine,),
    "Stopping": (records.StallLine,),
    "Increasing": (records.StallLine,),
    "New": (records.SwitchLine,),
    "Moving": (records.MovingLine,),
    "Moved": (records.MovedLine,),
    "Level-0": (records.ReleasedLine,),
    "Compaction": (records.StartSummary, records.IdlePick),
    "compacted": (records.InstalledLine,),
    "[JOB": (records.JobLine,),
    "Deleted": (records.DeletedLine,),
    "FIFO": (records.DroppingLine,),
    "SetOptions()": (records.OptionsChange,),
}
"""Kinds of records by the first word of their text."""
