"""Files of an imported history in words: which there are, and the gaps between them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

_UNITS: Final = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
GAPS_LEFT_OUT: Final = (
    "Gaps are left out: times, rates and the simulation run over the LOG files only, one after the other. What the store did "
    "in a gap is unknown."
)


def gap_sentences(files: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence on each gap between the files of a history (`import.files` of summary.json), in time order."""
    return [
        f"Gap of {gap_length(after['gap_s'])} before {after['name']}, from {before['ends']} to {after['begins']}: "
        f"{_reason(after)}."
        for before, after in itertools.pairwise(files)
        if after["gap_s"]
    ]


def _reason(after: Mapping[str, Any]) -> str:
    if after["gap_closed"]:
        return "the store was closed"
    if after["opens"]:
        return "the LOG before it does not end with a close, so the store crashed, or LOG files are missing"
    return "the store was open, but no line is there: LOG files may be missing"


def gap_length(gap_s: float) -> str:
    """Return the length of a gap in the largest suitable unit.

    >>> [gap_length(seconds) for seconds in (1.26, 90.0, 7_200.0, 400_000.0)]
    ['1.3 s', '90 s', '2 h', '4.6 days']
    """
    size, unit = next((one for one in _UNITS if gap_s >= 2.0 * one[0]), _UNITS[-1])
    return f"{gap_s / size:.1f}".removesuffix(".0") + f" {unit}"
