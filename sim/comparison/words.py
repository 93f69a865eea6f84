"""Sentence that sums up the differences between two configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.sim.decisions.metrics import METRICS
from lsmlab.sim.decisions.text import change_text, interval_text

MAIN: Final = ("ops_per_s", "write_latency_s.p999", "read_latency_s.p99", "stall_fraction", "write_amplification")
"""Metrics that a summary names."""
_LABELS: Final = {metric.name: metric.label for metric in METRICS}


def sum_up(name: str, first: str, differences: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on what a configuration changes: with intervals, and what stays within the error or is the same.

    >>> same = {"change": 0.0, "low": 0.0, "high": 0.0, "relative": True, "certain": False, "tie": True}
    >>> slower = {"change": -0.4, "low": -0.5, "high": -0.3, "relative": True, "certain": True, "tie": False}
    >>> sum_up("sata", "nvme", [{**slower, "metric": "ops_per_s"}, {**same, "metric": "write_amplification"}])
    'sata against nvme: throughput -40.0% (-50.0% to -30.0%); write amp exactly the same.'
    """
    if differences and all(d["tie"] for d in differences):
        return f"{name} gives exactly the same results as {first} with every seed."
    main = [d for d in differences if d["metric"] in MAIN]
    if not main:
        return f"{name} and {first} have no number in common."
    certain = [f"{_LABELS[d['metric']]} {_change(d)}" for d in main if d["certain"]]
    unclear = [_LABELS[d["metric"]] for d in main if not (d["certain"] or d["tie"])]
    ties = [_LABELS[d["metric"]] for d in main if d["tie"]]
    parts = [", ".join(certain)] if certain else []
    parts += [f"no difference beyond the error in {_joined(unclear)}"] if unclear else []
    parts += [f"{_joined(ties)} exactly the same"] if ties else []
    return f"{name} against {first}: {'; '.join(parts)}."


def _change(found: Mapping[str, Any]) -> str:
    return change_text(found) + (f" ({interval_text(found)})" if found["low"] is not None else "")


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
