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
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.setting import Setting
from lsmlab.sim.simulation import simulate
from lsmlab.sim.studies.metrics import read_model_errors
from lsmlab.validation.casefiles.case import case_from_mapping, read_case
from lsmlab.validation.casefiles.curves import read_series
from lsmlab.validation.casefiles.real import common_dominant_cause, real_run, with_waits
from lsmlab.validation.casefiles.values import reported_series, simulated_values
from lsmlab.validation.logs.histogram_clock import bucket_bounds, bucket_of
from lsmlab.validation.scorecard.card import CALIBRATION, ENGINES, PUBLIC, RERUNS, TEST, WHAT_IFS, Scorecard
from lsmlab.validation.scorecard.ci_baseline import compare, digest
from lsmlab.validation.scorecard.document import document_text
from lsmlab.validation.scorecard.findings import Finding, missed_targets, read_findings
from lsmlab.validation.scorecard.groups import groups_text
from lsmlab.validation.scorecard.intervals import Uncertainty, prediction
from lsmlab.validation.scorecard.metrics import BUCKETS, DIFFERENCE, FACTOR, METRICS, RELATIVE, metric_of
from lsmlab.validation.scorecard.model_errors import choose_learning_half, fit_model_errors, write_model_errors
from lsmlab.validation.scorecard.runs import CaseRun, Replication
from lsmlab.validation.scorecard.score import ScoreRow, coverage, rows_of, totals
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


@pytest.mark.parametrize(("count", "repeats"), [(3, 1), (5, 1), (5, 2)])
def test_intervals_contain_nine_of_ten(count: int, repeats: int) -> None:
    """If real and simulated runs have one distribution, 90 % intervals contain about 90 % of the real values."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(4000):
        low, high = prediction(rng.normal(100.0, 3.0, count).tolist(), RELATIVE, Uncertainty(None, repeats)) or (
            0.0,
            0.0,
        )
        inside += low <= rng.normal(100.0, 3.0, repeats).mean() <= high

    assert 0.88 <= inside / 4000 <= 0.93


def test_intervals_include_noise_and_model_error() -> None:
    """Noise and model error widen an interval; shares stay within 0 and 1; a single run has no interval."""
    values = [100.0, 100.2, 99.8]
    widths = [
        high - low
        for about in (
            Uncertainty(),
            Uncertainty(0.05),
            Uncertainty(0.05, model_error=0.1),
            Uncertainty(0.05, model_error=0.1, perturbed=(80.0, 120.0)),
        )
        for low, high in [prediction(values, RELATIVE, about) or (0.0, 0.0)]
    ]

    assert sorted(widths) == widths
    assert widths[0] < 2.0 < widths[1]
    assert pytest.approx(2 * 1.645 * math.hypot(0.2 * math.sqrt(1 / 3), 5 / 1.128, 10, 20), rel=0.01) == widths[3]
    assert (0.0, 1.0) == prediction([0.5, 0.5], DIFFERENCE, Uncertainty(model_error=1.0))
    assert prediction([100.0], RELATIVE, Uncertainty()) is None
    assert prediction([1e-3, 1e-3], BUCKETS, Uncertainty()) is not None
    assert prediction([], FACTOR, Uncertainty()) is None


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


def test_the_model_error_is_learnt_from_one_half(tmp_path: Path) -> None:
    """Runs of the learning half with 5 % error widen the intervals until they contain real values; others do not count.

    Coverage counts the other half only.
    """
    learning = [synthetic_run(tmp_path, f"c{i}", TEST, 1.0 + 0.05 * (-1) ** i) for i in range(8)]
    other = [synthetic_run(tmp_path, f"t{i}", TEST, 2.0) for i in range(8)]
    for run in learning:
        run.learning = True
    errors_by_metric = fit_model_errors([*learning, *other])

    assert errors_by_metric == fit_model_errors(learning)
    assert 0.02 < errors_by_metric["ops_per_s"] < 0.05
    for run in (*learning, *other):
        run.model_errors = errors_by_metric
    assert coverage(row for run in learning for row in rows_of(run)) is None
    outside = coverage(row for run in (*learning, *other) for row in rows_of(run) if row.metric == "ops_per_s")
    assert (0.0, 8) == outside


def test_half_of_the_scored_runs_are_for_learning(tmp_path: Path) -> None:
    """A run keeps its half whatever the other runs are; calibration runs and released engines have no part in it."""
    runs = [synthetic_run(tmp_path, f"{name}{i}", name, 1.0) for name in (TEST, CALIBRATION, ENGINES) for i in range(20)]
    choose_learning_half(runs)
    before = {run.case.name for run in runs if run.learning}
    choose_learning_half(runs[:10])

    assert 5 < len(before) < 15
    assert {TEST} == {run.set for run in runs if run.learning}
    assert before == {run.case.name for run in runs if run.learning}


def test_logs_changes_and_public_machines_have_their_own_model_errors(tmp_path: Path) -> None:
    """Constants of one LOG, another store or load than the LOG's, and public machines each have errors of their own."""
    factors = {TEST: 0.02, RERUNS: 0.08, WHAT_IFS: 0.2, PUBLIC: 0.04}
    runs = [
        synthetic_run(tmp_path, f"{name}{i}", name, 1.0 + size * (-1) ** i) for name, size in factors.items() for i in range(8)
    ]
    for run in runs:
        run.learning, run.parameters = True, "desktop" if run.set == PUBLIC else ""
    path = tmp_path / "model_errors.json"
    write_model_errors(runs, path)

    assert read_model_errors(path, from_a_log=False)["ops_per_s"] < 0.015
    assert 0.015 < read_model_errors(path, from_a_log=False, parameters="desktop")["ops_per_s"] < 0.04
    assert 0.04 < read_model_errors(path, from_a_log=True)["ops_per_s"] < 0.08
    assert 0.1 < read_model_errors(path, from_a_log=True, changed=True)["ops_per_s"] < 0.2
    assert read_model_errors(tmp_path / "none.json", from_a_log=False) == {}


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
