"""The command line: arguments, output, and errors for wrong input."""

from __future__ import annotations

import errno
import json
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.devices.make import make_device
from lsmlab.models.engines.make import make_engine
from lsmlab.models.workloads.make import make_workload
from lsmlab.reports.cli.arguments import OutputOptions, RunOptions, TrustOptions, parser_of
from lsmlab.reports.cli.main import main
from lsmlab.reports.cli.run import RunRequest
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.messages import one_line
from lsmlab.sim.runs import task

ROOT = Path(__file__).parents[1]
QUICK = ["workload.num=20k", "workload.duration=2s"]
OPTIONS = ROOT / "validation" / "demo" / "OPTIONS"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command. Return exit code, stdout and stderr."""
    capsys.readouterr()
    try:
        code = main(list(arguments))
    except SystemExit as end:  # argparse's own --help
        code = int(end.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


# --- help and catalogue -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_every_verb(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    """Without arguments and with --help, all verbs are listed."""
    code, out, _ = outcome(capsys, *arguments)

    assert 0 == code
    assert all(f"\n  {verb} " in out for verb in ("run", "compare", "list", "show", "report"))


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints the name and the installed version."""
    code, out, _ = outcome(capsys, "--version")

    assert 0 == code
    assert out.startswith("lsmlab 0.")


@pytest.mark.parametrize("verb", ["run", "compare", "list", "show"])
def test_each_verb_has_help(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """VERB --help prints the usage of that verb and ends with code 0."""
    code, out, _ = outcome(capsys, verb, "--help")

    assert 0 == code
    assert f"lsmlab {verb}" in out
    assert ": _" not in out, "partial entries are not listed"


def test_lists_cover_the_groups(capsys: pytest.CaptureFixture[str]) -> None:
    """Singular and plural both name a group; partial entries (leading underscore) are not listed."""
    _, devices, _ = outcome(capsys, "list", "devices")
    _, device, _ = outcome(capsys, "list", "device")

    assert devices == device
    assert {"nvme", "sata", "hdd", "pmem"} <= {line.split()[0] for line in devices.splitlines()}
    assert not any(line.startswith("_") for line in devices.splitlines())


def test_every_entry_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    """Every entry of every group has a description."""
    _, out, _ = outcome(capsys, "list", "--json")

    assert [] == [e["name"] for group in json.loads(out).values() for e in group if not e["description"]]


def test_show_names_sources(capsys: pytest.CaptureFixture[str]) -> None:
    """`lsmlab show` prints a device's constants, the source of each, and inherited keys."""
    code, out, _ = outcome(capsys, "show", "device", "nvme")

    assert 0 == code
    assert "write_bandwidth" in out
    assert "source:" in out
    assert "write_cap" in out


def test_show_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """`show --json` gives the composed values and the comments by key."""
    _, out, _ = outcome(capsys, "show", "host", "xeon_gold_6230", "--json")
    printed = json.loads(out)

    assert 40 == printed["values"]["cores"]
    assert printed["comments"]["cores"].startswith("source:")


def test_completion_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    """Completion scripts exist for three shells, and bash accepts its script."""
    scripts = {shell: outcome(capsys, "--shell-completion", shell)[1] for shell in ("bash", "zsh", "fish")}

    assert all("run" in text for text in scripts.values())
    subprocess.run(["bash", "-n"], input=scripts["bash"], text=True, check=True)


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("sweep", {"--design", "--points", "--budget"}), ("tune", {"--trials", "--goal", "--time"}),
        ("plan", {"--budget", "--out"}), ("whatif", {"--set", "--replications"}), ("advise", {"--memory", "--at-most"}),
        ("results", {"--where", "--sql", "--plot"}), ("import", {"--report-csv", "--device"}),
        ("compare", {"--variants", "--replications"}), ("trace", {"--out"}),
    ],
)  # fmt: skip
def test_completion_knows_the_options_of_a_verb(
    verb: str, options: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """They are those of its help, and nothing else is in the list."""
    listed = outcome(capsys, "--shell-completion", "options", verb)[1].split()

    assert options | {"--help"} <= set(listed)
    assert all(word.startswith("--") for word in listed)


def test_the_help_of_run_has_all_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    """Its help is that of Hydra with a head written by hand: each option that its parser takes is in it."""
    listed = set(outcome(capsys, "--shell-completion", "options", "run")[1].split())
    parser = parser_of("run", RunRequest, RunOptions, OutputOptions, TrustOptions, add_help=False)
    taken = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}

    assert set() == taken - listed


