"""The scorecard: errors, intervals, totals, and the command on small cases."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from known_errors import NVME, known_errors
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.setting import Setting
from lsmlab.sim.simulation import simulate
from lsmlab.sim.studies.intervals import (
    CPU_BOUND,
    FEW_JOBS,
    Knowledge,
    Scale,
    device_class,
    facts_of,
    knowledge_of,
    read_model_errors,
)
from lsmlab.validation.casefiles.case import case_from_mapping, read_case
from lsmlab.validation.casefiles.curves import read_series
from lsmlab.validation.casefiles.real import common_dominant_cause, real_run, with_waits
from lsmlab.validation.casefiles.values import reported_series, simulated_values
from lsmlab.validation.logs.histogram_clock import bucket_bounds, bucket_of
from lsmlab.validation.scorecard.card import CALIBRATION, TEST, Scorecard
from lsmlab.validation.scorecard.catalogue_cases import as_catalogue
from lsmlab.validation.scorecard.ci_baseline import compare, digest
from lsmlab.validation.scorecard.document import document_text
from lsmlab.validation.scorecard.findings import Finding, missed_targets, read_findings
from lsmlab.validation.scorecard.groups import groups_text
from lsmlab.validation.scorecard.metrics import METRICS, metric_of
from lsmlab.validation.scorecard.model_errors import FOLDS, ErrorValue, held, learn, write_model_errors
from lsmlab.validation.scorecard.runs import CaseRun, Replication
from lsmlab.validation.scorecard.score import ScoreRow, error_values, rows_of, totals
from lsmlab.validation.scorecard.sources import replays
from lsmlab.validation.scorecard.theory import TheoryCheck, merged_all
from lsmlab.validation.scorecard.trends import trends

ROOT = Path(__file__).parents[1]
RECORDING = ROOT / "validation" / "recordings" / "static"
TINY: dict[str, Any] = {
    "part": "test",
    "store": {
        "version": "7.8",
        "preset": "db_bench",
        "options": {"write_buffer_size": "1MiB", "target_file_size_base": "1MiB", "max_bytes_for_level_base": "4MiB"},
    },
    "host": {"parameters": "recording_vm"},
    "device": {"base": "nvme", "write_cap": "40MiB/s"},
    "workload": {"base": "fillrandom", "value_size": 100, "num": 200_000, "duration": "4s"},
}


@lru_cache(maxsize=1)
def truth() -> tuple[dict[str, float], list[float]]:
    """Return the values and per-second operations of a run of the small case with a seed that scoring does not use."""
    found = simulate(Setting.of({**case_from_mapping(TINY, Path("unused")).config(), "seed": 42}))
    stalls = {key: [stall[key] for stall in found.stalls] for key in ("cause", "start_s", "end_s")}
    values = simulated_values(found.summary, found.jobs, found.series, found.latency, stalls)
    return values, reported_series(found.series).tolist()


def write_case(folder: Path, name: str = "tiny", **changes: Any) -> Path:
    """Write a case folder with the simulator's own values as measurements, changed by `changes`."""
    values, series = truth()
    names = ("ops_per_s", "write_amplification", "flush_count", "stall_fraction", "device_bytes_written")
    measured = {n: values[n] for n in names} | {"write_latency_s": {"p99": values["write_latency_s.p99"]}}
    place = folder / name
    place.mkdir(parents=True)
    (place / "report.csv").write_text("secs,ops\n" + "".join(f"{i + 1},{n}\n" for i, n in enumerate(series)))
    case = {"name": name, **TINY, "measured": measured, "noise": {"ops_per_s": 0.02}, "series": "report.csv", **changes}
    (place / "case.yaml").write_text(yaml.safe_dump(case))
    return place


@pytest.fixture(name="scored")
def score_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any, str]]:
    """Return a function that scores the cases in `tmp_path` and returns exit code, JSON document and stderr."""

    def scored(*arguments: str, seeds: int = 1) -> tuple[int, Any, str]:
        code = main(["validate", "--cases", str(tmp_path), "--json", "--seeds", str(seeds), "-j", "1", *arguments])
        out, err = capsys.readouterr()
        return code, json.loads(out), err

    return scored


Scored = Callable[..., tuple[int, Any, str]]


