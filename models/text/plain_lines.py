"""The one reader of text for LOGs, OPTIONS files and statistics: lines of any origin as RocksDB itself would have written them.

A plain line is that of a LOG (`2026/11/20-21:54:14.174956 7fe0fa0d7f00 message`), or one without a time stamp: a line that
continues a message, of a statistics table, of an OPTIONS file or of an option string. The fraction of the stamp is absent if
the text has whole seconds; a thread that the text does not show is "-".
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final

from lsmlab.models.text.files import UNDECODED
from lsmlab.models.text.prefixes import Prefix
from lsmlab.models.text.stamps import OWN_STAMP, host_stamp, yearless_stamp
from lsmlab.models.text.wrappers import separate_lines, unquoted, unwrapped

NO_THREAD: Final = "-"
"""Thread of a plain line whose source does not show it."""
_ID: Final = r"(?:0x)?(?:[0-9a-f]*[0-9][0-9a-f]*|[a-f]{3,8})"
"""A thread id: an address, or a number of any length (Windows). "DB" and other words are none."""
_PLAIN: Final = re.compile(rf"{OWN_STAMP}\.\d{{6}} {_ID} ")
_OWN: Final = re.compile(rf"(?P<time>{OWN_STAMP})(?:[.,](?P<fraction>\d{{1,9}}))?(?: +(?P<thread>{_ID})(?= |$))?(?: |$)")
_FORKS: Final = "(?:RocksDB|[Ss]pee[dD][bB]|[Tt]opling[dD][bB]|[Tt]erark[dD][bB])"
_MESSAGE: Final = re.compile(
    r"(?<![\w./\\])(?:"
    r"EVENT_LOG_v1 |\(Original Log Time |(?:\[(?:WARN|ERROR|FATAL)\] ?)?\[[^\[\]\s\"]+\.(?:cc|h):\d+\](?: |$)|"
    rf"{_FORKS} version: |DB SUMMARY|DB Session ID:|SST files in |DB pointer |"
    r" {0,80}Options\.\w| {0,80}table_factory options:|"
    r"\[[^\[\]]+\] (?:Stalling|Stopping|Increasing|New memtable|Mov(?:ing|ed) #|Level-0 |"
    r"compacted to|Level summary|SetOptions|\[JOB )|------- DUMPING STATS|Shutdown(?:: canceling| complete))"
)
"""Begins of the messages that the parsers know. Needed where something of unknown length precedes them."""
_UNSTAMPED: Final = re.compile(
    r"(?<![\w./\\])(?:\*\* (?:DB Stats|Compaction Stats|File Read Latency)|Uptime\(secs\): |"
    r"(?:Cumulative|Interval) (?:writes|WAL|stall|compaction): |(?:Level|Priority) +Files +Size|"
    r"# This is a \w+ option file|\[Version\]|\[DBOptions\]|\[(?:CFOptions|TableOptions/\w+) \")"
)
"""Begins of lines without a time stamp that the parsers know."""
_FORK: Final = re.compile(
    rf"((?:{OWN_STAMP}\S* \S+ )?)(?:(?<=. )\w*[dD][bB]|{_FORKS}) version: (\d\S*)(?: \((\d+\.\d+[^\s)]*)\))?"
)
"""Version line of RocksDB and its forks. Speedb has the release of RocksDB in parentheses."""
_DECIMAL_COMMA: Final = re.compile(r"(?<=\d),(?=\d)")
"""RocksDB prints floats with the comma of the process's locale, lists with ", ", and the JSON of events with points."""
_DECIMAL: Final = re.compile(r"(?<![\w.,/\\])(\d+),(\d+)(?![\d-]|[.,]\d)")
"""Number with a decimal comma. Names, paths, ranges and lists are none: cf1,2 and /a/1,2 and p(3,0-12) (Ceph) and 1,2,3."""
_MOST_PARTS: Final = 64
"""Largest number of lines that a wrapped one becomes."""
_MICROS: Final = re.compile(r'time_micros\W{1,6}(\d{16})(?!\d)')
"""Time of an event since 1970."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ROW: Final = re.compile(r'(?:(?:"[^"]*"|[^",]*),){1,20}(?=")|(?="(?:[^"]|"")*"\s*$)')
"""Begin of a row of a CSV file whose last cell is the message, in quotes; the only cell must end in its line."""
_ENTITY: Final = re.compile(r"&(?:quot|lt|gt|amp|nbsp|apos|#\d{1,5}|#x[0-9A-Fa-f]{1,4});")
"""Signs as web pages write them."""
_WEB_SPACES: Final = re.compile(" *\xa0[ \xa0]*")
"""Run of spaces, of which web pages keep all but one as spaces without a break."""
_LATIN_LETTERS: Final = 0xDCC0
"""From here on such a byte is a letter in latin-1."""
_NAME: Final = re.compile(r'"cf_name": "[^"]*"|\[[^\]"]*\]|\S*[/\\]\S*|Options\.\S+.*')
"""Parts of a line that may have letters of any language: names of column families and paths."""


class PlainLines:
    """Plain lines of a text with the numbers of their source lines, for a single iteration.

    One source line may give several plain lines: a JSON object with a message of several lines.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self._prefix = Prefix()
        self._part = ""
        """Begin of a line that a collector has cut."""
        self._in_cell = False
        """Whether the cell of a CSV file goes on in the next line."""
        self._own = False
        """Whether a line had RocksDB's own time stamp: then stamps of collectors do not count."""
        self._event_us = 0
        """Time of the last event in a text without RocksDB's stamps; 0 before the first."""
        self.wrapped = False
        """Whether messages have the time stamp of a host program or collector, in place of RocksDB's."""
        self.undecodable = 0
        """Number of lines with bytes that are not text."""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield (number of the source line from 1, plain line)."""
        is_plain = _PLAIN.match
        for number, raw in _rejoined(self._lines):
            text = raw if raw.isascii() else self._decoded(raw)
            if "\0" in text:
                text = text.replace("\0", "")
            if "&" in text and _ENTITY.search(text):
                text = html.unescape(text)
            if "\xa0" in text:
                text = _WEB_SPACES.sub(" ", text)
            if is_plain(text):
                if not self._own or self._prefix.known:
                    self._own = True
                    self._prefix.learn("")
                if text[-1] == "\r":
                    text = text[:-1]
                yield number, text if "EVENT_LOG_v1" in text else _plain(text)
            else:
                for line in self._unwrapped(text.rstrip("\r\n")):
                    yield number, line

    def _decoded(self, text: str) -> str:
        """Return a text whose undecoded bytes are letters of latin-1; count it if they are no letters, or outside of names."""
        if not UNDECODED.search(text):
            self.undecodable += "\ufffd" in text
            return text
        result = UNDECODED.sub(lambda found: _latin(found[0]), text)
        self.undecodable += "\ufffd" in result or not _NAME.sub("", result).isascii()
        return result

    def _unwrapped(self, text: str) -> Iterator[str]:
        """Yield the plain lines of a source line that does not begin as a plain line does."""
        if "\x1b" in text:
            text = _COLOUR.sub("", text)
        text = self._cell(text)
        wrapper = unwrapped(text)
        if wrapper is None:
            if self._part:
                text, self._part = self._part + text, ""
            yield from self._lines_of(text, "")
            return
        message, self._part = self._part + wrapper.text, ""
        if wrapper.goes_on:
            self._part = message
            return
        stamp = wrapper.stamp
        while (inner := unwrapped(message)) is not None:  # a program's JSON inside a collector's
            message, stamp = inner.text, inner.stamp or stamp
        for line in separate_lines(message):
            yield from self._lines_of(line, stamp)

    def _cell(self, text: str) -> str:
        """Return a row of a CSV file with its last cell as plain text, which may go on in further lines, or any other line."""
        head = ""
        if not self._in_cell:
            row = _ROW.match(text)
            if row is None:
                return text
            head, text = row[0], text[row.end() + 1 :]
        closed = text.count('"') % 2 == 1  # quotes inside of a cell are doubled
        self._in_cell = not closed
        return head + (text.rstrip().removesuffix('"') if closed else text).replace('""', '"')

    def _lines_of(self, text: str, stamp: str) -> Iterator[str]:
        """Yield the plain lines in a text that no wrapper contains; `stamp`: time of its wrapper."""
        own = _OWN.search(text)
        if own is not None:
            start = own.start()
            if start and _begins(text):  # two messages, of which the first has lost its line break
                self._prefix.learn("")
                yield _plain(text)
                return
            self._own = True
            self._prefix.learn(text[:start])
            for number, line in enumerate(separate_lines(unquoted(text, start))):
                yield _with_own_stamp(line) if number == 0 else _plain(line)
            return
        found = _MESSAGE.search(text)
        if found is not None:
            self._prefix.learn(text[: found.start()])
            yield from self._message(text, found.start(), stamp)
            return
        if (known := _UNSTAMPED.search(text)) is not None:
            self._prefix.learn(text[: known.start()])
            yield from map(_plain, separate_lines(unquoted(text, known.start())))
            return
        yield _plain(self._prefix.stripped(text))

    def _message(self, text: str, start: int, stamp: str) -> Iterator[str]:
        """Yield the plain lines of a message without RocksDB's stamp, which begins at `start`."""
        host = None if self._own else host_stamp(text[:start]) or ((stamp, "") if stamp else self._yearless(text, start))
        first, *others = separate_lines(unquoted(text, start))
        if host is None:
            yield _plain(first)
        else:
            self.wrapped = True
            yield _plain(f"{host[0]} {host[1] or NO_THREAD} {first}")
        yield from map(_plain, others)

    def _yearless(self, text: str, start: int) -> tuple[str, str] | None:
        """Return the stamp without a year before a message, with that of the last event; None without a stamp or an event."""
        if (event := _MICROS.search(text, start)) is not None:
            self._event_us = int(event[1])
        found = yearless_stamp(text[:start], self._event_us) if self._event_us else ""
        return (found, "") if found else None


