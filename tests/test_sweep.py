"""Sweeps: spaces, designs, names, resumed and failing sweeps, and the table of their runs."""

from __future__ import annotations

import errno
import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.names import configuration_name, folder_names
from lsmlab.sim.runs.index import RowCollector
from lsmlab.sim.runs.store import RunStore, default_store
from lsmlab.sim.studies.sweep.designs import NAMES, points
from lsmlab.sim.studies.sweep.space import parse_range, parse_space

QUICK = ["workload.num=20k", "workload.duration=1s"]
SPACE = ["device=nvme,sata", "engine.options.write_buffer_size=16MiB..64MiB", "engine.options.max_background_jobs=2..8"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# --- space -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("16MiB..256MiB", ["16MiB", "32MiB", "64MiB", "128MiB", "256MiB"]), ("1..64:log", ["1", "3", "8", "23", "64"]),
        ("100MB/s..1GB/s", ["100MB/s", "180MB/s", "320MB/s", "560MB/s", "1GB/s"]),
        ("0..64MiB", ["0B", "16MiB", "32MiB", "48MiB", "64MiB"]),
        ("1ms..1s", ["1ms", "250ms", "500ms", "750ms", "1s"]), ("0.5..0.9", ["0.5", "0.6", "0.7", "0.8", "0.9"]),
        ("2..4", ["2", "3", "4"]),
    ],
)  # fmt: skip
def test_ranges_have_readable_values(text: str, values: list[str]) -> None:
    """Bytes and rates are on a logarithmic scale, other quantities on a linear one; values have few digits."""
    between = parse_range(text)

    assert between is not None
    assert values == between.values(5)


@pytest.mark.parametrize("text", ["1MiB..500MiB", "1B..1KiB", "100KiB..2GiB", "0..3KiB", "1KB..2GB", "1MiB..4MiB:linear"])
def test_sizes_are_whole_bytes(text: str) -> None:
    """Every value of a range of sizes is a whole number of bytes between its ends, with few digits."""
    between = parse_range(text)
    assert between is not None
    values = [*(between.at(n / 500) for n in range(501)), *between.values(7)]
    sizes = [parse_quantity(value, "bytes") for value in values]

    assert all(size == int(size) for size in sizes)
    assert min(sizes) >= between.low
    assert max(sizes) <= between.high
    assert all(len(re.sub(r"[^1-9]|0+$", "", value)) <= 3 for value in values)


@pytest.mark.parametrize("text", ["64MiB..16MiB", "1MiB..1s", "0..64:log", "5..5"])
def test_a_range_without_values_is_refused(text: str) -> None:
    """A range with ends of two kinds, in the wrong order or without a logarithm is refused with its text."""
    with pytest.raises(InputError, match=text.split(":")[0].replace(".", "[.]")):
        parse_range(text)


def test_values_of_a_design_lie_in_their_ranges() -> None:
    """Values lie between the ends of their range; whole numbers and values of a list are equally frequent."""
    devices, sizes, jobs = parse_space(SPACE).dimensions
    shares = [(i + 0.5) / 700 for i in range(700)]

    assert {"nvme": 350, "sata": 350} == Counter(map(devices.at, shares))
    assert {str(n): 100 for n in range(2, 9)} == Counter(map(jobs.at, shares))
    assert all(16.0 <= float(sizes.at(share).removesuffix("MiB")) <= 64.0 for share in (0.0, *shares, 1.0))


@pytest.mark.parametrize("design", NAMES)
def test_designs_follow_their_seed(design: str) -> None:
    """The same seed gives the same points; a longer random or Sobol design contains the shorter one."""
    space = parse_space(SPACE)
    short, again = points(space, design, 40, 1), points(space, design, 40, 1)

    assert short == again
    if design in ("random", "sobol"):
        assert short == points(space, design, 90, 1)[: len(short)]
        assert short != points(space, design, 40, 2)


