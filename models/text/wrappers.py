"""Messages inside JSON objects, quotes and CSV cells, as log collectors and host programs write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.text.stamps import stamp_of

_TEXT_KEYS: Final = (
    "log", "MESSAGE", "message", "msg", "line", "textPayload", "short_message", "full_message", "text", "body", "_raw", "event",
)  # fmt: skip
"""Keys of the message: Docker, journald, Elastic and most programs, zap, Loki, Google Cloud, GELF, OpenTelemetry, Splunk."""
_TIME_KEYS: Final = (
    "time", "@timestamp", "timestamp", "ts", "Timestamp", "__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP", "t", "_time",
)  # fmt: skip
_INNER_KEYS: Final = ("_source", "fields", "jsonPayload", "result", "attributes")
"""Objects inside which some collectors put the message."""
_MOST_OBJECTS: Final = 8
"""Objects around a member that is read on its own."""
_CRI: Final = re.compile(r"(\d{4}-\d\d-\d\dT\S+) (?:stdout|stderr) ([PF])(?: |$)")
"""Prefix of each line that a Kubernetes node keeps; P: the line goes on in the next (CRI logging format)."""
_DOCKER_PART: Final = 16_000
"""Least length of a part of a line that Docker cut: it cuts after 16 KiB, and only a part does not end with a line feed."""
_RUBY: Final = re.compile(r'(?<=[\w@])"=>(?=["{\[\d])')
"""Sign between a key and its value as Fluent Bit's standard output has it: {"log"=>"..."}."""
_DECODER: Final = json.JSONDecoder(strict=False)
_ESCAPED_BREAK: Final = re.compile(r"\\n|#012")
"""Line feeds as host programs (ArangoDB) and syslog daemons write them."""
_OF_SEVERAL_LINES: Final = re.compile(r"DUMPING STATS|table_factory options:|\*\* (?:DB|Compaction) Stats")
"""Messages of RocksDB that have several lines. Elsewhere a backslash may be that of a path on Windows."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A message that was inside a wrapper."""

    text: str
    stamp: str = ""
    """Time of the wrapper in RocksDB's form; "" without one."""
    goes_on: bool = False
    """Whether the collector cut the line, and the next one continues it."""


def unwrapped(text: str) -> Wrapped | None:
    """Return the message in a line of JSON, of Fluent Bit or of a Kubernetes node's file; None for any other line."""
    if found := _CRI.match(text):
        return Wrapped(text[found.end() :], stamp_of(found[1]), found[2] == "P")
    start = text.find('{"')
    if start < 0 or "EVENT_LOG_v1" in text[:start]:
        return None
    if '"=>' in text:
        text = _RUBY.sub('": ', text)
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return _message(value) if isinstance(value, dict) else None


def _message(value: dict[str, Any]) -> Wrapped | None:
    if "time_micros" in value and "event" in value:
        return Wrapped(f"EVENT_LOG_v1 {json.dumps(value)}")
    name = next((key for key in _TEXT_KEYS if isinstance(value.get(key), str)), None)
    if name is None:
        return next((found for key in _INNER_KEYS if isinstance(value.get(key), dict) and (found := _message(value[key]))), None)
    text = value[name]
    stamp = next((stamp for key in _TIME_KEYS if (stamp := stamp_of(value.get(key)))), "")
    return Wrapped(text.removesuffix("\n"), stamp, goes_on=len(text) >= _DOCKER_PART and not text.endswith("\n"))


def json_members(text: str) -> list[tuple[tuple[str, ...], str, str]] | None:
    """Return the members of a JSON object as text, with the keys of the objects around; None for a text that is none.

    >>> json_members('{"num_levels": 7, "ttl": "0", "meta": {"disable_wal": false}}')
    [((), 'num_levels', '7'), ((), 'ttl', '0'), (('meta',), 'disable_wal', 'false')]
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return list(_members((), value)) if isinstance(value, dict) else None


def _members(path: tuple[str, ...], value: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for name, member in value.items():
        if isinstance(member, dict) and member and len(path) < _MOST_OBJECTS:
            yield from _members((*path, name), member)
        else:
            yield path, name, member if isinstance(member, str) else json.dumps(member)


def unquoted(text: str, start: int) -> str:
    r"""Return the text from `start` on, without the quotes around it if a quote precedes it, and with its escapes undone.

    >>> unquoted(r'level=info msg="EVENT_LOG_v1 {\"job\": 2}" pid=1', 16)
    'EVENT_LOG_v1 {"job": 2}'
    """
    if start == 0 or text[start - 1] != '"':
        return text[start:]
    rest = text[start:]
    if rest.startswith("EVENT_LOG_v1 {") and "\\" not in rest:  # the quotes around are those of XML, which has other escapes
        return rest
    try:
        value, _ = _DECODER.raw_decode(text, start - 1)
    except (ValueError, RecursionError):
        value = re.sub(r'"\]?\s*$', "", rest).replace('\\"', '"').replace("\\\\", "\\")
    return str(value)


def separate_lines(message: str) -> list[str]:
    r"""Return the lines of a message, also if its line feeds are escaped.

    >>> separate_lines(r"[db/db_impl.cc:8] ------- DUMPING STATS -------\n** DB Stats **")
    ['[db/db_impl.cc:8] ------- DUMPING STATS -------', '** DB Stats **']
    """
    lines = message.split("\n")
    if _OF_SEVERAL_LINES.search(message):
        return [part for line in lines for part in _ESCAPED_BREAK.split(line)]
    return lines