def _rejoined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; those of a LOG that a terminal or an editor has wrapped at one width as the lines that they were.

    An event tells the width: its JSON goes on in a line without a begin that the parsers know.
    """
    width, first = 0, 0
    held: list[str] = []
    """Parts of the line that begins at `first` and may go on."""
    for number, raw in enumerate(lines, 1):
        if held:
            part, is_open = raw.rstrip("\r\n"), _is_open_event("".join(held))
            if (is_open or len(held[-1]) == width) and len(held) < _MOST_PARTS and not _starts(part):
                width = max(width, len(held[-1])) if is_open else width
                held.append(part)
                continue
            yield first, "".join(held)
            held = []
        if ("EVENT_LOG_v1 {" in raw and _is_open_event(raw)) or (width and len(raw.rstrip("\r\n")) == width):
            first, held = number, [raw.rstrip("\r\n")]
        else:
            yield number, raw
    if held:
        yield first, "".join(held)


def _is_open_event(text: str) -> bool:
    """Return whether a line of RocksDB's own begins an event whose JSON does not end in it."""
    return _OWN.match(text) is not None and "EVENT_LOG_v1 {" in text and text.count("{") > text.count("}")


def _starts(text: str) -> bool:
    return not text.strip() or _OWN.search(text) is not None or _begins(text)


