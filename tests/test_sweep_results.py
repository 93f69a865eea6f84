"""`lsmlab results`: selected, grouped and sorted runs, as tables, JSON, CSV, SQL and DataFrames."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.runs.index_rows import arrow_table, write_parquet
from lsmlab.sim.studies.sweep.query import results


@pytest.fixture(autouse=True)
def _index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an index of 2 devices x 2 memtables x 2 seeds to o/runs.parquet."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "run": f"{device}, write_buffer_size={mib}MiB, seed {seed}", "seed": seed, "device": device,
            "engine.options.write_buffer_size": mib * 2.0**20, "checks": device == "sata",
            "ops_per_s": 1000.0 * mib + seed, "options.write_buffer_size": mib * 2**20,
            "read_latency_s.p99": 1e-3 if device == "sata" else None,
        }
        for device in ("nvme", "sata") for mib in (16, 64) for seed in (1, 2)
    ]  # fmt: skip
    Path("o").mkdir()
    write_parquet(Path("o/runs.parquet"), arrow_table(rows))


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """Return the rows that a query prints as JSON."""
    assert 0 == main(["results", "o", *arguments, "--json"])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["rows"]
    return found


@pytest.mark.parametrize(
    ("conditions", "count"),
    [
        (["write_buffer_size>=64MiB"], 4), (["device=nvme", "seed=2"], 2), (["device!=nvme"], 4), (["device=nvme,hdd"], 4),
        (["ops_per_s < 16002"], 2), (["checks=true", "write_buffer_size=16MiB,64MiB"], 4), (["read_latency_s.p99<1s"], 4),
        (["ops_per_s>1M"], 0),
    ],
)  # fmt: skip
def test_conditions_select_runs(capsys: pytest.CaptureFixture[str], conditions: list[str], count: int) -> None:
    """Conditions compare numbers with units, texts and switches; all must hold; a missing value meets no order."""
    assert count == len(rows(capsys, "--where", *conditions))


def test_rows_are_grouped_and_sorted(capsys: pytest.CaptureFixture[str]) -> None:
    """Groups have the number of runs, and means with 90 % intervals; KEY:desc puts large values first."""
    found = rows(capsys, "--by", "write_buffer_size", "--sort", "ops_per_s:desc")

    assert [2.0**26, 2.0**24] == [row["engine.options.write_buffer_size"] for row in found]
    assert [4, 4] == [row["runs"] for row in found]
    assert 64001.5 == found[0]["ops_per_s"]
    assert 64000.82 == pytest.approx(found[0]["ops_per_s.low"], abs=0.01)
    listed = rows(capsys, "--sort", "device:desc", "ops_per_s", "--show", "device", "ops_per_s")
    assert ["sata", "sata"] == [row["device"] for row in listed[:2]]
    assert [16001.0, 16002.0] == [row["ops_per_s"] for row in listed[:2]]


def test_tables_are_narrow_and_have_units(capsys: pytest.CaptureFixture[str]) -> None:
    """A table has at most 120 columns, values have units, and means have half of their interval."""
    assert 0 == main(["results", "o", "--by", "write_buffer_size", "device"])
    lines = capsys.readouterr().out.splitlines()

    assert max(map(len, lines)) <= 120
    assert ["16", "MiB", "nvme", "2", "16,002", "±", "3", "ops/s"] == lines[2].split()
    assert 0 == main(["results", "o", "--csv", "--show", "seed", "device", "--where", "seed=1", "device=sata"])
    assert ["run,seed,device", '"sata, write_buffer_size=16MiB, seed 1",1,sata'] == capsys.readouterr().out.splitlines()[:2]
    assert 0 == main(["results", "o", "--where", "seed=9"])
    assert "no run meets the conditions\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--where", "devic=nvme"], "did you mean device"), (["--where", "device>nvme"], "compare it with ="),
        (["--where", "seed"], "write KEY=VALUE"), (["--where", "seed>many"], "many is not a number"),
        (["--where", "checks=maybe"], "true or false"), (["--sort", "seed:up"], "KEY:desc"),
        (["--plot", "seed"], "name the horizontal axis"), (["--sql", "select nothing from runs"], "--sql: Binder Error"),
    ],
)  # fmt: skip
def test_a_bad_query_says_what_is_wrong(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """A bad query ends with code 2 and one line."""
    if "--sql" in arguments:
        pytest.importorskip("duckdb")
    assert 2 == main(["results", "o", *arguments])
    err = capsys.readouterr().err

    assert message in err
    assert 1 == len(err.splitlines())


def test_sql_selects_from_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """--sql queries the table `runs`; without DuckDB, one line says how to install it."""
    pytest.importorskip("duckdb")
    found = rows(capsys, "--sql", "select device, max(ops_per_s) as best from runs group by device order by device")
    assert [{"device": "nvme", "best": 64002.0}, {"device": "sata", "best": 64002.0}] == found

    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert 2 == main(["results", "o", "--sql", "select 1"])
    assert "pip install 'lsmlab[sql]'" in capsys.readouterr().err


def test_results_are_a_typed_frame(tmp_path: Path) -> None:
    """results() returns a DataFrame with one row per run; a folder without an index is named with the remedy."""
    pytest.importorskip("pandas")
    frame = results("o")

    assert (8, 2.0**26) == (len(frame), frame["engine.options.write_buffer_size"].max())
    assert "bool" == str(frame["checks"].dtype)
    with pytest.raises(InputError, match="lsmlab runs rebuild"):
        results(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        results(tmp_path / "none")
    Path("o/runs.parquet").write_text("damaged")
    with pytest.raises(InputError, match="cannot be read"):
        results("o")


def test_a_query_of_many_runs_needs_no_file_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    """A query reads only the index: it answers in a folder that has no run."""
    table = pa.table({"run": [str(n) for n in range(10_000)], "ops_per_s": [float(n) for n in range(10_000)]})
    Path("many").mkdir()
    write_parquet(Path("many/runs.parquet"), table)

    assert 0 == main(["results", "many", "--sort", "ops_per_s:desc"])
    out = capsys.readouterr().out
    assert "9,999 ops/s" in out
    assert "9,960 more rows" in out