# --- errors by kind --------------------------------------------------------------------------------------------


def test_buckets_are_rocksdbs() -> None:
    """The 109 bounds are those of HistogramBucketMapper with two digits; a value at a bound belongs to its bucket."""
    bounds = bucket_bounds()

    assert (1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580, 870, 1300, 1900, 2900) == bounds[:20]
    assert 109 == len(bounds)
    assert [0, 1, 11, 12] == [bucket_of(us * 1e-6) for us in (0.5, 2, 110, 111)]


def test_errors_by_kind() -> None:
    """Errors are relative, differences for the stall fraction, buckets for percentiles, and ratios for maxima."""
    found = {
        name: metric.kind.error(simulated, real)
        for name, simulated, real in (
            ("ops_per_s", 110.0, 100.0), ("stall_fraction", 0.5, 0.6), ("write_latency_s.p99", 1.0e-3, 1.2e-4),
            ("write_latency_s.max", 4.0, 1.0),
        )
        if (metric := metric_of(name)) is not None
    }  # fmt: skip

    assert pytest.approx(0.1) == found["ops_per_s"]
    assert pytest.approx(-0.1) == found["stall_fraction"]
    assert (5.0, 2.0) == (found["write_latency_s.p99"], found["write_latency_s.max"])


def test_series_are_read_with_any_header(tmp_path: Path) -> None:
    """A header or a row at second 0 is skipped, missing seconds count 0 operations, and errors name the line."""
    path = tmp_path / "report.csv"
    path.write_text("secs_elapsed,interval_qps\n1,10\n2,20\n4,40\n5,50\n")
    assert [10, 20, 0, 40, 50] == read_series(path).tolist()
    path.write_text("0,0\n1,10\n2,20\n")
    assert [10, 20] == read_series(path).tolist()
    path.write_text("1,10\nx,20\n")
    with pytest.raises(InputError, match=r"report\.csv:2"):
        read_series(path)


# --- intervals --------------------------------------------------------------------------------------------------------


