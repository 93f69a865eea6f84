"""Counts of right and wrong answers, with the first wrong ones in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

PENDING: Final = "pending bytes"
LINES: Final = "stall lines"
STATE: Final = "files per level"
IMMUTABLES: Final = "immutable memtables"
PICKS: Final = "compaction picks"
MOVES: Final = "trivial moves"
IDLE: Final = "picks of nothing"
FLUSHES: Final = "flushed files"
OUTPUTS: Final = "compaction outputs"
INDEXES: Final = "index bytes"

SHOWN_MISMATCHES: Final = 5
"""Mismatches that a check keeps in words."""


@dataclass
class Check:
    """How often the model gave the recorded answer to one kind of question."""

    name: str
    matched: int = 0
    total: int = 0
    mismatches: list[str] = field(default_factory=list)
    """The first few, each in one line."""

    def note(self, same: bool, explanation: str) -> None:
        """Count one answer; `explanation` is kept if it differs."""
        self.total += 1
        self.matched += same
        if not same and len(self.mismatches) < SHOWN_MISMATCHES:
            self.mismatches.append(explanation)

    @property
    def share(self) -> float:
        """Matched part; 1 if nothing was asked."""
        return self.matched / self.total if self.total else 1.0


@dataclass
class ReplayResult:
    """All checks of one recording."""

    name: str
    checks: dict[str, Check]

    def table(self) -> str:
        """One line per check, and below each the first answers that differ."""
        width = max(len(name) for name in self.checks)
        rows = [self.name]
        for check in self.checks.values():
            rows.append(f"  {check.name:<{width}}  {check.matched:>6} of {check.total:<6} {100 * check.share:7.2f} %")
            rows += [f"      {text}" for text in check.mismatches]
        return "\n".join(rows)