def test_a_space_says_what_is_wrong() -> None:
    """Seeds, a key given twice, a sweep of one configuration and a design without points are refused."""
    for overrides, text in [
        (["seed=1,2"], "--replications"), (["device=nvme"], "several values"), ([*SPACE, "device=hdd"], "device=hdd"),
        (["device=nvme,sata", "device=nvme,hdd"], "twice"), (["host.cores=interval(1,8)"], "host.cores=LOW..HIGH"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=text):
            parse_space(overrides)
    for design, count, text in (("lhs", None, "--points N"), ("saltelli", 10, "at least --points 40")):
        with pytest.raises(InputError, match=text):
            points(parse_space(SPACE), design, count, 1)


def test_names_are_readable_and_different() -> None:
    """Names consist of values, folder names differ also if the names are long or differ only in special characters."""
    choices = {"device": "sata", "engine.options.write_buffer_size": "64MiB", "engine.options.max_background_jobs": "1"}
    long = [", ".join(f"key_{i}=value_{i}" for i in range(20)) + f", last={n}" for n in (1, 2)]

    assert "sata, write_buffer_size=64MiB, 1 job" == configuration_name(choices)
    assert 4 == len(set(folder_names(["cap=1MB/s", "cap=1MB-s", *long])))
    assert all(len(name) <= 120 for name in folder_names(long))


# --- runs --------------------------------------------------------------------------------------------------------


def table(folder: str) -> dict[str, list[object]]:
    """Return the index of a folder of results, by column."""
    columns: dict[str, list[object]] = pq.read_table(f"{folder}/runs.parquet").to_pydict()
    return columns


def test_a_sweep_writes_typed_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """The index has a row per configuration and seed, in the order of the design, with typed columns and readable names."""
    line = ["sweep", "device=nvme,sata", "engine.options.write_buffer_size=16MiB..64MiB", "checks=true,false", *QUICK]
    assert 0 == main([*line, "--points", "2", "--replications", "2", "-j", "1", "--out", "o"])
    rows = table("o")

    assert ["run", "configuration", "seed", "device", "engine.options.write_buffer_size", "checks"] == list(rows)[:6]
    assert "nvme, write_buffer_size=16MiB, checks=true, seed 1" == rows["run"][0]
    assert 2 * ["nvme, write_buffer_size=16MiB, checks=true"] == rows["configuration"][:2]
    assert 8 * [1, 2] == rows["seed"]
    assert {2.0**24, 2.0**26} == set(rows["engine.options.write_buffer_size"])
    assert {True, False} == set(rows["checks"])
    assert all(Path("o", str(name), "summary.json").is_file() for name in rows["run"])
    assert "8 configurations x 2 seeds: 16 finished runs" in capsys.readouterr().out


def test_another_value_adds_only_its_runs() -> None:
    """A repeated sweep simulates nothing; another value simulates only its own runs."""
    line = [*QUICK, "-j", "1", "--out", "o"]
    counts = []
    for devices in ("nvme,sata", "nvme,sata", "nvme,sata,hdd"):
        assert 0 == main(["sweep", f"device={devices}", *line])
        counts.append(len(list(default_store().finished())))

    assert [2, 2, 3] == counts
    assert ["nvme", "sata", "hdd"] == table("o")["run"]


def test_a_bad_value_stops_a_sweep_before_its_first_run(capsys: pytest.CaptureFixture[str]) -> None:
    """A value that does not compose ends the command with one line and no run; a run that fails leaves the others."""
    assert 2 == main(["sweep", "device=nvme,nvm", *QUICK, "--out", "o"])
    assert "did you mean device=nvme?" in capsys.readouterr().err
    assert not Path("o").exists()

    assert 1 == main(["sweep", "host.cores=-3,2", *QUICK, "-j", "1", "--out", "o"])
    assert "cores=-3: host.cores: -3 is out of range" in capsys.readouterr().err
    assert ["2 cores"] == table("o")["run"]
    assert Path("o/failed/cores=-3/error.txt").is_file()


def test_a_sweep_varies_the_store_of_a_run() -> None:
    """With the folder of a run, the sweep keeps the run's settings except the varied keys."""
    assert 0 == main(["run", "workload.value_size=200", "seed=7", *QUICK, "--no-report", "--out", "one"])
    assert 0 == main(["sweep", "one", "device=nvme,sata", "-j", "1", "--out", "o"])

    assert [7, 7] == table("o")["seed"]
    texts = [Path("o", name, "config.yaml").read_text() for name in ("nvme", "sata")]
    assert all("value_size: 200\n" in text for text in texts)
    assert texts[0] != texts[1]


def test_a_sweep_above_its_budget_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep that is estimated to take longer than --budget starts no run; one whose runs are stored is accepted."""
    line = ["sweep", "device=nvme,sata", "-j", "1", "--out", "o"]
    assert 2 == main([*line, "workload.duration=300000s", "--budget", "10s"])
    assert "more than the budget of 10 s; raise --budget" in capsys.readouterr().err
    assert not Path("o").exists()

    assert 0 == main([*line, *QUICK])
    assert 0 == main([*line, *QUICK, "--budget", "1us"])


def test_a_full_disk_ends_a_sweep_that_can_be_resumed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a full disk the sweep stops with one line; resumed, it gives the table of an undisturbed one."""
    line = ["sweep", "device=nvme,sata,hdd", *QUICK, "-j", "1", "--out"]
    real = RunStore.publish
    calls = []

    def publish(*arguments: object, **more: object) -> Path:
        calls.append(1)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", "summary.json")
        return real(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(RunStore, "publish", publish)
    assert 1 == main([*line, "disturbed"])
    assert "the disk is full (summary.json)" in capsys.readouterr().err
    assert 1 == len(list(default_store().finished()))
    assert not list((default_store().root / "staging").iterdir())

    assert 0 == main([*line, "disturbed"])
    assert 4 == len(calls)
    monkeypatch.setenv("LSMLAB_RUNS", "another")
    assert 0 == main([*line, "undisturbed"])
    assert pq.read_table("disturbed/runs.parquet").equals(pq.read_table("undisturbed/runs.parquet"))


def test_rows_keep_their_order_and_types(tmp_path: Path) -> None:
    """Rows that arrive in any order give the same table; a column of numbers and texts becomes text."""
    rows = [{"run": str(n), "a": n if n < 700 else n + 0.5, "b": n if n < 900 else "auto"} for n in range(1000)]
    for name, order in (("forward", range(1000)), ("backward", reversed(range(1000)))):
        collector = RowCollector()
        for n in order:
            collector.add(n, rows[n])
        collector.write(tmp_path / name, ["run"])
    tables = [pq.read_table(tmp_path / name) for name in ("forward", "backward")]

    assert tables[0].equals(tables[1])
    assert ["string", "double", "string"] == [str(column.type) for column in tables[0].schema]
    assert ["899", "auto"] == tables[0]["b"].to_pylist()[899:901]