def drawn(count: int, seed: int, *, biased: float = 0.0, device: str = "nvme") -> list[ErrorValue]:
    """Return errors whose spread grows with the share of the time that the processor decides: from 1 to 11 %."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        share = float(rng.random())
        error = biased + float(rng.normal(0.0, 0.01 + 0.1 * share))
        found.append(ErrorValue(
            "ops_per_s", Scale.RATIO, Knowledge.MEASURED, device, f"{device}{seed}_{i}", f"{device}{seed}_{i}", f"m{i // 10}",
            10.0, error, {CPU_BOUND: share, FEW_JOBS: 0.1},
        ))  # fmt: skip
    return found


def test_learnt_intervals_hold_and_follow_what_the_run_knows() -> None:
    """Of new values of the same kind, about 90 % are inside; a run that the drive decides has a narrow interval."""
    learnt = learn(drawn(300, 1))
    found = learnt.of_kind("ops_per_s", Knowledge.MEASURED, "nvme")
    assert found is not None
    inside = [(of := found.range(v.known)).low <= v.error <= of.high for v in drawn(2000, 2)]
    calm, busy = (found.range({CPU_BOUND: share, FEW_JOBS: 0.1}) for share in (0.0, 1.0))

    assert 0.86 <= np.mean(inside) <= 0.94
    assert 3.0 < (busy.high - busy.low) / (calm.high - calm.low) < 15.0


def test_a_biased_error_gives_an_uneven_interval() -> None:
    """Where real values are above the simulated ones, the interval reaches further up; it contains the simulated value."""
    found = learn(drawn(300, 1, biased=0.2)).of_kind("ops_per_s", Knowledge.MEASURED, "nvme")
    assert found is not None
    of = found.range({CPU_BOUND: 0.5})

    assert -0.01 < of.low <= 0.0
    assert of.high > 0.2


def test_kinds_with_few_values_take_the_errors_of_all_drives() -> None:
    """A class of drives with 19 values has the error of all classes; one with 20 has its own; another knowledge has none."""
    learnt = learn([*drawn(100, 1), *drawn(19, 2, device="hdd"), *drawn(20, 3, device="sata")])
    kinds = {device: learnt.of_kind("ops_per_s", Knowledge.MEASURED, device) for device in ("nvme", "hdd", "sata", None)}

    assert {"nvme": "nvme", "hdd": None, "sata": "sata", None: None} == {
        name: kind.device if kind is not None else "unknown" for name, kind in kinds.items()
    }
    assert learnt.of_kind("ops_per_s", Knowledge.CATALOGUE, "nvme") is None


def test_coverage_is_counted_out_of_fold() -> None:
    """Coverage and width are those of values from which the interval was not learnt; they are near 90 % and the true width."""
    (every, nvme) = held(drawn(400, 5))

    assert (None, "nvme", 400) == (every.device, nvme.device, every.values)
    assert 0.86 <= every.inside <= 0.94
    assert 1.645 * 0.06 == pytest.approx(every.half_width, rel=0.25)


def test_cases_of_one_group_share_a_fold() -> None:
    """The fold follows from the group alone, so that alike cases are never on both sides."""
    one, other = (replace(v, group="throttled nvme") for v in drawn(2, 1))

    assert one.fold == other.fold
    assert {*range(FOLDS)} == {v.fold for v in drawn(100, 1)}


def test_errors_of_one_machine_cancel_in_changes() -> None:
    """Where all cases of a machine are off by the same factor, the error of a change is far below that of two runs."""
    values = drawn(100, 1)
    off = np.random.default_rng(3).normal(0.0, 0.1, 10)
    common = [replace(v, error=float(off[i // 10]) + 0.05 * v.error) for i, v in enumerate(values)]
    alone, together = (learn(of).of_kind("ops_per_s", Knowledge.MEASURED, "nvme") for of in (values, common))

    assert alone is not None
    assert together is not None
    assert together.change < 0.4 < 0.6 < alone.change


def test_shares_stay_between_0_and_1_and_percentiles_are_known_to_a_bucket() -> None:
    """Ends of a share are clipped; those of a latency are at least one bucket away; zero has no ratio."""
    errors = known_errors({"stall_fraction": 0.5, "write_latency_s.p99": 0.01, "ops_per_s": 0.1})
    facts = facts_of(NVME, {})

    assert (0.0, 0.8) == pytest.approx(errors.interval("stall_fraction", facts, [0.3]))
    assert (2e-3, 4.5e-3) == pytest.approx(errors.interval("write_latency_s.p99", facts, [3e-3]))
    assert errors.interval("ops_per_s", facts, [0.0]) is None
    assert errors.interval("space_amplification", facts, [1.1]) is None
    low, high = errors.range("1/ops_per_s", facts).factors()  # type: ignore[union-attr]
    assert 1.0 == pytest.approx(low * high)


@pytest.mark.parametrize(
    ("overrides", "knowledge"),
    [
        (["device=sata"], Knowledge.CATALOGUE),
        (["host.parameters=recording_vm", "device=nvme"], Knowledge.MEASURED),
        (["host.parameters=recording_vm", "device=sata"], Knowledge.CATALOGUE),
        (["host.parameters=recording_vm", "device=sata", "device.write_cap=50MB/s"], Knowledge.MEASURED),
    ],
)
def test_the_knowledge_of_a_machine(overrides: list[str], knowledge: Knowledge) -> None:
    """A parameter set counts as a measurement only with its own drive, or with a drive whose speed is given."""
    config = compose(overrides)

    assert knowledge is knowledge_of(config)
    assert overrides[-1].split("=")[1] == device_class(config) or "write_cap" in overrides[-1]


def test_a_strangers_score_is_of_recorded_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--knowledge catalogue takes the machine from recorded sets; with other cases or sets it ends with one line."""
    for more in (["--cases", str(tmp_path)], ["--only", "logs"]):
        assert 2 == main(["validate", "--knowledge", "catalogue", *more])
        assert "scores the recorded runs own, public, public_2" in capsys.readouterr().err


def test_a_case_without_its_machine(tmp_path: Path) -> None:
    """A stranger's case keeps store, load, caps and cores; parameter set and the drive's speed are gone."""
    device = {"base": "samsung_970_pro", "write_cap": "40MiB/s", "write_bandwidth": "1GB/s"}
    case = read_case(write_case(tmp_path, device=device))
    config = as_catalogue(case).config()

    assert (None, "nvme", "40MiB/s") == (config["host"]["parameters"], config["device"]["name"], config["device"]["write_cap"])
    assert case.config()["host"]["cores"] == config["host"]["cores"]
    assert "1GB/s" != config["device"]["write_bandwidth"]
    assert Knowledge.CATALOGUE is knowledge_of(config)


