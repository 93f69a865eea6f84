"""Counts of right and wrong answers, and descriptions of the first wrong answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Check(StrEnum):
    """Kind of question to the model."""

    PENDING = "pending bytes"
    LINES = "stall lines"
    STATE = "files per level"
    IMMUTABLES = "immutable memtables"
    PICKS = "compaction picks"
    MOVES = "trivial moves"
    IDLE = "empty picks"
    FLUSHES = "flushed files"
    OUTPUTS = "compaction outputs"
    INDEXES = "index bytes"


CONTENT_CHECKS: Final = (Check.FLUSHES, Check.OUTPUTS, Check.INDEXES)
"""Checks of the contents of files, which need the keys of the workload."""
SHOWN_MISMATCHES: Final = 5
"""Number of mismatches of which a check keeps a description."""


@dataclass
class MatchCount:
    """Number of times the model gave the recorded answer to one kind of question."""

    name: str
    matched: int = 0
    total: int = 0
    mismatches: list[str] = field(default_factory=list)
    """Descriptions of the first SHOWN_MISMATCHES mismatches, one line each."""

    def add_answer(self, same: bool, explanation: str) -> None:
        """Count one answer; keep `explanation` if the answer differs."""
        self.total += 1
        self.matched += same
        if not same and len(self.mismatches) < SHOWN_MISMATCHES:
            self.mismatches.append(explanation)

    @property
    def share(self) -> float:
        """Share of matching answers; 1 if there were no questions."""
        return self.matched / self.total if self.total else 1.0


@dataclass
class ReplayResult:
    """All checks of one recording."""

    name: str
    checks: dict[str, MatchCount]

    def table(self) -> str:
        """Return one line per check, followed by its first mismatches."""
        width = max(len(name) for name in self.checks)
        rows = [self.name]
        for check in self.checks.values():
            rows.append(f"  {check.name:<{width}}  {check.matched:>6} of {check.total:<6} {100 * check.share:7.2f} %")
            rows += [f"      {text}" for text in check.mismatches]
        return "\n".join(rows)
