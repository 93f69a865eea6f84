"""The page of the ablation, docs/ablation.md: what each part of the model is worth, on how many machines, in which metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from lsmlab.validation.ablation.ablate import CASES_OUT, MACHINE_OUT, PUBLISHED, WITH, Ablation, Errors
from lsmlab.validation.ablation.parts import Part
from lsmlab.validation.markdown import table

PAGE: Final = Path(__file__).parents[2] / "docs" / "ablation.md"
METRICS: Final = {
    "ops_per_s": ("throughput", 100.0, "%"), "write_amplification": ("W-Amp", 100.0, "%"),
    "stall_fraction": ("stalls", 100.0, "points"), "device_bytes_written": ("device bytes", 100.0, "%"),
    "write_latency_s.p99": ("write P99", 1.0, "buckets"), "write_latency_s.p999": ("write P99.9", 1.0, "buckets"),
    "read_latency_s.p99": ("read P99", 1.0, "buckets"),
}  # fmt: skip
"""Name, scale and unit of each metric."""
_LEAST: Final = {"%": 0.2, "points": 0.2, "buckets": 0.1}
"""Smallest change of the mean error of a machine that counts."""


class Worth(NamedTuple):
    """Change of the mean absolute error in one metric without a part."""

    mean: float
    """Over machines, in the unit of the metric; above 0: the part pays."""
    better: int
    """Machines on which the part pays."""
    worse: int
    """Machines that are better without the part."""


def worth_of(without: Errors, with_it: Errors, metric: str) -> Worth | None:
    """Return what a part is worth in one metric; None without a case that has it.

    A machine counts if the mean over its cases changes by more than its standard error and the least change.
    """
    _, scale, unit = METRICS[metric]
    of_machine: dict[str, list[float]] = {}
    for key in without.keys() & with_it.keys():
        if metric in without[key] and metric in with_it[key]:
            change = abs(without[key][metric]) - abs(with_it[key][metric])
            of_machine.setdefault(key[0], []).append(scale * change)
    if not of_machine:
        return None
    means = {name: float(np.mean(found)) for name, found in of_machine.items()}
    sure = {name: max(_LEAST[unit], _standard_error(found)) for name, found in of_machine.items()}
    better = sum(means[name] > sure[name] for name in means)
    return Worth(float(np.mean(list(means.values()))), better, sum(means[name] < -sure[name] for name in means))


def _standard_error(found: Sequence[float]) -> float:
    return float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("inf")


def ablation_text(done: Ablation) -> str:
    """Return the page."""
    with_it = done.errors[WITH, CASES_OUT]
    machines = sorted({machine for machine, _ in with_it})
    lines = [
        "# What each part of the model is worth",
        "",
        "`lsmlab validate --ablate --write-docs` writes this page; do not edit it. Each part is put into its simplest form, and "
        "the other constants are fitted again.",
        f"All {len(with_it)} calibration runs of {len(machines)} machines ({', '.join(machines)}) are simulated with constants "
        "that were fitted to the other three quarters of their machine's cases.",
        "A number is the change of the mean absolute error, mean over the machines: above 0, the part pays. In brackets: "
        "machines on which it pays / machines that are better without it.",
        "A machine counts if its change is above its standard error and above 0.2 % or points, or 0.1 buckets. "
        "[Decision 0056](decisions/0056-parts-that-do-not-pay-go.md) says what followed.",
        "",
        "## Without the part",
        "",
        _table(done, CASES_OUT),
        "",
    ]
    if any(kind == MACHINE_OUT for _, kind in done.errors):
        lines += [
            "## With the constants of the other machines",
            "",
            "The constants of a part have the geometric mean of the other machines. "
            "Above 0: they must be measured on each machine.",
            "",
            _table(done, MACHINE_OUT),
            "",
        ]
    if published := done.errors.get((WITH, PUBLISHED)):
        lines += [
            "## Published runs without the part",
            "",
            f"The {len(published)} published calibration runs, with the constants of their machine's set and without a new fit. "
            "A machine is here a processor with one of its drives. Parts that change none of these runs are left out.",
            "",
            _table(done, PUBLISHED),
            "",
        ]
    if done.failed:
        lines += ["## Failed", "", *(f"- {text}" for text in done.failed), ""]
    return "\n".join(lines)


def _table(done: Ablation, kind: str) -> str:
    """Return the table of one kind of errors, with the parts that change any of them."""
    whole = done.errors[WITH, PUBLISHED if kind == PUBLISHED else CASES_OUT]
    head = ("part", "pays on", *(f"{name}, {unit}" for name, _, unit in METRICS.values()))
    found = [(part, done.errors.get((part.name, kind), {})) for part in done.parts]
    return table(head, [_row(part, errors, whole) for part, errors in found if any(errors[key] != whole[key] for key in errors)])


def _row(part: Part, without: Errors, whole: Errors) -> list[str]:
    found = [worth_of(without, whole, metric) for metric in METRICS]
    cells = ["" if w is None else _cell(w) for w in found]
    most = max((w.better for w in found if w is not None), default=0)
    why = f" (stays: {part.kept_by})" if part.kept_by else ""
    return [f"`{part.name}`: {part.what}{why}", str(most), *cells]


def _cell(worth: Worth) -> str:
    """Return the text of a cell; 0 if the part changes nothing that is visible."""
    seen = f"{worth.mean:+.2f}"
    if worth.better == worth.worse == 0 and float(seen) == 0.0:
        return "0"
    return f"{seen} ({worth.better}/{worth.worse})"