# --- the command ------------------------------------------------------------------------------------------------------


def test_a_run_of_the_simulator_itself_scores_well(tmp_path: Path, scored: Scored) -> None:
    """A case made by the simulator is met within the spread of its seeds, and the JSON has the specified keys."""
    write_case(tmp_path)
    code, document, _ = scored(seeds=3)
    ops = document["metrics"]["ops_per_s"]
    rows = {row["metric"]: row for row in document["cases"]}

    assert 0 == code
    assert {"median", "p90", "worst", "bias", "noise", "cases"} <= ops.keys()
    assert ops["median"] < 0.05
    assert (0.02, 1) == (ops["noise"], ops["cases"])
    assert ["test"] == list(document["sets"])
    assert {"name", "metric", "real", "simulated", "low", "high"} <= rows["ops_per_s"].keys()
    assert rows["ops_per_s"]["low"] < rows["ops_per_s"]["simulated"] < rows["ops_per_s"]["high"]
    assert 0.0 < ops["half_width"] < 0.5
    assert rows["throughput.ks"]["simulated"] < 1.0


def test_a_bad_case_does_not_lose_the_others(tmp_path: Path, scored: Scored) -> None:
    """Cases that fail are reported with reasons and exit code 2; all others are scored."""
    write_case(tmp_path, "good")
    write_case(tmp_path, "typo", workload={**TINY["workload"], "numb": 3})
    write_case(tmp_path, "unreadable", part="nowhere")
    write_case(tmp_path, "impossible", workload={**TINY["workload"], "value_size": -1})
    (write_case(tmp_path, "no log", log="report.csv"))
    code, document, err = scored()
    reasons = {Path(f["name"]).parent.name or f["name"]: f["reason"] for f in document["failed"]}

    assert 2 == code
    assert {"good"} == {row["name"] for row in document["cases"]}
    assert {"typo", "unreadable", "impossible", "no log"} == set(reasons)
    assert "did you mean" in reasons["typo"]
    assert "part" in reasons["unreadable"]
    assert "not a RocksDB LOG" in reasons["no log"]
    assert all(name in err for name in reasons)
    assert "Traceback" not in err


def test_quarantine_needs_release_and_calibration_is_separate(tmp_path: Path, scored: Scored) -> None:
    """Quarantined cases are scored only with --release; calibration cases never enter the metrics."""
    for part in ("test", "calibration", "quarantine"):
        write_case(tmp_path, part, part=part)
    _, usual, _ = scored()
    _, release, _ = scored("--release")
    sets, cases = zip(*((list(one["sets"]), one["metrics"]["ops_per_s"]["cases"]) for one in (usual, release)), strict=True)

    assert (["test", "calibration"], ["test", "quarantine", "calibration"]) == sets
    assert (1, 2) == cases
    assert "quarantine" in usual["skipped"][0]


def test_overrides_reach_every_case(tmp_path: Path, scored: Scored, capsys: pytest.CaptureFixture[str]) -> None:
    """Overrides apply to every case, with or without --set; other arguments are refused."""
    write_case(tmp_path)
    found = (scored(), scored("device.write_cap=20MiB/s", "--set", "seed=3"))
    ops = [document["metrics"]["ops_per_s"]["bias"] for _, document, _ in found]

    assert ops[1] < ops[0] - 0.1
    assert 2 == main(["validate", str(tmp_path)])
    assert "--cases" in capsys.readouterr().err


