"""`lsmlab advise`: single changes and pairs, ranked by a goal within limits, and the OPTIONS file of the best."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.models.options.options_writer import edited_options, new_options
from lsmlab.models.options.values import read_value
from lsmlab.models.version import Version
from lsmlab.reports.cli.main import main
from lsmlab.reports.decisions.advice import ADVISE
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.studies.advise import Advice, Tried, advised, pairs, ranked, tried
from lsmlab.sim.studies.candidates import CandidateChange, ChangeKind, candidates
from lsmlab.sim.studies.differences import Repeats, differences
from lsmlab.sim.studies.goals import GOALS, GoalLimits, memory_bytes, read_goal, read_limits
from running import run

ROOT = Path(__file__).parents[1]
OPTIONS = ROOT / "validation" / "demo" / "OPTIONS"
STALLED = [
    "device=sata", "device.write_cap=60MiB/s", "workload.duration=2s", "workload.threads=1", "workload.value_size=400",
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
    options = run(config).summary["options"]
    found = candidates(options, config, 16)

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
    return tried((change,), GOALS["throughput"], 0.0, differences(before, after, {}), None, before, after)


def test_pairs_of_the_best_options() -> None:
    """Pairs combine helpful options that set different keys; machines, compression and harmful options are left out."""
    found = [
        trialled("a=1", 0.3), trialled("a=2", 0.2), trialled("b=1", 0.1), trialled("c=1", -0.1),
        trialled("device=x", 0.5, ChangeKind.MACHINE), trialled("compression=lz4", 0.4, ChangeKind.COMPRESSION),
    ]  # fmt: skip

    assert [("a=1", "b=1"), ("a=2", "b=1")] == [(x.name, y.name) for x, y in pairs(found)]
    assert "device=x" == ranked(found)[0].name


def test_certain_gains_come_first() -> None:
    """A smaller gain with every seed comes before a larger one of some seeds; a loss is no advice."""
    before = Repeats([{"ops_per_s": 100.0}] * 3)

    def change(name: str, *gains: float) -> Tried:
        after = Repeats([{"ops_per_s": 100.0 * (1 + gain)} for gain in gains])
        change = CandidateChange((f"engine.options.{name}",), "")
        return tried((change,), GOALS["throughput"], 0.0, differences(before, after, {}), None, before, after)

    found = [change("lucky=1", -0.3, 0.0, 1.2), change("sure=1", 0.1, 0.11, 0.12), change("worse=1", -0.1, -0.1, -0.11)]

    assert ["sure=1", "lucky=1"] == [t.name for t in advised(found)]


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
    assert [] == found.ignored
    assert (8 << 20, 6, 8192, 8.0, 150) == tuple(
        found.overrides[name]
        for name in ("write_buffer_size", "max_background_jobs", "block_size", "max_bytes_for_level_multiplier",
                     "compaction_options_universal.max_size_amplification_percent")
    )  # fmt: skip


def test_rocksdb_loads_the_file(tmp_path: Path) -> None:
    """A real RocksDB opens a database with a written OPTIONS file."""
    rocksdict = pytest.importorskip("rocksdict")
    rocksdict.Rdict(str(tmp_path / "db")).close()
    newest = max((tmp_path / "db").glob("OPTIONS-*"))
    newest.write_text(new_options(Version(9, 8), {"write_buffer_size": "8MiB", "max_background_jobs": 6}).text)
    options, _ = rocksdict.Options.load_latest(str(tmp_path / "db"))
    rocksdict.Rdict(str(tmp_path / "db"), options).close()

    assert "  write_buffer_size=8388608" in max((tmp_path / "db").glob("OPTIONS-*")).read_text().splitlines()
