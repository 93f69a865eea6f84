"""`lsmlab advise`: single changes and pairs, ranked by a goal within limits, and the OPTIONS file of the best."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from known_errors import NVME, known_errors
from lsmlab.models.engines.make import make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.models.options.options_writer import edited_options, new_options
from lsmlab.models.options.values import plain, read_value
from lsmlab.models.version import Version
from lsmlab.reports.answers.what_helps import effect
from lsmlab.reports.cli.main import main
from lsmlab.reports.decisions.advice import ADVISE
from lsmlab.reports.differences import in_words, verdict_text
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.executor import InProcess
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.studies.advise import Advice, AdviceRequest, Tried, _effort, advised, pairs, ranked, tried, useful
from lsmlab.sim.studies.baseline import Baseline
from lsmlab.sim.studies.candidate_rows import ChangeKind
from lsmlab.sim.studies.candidates import CandidateChange, candidates, condition, promising
from lsmlab.sim.studies.differences import Repeats, differences
from lsmlab.sim.studies.goals import GOALS, GoalLimits, goal_metric, memory_bytes, read_goal, read_limits
from lsmlab.sim.studies.metrics import value_of
from lsmlab.sim.studies.present import Present
from lsmlab.sim.studies.written_options import write_options
from running import run

ROOT = Path(__file__).parents[1]
OPTIONS = ROOT / "validation" / "demo" / "OPTIONS"
STALLED = [
    "device=nvme", "device.write_cap=60MiB/s", "workload.duration=2s", "workload.threads=1", "workload.value_size=400",
    "workload.num=100k", "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", "engine.options.max_write_buffer_number=2",
]  # fmt: skip
"""A store that stalls for memtables behind a capped drive."""


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the advice for a run of the stalled store."""
    folder = tmp_path_factory.mktemp("advise")
    assert 0 == main(["run", *STALLED, "--out", str(folder / "run"), "--no-report", "--json"])
    out = folder / "advice"
    arguments = ["--replications", "2", "--memory", "40MiB", "--no-report", "--out", str(out)]
    assert 0 == main(["advise", str(folder / "run"), *arguments])
    found: dict[str, Any] = json.loads((out / "advice.json").read_text())
    return {**found, "folder": out}


def test_candidates_change_something() -> None:
    """Each candidate composes, differs from the present state, and no two are the same."""
    config = compose(STALLED)
    found = candidates(Present.of(run(config).summary, config))

    assert 20 <= len(found)
    assert len(found) == len({c.overrides for c in found})
    for candidate in found:
        changed = compose([*STALLED, *candidate.overrides])
        groups = [g for g in ("engine", "device", "host", "limits") if changed[g] != config[g]]
        assert groups, candidate.name


def test_an_advice_helps_within_its_limits(advice: dict[str, Any]) -> None:
    """The best changes improve the goal, hold the memory limit, and come before worse ones."""
    best = [entry for entry in advice["best"] if entry["kind"] == "options"]

    assert "throughput" == advice["goal"]
    order = [(e["certain"], e["gain"]) for e in best]
    assert order == sorted(order, reverse=True)
    assert best[0]["gain"] > 0.05
    assert all(entry["memory_bytes"] <= 40 * 2**20 for entry in advice["best"])
    assert any("memtables and block cache of" in reason for reason in advice["refused"].values()) or all(
        entry["memory_bytes"] <= 40 * 2**20 for entry in advice["tried"]
    )


