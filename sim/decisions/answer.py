"""Answer to a what-if: present state, reproduction of the LOG, and the differences of each alternative, as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.sim.configuration.names import folder_names
from lsmlab.sim.decisions.alternatives import Alternative
from lsmlab.sim.decisions.changes import changes_of, kept_facts
from lsmlab.sim.decisions.differences import Trial, differences
from lsmlab.sim.decisions.metrics import METRICS
from lsmlab.sim.decisions.reproduction import check_present, warning
from lsmlab.sim.decisions.subject import Subject

PRESENT: Final = "present state"
FILE: Final = "whatif.json"


@dataclass(frozen=True, slots=True)
class Question:
    """Store, alternatives and their configurations."""

    subject: Subject
    alternatives: Sequence[Alternative]
    configs: Sequence[Mapping[str, Any]]
    """Configuration of the present state, then of each alternative."""

    @property
    def names(self) -> list[str]:
        """Names of the configurations in order."""
        return [PRESENT, *(a.name for a in self.alternatives)]


def answer(question: Question, found: Mapping[str, Trial], errors: Mapping[str, float]) -> dict[str, Any]:
    """Return the content of whatif.json. `errors`: the model's own errors by metric (`model_errors`)."""
    subject, present = question.subject, found[PRESENT]
    folders = folder_names(question.names)
    checks = check_present(present, subject.recorded, errors) if subject.recorded and subject.from_a_log else []
    return {
        "subject": subject.name,
        "overrides": list(subject.overrides),
        "seeds": [s.get("seed") for s in present.summaries],
        "present": {"name": PRESENT, "folder": folders[0], "values": means(present)},
        "reproduction": {"checks": [c.as_json() for c in checks], "warning": warning(checks)} if checks else None,
        "alternatives": [
            {
                "name": alternative.name,
                "folder": folder,
                "changes": changes_of(alternative.overrides, question.configs[0], config),
                "kept": kept_facts(alternative.overrides, config),
                "differences": [d.as_json() for d in differences(present, found[alternative.name], errors)],
            }
            for alternative, folder, config in zip(
                question.alternatives, folders[1:], question.configs[1:], strict=True
            )
        ],
    }  # fmt: skip


def means(trial: Trial) -> dict[str, float]:
    """Return the mean of each metric over the seeds."""
    values = {metric.name: trial.values(metric) for metric in METRICS}
    return {name: math.fsum(v) / len(v) for name, v in values.items() if v}
