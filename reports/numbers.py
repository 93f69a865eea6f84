"""Numbers with units, as text for the pages."""

from __future__ import annotations

import math
import re
from typing import Final

from lsmlab.models.units import format_bytes, format_seconds

TIMES: Final = "\N{MULTIPLICATION SIGN}"
MINUS: Final = "\N{MINUS SIGN}"

size = format_bytes
"""Format a size, such as 64.0 MiB."""


def seconds(duration_s: float) -> str:
    """Format a duration, such as 2.15 µs, 4.1 ms, 12.3 s."""
    return format_seconds(duration_s).replace("us", "µs")


def rate(bytes_per_s: float) -> str:
    """Format a bandwidth in decimal units, such as 512 MB/s, as in data sheets of devices."""
    for unit, factor in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if abs(bytes_per_s) >= 0.9995 * factor:
            return f"{bytes_per_s / factor:.3g} {unit}"
    return f"{bytes_per_s:.3g} B/s"


def count(number: float) -> str:
    """Format a count, such as 123,456; values below 100 that are not whole have three digits."""
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "run"), plural(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_UNITS: Final = r"(?:points?|pt|[mµn]?s|min|[kKMGT]?i?B(?:/s)?)(?!\w)"


def on_page(text: str) -> str:
    """Return a text of the terminal with the signs of a page: one form of numbers in all places.

    >>> on_page("6.2 us and 11 us, x86_64") + on_page(", 4 -> 8, -j 3, +1.5%")
    '6.2 µs and 11 µs, x86_64, 4 → 8, -j 3, +1.5 %'
    >>> on_page("-42.7% (x0.573)") == f"{MINUS}42.7 % ({TIMES}0.573)"
    True
    >>> on_page("-42.7% (-50.1 to -33.0)") == f"{MINUS}42.7 % ({MINUS}50.1 to {MINUS}33.0)"
    True
    """
    text = re.sub(r"(?<=\d) us\b", " µs", text)
    text = re.sub(r"(?<![\w.])x(?=\d[\d.,]*(?![\w.,]*\w))", TIMES, text)
    text = re.sub(rf"(?<![\w.-])-(?=\d[\d.,]*(?: ?%| {_UNITS}|\)| to [-+\d]))", MINUS, text)
    text = re.sub(r"(?<=\d)%", " %", text)
    return text.replace(" -> ", " → ")


def per_second(value: float) -> str:
    """Format a rate of operations, such as 146,577 /s, 1.24 M/s."""
    return f"{value / 1e6:.4g} M/s" if value >= 999_999.5 else f"{count(value)} /s"


def duration(duration_s: float) -> str:
    """Format the length of a run, such as 600 s, or 24 h (86,400 s) from two hours on."""
    return f"{duration_s / 3600:.3g} h ({duration_s:,.0f} s)" if duration_s >= 7200 else seconds(duration_s)


def percent(share: float) -> str:
    """Format a share of one, such as 41 % or 0.3 %."""
    value = 100 * share
    if value == 0 or abs(value) >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if abs(value) >= 0.05 else "< 0.1 %"


def ratio(value: float) -> str:
    """Format a ratio, such as 12.3 for an amplification."""
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def years(value: float) -> str:
    """Format a number of years, such as 4.2 years, 96 days."""
    if math.isinf(value):
        return "unlimited"
    if value < 1:
        return f"{value * 365.25:.3g} days"
    return f"{value:.1f} years" if value < 100 else f"{value:,.0f} years"