def test_an_advice_gives_its_reasons_and_its_price(advice: dict[str, Any]) -> None:
    """Each advice says what was seen, why it helps, what it costs and what it leaves; cheap kinds come first."""
    found = Advice.from_json(json.dumps({k: v for k, v in advice.items() if k not in ("conclusion", "folder")}))
    text, conclusion = ADVISE.text(found), advice["conclusion"]
    order = [kind.value for kind in ChangeKind]
    kinds = [order.index(entry.kind) for entry in found.best]

    assert kinds == sorted(kinds)
    assert len(found.best) == text.count("  1. seen") + text.count("  2. seen") + text.count("  3. seen")
    assert all(text.count(f"     {label} ") == len(found.best) for label in ("reason", "price ", "leaves"))
    assert "price  SetOptions, no restart" in text
    assert conclusion["answer"].startswith("Over these 2 s, not settled: ")
    assert any(entry.name in conclusion["answer"] and entry.certain for entry in found.best)
    assert conclusion["command"].startswith("lsmlab advise ")
    assert all(conclusion[part] for part in ("why", "would_help", "how_sure"))


def test_a_named_change_that_had_not_settled_is_said(advice: dict[str, Any]) -> None:
    """'All stores had settled' covers every change that the answer names, not only the first one."""
    found = Advice.from_json(json.dumps({k: v for k, v in advice.items() if k not in ("conclusion", "folder")}))
    settled = [replace(entry, state=replace(entry.state, unsettled=None)) for entry in found.best]
    calm = replace(found, best=settled, present=replace(found.present, state=replace(found.present.state, unsettled=None)))
    last = replace(settled[-1], name="last", certain=False, state=replace(settled[-1].state, unsettled="L0 grows"))

    assert "All stores had settled within 2 s." in ADVISE.conclude(calm).how_sure
    assert "last had not settled (L0 grows)" in " ".join(ADVISE.conclude(replace(calm, best=[*settled, last])).how_sure)


def test_the_page_of_an_advice(advice: dict[str, Any]) -> None:
    """The page names the best changes, the OPTIONS file and everything that was tried; the run's page, the best."""
    page = ADVISE.draw(Advice.read(advice["folder"] / "advice.json"), advice["folder"]).read_text()
    of_the_run = (advice["folder"].parent / "run" / "report.html").read_text()

    assert "<h2>What would help?</h2>" in of_the_run
    assert html.escape(advice["best"][0]["name"]) in of_the_run
    assert "href='../advice/report.html'" in of_the_run
    assert advice["best"][0]["name"] in page
    assert "First advice as an OPTIONS file" in page
    assert all(html.escape(entry["name"]) in page for entry in advice["tried"])


def test_the_advice_is_an_options_file(advice: dict[str, Any]) -> None:
    """The OPTIONS file contains the store's options and the first advice; the differences are listed."""
    written = read_options(advice["folder"] / "OPTIONS")
    changes = {name: after for name, _, after in advice["options"]["changes"]}

    assert changes
    assert Version(8, 11) == written.version
    expected = {**compose(STALLED)["engine"]["options"], **changes}
    for name in (*changes, "target_file_size_base", "max_bytes_for_level_base"):
        if name in written.overrides:
            assert read_value(name, expected[name]) == written.overrides[name]


def trialled(name: str, gain: float, kind: ChangeKind = ChangeKind.OPTIONS) -> Tried:
    """Return a change that multiplies throughput."""
    before, after = Repeats([{"ops_per_s": 100.0}]), Repeats([{"ops_per_s": 100.0 * (1 + gain)}])
    change = CandidateChange((f"engine.options.{name}",), "", kind)
    return tried((change,), GOALS["throughput"], 0.0, differences(before, after), None, before, after)


def test_pairs_of_the_best_options() -> None:
    """Pairs combine helpful options that set different keys; machines, compression and harmful options are left out."""
    found = [
        trialled("a=1", 0.3), trialled("a=2", 0.2), trialled("b=1", 0.1), trialled("c=1", -0.1),
        trialled("device=x", 0.5, ChangeKind.MACHINE), trialled("compression=lz4", 0.4, ChangeKind.COMPRESSION),
    ]  # fmt: skip

    assert [("a=1", "b=1"), ("a=2", "b=1")] == [(x.name, y.name) for x, y in pairs(found)]
    assert "device=x" == ranked(found)[0].name