def _begins(text: str) -> bool:
    """Whether a text begins with what the parsers know, not with a prefix."""
    return _MESSAGE.match(text) is not None or _UNSTAMPED.match(text) is not None


def _with_own_stamp(text: str) -> str:
    """Return a line with RocksDB's stamp in its plain form: a fraction of six digits or none, and a thread."""
    found = _OWN.match(text)
    if found is None:
        return _plain(text)
    fraction = f".{found['fraction'][:6]:0<6}" if found["fraction"] else ""
    return _plain(f"{found['time']}{fraction} {found['thread'] or NO_THREAD} {text[found.end() :]}")


def _plain(text: str) -> str:
    """Return a line with decimal points, and with the release of RocksDB where a fork printed its own."""
    if "," in text and "EVENT_LOG_v1" not in text and _DECIMAL_COMMA.search(text):
        text = _DECIMAL.sub(r"\1.\2", text)
    if " version: " in text and (fork := _FORK.match(text)) is not None:
        text = f"{fork[1]}RocksDB version: {fork[3] or fork[2]}"
    return text


def _latin(byte: str) -> str:
    """Return the letter of latin-1 that an undecoded byte is; U+FFFD for other bytes."""
    return chr(ord(byte) - 0xDC00) if ord(byte) >= _LATIN_LETTERS else "\ufffd"