def test_the_table_and_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal output and page show every metric, its target, the worst case and the output paths."""
    write_case(tmp_path / "cases", measured={"ops_per_s": 1000.0, "stall_fraction": 0.2})
    code = main(["validate", "--cases", str(tmp_path / "cases"), "--seeds", "2", "-j", "1", "--out", str(tmp_path / "out")])
    out = capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()

    assert 0 == code
    assert "throughput" in out
    assert "MISSED" in out
    assert "tiny" in out.partition("worst cases")[2]
    assert "report.html" in out
    assert all(text in page for text in ("Metrics and targets", "Missed targets", "Real against simulated", "curve-0"))
    assert {"scorecard.json", "curves.json", "report.html"} == {p.name for p in (tmp_path / "out").iterdir()}


def test_a_log_gives_unmeasured_values(tmp_path: Path) -> None:
    """Counts, bytes by level pair and stalls come from the LOG up to the interval's end; `measured` wins."""
    shutil.copy(RECORDING / "LOG.xz", tmp_path)
    (tmp_path / "case.yaml").write_text(
        yaml.safe_dump({**TINY, "log": "LOG.xz", "measured": {"duration_s": 6.942, "flush_count": 7}})
    )
    case = read_case(tmp_path)
    real = real_run(case, case.config())

    assert 7 == real.values["flush_count"]
    assert real.values["compaction_count"] > 50
    assert real.values["pairs.0-1.bytes"] > 10e6
    assert 0 < real.values["levels.3.mean_bytes"] < real.values["levels.3.bytes"]
    assert real.dominant_cause is not None
    assert 0.0 < real.values["stall_fraction"] < 1.0


def test_repeats_with_different_dominant_causes_have_none() -> None:
    """If the dominant stall cause differs between repeats, the case has none to predict."""
    l0 = {"duration_s": 10.0, "stall_seconds.l0_slowdown": 4.0, "stall_seconds.memtable_stop": 3.0}
    memtables = {**l0, "stall_seconds.memtable_stop": 4.5}
    means = {"stall_share.l0_slowdown": 0.4, "stall_share.memtable_stop": 0.375}
    assert "l0_slowdown" == common_dominant_cause(means, [l0, l0]) == common_dominant_cause(means, [])
    assert common_dominant_cause(means, [l0, memtables]) is None


def test_slowdowns_of_a_log_count_with_the_waits_in_them() -> None:
    """A slowed writer waits for part of a slowdown: as long as was measured; without a measurement, only lengths compare."""
    lengths = {"stall_interval_seconds.l0_slowdown": 60.0, "stall_interval_seconds.memtable_stop": 10.0}
    run = {
        "duration_s": 100.0, "stall_fraction": 0.7, "stall_seconds.l0_slowdown": 60.0, "stall_seconds.memtable_stop": 10.0,
        **lengths,
    }  # fmt: skip

    waits = {"stall_seconds.l0_slowdown": 45.0, "stall_seconds.memtable_stop": 10.0}
    assert with_waits([run], 0.55) == [pytest.approx({"duration_s": 100.0, "stall_fraction": 0.7, **waits})]
    assert with_waits([run], None) == [{"duration_s": 100.0, **lengths}]

    scaled = {**run, "stall_measured.seconds": 55.0}
    assert with_waits([scaled], None) == [{k: v for k, v in scaled.items() if k not in lengths}]
    stopped = {k: v for k, v in run.items() if not k.endswith("slowdown")}
    assert with_waits([stopped], None) == [{k: v for k, v in stopped.items() if k not in lengths}]
    assert with_waits([run, stopped], None)[1] == {"duration_s": 100.0, "stall_interval_seconds.memtable_stop": 10.0}


def test_replays_count_matches_and_note_unusable_folders(tmp_path: Path) -> None:
    """The card contains the matches of a recording; a folder without a recording only adds a note."""
    card = Scorecard()
    replays(card, [RECORDING, tmp_path])

    assert {"static"} == {check.recording for check in card.replays}
    assert all(check.matched == check.total for check in card.replays)
    assert tmp_path.name in card.skipped[0]


# --- totals -----------------------------------------------------------------------------------------------------------


def synthetic_run(tmp_path: Path, name: str, set_name: str, factor: float, part: str | None = None) -> CaseRun:
    """Return a case whose real values are `factor` times the simulated ones."""
    part = part or ("calibration" if set_name == CALIBRATION else "test")
    case = replace(read_case(write_case(tmp_path, name)), part=part)
    values, series = truth()
    run = CaseRun(case, set_name)
    run.real = real_run(case, case.config())
    run.facts = facts_of(case.config(), {"stall_fraction": 0.5, "flush_count": 10, "compaction_count": 6})
    run.replications = [
        Replication({k: v / factor * (1.0 + 0.002 * i) for k, v in values.items()}, np.array(series))
        for i in (-1, 0, 1)
    ]
    return run


