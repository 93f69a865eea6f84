"""Sentence that sums up the differences between two configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.reports.text.words import change_text, interval_text
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import BY_NAME

MAIN: Final = ("ops_per_s", "write_latency_s.p999", "read_latency_s.p99", "stall_fraction", "write_amplification")
"""Metrics that a summary names."""


def sum_up(name: str, first: str, differences: Sequence[Difference]) -> str:
    """Return a sentence on what a configuration changes: with intervals, and what stays within the error or is the same.

    >>> same = Difference("write_amplification", 4.0, 4.0, 0.0, 0.0, 0.0, relative=True, tie=True, certain=False)
    >>> slower = Difference("ops_per_s", 10.0, 6.0, -0.4, -0.5, -0.3, relative=True, tie=False, certain=True)
    >>> sum_up("sata", "nvme", [slower, same])
    'sata against nvme: throughput -40.0% (-50.0% to -30.0%); write amp exactly the same.'
    """
    if differences and all(d.tie for d in differences):
        return f"{name} gives exactly the same results as {first} with every seed."
    main = [d for d in differences if d.metric in MAIN]
    if not main:
        return f"{name} and {first} have no number in common."
    certain = [f"{BY_NAME[d.metric].label} {_change(d)}" for d in main if d.certain]
    unclear = [BY_NAME[d.metric].label for d in main if not (d.certain or d.tie)]
    ties = [BY_NAME[d.metric].label for d in main if d.tie]
    parts = [", ".join(certain)] if certain else []
    parts += [f"no difference beyond the error in {_joined(unclear)}"] if unclear else []
    parts += [f"{_joined(ties)} exactly the same"] if ties else []
    return f"{name} against {first}: {'; '.join(parts)}."


def _change(found: Difference) -> str:
    return change_text(found) + (f" ({interval_text(found)})" if found.low is not None else "")


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
