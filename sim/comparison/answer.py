"""Answer of a comparison: numbers of each configuration, and their differences from the first one, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.sim.configuration.names import configuration_name
from lsmlab.sim.decisions.answer import means
from lsmlab.sim.decisions.differences import Trial, differences
from lsmlab.sim.decisions.model_errors import model_errors_of

FILE: Final = "comparison.json"


@dataclass(frozen=True, slots=True)
class Member:
    """A configuration of a comparison with its results."""

    folder: str
    """Folder of the first seed's files, within the folder of the comparison."""
    choices: Mapping[str, str]
    """Values in which it differs from the others, by key, without quotes."""
    config: Mapping[str, Any]
    trial: Trial

    @property
    def name(self) -> str:
        """Short name for people, such as "sata, 4 jobs"."""
        return configuration_name(self.choices) or "run"


def comparison_answer(members: Sequence[Member]) -> dict[str, Any]:
    """Return the content of comparison.json. The first configuration is the one that the others are compared with."""
    first = members[0]
    errors = model_errors_of(first.config, from_a_log=False)
    return {"runs": [_row(member, first, errors) for member in members]}


def _row(member: Member, first: Member, errors: Mapping[str, float]) -> dict[str, Any]:
    found = [] if member is first else differences(first.trial, member.trial, errors)
    return {
        "name": member.name, "folder": member.folder, "choices": dict(member.choices),
        "seeds": [s.get("seed") for s in member.trial.summaries], "values": means(member.trial),
        "differences": [d.as_json() for d in found],
    }  # fmt: skip