def test_certain_gains_come_first() -> None:
    """A smaller gain beyond the error comes before a larger one of a drive whose error is larger; a loss is no advice."""
    before, errors = Repeats([{"ops_per_s": 100.0}], config=NVME), known_errors({"ops_per_s": 0.05})

    def change(name: str, gain: float, config: Mapping[str, Any] = NVME) -> Tried:
        after = Repeats([{"ops_per_s": 100.0 * (1 + gain)}], config=config)
        change = CandidateChange((f"engine.options.{name}",), "")
        return tried((change,), GOALS["throughput"], 0.0, differences(before, after, errors=errors), None, before, after)

    found = [change("lucky=1", 0.3, {}), change("sure=1", 0.11), change("worse=1", -0.1)]

    assert ["sure=1", "lucky=1"] == [t.name for t in advised(found)]


def test_a_pair_must_gain_more_than_its_parts() -> None:
    """A pair that one of its parts equals is no advice: it would export a setting that does nothing."""
    alone, weak = trialled("a=1", 0.3), trialled("b=1", 0.05)
    pair = replace(alone, name="a=1 + b=1")

    assert [alone, weak] == useful([alone, weak, pair])
    assert pair.gain == alone.gain
    better = replace(pair, gain=alone.gain + 0.1)
    assert [alone, weak, better] == useful([alone, weak, better])


def test_cheap_changes_come_first() -> None:
    """SetOptions comes before a restart in words, and both before what moves the data, whatever its gain."""
    config = compose(["device=sata", *STALLED[1:]])
    found = candidates(Present.of(run(config).summary, config))
    efforts = {c.name: c.effort for c in found}
    kinds = [ChangeKind.POLICIES, ChangeKind.MACHINE, ChangeKind.MIGRATION, ChangeKind.OPTIONS]
    several = [trialled(f"{kind.value}=1", 0.9 - 0.1 * kinds.index(kind), kind) for kind in kinds]

    assert "SetOptions, no restart" == efforts["write_buffer_size=2MiB"]
    assert efforts["compaction_pri=kRoundRobin"].startswith("restart: ")
    assert efforts["compaction_style=kCompactionStyleUniversal"].startswith("restart and reorganization")
    assert "a new drive, to which the data move" == efforts["device=nvme"]
    assert ["options", "migration", "machine", "policies"] == [t.kind for t in advised(several)]