# --- running -----------------------------------------------------------------------------------------------------


def test_json_is_the_only_output(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json, stdout is summary.json with the conclusion and the interval, and no report page is written."""
    code, out, err = outcome(capsys, "run", *QUICK, "--json", "--out", "place")

    assert 0 == code
    printed = json.loads(out)
    assert printed.pop("conclusion")["answer"]
    assert printed.pop("interval")["ops_per_s"]["low"] > 0.0
    assert printed == json.loads(Path("place/summary.json").read_text())
    assert "" == err
    assert not Path("place/report.html").exists()


def test_same_seed_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs of one configuration print the same bytes."""
    first = outcome(capsys, "run", *QUICK, "--json", "--out", "a")
    second = outcome(capsys, "run", *QUICK, "--json", "--out", "b")

    assert first == second


def test_runs_in_the_same_second_get_two_folders(capsys: pytest.CaptureFixture[str]) -> None:
    """Default folders are named by the time and never shared."""
    for _ in range(2):
        outcome(capsys, "run", *QUICK, "hydra.run.dir=outputs/now", "--no-report")

    assert ["now", "now_2"] == sorted(p.name for p in Path("outputs").iterdir())


def test_contract_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The example command of the interface specification runs as written, with a shorter duration."""
    code, out, _ = outcome(
        capsys, "run", "engine=rocksdb", "engine.version=6.11", "engine.preset=db_bench", "engine.options.max_background_jobs=1",
        "device=nvme", "device.write_cap=400MiB/s", "host.cores=40", "workload=fillrandom", "workload.key_size=16",
        "workload.value_size=1000", "workload.num=48318382", "workload.duration=30s",
        "workload.benchmark_write_rate_limit=5MB/s", "workload.threads=1", "keys=sampled", "seed=1", "--json",
    )  # fmt: skip
    summary = json.loads(out)

    assert 0 == code
    assert "6.11" == summary["engine_version"]
    assert 8388608 == summary["options"]["delayed_write_rate"]
    assert 30.0 == summary["duration_s"]


@pytest.mark.parametrize("text", ["7.10", "'7.10'", '"7.10"'])
def test_a_version_is_text(text: str) -> None:
    """7.10, quoted or not, stays a version and does not become the number 7.1."""
    assert "7.10" == compose([f"engine.version={text}"])["engine"]["version"]


def test_options_file_and_overrides(capsys: pytest.CaptureFixture[str]) -> None:
    """--options sets version and options; overrides win; the ignored option that matters is named with a command."""
    code, out, err = outcome(
        capsys, "run", "--options", str(OPTIONS), *QUICK, "engine.options.max_background_jobs=7", "--json"
    )
    summary = json.loads(out)

    assert 0 == code
    assert ("7.8", 33554432, 7) == (
        summary["engine_version"],
        summary["options"]["write_buffer_size"],
        summary["options"]["max_background_jobs"],
    )
    assert "index_shortening (small effect)" in " ".join(err.split())
    hints = [shlex.split(line)[1:] for line in err.splitlines() if line.startswith("  lsmlab ")]
    assert [["show", "options", str(OPTIONS)]] == hints
    assert "no size of the block cache" in " ".join(err.split())
    assert err.count("\n") <= 5, "the file has over a hundred options without effect"
    for hint in hints:
        assert 0 == outcome(capsys, *hint)[0], hint


def test_an_options_file_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """`show options` lists the options taken from the file and those ignored, as text and as JSON."""
    code, out, _ = outcome(capsys, "show", "options", str(OPTIONS), "--json")
    printed = json.loads(out)
    assert (0, "7.8", 33554432) == (code, printed["version"], printed["options"]["write_buffer_size"])
    assert "row_cache" not in printed["options"]
    assert not set(printed["options"]) & set(printed["ignored"])
    _, text, _ = outcome(capsys, "show", "options", str(OPTIONS))
    assert [one["name"] for one in printed["not_simulated"]] == ["enable_pipelined_write", "index_shortening"]
    assert "not simulated, and different from the default (2):" in text
    assert f"ignored, with the default or without effect ({len(printed['ignored']) - 2}):" in text


def options_file(folder: Path, more: str = "") -> Path:
    """Write an OPTIONS file; `more`: further lines of options of the database."""
    path = folder / "OPTIONS"
    path.write_text(
        f"[Version]\n  rocksdb_version=7.8.3\n[DBOptions]\n  max_background_jobs=4\n{more}"
        '[CFOptions "default"]\n  write_buffer_size=8388608\n'
    )
    return path


def test_options_that_matter_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An ignored option of an OPTIONS file is printed by name if it has another value than the default."""
    path = options_file(tmp_path, "  use_fsync=true\n  allow_2pc=false\n")
    _, _, err = outcome(capsys, "run", "--options", str(path), *QUICK, "--json")
    assert "not simulated: use_fsync (small effect);" in " ".join(err.split())
    assert "allow_2pc" not in err


def test_options_file_equals_overrides(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An OPTIONS file and the same options as overrides give the same run."""
    path = options_file(tmp_path)
    options = ["max_background_jobs=4", "write_buffer_size=8MiB"]
    typed = ["engine.version=7.8", *(f"engine.options.{o}" for o in options)]
    from_file = json.loads(outcome(capsys, "run", "--options", str(path), *QUICK, "--json")[1])
    overridden = json.loads(outcome(capsys, "run", *typed, *QUICK, "--json")[1])

    assert overridden == from_file


def test_replications_give_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    """N replications write N folders; around every mean there is the noise between seeds, and the real store's interval."""
    _, out, _ = outcome(capsys, "run", *QUICK, "--replications", "3", "-j", "1", "--json", "--out", "many", "seed=5")
    summary = json.loads(out)
    interval = summary["interval"]["ops_per_s"]

    assert [5, 6, 7] == summary["seeds"]
    assert ["seed_5", "seed_6", "seed_7"] == sorted(p.name for p in Path("many").iterdir() if p.is_dir())
    assert interval["low"] <= interval["mean"] <= interval["high"]
    assert interval["seeds_low"] <= interval["mean"] <= interval["seeds_high"]
    assert (None, None) == (summary["interval"]["duration_s"]["low"], summary["interval"]["duration_s"]["high"])
    assert json.loads(Path("many/summary.json").read_text())["interval"] == summary["interval"]


def test_a_single_run_has_the_interval_of_the_real_store(capsys: pytest.CaptureFixture[str]) -> None:
    """The model's error needs no seeds: JSON and terminal give it, and no noise between seeds; summary.json is the run's."""
    _, out, _ = outcome(capsys, "run", *QUICK, "--json", "--out", "one")
    interval = json.loads(out)["interval"]["ops_per_s"]
    _, printed, _ = outcome(capsys, "run", *QUICK, "--no-report", "--out", "two")

    assert interval["low"] < interval["mean"] < interval["high"]
    assert (None, None) == (interval["seeds_low"], interval["seeds_high"])
    assert "interval" not in json.loads(Path("one/summary.json").read_text())
    assert "real store      90 % intervals: throughput" in printed
    assert "between seeds" not in printed


def test_compare_runs_all_combinations(capsys: pytest.CaptureFixture[str]) -> None:
    """Comma-separated values are combined; every run has its folder, overrides and summary; an index lists the runs."""
    _, out, _ = outcome(
        capsys, "compare", "device=nvme,sata", "workload.value_size=100,400", *QUICK, "-j", "1", "--json", "--out", "c"
    )
    runs = json.loads(out)["runs"]

    assert [
        ("nvme, value_size=100", {"device": "nvme", "workload.value_size": "100"}),
        ("nvme, value_size=400", {"device": "nvme", "workload.value_size": "400"}),
        ("sata, value_size=100", {"device": "sata", "workload.value_size": "100"}),
        ("sata, value_size=400", {"device": "sata", "workload.value_size": "400"}),
    ] == [(r["name"], r["overrides"]) for r in runs]
    assert all(Path("c", r["name"], "summary.json").exists() for r in runs)
    assert Path("c/runs.parquet").exists()


def test_compare_equals_single_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """A run of a comparison, in its own process, equals the same configuration under `lsmlab run`."""
    _, out, _ = outcome(capsys, "compare", "device=nvme,sata", *QUICK, "-j", "2", "--json")
    alone = json.loads(outcome(capsys, "run", "device=sata", *QUICK, "--json")[1])

    del alone["conclusion"], alone["interval"]
    assert alone == json.loads(out)["runs"][1]["summary"]


def test_compare_prints_a_table_and_draws_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json a comparison prints a table with one column per run, and the path of its report page."""
    code, out, _ = outcome(capsys, "compare", "device=nvme,sata", *QUICK, "-j", "1", "--out", "c")

    assert 0 == code
    assert ["nvme", "sata"] == out.splitlines()[0].split()
    assert "Report: c/report.html" in out


def test_a_failed_combination_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """With bad input in one combination the other runs are kept, the error is printed, and the exit code is 2."""
    code, out, err = outcome(
        capsys, "compare", "device.write_cap=-5,400MB/s", "device=nvme", *QUICK, "-j", "1", "--json"
    )

    assert 2 == code
    assert 1 == len(json.loads(out)["runs"])
    assert "device.write_cap: -5 is out of range" in err


def test_multirun_writes_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    """Hydra's multirun goes through its launcher; runs.parquet has one row per run with choices and metrics."""
    import pyarrow.parquet as pq

    code, out, _ = outcome(
        capsys, "run", "-m", "hydra/launcher=basic", "device=nvme,sata", *QUICK, "--json", "--out", "sweep"
    )
    index = pq.read_table("sweep/runs.parquet").to_pydict()

    assert 0 == code
    assert ["nvme", "sata"] == index["device"]
    assert index["ops_per_s"] == [r["summary"]["ops_per_s"] for r in json.loads(out)["runs"]]


def test_multirun_keeps_successful_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """A failed run of a sweep is printed, the other runs are in the index, and the exit code is 1."""
    code, _, err = outcome(
        capsys, "run", "-m", "hydra/launcher=basic", "device.write_cap=-5,400MB/s", *QUICK, "--json", "--out", "sweep"
    )

    assert 1 == code
    assert "run 0 failed: device.write_cap: -5 is out of range" in err
    assert Path("sweep/runs.parquet").exists()


def test_cfg_prints_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """--cfg job prints the configuration through Hydra itself."""
    code, out, _ = outcome(capsys, "run", "device=sata", "engine.version=7.10", "--cfg", "job")

    assert 0 == code
    assert "version: '7.10'" in out
    assert "name: sata" in out


def test_a_users_configuration_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Entries of --config-dir can be listed, shown, run and compared like those of LSMLab."""
    (tmp_path / "mine/device").mkdir(parents=True)
    (tmp_path / "mine/device/slow.yaml").write_text(
        "defaults: [nvme, _self_]\ndescription: a slow drive\nwrite_cap: 20MB/s  # source: me\n"
    )
    more = ["--config-dir", str(tmp_path / "mine")]
    _, listed, _ = outcome(capsys, "list", "devices", *more)
    _, printed, _ = outcome(capsys, "show", "device", "slow", *more)
    code, _, _ = outcome(capsys, "run", "device=slow", *QUICK, *more, "--json")
    swept, _, _ = outcome(capsys, "run", "-m", "hydra/launcher=basic", "device=slow,nvme", *QUICK, *more, "--json")

    assert "slow" in [line.split()[0] for line in listed.splitlines()]
    assert "source: me" in printed
    assert (0, 0) == (code, swept)


# --- wrong input -----------------------------------------------------------------------------------------------

WRONG = {
    "rnu": "did you mean 'lsmlab run'?",
    "run foo": "foo: not an override; write key=value",
    "run device=nvm": "did you mean device=nvme?",
    "run experiment=throtled": "did you mean experiment=throttled?",
    "run +wrokload.num=5": "wrokload: no such key; did you mean workload?",
    "run workload.scale=2": "workload.scale: the clients of this workload have no rate; choose an open loop first",
    "run engine.version=99": "write major.minor",
    "run engine.options.max_background_job=3": "did you mean engine.options.max_background_jobs?",
    "run max_background_jobs=3": "did you mean engine.options.max_background_jobs?",
    "run engine.version=x": "engine.version: ",
    "run device.write_cap=fast": "device.write_cap: 'fast' is not a quantity; write it like 2GB/s",
    "run host.cores=0": "host.cores: 0 is out of range",
    "run x=[": "x=[: cannot be read",
    "run --jsn": "did you mean --json?",
    "run --options /nope": "/nope: cannot be read",
    "run --config-dir /nope": "--config-dir /nope: no such folder",
    "run device._target_=os.system": "outside lsmlab",
    "run device._target_=lsmlab.reports.cli.running.sys.exit": "device takes a class of lsmlab.models.devices",
    "run engine=rocksdb,fifo": "use 'lsmlab compare'",
    "run device=null": "a group needs the name of an entry",
    "run keys=${se[ed}": "keys=${se[ed}: a group needs the name of an entry",
    "run ~device": "device: the configuration has no such group",
    "run seed=abc": "seed: ",
    "run --replications 0": "must be at least 1",
    "run --replications two": "invalid int value",
    "run --out README": "this is a file",
    "run --out /proc/x": "choose a writable directory",
    "report": "arguments are required: DIR; see 'lsmlab report --help'",
    "run -m device=nvme,xx": "device=xx: no such entry",
    "run -m engine.options.foo=1,2": "engine.options.foo: no such key",
    "run -m --replications 2": "seed=1,2,3",
    "run --cfg foo": "choose job, hydra or all",
    "compare engine=rocksdb,foo": "engine=foo: no such entry",
    "compare engine.options.max_background_job=1,2": "did you mean engine.options.max_background_jobs?",
    "compare -m engine=rocksdb": "unknown: -m; see 'lsmlab compare --help'",
    "list devicez": "did you mean device?",
    "show device nvm": "did you mean nvme?",
    "show": "arguments are required",
    "--shell-completion tcsh": "name one of bash, zsh, fish",
}


@pytest.mark.parametrize("command", WRONG)
def test_bad_input_is_one_clear_line(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Bad input ends with code 2 and one line that names the place and the remedy; stdout stays empty."""
    Path("README").write_text("a file\n")
    code, out, err = outcome(capsys, *command.split())

    assert (2, "") == (code, out)
    assert WRONG[command] in err
    assert 1 == len(err.splitlines())


@pytest.mark.parametrize(
    ("group", "text", "message_part"),
    [
        ("experiment", "# @package _global_\nworklaod: {num: 5}\n", "worklaod: no such key; did you mean workload?"),
        ("experiment", "workload: {num: 5}\n", "its first line must be '# @package _global_'"),
        ("engine", "defaults: [rocksdb, _self_]\nversion: 7.10\n", "in a YAML file in quotes"),
    ],
)
def test_an_entry_without_effect_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, group: str, text: str, message_part: str
) -> None:
    """A key outside the groups, or a file composed below `experiment`, would have no effect and raises an error.

    So does a version that YAML parsed as a number, because 7.10 and 7.1 are the same number.
    """
    (tmp_path / "mine" / group).mkdir(parents=True)
    (tmp_path / "mine" / group / "own.yaml").write_text(text)
    code, _, err = outcome(capsys, "run", f"{group}=own", "--config-dir", str(tmp_path / "mine"))

    assert 2 == code
    assert message_part in err


def test_a_full_disk_loses_no_earlier_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk, the files of an earlier run in the same folder stay unchanged, and no partial files are left."""

    def fail(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device", "summary.json")

    outcome(capsys, "run", *QUICK, "--json", "--out", "place")
    before = {p.name: p.read_bytes() for p in Path("place").iterdir()}
    monkeypatch.setattr("lsmlab.sim.results.results.Result.save", fail)
    code, _, err = outcome(capsys, "run", "seed=2", *QUICK, "--out", "place")

    assert 1 == code
    assert "the disk is full" in err
    assert before == {p.name: p.read_bytes() for p in Path("place").iterdir()}
    assert ["place"] == [p.name for p in Path().iterdir()]


def test_ctrl_c_keeps_finished_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in its second run, a comparison keeps the first one with readable files; the exit code is 130."""
    true_simulate, calls = task.simulate_task, []

    def interrupted(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        true_simulate(*arguments)

    monkeypatch.setattr(task, "simulate_task", interrupted)
    code, out, err = outcome(capsys, "compare", "device=nvme,sata", *QUICK, "-j", "1", "--json", "--out", "c")

    assert (130, "") == (code, out)
    assert "Interrupted. 1 of 2 runs are finished in c; the same command computes only the rest." == err.strip()
    assert "ops_per_s" in json.loads(Path("c/nvme/summary.json").read_text())
    assert ["nvme"] == [p.name for p in Path("c").iterdir()]


def test_a_closed_pipe_is_no_error() -> None:
    """`lsmlab list | head -1` prints no error."""
    command = f"{sys.executable} -m lsmlab list devices | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)

    assert "" == done.stderr


@pytest.mark.parametrize("arguments", ["list", "run --help"])
@pytest.mark.parametrize("command", ["{} >&-", "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {}"])
def test_any_stdout_will_do(command: str, arguments: str) -> None:
    """A closed stdout, or one that can print ASCII only, is no error."""
    line = command.format(f"{sys.executable} -m lsmlab {arguments}")
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)

    assert (0, b"") == (done.returncode, done.stderr)


def test_a_failing_report_keeps_the_result(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If drawing the report fails, the run is saved, the error is one line, and the exit code is 1."""

    def fail(_: Path) -> None:
        raise RuntimeError("no ink")

    monkeypatch.setattr("lsmlab.reports.folder_page.draw_run", fail)
    code, out, err = outcome(capsys, "run", *QUICK, "--out", "place")

    assert 1 == code
    assert "no ink" in err
    assert "Saved in place" in out
    assert Path("place/summary.json").exists()


# --- mutations ---------------------------------------------------------------------------------------------------

SEEDS = [
    "engine=rocksdb", "engine=universal", "engine=fifo", "engine.version=6.11", "engine.preset=db_bench",
    "engine.options.write_buffer_size=64MiB", "engine.options.max_background_jobs=4",
    "engine.options.compression=kLZ4Compression", "engine.options.level0_slowdown_writes_trigger=20",
    "engine.options.compaction_options_universal.size_ratio=5", "engine.options.compression_per_level=[none,lz4]",
    "engine.compression_ratio=50%", "device=sata", "device=hdd", "device.write_cap=400MiB/s", "device.iops_cap=20k/s",
    "device.page_cache=8GiB", "host=two_core_vm", "host.cores=40", "host.write_op=2.15us", "workload=ycsb_a",
    "workload=readwhilewriting", "workload.num=50M", "workload.value_size=1KB", "workload.duration=600s",
    "workload.threads=8", "workload.benchmark_write_rate_limit=5MB/s", "keys=exact", "keys.samples_per_file=300",
    "seed=7", "replications=2", "checks=true", "report=false",
]  # fmt: skip
LETTERS = "=.,[]{}'\"\\$~+-@:/ \t#%µ0123456789eExkMGiBsnullNaNtrue\x00\x7f"


def mutated(random_: random.Random) -> list[str]:
    """Return a list of overrides with a few characters, values or items changed."""
    overrides = random_.sample(SEEDS, random_.randint(1, 3))
    for _ in range(random_.randint(1, 3)):
        which = random_.randrange(len(overrides))
        text = overrides[which]
        at = random_.randrange(len(text) + 1)
        key, _, value = text.partition("=")
        other = random_.choice(SEEDS).partition("=")[2]
        overrides[which] = random_.choice(
            [
                text[:at] + random_.choice(LETTERS) + text[at:],
                text[:at] + text[at + 1 :],
                text[:at],
                f"{key}={other}",
                f"{key}={random_.choice(['', 'null', '-1', '1e400', 'nan', '[]', '{}', '9' * 40, 'true', '0', '${seed}'])}",
                f"{random_.choice('+~')}{text}",
                f"{key}.{random_.choice(LETTERS)}={value}",
            ]
        )
    return overrides


def build(overrides: list[str]) -> str:
    """Build all models from overrides. Return "" or the error message for the user."""
    try:
        config = compose(overrides)
        if not {"engine", "device", "workload"} <= config.keys():
            return "a group is missing"  # the run names the missing group
        make_engine(config["engine"])
        make_device(config["device"])
        make_workload(config["workload"])
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise AssertionError(f"{overrides} raises {type(error).__name__}: {error}") from error
        return message
    return ""


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 16))])
def test_mutated_overrides_end_in_one_line(part: int) -> None:
    """Each of 1,000 mutated lists of overrides (in 16 parts) builds, or ends with a one-line message."""
    random_ = random.Random(20_000 + part)
    messages = [build(mutated(random_)) for _ in range(63)]

    assert 63 == len(messages)
    assert all("\n" not in message for message in messages)
    assert any(messages)
    assert not all(messages)
