"""`lsmlab import` of a LOG with several column families: tests/testdata/column_families, whose writes are known."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.engines.make import make_engines
from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.version import Version
from lsmlab.reports.cli.import_log import import_log
from lsmlab.reports.cli.main import main
from lsmlab.sim import configure
from lsmlab.sim.configuration.compose import compose
from lsmlab.validation.importer.load import infer_database
from lsmlab.validation.importer.reading import Reading, read
from lsmlab.validation.logs.history.stalls import stalls_of
from lsmlab.validation.logs.record_list import RecordList
from lsmlab.validation.logs.records import RocksDbLog, StallLine, SwitchLine

FOLDER = Path(__file__).parent / "testdata" / "column_families"
DATA = Path(__file__).parents[2] / "shared" / "data" / "parser_samples"
WRITTEN: dict[str, Any] = json.loads((FOLDER / "written.json").read_text())
FAMILIES = ["default", "lock", "write"]
MIB = 1 << 20


def entries(family: str) -> int:
    """Puts and deletes that the driver wrote to a column family."""
    written = WRITTEN["families"][family]
    return int(written["puts"] + written["deletes"])


@pytest.fixture(scope="module")
def reading() -> Reading:
    """The LOG, read."""
    return read(FOLDER / "LOG.xz")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the LOG was imported."""
    folder = tmp_path_factory.mktemp("import") / "out"
    assert 0 == import_log([str(FOLDER / "LOG.xz"), "--out", str(folder)])
    return folder