def test_a_quick_advice_tries_what_fits_into_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate of a run decides how many changes are tried; those that relieve the bottleneck come first."""
    request = AdviceRequest(store="experiment=throttled", quick=True)
    config = compose(STALLED)
    efforts = []
    for seconds in (1000.0, 3.0, 0.01):
        monkeypatch.setattr("lsmlab.sim.studies.advise._run_s", lambda *_, seconds=seconds: seconds)
        efforts.append(_effort(request, config, Settings(default_store(), InProcess(), quiet=True)))
    found = candidates(Present.of(run(config).summary, config))
    first = promising(found, [Bottleneck.SLOTS], 6)

    assert [6, 16] == [one.changes for one in efforts[:2]]
    assert [(2, 1, 0), (2, 1, 0)] == [(one.seeds, one.screened, one.paired) for one in efforts[:2]]
    assert all(one.runs <= 120 for one in efforts)
    assert 6 == len(first)
    assert "max_background_jobs" in first[0].name
    assert len(found) == len(promising(found, [], 1000))
    assert 5 <= len({change.about for change in promising(found, [], 6)})


def test_what_was_seen_is_the_part_that_a_change_concerns() -> None:
    """The condition of a change has the numbers of its own part of the store, and never a number that is unknown."""
    summary = {
        "duration_s": 10.0, "stall_seconds": {"memtable_stop": 5.0, "memtable_slowdown": 0.0, "l0_slowdown": 1.0},
        "stall_fraction": 0.6, "write_amplification": 4.0, "device": {"utilisation": None, "write_bytes_per_s": 5e7},
    }  # fmt: skip

    assert "writers stood still 50.0% of the time and were slowed 0.0% because all memtables were full" == condition(
        "memtables", summary
    )
    assert condition("l0", summary).startswith("writers stood still 0.0% of the time and were slowed 10.0%")
    assert "each user byte was written 4.00 times" == condition("levels", summary)
    assert "50 MB/s of writes" == condition("device", summary)
    assert "writers were stopped or slowed 60.0% of the time" == condition("policies", summary)


def test_the_goal_of_a_closed_loop_is_the_wait_of_an_open_one() -> None:
    """Clients that wait for a store send nothing while it stands still; a run without stalls has their latency."""
    stalled = {"write_latency_s": {"p99": 1e-5}, "open_loop_latency_s": {"p99": 0.6}}
    closed, opened = (goal_metric("p99", closed=closed) for closed in (True, False))
    limits = read_limits(None, ["p99=10ms"], closed=True)

    assert (0.6, 1e-5) == tuple(value_of(stalled, metric.name) for metric in (closed, opened))
    assert 1e-5 == value_of({"write_latency_s": {"p99": 1e-5}}, closed.name)
    assert "p99" == limits.broken(stalled, 0.0)
    assert goal_metric("throughput", closed=True) is GOALS["throughput"]


def test_unknown_is_not_within_the_error() -> None:
    """Without a known error, nothing is said about an error; an unsettled change carries its doubt."""
    unsettled = {"ops_per_s": 110.0, "settled": {"settled": False, "reason": "x"}}
    before, after = (Repeats([summary], config=NVME) for summary in ({"ops_per_s": 100.0}, unsettled))
    (unknown,), (small,) = (differences(before, after, errors=known_errors(of)) for of in ({}, {"ops_per_s": 1.0}))
    change = CandidateChange(("engine.options.a=1",), "")
    entry = tried((change,), GOALS["throughput"], 0.0, [unknown], None, before, after)

    assert ("unknown, not settled", "within the error, not settled") == (verdict_text(unknown), verdict_text(small))
    assert "throughput +10.0% (the model's error is not known), unknown, not settled" == effect(entry, "ops_per_s")
    assert "throughput +10.0% (the model's error is not known)" == in_words([unknown])
    assert "no difference beyond the error in throughput" == in_words([small])


def test_goals_and_limits() -> None:
    """The goal follows the load; limits are read with units and named when a run breaks them; bad ones are named."""
    closed, opened = compose(["workload=fillrandom"]), compose(["workload=constant"])
    limits = read_limits("1GiB", ["space_amp=1.5", "p99=10ms"])

    assert ("throughput", "p999", "stalled") == (
        read_goal(None, closed), read_goal(None, opened), read_goal("stalled", closed),
    )  # fmt: skip
    assert (2**30, {"space_amp": 1.5, "p99": 0.01}) == (limits.memory_bytes, limits.at_most)
    assert "memory" == limits.broken({}, 2.0**31)
    assert "p99" == limits.broken({"write_latency_s": {"p99": 0.02}}, 0.0)
    assert GoalLimits().broken({}, 1e12) is None
    assert 2 * (64 << 20) + (32 << 20) == memory_bytes(closed)
    for bad in (lambda: read_goal("speed", closed), lambda: read_limits("1 apple", []), lambda: read_limits(None, ["p99"])):
        with pytest.raises(InputError, match="--"):
            bad()


def test_an_options_file_is_edited() -> None:
    """Only the changed lines differ; structs keep their other members; options of code are named."""
    text = OPTIONS.read_text()
    changes = {
        "write_buffer_size": "128MiB", "max_background_jobs": 8, "bloom_bits": 10, "cache_size": "1GiB",
        "compaction_options_universal.size_ratio": 5, "level_compaction_dynamic_level_bytes": True,
    }  # fmt: skip
    written = edited_options(text, changes)
    before, after = read_options(text), read_options(written.text)

    assert 5 == sum(a != b for a, b in zip(text.splitlines(), written.text.splitlines(), strict=True))
    assert {
        "write_buffer_size": 128 << 20, "max_background_jobs": 8, "bloom_bits": 10.0,
        "compaction_options_universal.size_ratio": 5, "level_compaction_dynamic_level_bytes": True,
    } == {k: v for k, v in after.overrides.items() if before.overrides.get(k) != v}  # fmt: skip
    assert {"cache_size": "1GiB in BlockBasedTableOptions::block_cache"} == dict(written.in_code)


def test_a_new_options_file_is_read_back() -> None:
    """A file of options reads back as the same options of the same release."""
    options = {
        "write_buffer_size": "8MiB", "compression_per_level": ["kNoCompression", "kLZ4Compression"],
        "compaction_pri": "kMinOverlappingRatio", "compaction_options_universal.max_size_amplification_percent": 150,
        "max_background_jobs": 6, "block_size": 8192, "bloom_bits": 0, "max_bytes_for_level_multiplier": 8,
    }  # fmt: skip
    found = read_options(new_options(Version(9, 8), options).text)

    assert Version(9, 8) == found.version
    assert {} == found.ignored
    assert (8 << 20, 6, 8192, 8.0, 150) == tuple(
        found.overrides[name]
        for name in ("write_buffer_size", "max_background_jobs", "block_size", "max_bytes_for_level_multiplier",
                     "compaction_options_universal.max_size_amplification_percent")
    )  # fmt: skip


FAMILIES = ("+engine.families.w.name=a.b", "+engine.families.w.options.write_buffer_size=1MiB")


@pytest.mark.parametrize("own_file", [False, True])
def test_an_option_of_a_family_is_in_its_section(tmp_path: Path, own_file: bool) -> None:
    """The OPTIONS file has a change in the section of its family, and a change of the group in each that follows it."""
    overrides = [*FAMILIES]
    if own_file:
        given = new_options(Version(8, 11), {"write_buffer_size": "64MiB"}, {"a.b": {"write_buffer_size": "1MiB"}})
        (tmp_path / "MINE").write_text(given.text)
        overrides.append(f"engine.options_file={tmp_path / 'MINE'}")
    baseline = Baseline("x", tuple(overrides))
    options = asdict(make_engines(baseline.compose()["engine"])["default"].options)
    changes = [
        "++engine.families.w.options.write_buffer_size=4MiB", "engine.options.write_buffer_size=128MiB",
        "engine.options.num_levels=5", "engine.options.max_background_jobs=8",
    ]  # fmt: skip
    written = write_options(baseline, changes, {"options": plain(options), "engine_version": "8.11"}, tmp_path)
    assert written is not None
    database, default, family = (tmp_path / "OPTIONS").read_text().partition("[DBOptions]")[2].split("[CFOptions")

    assert [("w.write_buffer_size", 1 << 20, 4 << 20), ("write_buffer_size", 64 << 20, 128 << 20)] == written.changes[:2]
    assert "max_background_jobs=8" in database
    assert {"write_buffer_size=134217728", "num_levels=5"} <= set(default.split())
    assert '"a.b"]' in family
    assert {"write_buffer_size=4194304", "num_levels=5"} <= set(family.split())
    assert "max_background_jobs" not in family


def test_rocksdb_loads_the_file(tmp_path: Path) -> None:
    """A real RocksDB opens a database with a written OPTIONS file."""
    rocksdict = pytest.importorskip("rocksdict")
    rocksdict.Rdict(str(tmp_path / "db")).close()
    newest = max((tmp_path / "db").glob("OPTIONS-*"))
    newest.write_text(new_options(Version(9, 8), {"write_buffer_size": "8MiB", "max_background_jobs": 6}).text)
    options, _ = rocksdict.Options.load_latest(str(tmp_path / "db"))
    rocksdict.Rdict(str(tmp_path / "db"), options).close()

    assert "  write_buffer_size=8388608" in max((tmp_path / "db").glob("OPTIONS-*")).read_text().splitlines()
