"""Forms in which people have RocksDB's messages: the same LOG through programs, log collectors, locales and encodings."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

OWN = re.compile(r"(\d{4})/(\d\d)/(\d\d)-(\d\d:\d\d:\d\d)\.(\d{6}) (\S+) (.*)")
_STAMP = re.compile(r"(\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d)\.\d{6}")
_FLOAT = re.compile(r"(?<=\d)\.(?=\d)")


@dataclass(frozen=True)
class Form:
    """A way in which lines are changed."""

    name: str
    change: Callable[[Sequence[str]], list[str]]
    resolution_s: float = 1e-6
    """Resolution of the time stamps that it leaves."""


def _each(change: Callable[[str], str]) -> Callable[[Sequence[str]], list[str]]:
    return lambda lines: [change(line) for line in lines]


def _messages(change: Callable[[re.Match[str]], str]) -> Callable[[Sequence[str]], list[str]]:
    """Change the first lines of messages; the lines that continue them stay as they are."""
    return lambda lines: [change(found) if (found := OWN.match(line)) else line for line in lines]


def _comma(line: str) -> str:
    """Print floats with a comma, except in the JSON of events and in stamps, as a locale does."""
    if "EVENT_LOG_v1" in line:
        return line
    found = OWN.match(line)
    start = found.start(7) if found else 0
    source = re.match(r"(?:\[\S+:\d+\] )?(?:RocksDB version.*)?", line[start:])
    start += source.end() if source else 0
    return line[:start] + _FLOAT.sub(",", line[start:])


def stamped(template: str) -> Callable[[re.Match[str]], str]:
    """Return what writes a message by a template with the parts of its stamp, its `thread` and its `message`.

    `short_year` has two digits, `millis` three; `quoted` is the message as a JSON string.
    """

    def write(found: re.Match[str]) -> str:
        parts = dict(zip(("year", "month", "day", "time", "micros", "thread", "message"), found.groups(), strict=True))
        further = {"short_year": parts["year"][2:], "millis": parts["micros"][:3], "quoted": json.dumps(parts["message"])}
        return template.format_map({**parts, **further})

    return write


CEPH = stamped("{year}-{month}-{day}T{time}.{micros}+0000 7f14e{thread}  4 rocksdb: {message}")
TIKV = stamped("[{year}/{month}/{day} {time}.{millis} +08:00] [INFO] [rocksdb.rs:120] [{quoted}]")
COCKROACHDB = stamped("I{short_year}{month}{day} {time}.{micros} 97 storage/engine/rocksdb.go:93  [n1] {message}")
ARANGODB = stamped("{year}-{month}-{day}T{time}.{millis}Z [4711] INFO [9cf23] {{rocksdb}} rocksdb: {message}")
LOGFMT = stamped('time="{year}-{month}-{day}T{time}.{micros}Z" level=info msg={quoted}')


def syslog(found: re.Match[str]) -> str:
    """Write a message with syslog's stamp, which has no year."""
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[int(found[2]) - 1]
    return f"{month} {int(found[3]):2} {found[4]} node1 mydb[4711]: {found[7]}"


SYSLOG = Form("syslog", _messages(syslog), 1.0)
"""A host program with syslog's stamps: their year is that of the first event, so what precedes it has no time."""


def _structured(lines: Sequence[str]) -> list[str]:
    """Write each message, with the lines that continue it, as one JSON object with a time of its own."""
    result: list[str] = []
    text, stamp = "", ""
    for line in [*lines, ""]:
        found = OWN.match(line)
        if (found or not line) and text:
            result.append(json.dumps({"level": "info", "ts": stamp, "msg": text}))
            text = ""
        if found:
            stamp, text = f"{found[1]}-{found[2]}-{found[3]}T{found[4]}.{found[5]}Z", found[7]
        elif line:
            text += f"\n{line}"
    return result


def _docker(line: str) -> str:
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": "2023-11-15T01:02:03.123456789Z"})


def _fluent_bit(line: str) -> str:
    return f'[0] app.log: [[1700000000.123456789, {{}}], {{"stream"=>"stderr", "log"=>{json.dumps(line, ensure_ascii=False)}}}]'


def _doubled(text: str) -> str:
    return text.replace('"', '""')


def _rows(lines: Sequence[str]) -> list[str]:
    """Write each message, with the lines that continue it, as a cell of a CSV file; those of a host program as they are."""
    if not any(map(OWN.match, lines)):
        return list(lines)
    ends = [number + 1 == len(lines) or OWN.match(lines[number + 1]) for number in range(len(lines))]
    return [
        ('"Nov 14, 2023 @ 22:13:20.000","' if OWN.match(line) else "") + _doubled(line) + ('"' if end else "")
        for line, end in zip(lines, ends, strict=True)
    ]


def _grep_context(lines: Sequence[str]) -> list[str]:
    signs = [":" if OWN.match(line) else "-" for line in lines]
    return [f"db/LOG{sign}{n}{sign}{line}" for n, (sign, line) in enumerate(zip(signs, lines, strict=True), 1)]


CONTENT = (
    Form("as it is", list),
    Form("decimal comma", _each(_comma)),
    Form("whole seconds", _each(lambda line: _STAMP.sub(r"\1", line)), 1.0),
    Form("no thread ids", _messages(lambda found: found[0].replace(f" {found[6]} ", " ", 1))),
    Form("Speedb", _each(lambda line: line.replace("RocksDB version: 7.8.3", "Speedb version: 2.4.0-? (7.8.3)"))),
)
"""What RocksDB itself, a fork or the locale print."""
HOSTS = (
    Form("none", list),
    Form("Ceph", _messages(CEPH)), Form("TiKV", _messages(TIKV), 1e-3), Form("CockroachDB", _messages(COCKROACHDB)),
    Form("ArangoDB", _messages(ARANGODB), 1e-3), Form("logfmt", _messages(LOGFMT)), Form("structured", _structured),
)  # fmt: skip
"""Programs that put their own stamp in place of RocksDB's."""
COLLECTORS = (
    Form("none", list),
    Form("journalctl", _each(lambda line: f"Nov 14 22:13:20 node1 mydb[4711]: {line}")),
    Form("kubectl", _each(lambda line: f"2023-11-15T09:02:03.123456789Z {line}")),
    Form("CRI", _each(lambda line: f"2023-11-15T09:02:03.123456789Z stderr F {line}")),
    Form("Docker", _each(_docker)),
    Form("Fluent Bit", _each(_fluent_bit)),
    Form("compose", _each(lambda line: f"\x1b[36mdb-1  | \x1b[0m{line}")),
    Form("grep", _each(lambda line: f"LOG:{line}")),
    Form("grep -n -A", _grep_context),
    Form("CSV, a row for each line", _each(lambda line: f'1700000000123,"{_doubled(line)}"')),
    Form("CSV, a row for each message", _rows),
    Form("CSV, one column", _each(lambda line: f'"{_doubled(line)}"')),
    Form("web page", _each(lambda line: html.escape(line))),
    Form("quote", _each(lambda line: f"> {line}".rstrip() if not line else f"> {line}")),
)
"""Programs that put something before each line."""
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1")
