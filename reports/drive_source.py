"""Where the speed of the drive comes from: measured on this machine, or a data sheet's, which every result says first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.reports.run_data import RunData
from lsmlab.sim.studies.baseline import StoreRequest, read_baseline
from lsmlab.sim.studies.intervals import Knowledge, is_capped, knowledge_of
from lsmlab.sim.studies.request import Request
from lsmlab.sim.yaml_text import parse_yaml

DATA_SHEET: Final = "The drive has a data sheet's speed, which widens all intervals; lsmlab measure gives yours."
"""The first sentence of a result on a drive that nobody measured; docs/validation.md has the errors of such runs."""


def drive_sentence(config: Mapping[str, Any]) -> str:
    """Return the sentence on a drive that is known from its data sheet alone (`knowledge_of`), else "".

    Below a cap the speed of the drive hardly matters, so there is none either.
    """
    return DATA_SHEET if knowledge_of(config) is Knowledge.CATALOGUE and not is_capped(config) else ""


def drive_sentence_of_run(run: RunData) -> str:
    """Return the sentence for a simulated run; "" for an imported LOG, whose times are those of its own drive."""
    if "import" in run.summary or not run.config_text:
        return ""
    config = parse_yaml(run.config_text, run.directory / "config.yaml")
    return drive_sentence(config) if isinstance(config, Mapping) else ""


def drive_sentence_of_request(request: Request) -> str:
    """Return the sentence for the present state of a store; "" for a LOG, and for questions about more than one store."""
    if not isinstance(request, StoreRequest):
        return ""
    baseline = read_baseline(request.store, request.set, request.config_dirs)
    return "" if baseline.from_a_log else drive_sentence(baseline.compose())
