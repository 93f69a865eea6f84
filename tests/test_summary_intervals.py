"""Intervals of a run: ends that agree with each other and with what a number is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from lsmlab.sim.studies import summary_intervals
from lsmlab.sim.studies.summary_intervals import intervals
from running import SMALL, configuration, simulate

ENDS = {"write_latency_s.p50": (1e-6, 5e-6), "write_latency_s.p99": (2e-6, 9e-3), "write_latency_s.p999": (1e-6, 4e-3)}
"""Ends that each number would have by itself."""


class Errors:
    """Stands for published errors: fixed ends by name."""

    def __init__(self, ends: Mapping[str, tuple[float, float]]) -> None:
        self._ends = ends

    def interval(self, name: str, *_: object) -> tuple[float, float] | None:
        """Return the ends of a number."""
        return self._ends.get(name)


def found(monkeypatch: pytest.MonkeyPatch, ends: Mapping[str, tuple[float, float]], summary: Mapping[str, Any]) -> Any:
    """Return the intervals of one summary."""
    monkeypatch.setattr(summary_intervals, "facts_of", lambda *_: None)
    monkeypatch.setattr(summary_intervals, "error_name", lambda name: name)
    summaries: Sequence[Mapping[str, Any]] = [summary]
    return intervals(configuration(*SMALL), summaries, errors=Errors(ends))  # type: ignore[arg-type]


def test_ends_rise_with_the_percentile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The upper end of P99.9 is not below that of P99, and the lower end of P99 not above that of P99.9."""
    summary = {"write_latency_s": {"p50": 2e-6, "p99": 4e-6, "p999": 3e-3}}
    latencies = found(monkeypatch, ENDS, summary)["write_latency_s"]

    assert {name: (one["low"], one["high"]) for name, one in latencies.items()} == {
        "p50": (1e-6, 5e-6), "p99": (1e-6, 9e-3), "p999": (1e-6, 9e-3),
    }  # fmt: skip


def test_ends_that_say_nothing_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interval over more than four powers of ten is left out."""
    assert found(monkeypatch, {"write_latency_s.p99": (2e-8, 240.0)}, {"write_latency_s": {"p99": 4e-6}}) == {}


def test_write_amplification_is_at_least_one() -> None:
    """A run with three flushes and no compaction has a wide interval, which ends at 1."""
    options = (*SMALL, "workload.writes=30000", "engine.options.disable_auto_compactions=true")
    summary = simulate(*options).summary
    one = intervals(configuration(*options), [summary])["write_amplification"]

    assert (summary["write_amplification"], one["low"]) == (1.0, 1.0)
    assert one["high"] > 1.02
