"""Traces of operations: their forms, damage and limits, the load that repeats them, and the one that is fitted to them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from log_sample import Sample
from lsmlab.models.errors import InputError
from lsmlab.models.traces import operations as limits
from lsmlab.models.traces.operations import Kind, Operations
from lsmlab.models.traces.reader import read_operations, reader_of
from lsmlab.models.workloads.base import Workload
from lsmlab.models.workloads.fitted_keys import distinct_keys, fit_keys
from lsmlab.models.workloads.generic import Trace
from lsmlab.models.workloads.ranks import Zipf
from lsmlab.models.workloads.skewed import scatter
from lsmlab.reports.cli.main import main
from lsmlab.validation.importer.trace_load import fit_sizes
from trace_sample import Row, batch, header, key, mixed, operation, query_trace, readable, record

TWITTER = "0,nz:u:a,b,7,100,1,get,0\n1,nz:u:c,6,250,2,set,60\n1,nz:u:a,b,7,0,1,delete,0\n3,nz:u:c,6,8,2,incr,0\n"
META = "key,op,size,op_count,key_size\n7,SET,82,1,40\n7,GET,0,3,40\n9,DELETE,0,1,30\n"
META_TIMED = "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n5,7,40,GET_LEASE,2,87,1,0\n8,9,30,SET,1,65,0,7200\n"


def read(tmp_path: Path, content: bytes | str) -> Operations:
    """Return the operations of a file with this content."""
    path = tmp_path / "ops"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_operations(path)


def rows_of(found: Operations) -> list[tuple[int, int, int, int]]:
    """Return kind, key, key size and value size of each operation."""
    return list(zip(found.kind.tolist(), found.key.tolist(), found.key_bytes.tolist(), found.value_bytes.tolist(), strict=True))


def test_the_forms_of_rocksdb_have_the_same_operations(tmp_path: Path) -> None:
    """Formats 0.1 and 0.2 and the text of trace_analyzer have the same kinds, keys, sizes and times."""
    rows = mixed(300)
    new, old, text = (read(tmp_path, c) for c in (query_trace(rows), query_trace(rows, old=True), readable(rows)))
    assert rows_of(new) == rows_of(old) == rows_of(text)
    for found in (new, old, text):
        assert found.time_s is not None
        assert [row.time_s for row in rows] == pytest.approx(found.time_s.tolist())
    assert (new.complete, text.complete, new.write_batches) == (True, False, sum(new.of(Kind.PUT, Kind.DELETE).tolist()))
    assert new.keys == len({row.key for row in rows})
    assert new.key.tolist() == [sorted({row.key for row in rows}).index(row.key) for row in rows]


def test_batches_and_multigets_have_several_operations(tmp_path: Path) -> None:
    """A write batch has its entries, also range deletes and marks without an entry; a MultiGet has a get per key."""
    entries = [Row("put", b"b", 3), Row("merge", b"a", 2), Row("delete", b"b"), Row("range_delete", b"a", 1)]
    data = batch(entries) + b"\x03\x05abcde"
    keys = b"\x01a\x01b"
    multi = (1 << 8 | 1 << 9 | 1 << 10).to_bytes(8, "little") + b"\x02\0\0\0" + b"\x08" + bytes(8) + bytes([len(keys)]) + keys
    found = read(tmp_path, header() + record(0, 3, (2).to_bytes(8, "little") + bytes([len(data)]) + data) + record(1, 13, multi))
    assert found.counts() == {Kind.GET: 2, Kind.PUT: 1, Kind.DELETE: 1, Kind.MERGE: 1, Kind.RANGE_DELETE: 1}
    assert any("MultiGet" in note for note in found.notes)


def test_keys_of_column_families_are_apart(tmp_path: Path) -> None:
    """The same key in two column families is two keys."""
    found = read(tmp_path, "0x61 1 0 5 1000\n0x61 1 3 5 2000\n0x61 0 3 0 3000\n")
    assert (found.keys, found.families) == (2, {0: 1, 3: 2})


def test_a_trace_that_was_cut_off_is_read(tmp_path: Path) -> None:
    """A killed process leaves no end and half a record: what is whole counts, and the end is unknown."""
    rows = mixed(50)
    found = read(tmp_path, query_trace(rows, complete=False)[:-5])
    assert (len(found), found.complete) == (49, False)
    assert any("has no end" in note for note in found.notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header() + operation(Row("put", b"a", 5)) + record(0, 99, b""), "record 3 is damaged.*type is 99"),
        (header() + record(0, 3, b"\x02" + bytes(7) + b"\x7f"), "record 2 is damaged.*within a field"),
        (header() + record(0, 4, b"\x0c" + bytes(7) + b"\0\0\0\0\x09a"), "record 2 is damaged.*within a field"),
        (header() + record(0, 3, b"\x02" + bytes(7) + b"\x0d" + bytes(12) + b"\x55"), "entry of type 85"),
        (header() + record(0, 3, b"\x02" + bytes(7) + b"\x0c" + bytes(8) + b"\x02\0\0\0"), "a write batch of 0 entries, not 2"),
        (header() + operation(Row("get", b"a")) + operation(Row("get", b"a", 0, 1e9)), "record 3 is damaged.*its time"),
        (header() + record(0, 9, b"block"), "block cache or of I/O"),
        (header("0.7") + operation(Row("get", b"a")), "trace format 0.7; 0.1 and 0.2 are known"),
        (header(), "contains no operation"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "compressed with zstd; decompress it"),
        (b"seconds,operations\n0,1\n1,2\n", "no trace of operations; known are"),
        ("0x61 1 0 5 1000\n0x6 1 0 5 1000\n", "line 2 is damaged"),
        ("0x61 1 0 5 1000\n1 0 5 1000\n", ":2: has no key.*--no_key"),
        (TWITTER + "4,c,6,8,2,get\n", "line 5 is damaged"),
        (TWITTER + "x,c,6,8,2,get,0\n", "line 5 is damaged.*no whole number"),
        (META + "9,EVICT,0,1,30\n", "line 5 is damaged"),
    ],
)
def test_damage_is_named_with_its_record(tmp_path: Path, content: bytes | str, message: str) -> None:
    """Damaged, foreign and empty traces are refused with the file and the record."""
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, content)
    assert str(tmp_path / "ops") in str(error.value)


@pytest.mark.parametrize(("limit", "value"), [("MOST_OPERATIONS", 20), ("MOST_KEY_BYTES", 100), ("MOST_ENTRY_BYTES", 10)])
def test_limits_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    """A trace with more operations, larger keys or more distinct keys than the limits is refused."""
    monkeypatch.setattr(limits, limit, value)
    with pytest.raises(InputError, match="record"):
        read(tmp_path, query_trace(mixed(100)))


def test_cache_traces(tmp_path: Path) -> None:
    """Twitter's keys may contain commas; a row of Meta's is several operations; without times there are none."""
    twitter, meta, timed = (read(tmp_path, text) for text in (TWITTER, META, META_TIMED))
    assert twitter.counts() == {Kind.GET: 2, Kind.PUT: 2, Kind.DELETE: 1}
    assert (twitter.keys, twitter.key_bytes[0], twitter.length_s) == (2, 7, 3.0)
    assert meta.counts() == {Kind.GET: 3, Kind.PUT: 1, Kind.DELETE: 1}
    assert (meta.time_s, timed.length_s, timed.counts()) == (None, 3.0, {Kind.GET: 2, Kind.PUT: 1})
    assert all(any("unknown" in note for note in found.notes) for found in (twitter, meta))


def test_other_files_are_no_traces(tmp_path: Path) -> None:
    """A LOG, a schedule and an empty file have no reader."""
    for text in ("2023/11/14-22:13:20.000013 7001 RocksDB version: 7.8.3\n", "seconds,operations\n0,1\n", ""):
        (tmp_path / "file").write_text(text)
        assert reader_of(tmp_path / "file") is None


def replayed(path: Path, num: int = 1000) -> Workload:
    """Return the workload that repeats a trace."""
    return Trace(file=str(path), num=num, loop=False, duration=5.0, threads=4).workload()


def test_a_replay_writes_the_recorded_keys(tmp_path: Path) -> None:
    """Times, mix, sizes, batches and keys of a replay are those of the trace, each memtable in its turn."""
    rows = mixed(4000)
    (tmp_path / "ops").write_bytes(query_trace(rows))
    workload = replayed(tmp_path / "ops")
    writes, reads = workload.clients
    sample = workload.sample(1000, 400, exact=True)
    stream = writes.write_keys.start(sample, workload.cursor())
    places = {key(number): number for number in range(1000)}
    puts = [places[row.key] for row in rows if row.kind == "put"]

    assert workload.population == 1000
    for part in range(3):
        expected = sorted(set(puts[part * 300 : (part + 1) * 300]))
        assert expected == (stream.distinct(300, np.random.default_rng(0)) >> 1).tolist()
    assert {places[row.key] for row in rows if row.kind in ("get", "seek")} >= set(
        (reads.read_keys.start(sample, workload.cursor()).sample_reads(100, np.random.default_rng(0)) >> 1).tolist()
    )
    assert writes.mix.delete == pytest.approx(0.05 / 0.45, rel=0.2)
    assert reads.mix.scan == pytest.approx(0.05 / 0.55, rel=0.2)
    assert workload.value_bytes == pytest.approx(np.mean([row.value_bytes for row in rows if row.kind == "put"]))
    assert any("times, kinds, keys and sizes" in note for note in workload.notes)


def test_a_sampled_replay_keeps_distinct_keys(tmp_path: Path) -> None:
    """A sample has as many distinct keys in a memtable as the trace, within its noise; popular keys have their own codes."""
    rng = np.random.default_rng(3)
    ranks = Zipf(0.9).draw(rng.random(40_000), 20_000)
    rows = [Row("put", key(int(number)), 100, i / 1e4) for i, number in enumerate(scatter(ranks, 20_000))]
    (tmp_path / "ops").write_bytes(query_trace(rows))
    workload = replayed(tmp_path / "ops", num=20_000)
    sample = workload.sample_at(1 / 4)
    state = workload.clients[0].write_keys.start(sample, workload.cursor())
    found = [float(sample.entries(state.distinct(8000, rng))) for _ in range(5)]
    true = distinct_keys(np.array([int(row.key) for row in rows]), 8000)
    assert len(sample.hot) == 8
    assert np.mean(found) == pytest.approx(true, rel=0.08)


@pytest.mark.parametrize("constant", [None, 0.6, 0.99])
@pytest.mark.parametrize("known", [True, False])
def test_a_fit_finds_the_distribution(constant: float | None, known: bool) -> None:
    """Uniform and Zipfian keys are recognized, with their constant and number of keys, and the errors of the fit are small."""
    rng, n = np.random.default_rng(1), 20_000
    keys = rng.integers(0, n, 60_000) if constant is None else scatter(Zipf(constant).draw(rng.random(60_000), n), n)
    fit = fit_keys(keys, n if known else None)
    assert fit.distribution == ("uniform" if constant is None else "scrambled_zipfian")
    assert fit.constant == (None if constant is None else pytest.approx(constant, abs=0.1))
    assert fit.population == pytest.approx(n, rel=0.35)
    assert all(abs(check.error) < 0.15 for check in fit.checks)


def test_a_fit_tells_neighbours_from_scattered_keys() -> None:
    """Popular keys that are neighbours reach less of the key space than scattered ones."""
    ranks = Zipf(0.99).draw(np.random.default_rng(1).random(60_000), 20_000)
    assert fit_keys(ranks, 20_000).distribution == "zipfian"


def test_new_keys_are_inserts() -> None:
    """Keys that are all new are inserts, in order or not; few repetitions do not show the number of keys."""
    numbers = np.arange(5000)
    assert fit_keys(numbers, writes=True).distribution == "insert_ordered"
    assert fit_keys(np.random.default_rng(1).permutation(5000), writes=True).distribution == "insert"
    assert not fit_keys(numbers).population_known


def test_a_load_that_no_distribution_fits_shows_its_error() -> None:
    """A hot set that moves on repeats keys in short windows only: the errors of the fit say that it does not fit."""
    rng = np.random.default_rng(1)
    keys = np.concatenate([rng.integers(1000 * part, 1000 * part + 200, 5000) for part in range(20)])
    assert max(abs(check.error) for check in fit_keys(keys).checks) > 0.3


@pytest.mark.parametrize(
    ("sizes", "name"),
    [(np.full(500, 100), "fixed"), (np.random.default_rng(1).integers(50, 150, 5000), "median")],
)
def test_sizes_are_fitted(sizes: np.ndarray, name: str) -> None:
    """One size stays one size; a spread becomes a distribution with the same mean."""
    fit = fit_sizes(sizes.astype(np.int64))
    assert (fit.distribution, abs(fit.checks[0].error) <= 0.02) == (name, True)


def test_import_of_a_trace_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a LOG the folder has the load: a fitted one, one at full speed and one that repeats each operation; all run."""
    (tmp_path / "ops").write_bytes(query_trace(mixed(3000)))
    assert main(["import", str(tmp_path / "ops"), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "3,000 operations in 3 s on" in said
    assert "does not say whether it was sampled" in said
    load = yaml.safe_load((tmp_path / "out" / "workload" / "imported.yaml").read_text())
    assert (load["distribution"], load["scan_length"]) == ("uniform", 1)
    for name in ("imported", "imported_full_speed", "imported_replay"):
        argv = ["run", "--config-dir", str(tmp_path / "out"), f"workload={name}", "--json", "--out", str(tmp_path / name)]
        assert main([*argv, "device=nvme"]) == 0
        summary = json.loads(capsys.readouterr().out)
        if name == "imported_replay":
            assert summary["operations"] == pytest.approx(3000, rel=0.05)


@pytest.mark.parametrize("kind", ["get", "delete", "put", "seek"])
@pytest.mark.parametrize("workload", ["imported_full_speed", "imported_replay"])
def test_loads_of_one_kind_run(kind: str, workload: str, tmp_path: Path) -> None:
    """A trace of one kind of operations gives loads that run."""
    (tmp_path / "ops").write_bytes(query_trace([Row(kind, key(i % 97), 10 * (kind == "put"), i / 500) for i in range(500)]))
    assert main(["import", str(tmp_path / "ops"), "--out", str(tmp_path / "out")]) == 0
    argv = ["run", "--config-dir", str(tmp_path / "out"), f"workload={workload}", "--json", "--out", str(tmp_path / "run")]
    assert main(argv) == 0


def test_a_log_knows_its_reads_by_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside a LOG a trace gives gets and seeks per write; the writes stay those of the LOG, also in the schedule."""
    sample = Sample().run(20)
    (tmp_path / "LOG").write_text(sample.text)
    (tmp_path / "ops").write_bytes(query_trace(mixed(3000)))
    for name, files in (("alone", ["LOG"]), ("both", ["ops", "LOG"])):
        assert main(["import", *(str(tmp_path / f) for f in files), "--out", str(tmp_path / name)]) == 0
    alone, both = (yaml.safe_load((tmp_path / n / "workload" / "imported.yaml").read_text()) for n in ("alone", "both"))
    summary = json.loads((tmp_path / "both" / "summary.json").read_text())
    schedules = [np.loadtxt(tmp_path / n / "trace.csv", delimiter=",", skiprows=1)[:, 1].sum() for n in ("alone", "both")]

    assert (alone["read"], both["read"], both["scan"]) == (0.0, pytest.approx(0.5 / 0.45, rel=0.1), pytest.approx(0.11, rel=0.3))
    assert schedules[1] / schedules[0] == pytest.approx(1.0 + both["read"] + both["scan"], rel=1e-3)
    assert summary["read_ops_per_s"] == pytest.approx(both["read"] * summary["write_ops_per_s"], rel=1e-3)
    assert yaml.safe_load((tmp_path / "both" / "experiment" / "imported_replay.yaml").read_text())["keys"] == {"mode": "exact"}
    assert any("sampled" in note for note in summary["import"]["notes"])
    assert ["Trace of operations" in (tmp_path / n / "report.html").read_text() for n in ("alone", "both")] == [False, True]


def test_two_traces_are_refused(tmp_path: Path) -> None:
    """Two traces are two loads."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(query_trace(mixed(30)))
    assert main(["import", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "out")]) == 2