@pytest.fixture(scope="module")
def run_directory(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a run of the imported experiment."""
    out = tmp_path_factory.mktemp("simulated")
    assert 0 == main(["run", "--config-dir", str(imported), "experiment=imported", "--out", str(out), "--no-report"])
    return out


@pytest.fixture(scope="module")
def simulated(run_directory: Path) -> dict[str, Any]:
    """Summary of that run."""
    summary: dict[str, Any] = json.loads((run_directory / "summary.json").read_text())
    return summary


def test_the_whole_log_is_understood(reading: Reading) -> None:
    """No line of RocksDB 9.8 counts as damaged, and no job is missing."""
    assert FAMILIES == list(reading.families)
    assert 0 == reading.unreadable
    assert {} == {name: count for name, count in reading.log.troubles.items() if count}


def test_options_of_all_families(imported: Path) -> None:
    """The engine has the options of default, and of each other family those that differ."""
    engine = compose(["experiment=imported"], [imported])["engine"]
    lock, write = (engine["families"][name]["options"] for name in ("lock", "write"))

    assert (8 * MIB, 4) == tuple(
        engine["options"][name] for name in ("write_buffer_size", "level0_file_num_compaction_trigger")
    )
    assert (1 * MIB, 1) == (lock["write_buffer_size"], lock["level0_file_num_compaction_trigger"])
    assert 2 * MIB == write["write_buffer_size"]
    assert "level0_file_num_compaction_trigger" not in write
    assert not {"max_background_jobs", "num_levels"} & lock.keys()
    assert FAMILIES == list(make_engines(engine))


def test_load_of_each_family(imported: Path) -> None:
    """Shares of the writes within 1 %, sizes as written, and the number of rows within four standard errors."""
    workload = compose(["experiment=imported"], [imported])["workload"]
    families = workload["families"]
    total = sum(entries(name) for name in FAMILIES)

    assert set(FAMILIES) == set(families)
    for name in FAMILIES:
        written = WRITTEN["families"][name]
        assert entries(name) / total == pytest.approx(families[name]["writes"], rel=0.01)
        assert written["key_bytes"] / entries(name) == pytest.approx(families[name]["key_size"], abs=0.01)
        assert written["value_bytes"] / written["puts"] == pytest.approx(families[name]["value_size"], abs=0.5)
    assert WRITTEN["rows"] == pytest.approx(families["default"]["num"], rel=0.04)
    assert families["lock"]["short_lived"]
    assert families["write"]["num"] > 15 * entries("write")  # each commit record has a key of its own


def test_stalls_have_the_family_that_caused_them() -> None:
    """A stop of one family binds before the slowdown of another, and bears its name."""
    slow, stop = (
        "Stalling writes because we have 20 level-0 files rate 100", "Stopping writes because we have 36 level-0 files",
    )  # fmt: skip
    log = RocksDbLog("LOG", records=RecordList([
        SwitchLine(10, "1", 1, 0, "default", 0), StallLine(11, "1", 2, 0, "default", slow),
        SwitchLine(20, "1", 3, 0, "lock", 0), StallLine(21, "1", 4, 0, "lock", stop),
        SwitchLine(30, "1", 5, 0, "lock", 0), SwitchLine(40, "1", 6, 0, "default", 0), SwitchLine(50, "1", 7, 0, "default", 0),
    ]))  # fmt: skip
    stalls = stalls_of(log)

    assert [
        (StallCause.L0_SLOWDOWN, "default"), (StallCause.L0_STOP, "lock"), (StallCause.L0_SLOWDOWN, "default"),
    ] == [(stall.cause, stall.column_family) for stall in stalls.intervals]  # fmt: skip
    assert (1, 0) == (sum(stalls.counts(50, "lock").values()), sum(stalls.counts(50, "write").values()))


def test_the_imported_experiment_does_what_the_store_did(imported: Path, simulated: dict[str, Any]) -> None:
    """Flushes of each family within one, flushed bytes within 12 %; W-Amp of default, with 93 % of the bytes, within 5 %."""
    real = json.loads((imported / "summary.json").read_text())["column_families"]
    families = simulated["column_families"]

    assert FAMILIES == list(real)
    for name in FAMILIES:
        assert real[name]["flush_count"] == pytest.approx(families[name]["flush_count"], abs=1)
        assert real[name]["flush_bytes"] == pytest.approx(families[name]["flush_bytes"], rel=0.12)
    assert real["default"]["write_amplification"] == pytest.approx(families["default"]["write_amplification"], rel=0.05)
    assert real["default"]["live_bytes"] == pytest.approx(families["default"]["live_bytes"], rel=0.1)
    assert families["lock"]["live_bytes"] < 0.01 * families["default"]["live_bytes"]


def test_the_page_shows_the_comparison(imported: Path, simulated: dict[str, Any]) -> None:
    """The first table of imported LOGs in docs/background/column-families.md has the numbers of LOG and simulation."""
    page = (Path(__file__).parents[1] / "docs" / "background" / "column-families.md").read_text(encoding="utf-8")
    table = page.split("\n## Imported LOGs")[1].split("\n\n")[3].splitlines()
    real = json.loads((imported / "summary.json").read_text())["column_families"]

    for name, line in zip(FAMILIES, table[2:], strict=True):
        pair = (real[name], simulated["column_families"][name])
        assert [
            name,
            *(" / ".join(str(one[key]) if "count" in key else f"{one[key] / MIB:.1f}" for one in pair) for key in
              ("flush_count", "flush_bytes", "compaction_count", "compaction_write_bytes")),
            " / ".join(f"{one['write_amplification']:.2f}" for one in pair),
            " / ".join(f"{one['live_bytes'] / MIB:.1f}" for one in pair),
        ] == [cell.strip() for cell in line.strip("|").split("|")]  # fmt: skip


def test_terminal_and_page_have_a_row_per_family(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Import, run and page show flushes, bytes and W-Amp of each family; notes say what was assumed for which family."""
    assert 0 == import_log([str(FOLDER / "LOG.xz"), "--out", str(tmp_path / "out"), "--no-report"])
    text = capsys.readouterr().out
    page = (imported / "report.html").read_text()

    table = text[text.index("Family  ") :].split("\n\n")[0].splitlines()
    assert ["Family", *FAMILIES] == [line.split()[0] for line in table]
    assert ["25.0", "%", "63"] == table[1].split()[1:4]
    assert '<section id="column-families">' in page
    assert "column family lock: half of the entries are deletes" in page
    assert "<td>lock: key size</td>" in page


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the reference data are not at {DATA}")
@pytest.mark.parametrize("name", ["jhyu_rocksdb5.11.3_readonly", "windows_rocksdb_server_LOG"])
def test_an_empty_default_family(name: str, tmp_path: Path) -> None:
    """All load goes to the only family in use, whose options are those of the LOG."""
    assert 0 == import_log([str(DATA / f"{name}.log.gz"), "--out", str(tmp_path), "--no-report"])
    config = configure(["experiment=imported", "workload.duration=1s", "workload.rate=100"], folders=[tmp_path])

    assert ["usertable"] == list(config["workload"]["families"])
    assert ["default", "usertable"] == list(make_engines(config["engine"]))


def test_atomic_flushes_fit_together() -> None:
    """Flushes of one job print the files per level before their joint commit, which is no contradiction."""
    reading = read(FOLDER / "LOG-atomic.xz")
    flushes = reading.jobs.done("flush")
    workload = infer_database(reading)

    assert reading.option("atomic_flush")
    assert len({job.job for job in flushes}) < 0.4 * len(flushes)
    assert 0 == reading.unreadable
    assert all(family["live_bytes"] is not None for family in reading.summary["column_families"].values())
    assert [0.25, 0.5, 0.25] == pytest.approx([p.writes / workload.writes for p in workload.families.values()], rel=0.01)


def test_families_whose_options_the_log_lacks_are_named(
    reading: Reading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of a family printed beyond the part of the LOG that is read for options: a note names the family."""
    text = lzma.decompress((FOLDER / "LOG.xz").read_bytes()).decode()
    monkeypatch.setattr("lsmlab.models.text.files._HEAD_CHARACTERS", text.index("Options for column family [write]"))
    path = tmp_path / "LOG"
    path.write_text(text)
    notes = read(path).notes

    assert not any("no options of column family" in note for note in reading.notes)
    assert any("no options of column family write: those of default are taken" in note for note in notes)


def test_a_log_of_one_family_has_no_families(tmp_path: Path) -> None:
    """The experiment of a LOG with the default family alone names no column families."""
    log = Path(__file__).parents[1] / "validation" / "recordings" / "static" / "LOG.xz"
    assert 0 == import_log([str(log), "--out", str(tmp_path), "--no-report"])
    summary = json.loads((tmp_path / "summary.json").read_text())

    assert "families" not in (tmp_path / "experiment" / "imported.yaml").read_text()
    assert "column_families" not in summary
    assert "families" not in summary["import"]["workload"]


def test_damaged_options_of_a_family_are_left_out(tmp_path: Path) -> None:
    """A damaged line in one family's section costs that option, not the families."""
    text = lzma.decompress((FOLDER / "LOG.xz").read_bytes()).decode()
    at = text.index("Options for column family [lock]")
    text = text[:at] + text[at:].replace("Options.num_levels: 7", "Options.num_levels: 7x", 1)
    (tmp_path / "LOG").write_text(text)
    reading = read(tmp_path / "LOG")

    assert FAMILIES == sorted(reading.family_options)
    assert "num_levels" not in reading.family_options["lock"].overrides
    assert 1 == reading.log.troubles["unreadable_options"]
    assert Version(9, 8) == reading.family_options["lock"].version
