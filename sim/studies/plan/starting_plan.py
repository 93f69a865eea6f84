"""Plan for a store that has no plan file yet: the load of an import or of a run on its own drive and on two others."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.baseline import read_baseline

FILE: Final = "plan.yaml"
_TEXT: Final = """\
# Plan of {run}. Change it and run: lsmlab plan {path}
# All keys: docs/reference/plan.md
description: {name}
workload:
  run: {run}  # store, machine and load
  {load}
  growth_per_year: {growth}
  daily: 1  # busiest hour over the mean of the day
  weekly: 1  # busiest day over the mean of the week
service_levels:
  stalled: 10%  # share of the time in which writes are delayed or stopped; also: write_p99, write_p999, longest_stall
candidates:
  device: [{devices}]  # 'lsmlab list device' names more
search: {{precision: 5%}}
sensitivity: {{candidates: 1}}
"""


def write_starting_plan(folder: Path, directory: Path, growth: str) -> Path:
    """Write a plan for the store of `folder` to `directory`; return its path.

    `folder`: of `lsmlab import`, or of a run. `growth`: growth of the rate per year, such as 40%. Raises InputError for
    any other folder.
    """
    baseline = read_baseline(str(folder))
    if (folder / "experiment" / "imported.yaml").is_file():
        load = "set: [experiment=imported]  # the rate is the mean of the load that the store accepted"
    else:
        rate = (baseline.recorded or {}).get("ops_per_s")
        if not rate:
            raise InputError(f"{folder}: its summary.json has no throughput; write a plan file (docs/reference/plan.md)")
        load = f"rate: {rate:.4g}  # operations/s on average: the throughput of the run"
    own = str(baseline.compose()["device"].get("name"))
    devices = dict.fromkeys((own, "sata", "nvme"))
    path = directory / FILE
    path.write_text(
        _TEXT.format(
            run=folder.resolve(), path=display_path(path), name=folder.name, load=load, growth=growth, devices=", ".join(devices)
        ),
        encoding="utf-8",
    )
    return path