def test_background_work_of_a_few_flushes_is_not_scored(tmp_path: Path) -> None:
    """With a few flushes, one more compaction changes W-Amp a lot, so W-Amp is not scored; throughput is."""
    run = synthetic_run(tmp_path, "few", TEST, 1.0)
    assert run.real is not None
    before = {row.metric for row in rows_of(run)}
    run.real.values["flush_count"] = 9.0
    after = {row.metric for row in rows_of(run)}

    assert "ops_per_s" in after
    assert "write_amplification" in before - after


def test_totals_are_those_of_the_errors(tmp_path: Path) -> None:
    """Totals are the median, P90, worst and bias over cases, the share within twice the noise, and targets."""
    runs = [synthetic_run(tmp_path, f"case{i}", TEST, f) for i, f in enumerate((1.0, 1.02, 1.04))]
    found = totals(row for run in runs for row in rows_of(run))["ops_per_s"]
    errors = [1.0 - 1 / 1.0, 1.0 - 1 / 1.02, 1.0 - 1 / 1.04]

    assert pytest.approx(errors[1]) == found.median
    assert pytest.approx(errors[2]) == found.worst
    assert pytest.approx(-sum(errors) / 3) == found.bias
    assert (3, "case2", True, True) == (found.cases, found.worst_case, found.meets_target, found.meets_worst)
    assert pytest.approx(1.0) == found.within_noise


def test_learnt_errors_are_written_and_read(tmp_path: Path) -> None:
    """The errors of cases are those of the first seed; the file gives them back with four digits."""
    runs = [synthetic_run(tmp_path, f"c{i}", TEST, 1.0 + 0.05 * (-1) ** i) for i in range(24)]
    values = [value for run in runs for value in error_values(run)]
    path = tmp_path / "model_errors.json"
    write_model_errors(values, path)
    read = read_model_errors(path).of_kind("ops_per_s", Knowledge.MEASURED, "nvme")
    learnt = learn(values).of_kind("ops_per_s", Knowledge.MEASURED, "nvme")

    assert {"ops_per_s", "stall_fraction", "write_latency_s.p99"} <= {v.metric for v in values}
    assert read is not None
    assert learnt is not None
    assert (24, "nvme") == (read.values, read.device)
    assert (learnt.low, learnt.high) == pytest.approx((read.low, read.high), rel=1e-3)
    assert -0.08 < read.range(values[0].known).low < -0.04 < 0.04 < read.range(values[0].known).high < 0.08
    assert read_model_errors(tmp_path / "none.json").learnt == {}
    path.write_text("{}")
    read_model_errors.cache_clear()
    with pytest.raises(InputError, match="validate --write-docs"):
        read_model_errors(path)


def test_the_document_has_all_parts_of_the_card(tmp_path: Path) -> None:
    """docs/validation.md has targets, misses, every case, replays, theory and skipped parts."""
    card = Scorecard(runs=[synthetic_run(tmp_path, "off", TEST, 1.3)], seeds=3, skipped=["public runs: not there"])
    card.theory = [TheoryCheck("a law", 1.0, 1.5, 0.1, "a book")]
    text = document_text(card.document())

    assert all(
        part in text for part in ("## Targets", "## Missed targets", "off (-23.1 %)", "a law", "not there", "digest: ")
    )
    assert "**missed**" in text


def test_errors_by_group_have_a_row_for_each_group_and_one_for_all(tmp_path: Path) -> None:
    """A group's row has median, P90, worst and bias of its own cases; the last row has those of all."""
    runs = [synthetic_run(tmp_path, f"case{i}", TEST, factor) for i, factor in enumerate((1.25, 0.8, 0.8))]
    for run, group in zip(runs, ("hdd", "nvme", "nvme"), strict=True):
        run.case = replace(run.case, group=group)
    lines = groups_text(Scorecard(runs=runs)).splitlines()
    rows = {cells[1].strip(): cells for line in lines if len(cells := line.split("|")) > 3}

    assert ["1", "20.0 / 20.0 / 20.0 %, -20.0 % (1)"] == [cell.strip() for cell in rows["hdd"][2:4]]
    assert ["2", "25.0 / 25.0 / 25.0 %, +25.0 % (2)"] == [cell.strip() for cell in rows["nvme"][2:4]]
    assert "3" == rows["all"][2].strip()


