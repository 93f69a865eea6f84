"""The results contract: one schema of tables for writer, reader, report pages, importer and documents."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from goldens import REWRITE
from lsmlab.models.errors import InputError
from lsmlab.reports.run_data import load_run
from lsmlab.sim.machine.steps import JobWaits
from lsmlab.sim.results import parquet
from lsmlab.sim.results.parquet import write_table
from lsmlab.sim.results.schema.columns import FORMAT, TableSchema
from lsmlab.sim.results.schema.log_tables import LOG_TABLES
from lsmlab.sim.results.schema.run_tables import EVENTS, JOB_BLOBS, JOB_WAITS, JOBS, LATENCY, RUN_TABLES, SERIES, STALLS
from lsmlab.sim.results.schema.summary_keys import SUMMARY_KEYS
from lsmlab.sim.results.schema.tables_document import tables_page
from lsmlab.sim.store.records import JobRecord
from report_fixture import write_run
from running import SMALL, simulate

TABLES_PAGE = Path(__file__).parents[1] / "docs" / "reference" / "tables.md"
EVERY = {id(table): table for table in (*RUN_TABLES, *LOG_TABLES)}.values()


def test_the_reference_page_is_the_schema() -> None:
    """docs/reference/tables.md is generated from the schema; `make tables` writes it."""
    if os.environ.get(REWRITE):
        TABLES_PAGE.write_text(tables_page(), encoding="utf-8")

    assert TABLES_PAGE.read_text(encoding="utf-8") == tables_page(), "run make tables"


@pytest.mark.parametrize("table", RUN_TABLES, ids=lambda table: table.name)
def test_a_run_writes_tables_of_the_schema(table: TableSchema, tmp_path: Path) -> None:
    """Each file has the names, types, units and table name of the schema, and the version of the contract."""
    simulate(*SMALL, "workload.duration=2s").save(tmp_path)
    written = pq.read_schema(tmp_path / f"{table.name}.parquet")
    about = json.loads(written.metadata[b"lsmlab"])
    types = {"float64": "double", "float32": "float", "list<int64>": "list<element: int64>"}

    assert (FORMAT, table.name) == (about["format"], about["table"])
    for field in written:
        column = table.column(field.name)
        assert types.get(column.dtype, column.dtype) == str(field.type)
        assert column.unit.encode() == field.metadata[b"unit"]
    assert FORMAT == json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["results_format"]


def test_a_job_record_has_the_columns_of_the_schema() -> None:
    """The fields of a job record, and of its waits, are the columns of jobs.parquet, in the same order."""
    own = [f.name for f in fields(JobRecord) if f.name != "waits"]

    assert own == [c.name for c in JOBS.columns if not c.optional or c in JOB_BLOBS]
    assert [f.name for f in fields(JobWaits)] == [c.name for c in JOB_WAITS]


def test_empty_tables_have_their_columns(tmp_path: Path) -> None:
    """A run without jobs and stalls writes tables with all columns and their types."""
    result = simulate(*SMALL, "workload.duration=1ms")
    result.save(tmp_path)

    assert [0, 0] == [len(result.jobs["job"]), len(result.stalls)]
    for table in (JOBS, STALLS):
        names = [c.name for c in table.columns if c in JOB_WAITS or not c.optional]
        assert names == pq.read_schema(tmp_path / f"{table.name}.parquet").names
    assert "int64" == result.jobs["job"].dtype
    for columns, table in zip((result.series, result.latency, result.events), (SERIES, LATENCY, EVENTS), strict=True):
        table.check(columns)


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_each_column_has_one_definition(table: TableSchema) -> None:
    """Column names of a table are unique, and each column has a meaning."""
    names = [c.name for c in table.columns]

    assert sorted(set(names)) == sorted(names)
    assert all(c.meaning for c in table.columns)
    assert all(c.since <= FORMAT for c in table.columns)


def test_the_writer_refuses_columns_outside_the_schema(tmp_path: Path) -> None:
    """An undeclared or missing column raises ValueError."""
    with pytest.raises(ValueError, match="latency: the results contract has no column 'colour'"):
        write_table(tmp_path, LATENCY, {**LATENCY.empty(), "colour": np.empty(0)}, {})
    with pytest.raises(ValueError, match="latency: columns upper_s, count are missing"):
        write_table(tmp_path, LATENCY, {"op": np.empty(0, dtype=object)}, {})


def test_a_long_table_has_the_same_rows_in_several_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, texts and lists of a table written in groups of two rows are those of the table written at once."""
    plain = {"start_s": 0.0, "end_s": 1.0, "shard": 0, "chain_levels": 1, "chain_bytes": 9, "unfinished": False}
    chains = {"l0_stop": [1, 2], "memtable_stop": [], "l0_slowdown": [3]}
    rows = [{"stall": i, "cause": name, "chain_jobs": jobs, **plain} for i, (name, jobs) in enumerate(chains.items())]
    tables = []
    for most in (65_536, 2):
        monkeypatch.setattr(parquet, "_GROUP_ROWS", most)
        write_table(tmp_path, STALLS, STALLS.table(rows), {})
        file = pq.ParquetFile(tmp_path / "stalls.parquet")
        tables.append((file.num_row_groups, file.read()))

    assert [1, 2] == [groups for groups, _ in tables]
    assert tables[0][1].equals(tables[1][1])
    assert list(chains.values()) == tables[1][1]["chain_jobs"].to_pylist()


@pytest.mark.parametrize(
    "overrides", [("workload.duration=1s",), ("workload=readwhilewriting", "workload.duration=1s", "prefill=fillrandom")]
)
def test_the_keys_of_the_summary_are_declared(overrides: tuple[str, ...]) -> None:
    """summary.json has every required key of the contract, and no key outside it."""
    keys = set(simulate(*SMALL, *overrides, *(["prefill.num=100k"] if len(overrides) > 2 else [])).summary)

    assert set() == keys - {key.name for key in SUMMARY_KEYS}
    assert set() == {key.name for key in SUMMARY_KEYS if not key.optional} - keys


def set_version(path: Path, version: object) -> None:
    """Change the version of the contract in a table or in summary.json."""
    if path.suffix == ".json":
        summary = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**summary, "results_format": version, "version": "9.9"}), encoding="utf-8")
        return
    table = pq.read_table(path)
    about = {**json.loads(table.schema.metadata[b"lsmlab"]), "format": version, "version": "9.9"}
    pq.write_table(table.replace_schema_metadata({b"lsmlab": json.dumps(about).encode()}), path)


@pytest.mark.parametrize("name", ["summary.json", "series.parquet", "jobs.parquet", "stalls.parquet", "latency.parquet"])
@pytest.mark.parametrize("version", [FORMAT + 1, "2", None, 0, -1])
def test_a_file_of_another_version_is_refused(name: str, version: object, tmp_path: Path) -> None:
    """The error names the file, both versions, the release that wrote it, and the remedy."""
    path = write_run(tmp_path) / name
    set_version(path, version)

    with pytest.raises(InputError) as caught:
        load_run(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{path}: has version {version} of the results contract, written by LSMLab 9.9; ")
    assert f"reads versions 1 to {FORMAT}" in message
    assert "repeat the run" in message
