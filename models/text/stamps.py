"""Time stamps of lines: RocksDB's own form, and those of host programs and collectors, in RocksDB's form."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

OWN_STAMP: Final = r"\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d"
"""RocksDB's stamp without its fraction of a second (`util/stderr_logger`, `env/env_posix`: PosixLogger::Logv)."""
_HOST: Final = re.compile(
    r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)(?:[T _-]| @ )(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?|"
    r"[IWEFD]((?:\d\d){1,2})(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6})"
)
"""ISO 8601 and similar, CockroachDB's (I210503 12:34:56.789012) and that of glog with a year (I20210503 12:34:56.789012)."""
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_YEARLESS: Final = re.compile(
    rf"(?<!\w)(?:({'|'.join(_MONTHS)}) +(\d{{1,2}})|[IWEF](\d\d)(\d\d)) (\d\d:\d\d:\d\d)(?:[.,](\d{{1,9}}))?"
)
"""Stamps of syslog (RFC 3164: Nov 14 22:13:20) and glog (I1114 22:13:20.123456), which have no year."""
_THREAD: Final = re.compile(r"(?:[Z+-][\d:]*)?\s+\[?((?:0x)?[0-9a-f]{8,16}|\d{10,20})\b")
"""A thread's address after a host program's stamp. Shorter numbers are processes, pools or goroutines: all lines may have the
same one."""
_EPOCH_DIGITS: Final = 10
"""Digits of the seconds since 1970, from 2001 on; each three digits more are a thousandth."""


def host_stamp(prefix: str) -> tuple[str, str] | None:
    """Return the last time stamp in what precedes a message, in RocksDB's form, and the thread after it ("" if unknown).

    >>> host_stamp("node1 ceph-osd[47]: 2026-11-20T21:54:14.174+0000 7fe0fa0d7f00  4 rocksdb: ")
    ('2026/11/20-21:54:14.174', '7fe0fa0d7f00')
    >>> host_stamp("I210503 12:34:56.789012 97 storage/engine/rocksdb.go:93  [n1] ")
    ('2021/05/03-12:34:56.789012', '')
    """
    all_found = list(_HOST.finditer(prefix))
    if not all_found:
        return None
    found = all_found[-1]
    year, month, day, hour, minute, second, fraction = found.groups()[:7] if found[1] else found.groups()[7:]
    year = year if len(year) == 4 else f"20{year}"
    thread = _THREAD.match(prefix, found.end())
    return f"{year}/{month}/{day}-{hour}:{minute}:{second}{_fraction(fraction)}", thread[1] if thread else ""


def yearless_stamp(prefix: str, near_us: int) -> str:
    """Return the last stamp without a year in what precedes a message, in RocksDB's form; "" without one.

    It gets the year of a moment near it, in microseconds since 1970 by UTC.

    >>> yearless_stamp("Dec 31 23:59:59 node1 mydb[4711]: ", 1_704_067_200_000_000)  # 2024-01-01 00:00:00
    '2023/12/31-23:59:59'
    """
    all_found = list(_YEARLESS.finditer(prefix))
    if not all_found:
        return ""
    name, day, number, glog_day, time, fraction = all_found[-1].groups()
    month, near = _MONTHS.index(name) + 1 if name else int(number), datetime.fromtimestamp(near_us // 10**6, tz=UTC)
    year = near.year - (month - near.month > 6) + (near.month - month > 6)
    return f"{year}/{month:02}/{int(day or glog_day):02}-{time}{_fraction(fraction)}"


def stamp_of(value: Any) -> str:
    """Return a time in a JSON object as RocksDB's stamp: text with a date, or a number since 1970; "" for anything else.

    >>> stamp_of("2026-11-20T21:54:14.174956123Z"), stamp_of(1795211654174), stamp_of("1795211654174956")
    ('2026/11/20-21:54:14.174956', '2026/11/20-21:54:14.174000', '2026/11/20-21:54:14.174956')
    """
    if isinstance(value, str):
        found = host_stamp(value)
        if found is not None:
            return found[0]
        if not value.isascii() or not value.isdigit() or len(value) > 2 * _EPOCH_DIGITS:
            return ""
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10.0 ** (2 * _EPOCH_DIGITS):
        return ""
    factor = 1000 ** ((len(str(int(value))) - _EPOCH_DIGITS) // 3)
    micros = int(value) * 10**6 // factor if isinstance(value, int) else int(value * 10**6 / factor)
    moment = datetime.fromtimestamp(micros // 10**6, tz=UTC)
    return f"{moment:%Y/%m/%d-%H:%M:%S}.{micros % 10**6:06}"


def _fraction(digits: str | None) -> str:
    """Return a fraction of a second with its point, to the microsecond; "" without one."""
    return f".{digits[:6]}" if digits else ""