# --- outdated documents -----------------------------------------------------------------------------------------------


def test_a_changed_case_changes_the_digest(tmp_path: Path) -> None:
    """The digest covers case files, measurements, parameter sets and findings, and no code."""
    for path in (
        "validation/cases/test/a/case.yaml",
        "configs/parameters/p.yaml",
        "validation/scorecard/findings.yaml",
        "sim/code.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("name: a\nmeasured: {}\n")
    first = digest(tmp_path)
    (tmp_path / "sim/code.py").write_text("y")
    same = digest(tmp_path)
    (tmp_path / "validation/cases/test/a/LOG").write_text("y")

    assert first == same
    assert same != digest(tmp_path)


def test_a_regression_beyond_the_noise_is_reported() -> None:
    """Worse and changed medians are reported apart; a missing metric counts as worse."""
    before = {"metrics": {n: {"median": 0.03, "noise": 0.01} for n in ("a", "b", "c", "d")}}
    now = {"a": {"median": 0.031}, "b": {"median": 0.05}, "c": {"median": 0.01}}
    found = {c.metric: (c.worse, c.changed) for c in compare(before, now)}

    assert {"a": (False, False), "b": (True, True), "c": (False, True), "d": (True, True)} == found


def test_a_finding_explains_only_the_cases_that_it_names(tmp_path: Path) -> None:
    """A stranger's case whose name begins as that of one of our cases keeps its own cause; findings must name cases."""
    finding = Finding("ops_per_s", ("cpu_v200",), "a mechanism", "an experiment")
    card = Scorecard(runs=[synthetic_run(tmp_path, name, TEST, 2.0) for name in ("cpu_v200", "cpu_v200_of_a_stranger")])
    (missed,) = (m for m in missed_targets(card.scored, card.rows, [finding]) if m["metric"] == "ops_per_s")
    (tmp_path / "findings.yaml").write_text("findings:\n- {metric: ops_per_s, mechanism: a, experiment: b}\n")

    assert {"cpu_v200", "cpu_v200_of_a_stranger"} == {case["name"] for case in missed["cases"]}
    assert [["cpu_v200"]] == [found["cases"] for found in missed["findings"]]
    with pytest.raises(InputError, match="must be a mapping with the keys metric, cases"):
        read_findings(tmp_path / "findings.yaml")


def test_findings_can_be_read() -> None:
    """Every finding names a metric, cases, a suspected mechanism and a deciding experiment; own cases exist."""
    for finding in read_findings():
        assert any(metric.name.startswith(finding.metric) for metric in METRICS)
        own = [name for name in finding.cases if "/" not in name]
        folders = [ROOT / "validation" / "cases" / part for part in ("test", "wider")]
        assert [] == [name for name in own if not any((folder / name).is_dir() for folder in folders)]
        assert finding.cases
        assert finding.mechanism
        assert finding.experiment


def test_full_compaction_in_closed_form() -> None:
    """4 flushes of distinct keys, compacted in full at 2 and 4 (trigger 2), rewrite 2 + 4: W-Amp 1 + 6/4."""
    assert 2.5 == merged_all(4, 2, 2)
    assert math.isclose(merged_all(5, 1, 3), 1 + (3 + 4 + 5) / 5)


def test_trends_are_pairs_with_one_different_key(tmp_path: Path) -> None:
    """A change of one key counts if it changed the real store; the simulation must change in the same direction."""
    metric = metric_of("ops_per_s")
    assert metric is not None
    numbers = {"a": (100.0, 100.0), "b": (120.0, 110.0), "c": (50.0, 140.0), "d": (101.0, 90.0)}
    rows = [ScoreRow(TEST, n, "ops_per_s", metric, real, here, None, None, 0.0, None) for n, (real, here) in numbers.items()]
    cases = [("a", ["x=1", "y=1"]), ("b", ["x=2", "y=1"]), ("c", ["x=3", "y=1"]), ("d", ["x=1", "y=2"])]
    found = {(t.first, t.second): (t.key, t.same_direction) for t in trends(cases, rows)}

    assert {("a", "b"): ("x", True), ("a", "c"): ("x", False), ("b", "c"): ("x", False)} == found
