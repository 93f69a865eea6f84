"""Comparisons of variants: the file, the runs, the page and its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.reports.variants import MEASURES, SeedMean, Variants, against_parents, readings
from lsmlab.reports.variants_page import variants_page
from lsmlab.sim.configuration.catalogue import entries
from lsmlab.sim.configuration.combinations import combinations, read_variants
from lsmlab.sim.configuration.compose import compose

FILE = {
    "description": "small things",
    "overrides": ["workload.num=20k", "workload.duration=2s", "engine.options.write_buffer_size=1MiB"],
    "variants": {
        "plain": {"overrides": ["engine=rocksdb"]},
        "universal": {"overrides": ["engine=universal"]},
        "both": {
            "overrides": ["engine=universal", "engine.options.max_background_jobs={jobs}"],
            "parents": ["plain", "universal"],
        },
    },
    "settings": {"fast": {"overrides": ["device=nvme"], "jobs": 4}, "slow": {"overrides": ["device=sata"], "jobs": 2}},
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a file of variants."""
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(FILE, sort_keys=False))
    return path


def test_every_variant_runs_in_every_setting(file: Path) -> None:
    """A setting's values fill the variants' overrides, comma-separated values are combined, the command line wins."""
    found = combinations(["seed=1,2", "workload.duration=3s"], read_variants(str(file)))

    assert 12 == len(found)
    both = [one for one in found if one.chosen["variant"] == "both"]
    jobs = {one.chosen["setting"]: [o for o in one.overrides if "jobs" in o] for one in both}
    assert {"fast": ["engine.options.max_background_jobs=4"], "slow": ["engine.options.max_background_jobs=2"]} == jobs
    assert found[0].overrides.index("workload.duration=3s") > found[0].overrides.index("workload.duration=2s")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variants": {"a": {"overrides": ["x={T}"]}}}, "no value for 'T'"),
        ({"variants": {"a": {"overrides": "engine=a"}}}, "variants.a: must be a mapping with overrides, a list"),
        ({"variants": {"a": {"overrides": [], "parents": ["b"]}}}, "parent b is no variant"),
        ({"variants": {"a": {"override": ["engine=vlsm"]}}}, "variants.a.override: no such key"),
        ({"variant": {}}, "must be a mapping with the keys"),
    ],
)
def test_a_bad_file_is_refused_with_its_key(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """An error in a file of variants names the key and the remedy."""
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(FILE | change))

    with pytest.raises(InputError, match=message):
        combinations([], read_variants(str(path)))


def test_unknown_names_are_refused_with_the_entries() -> None:
    """An unknown file or entry raises an error with the known entries; `run` does not accept --variants."""
    with pytest.raises(InputError, match=r"known entries: .*novel_combinations"):
        read_variants("nothing")
    assert 2 == main(["run", "--variants", "novel_combinations"])


def test_the_command_draws_its_own_page(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Variants give runs, JSON and a page with a panel per setting; a later plain comparison gets its usual page."""
    out = tmp_path / "out"
    assert 0 == main(["compare", "--variants", str(file), "seed=1,2", "--out", str(out), "-j", "1"])
    page = (out / "report.html").read_text()
    rows = json.loads((out / "runs.json").read_text())["runs"]

    assert 12 == len(rows)
    assert {"variant": "both", "setting": "slow", "seed": "2"} in [r["overrides"] for r in rows]
    assert "small things" in page
    assert "both: " in page
    assert 0 == main(["compare", "engine=rocksdb,universal", *FILE["overrides"], "--out", str(out), "-j", "1"])
    assert "small things" not in (out / "report.html").read_text()
    capsys.readouterr()


def compared(both: tuple[float, float, float], seeds: int = 3) -> Variants:
    """Return a comparison that differs only in write P99; the parents have 1 ms and 2 ms, both ± 10 %."""
    values = {"a": SeedMean(1e-3, 0.9e-3, 1.1e-3), "b": SeedMean(2e-3, 1.8e-3, 2.2e-3), "both": SeedMean(*both)}
    numbers = {(name, "here", "write P99"): number for name, number in values.items()}
    return Variants("synthetic", ("a", "b", "both"), {"both": ("a", "b")}, ("here",), numbers, seeds)


@pytest.mark.parametrize(
    ("both", "relation"),
    [
        ((0.5e-3, 0.4e-3, 0.6e-3), 1),
        ((0.5e-3, 0.1e-3, 0.95e-3), 0),
        ((1.5e-3, 1.4e-3, 1.6e-3), 0),
        ((3e-3, 2.5e-3, 3.5e-3), -1),
    ],
)
def test_better_means_beyond_both_parents_and_the_intervals(both: tuple[float, float, float], relation: int) -> None:
    """A combination between its parents, or within the intervals of one, is neither better nor worse."""
    found = against_parents(compared(both), "both", "here", MEASURES[0])

    assert found is not None
    assert relation == found[0]


def test_a_single_run_has_no_interval() -> None:
    """One run shows no noise between seeds: its number has no range, and the page says what a difference may be."""
    assert SeedMean.of([2.0], logarithmic=True) == SeedMean(2.0, 2.0, 2.0)

    footers = [variants_page(compared((5e-3, 4.5e-3, 5.5e-3), seeds)).footer for seeds in (1, 3)]
    assert ["may be chance" in text for text in footers] == [True, False]


def test_readings_of_a_comparison() -> None:
    """Each combination has one line with its values against each parent; equal values and missing runs are stated."""
    assert [
        "both: compared with a, write P99 better in 1 of 1 settings (here: 500 µs against 1 ms). Compared with b, write "
        "P99 better in 1 of 1 settings (here: 500 µs against 2 ms)."
    ] == [text.replace("1.00 ms", "1 ms").replace("2.00 ms", "2 ms") for text in readings(compared((0.5e-3, 0.4e-3, 0.6e-3)))]
    assert ["both: compared with a, no difference. Compared with b, no difference."] == readings(
        compared((1.5e-3, 0.9e-3, 2.1e-3))
    )
    missing = compared((1.0, 1.0, 1.0))
    incomplete = Variants("x", missing.names, missing.parents, ("here", "there"), missing.numbers, 1)
    assert "it did not run on there" in readings(incomplete)[0]
    assert "did not run" in variants_page(incomplete).html()


@pytest.mark.parametrize("all_pairs", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_documented_combinations_compose(all_pairs: bool) -> None:
    """Every variant of novel_combinations.yaml whose engines exist has a configuration.

    `make test` composes each variant in one setting and one variant in each setting, `make test-slow` all pairs.
    """
    engines = {entry.name for entry in entries("engine")}
    found = combinations([], read_variants("novel_combinations"))
    assert 72 == len(found)
    seen: set[str] = set()
    if not all_pairs:
        pairs = [(one, set(one.chosen.values())) for one in found]
        found = [one for one, names in pairs if (not names <= seen, seen.update(names))[0]]
    named = [next(o.partition("=")[2] for o in one.overrides if o.startswith("engine=")) for one in found]
    for one, engine in zip(found, named, strict=True):
        if engine in engines and "engine/tuner=adoc" not in one.overrides:
            assert compose(one.overrides)["engine"]
