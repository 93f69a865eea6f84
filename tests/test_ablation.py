"""The ablation: parts in their simplest forms, fits with fixed constants, and what a part is worth."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from lsmlab.models.costs.host import Host, priors_of
from lsmlab.models.units import submodels_of
from lsmlab.sim.configuration.catalogue import packaged_folder
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import read_parameters
from lsmlab.validation.ablation.ablate import CASES_OUT, MACHINE_OUT, WITH, Ablation
from lsmlab.validation.ablation.document import ablation_text, worth_of
from lsmlab.validation.ablation.parts import Part, read_parts
from lsmlab.validation.calibrate.fit import fit_runs, quantity_of
from test_calibrate import a_run

THROUGHPUT = "ops_per_s"


@pytest.mark.parametrize("part", read_parts(), ids=lambda part: part.name)
def test_a_part_can_be_left_out(part: Part) -> None:
    """The simplest form of each part is a configuration of the model."""
    compose([f"{key}={'null' if value is None else value}" for key, value in part.simplest.items()])


def test_every_estimated_constant_belongs_to_a_part() -> None:
    """Constants that fits estimate have a simplest form or one value for all machines."""
    keys = {key.removeprefix("host.") for part in read_parts() for key in part.simplest}

    assert priors_of(Host).keys() - keys == set()


def test_every_estimated_constant_is_determined_in_two_sets() -> None:
    """A constant that fits estimate has a standard error below that of its prior in at least two parameter sets."""
    names = [path.stem for path in (packaged_folder() / "parameters").glob("*.yaml")]
    determined = Counter(key.removeprefix("host.") for name in names for key in read_parameters(name).standard_errors)

    in_parts = {name for names in submodels_of(Host).values() for name in names}
    assert {name for name in priors_of(Host).keys() - in_parts if determined[name] < 2} == set()


def test_a_fixed_constant_stays_and_the_others_are_fitted() -> None:
    """A constant that is fixed at 0 leaves its seconds to the others; with assertions, the value is that of a release build."""
    runs = [a_run(f"v{size}", size, seed, 0.05) for size in (100, 400, 1000) for seed in (1, 2)]
    fixed = {"host.compaction_compare": 0, "host.flush_byte": "2ns"}

    free, held = fit_runs("nvme", runs)[1].values, fit_runs("nvme", runs, fixed=fixed)[1].values
    with_assertions = [replace(run, assertions=True) for run in runs]
    asserted = fit_runs("nvme", with_assertions, fixed={"host.compaction_record": "0.1us"})[1].values

    assert held["host.compaction_compare"] == pytest.approx(0.0, abs=1e-12)
    assert held["host.flush_byte"] == pytest.approx(2e-9, rel=1e-3)
    assert held["host.flush_record"] < 0.8 * free["host.flush_record"]
    assert asserted["host.compaction_record"] == pytest.approx(1e-7, rel=1e-3)


def test_values_of_parts_have_the_units_of_their_keys() -> None:
    """A value is read as the constant that it replaces."""
    assert quantity_of("host.file_overhead", "0.4ms") == pytest.approx(4e-4)
    assert quantity_of("device.read_iops", "500k") == 5e5


def test_the_worth_of_a_part_counts_machines() -> None:
    """A part that saves five points on one machine, costs some on another and does nothing on the third pays on one."""
    cases = [(machine, str(case)) for machine in ("a", "b", "c") for case in range(4)]
    error = {"a": 0.07, "b": 0.01, "c": 0.02}
    with_it = {key: {THROUGHPUT: 0.02} for key in cases}
    without = {(machine, case): {THROUGHPUT: -error[machine] - 1e-4 * int(case)} for machine, case in cases}

    worth = worth_of(without, with_it, THROUGHPUT)

    assert worth is not None
    assert (worth.better, worth.worse) == (1, 1)
    assert worth.mean == pytest.approx(100.0 * (0.05 - 0.01) / 3.0, abs=0.05)
    assert worth_of(without, with_it, "stall_fraction") is None


def test_the_page_has_a_row_for_each_part() -> None:
    """The page shows the change of the error by part and metric; a part without fitted constants has no second row."""
    done = Ablation([Part("switch", "a switch holds the writers", {"host.switch": 0})])
    done.errors[WITH, CASES_OUT] = {("m", str(case)): {THROUGHPUT: 0.01} for case in range(3)}
    done.errors["switch", CASES_OUT] = {("m", str(case)): {THROUGHPUT: 0.02} for case in range(3)}

    text = ablation_text(done)

    assert text.count("| `switch`: a switch holds the writers | 1 | +1.00 (1/0) |") == 1
    assert ("switch", MACHINE_OUT) not in done.errors
