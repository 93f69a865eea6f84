"""Case files become configurations; each mistake in one gives a one-line error with its remedy."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
import yaml
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import perturbed, read_parameters
from lsmlab.validation.casefiles.case import case_from_mapping, find_cases, read_case

OPTIONS = """[Version]
  rocksdb_version=6.4.0
  options_file_version=1.1
[DBOptions]
  max_background_jobs=20
[CFOptions "default"]
  write_buffer_size=33554432
[TableOptions/BlockBasedTable "default"]
  block_size=4096
"""


def example_case(**changes: Any) -> dict[str, Any]:
    """Return the example of docs/reference/cases.md without its files, with changes."""
    base: dict[str, Any] = {
        "name": "throttle400_nvme_jobs2",
        "source": "public run",
        "part": "test",
        "store": {"engine": "rocksdb", "version": "6.4", "preset": "db_bench", "options": {"max_background_jobs": 2}},
        "host": {"cores": 36, "parameters": "xeon_6230"},
        "device": {"base": "nvme", "write_cap": "400MiB/s", "page_cache": "120GiB"},
        "workload": {"base": "fillrandom", "key_size": 16, "value_size": 1000, "num": 100_000, "seed": 1},
        "measured": {"ops_per_s": 35597, "stall_fraction": 0.812, "write_latency_s": {"p99": 0.002}},
        "noise": {"ops_per_s": 0.014},
    }
    return {**base, **changes}


def message(mapping: Any, directory: Path) -> str:
    """Return the error message for a bad case."""
    with pytest.raises(InputError) as caught:
        case_from_mapping(mapping, directory).config()
    return str(caught.value)


def test_a_case_becomes_a_configuration(tmp_path: Path) -> None:
    """Settings, parameters, caps and options of a case are those of its configuration; names of metrics are dotted."""
    case = case_from_mapping(example_case(), tmp_path)
    config = case.config()

    assert ("6.4", "db_bench") == (config["engine"]["version"], config["engine"]["preset"])
    assert 2 == config["engine"]["options"]["max_background_jobs"]
    assert (36, read_parameters("xeon_6230").host["write_op"]) == (config["host"]["cores"], config["host"]["write_op"])
    assert "400MiB/s" == config["device"]["write_cap"]
    assert {"ops_per_s": 35597.0, "stall_fraction": 0.812, "write_latency_s.p99": 0.002} == dict(case.measured)
    assert {"ops_per_s": 0.014} == dict(case.noise)


def test_the_recorded_command_gives_what_the_case_leaves_open(tmp_path: Path) -> None:
    """An entry of configs/workload may change after a recording: mixgraph's power law was off when this was recorded."""
    command = "db_bench --benchmarks=mixgraph,stats --key_dist_a=0 --key_dist_b=0 --num=5 --sine_mix_rate=false --keyrange_num=30"
    load = {"base": "mixgraph", "num": 100_000, "sine_mix_rate": False}
    case = case_from_mapping(example_case(workload=load, record={"command": command}), tmp_path)

    assert ("workload.key_dist_a=0", "workload.key_dist_b=0") == case.recorded
    assert (0, 100_000) == (case.config()["workload"]["key_dist_a"], case.config()["workload"]["num"])
    assert 0 < case.planned()["workload"]["key_dist_a"]


def test_overrides_win_over_a_case(tmp_path: Path) -> None:
    """An override of the command line wins over a key of the case or of its parameter set."""
    config = case_from_mapping(example_case(), tmp_path).config(
        ["host.write_op=1us", "engine.options.max_background_jobs=8"]
    )

    assert ("1us", 8) == (config["host"]["write_op"], config["engine"]["options"]["max_background_jobs"])


@pytest.mark.parametrize("pack", [None, gzip.compress, lzma.compress])
def test_options_come_from_a_file(tmp_path: Path, pack: Any) -> None:
    """An OPTIONS file, plain or compressed, sets version and options; `options` of the case wins over it."""
    raw = OPTIONS.encode()
    (tmp_path / "OPTIONS").write_bytes(pack(raw) if pack else raw)
    store = {"preset": "db_bench", "options_file": "OPTIONS", "options": {"max_background_jobs": 2}}
    config = case_from_mapping(example_case(store=store), tmp_path).config()

    assert "6.4" == config["engine"]["version"]
    assert (2, 33554432) == tuple(config["engine"]["options"][k] for k in ("max_background_jobs", "write_buffer_size"))


def test_a_prefill_takes_the_flags_of_its_workload(tmp_path: Path) -> None:
    """A prefill without own sizes and key space takes those of the workload, as in one invocation of db_bench."""
    config = case_from_mapping(example_case(prefill={"base": "fillseq", "num": "3M"}), tmp_path).config()

    assert ("3M", 1000, 16) == tuple(config["prefill"][k] for k in ("num", "value_size", "key_size"))
    assert 1 == config["prefill"]["threads"]


def test_a_prefill_may_have_options(tmp_path: Path) -> None:
    """Options of the prefill are those of the case, in the form of store.options."""
    options = {"bloom_bits": 0, "compaction_options_universal": {"size_ratio": 5}}
    config = case_from_mapping(example_case(prefill={"base": "fillseq", "options": options}), tmp_path).config()

    assert options == config["prefill"]["options"]


def test_an_initial_tree_may_be_a_file(tmp_path: Path) -> None:
    """The initial tree is a list of files in the case or a CSV file."""
    (tmp_path / "tree.csv").write_text("level,size_bytes\n1,4000000\n2,4000000\n")
    rows = case_from_mapping(example_case(initial_tree="tree.csv"), tmp_path).config()["initial_tree"]

    assert [("1", "4000000"), ("2", "4000000")] == [(r["level"], r["size_bytes"]) for r in rows]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stor": {}}, ["stor", "did you mean store"]),
        ({"part": "tests"}, ["part", "calibration, test, quarantine"]),
        ({"store": None}, ["store", "required"]),
        ({"store": {"version": 6.4}}, ["store.version", "quotes"]),
        ({"store": {"options_file": "LOG.gz"}}, ["store.options_file", "LOG.gz does not exist"]),
        ({"store": {"options_file": "x" * 5000}}, ["store.options_file", "does not exist"]),
        ({"store": {"options": {"max_background_job": 2}}}, ["max_background_job", "did you mean"]),
        ({"store": {"engine": "rocks"}}, ["store.engine", "did you mean rocksdb"]),
        ({"host": {"parameters": "xeon"}}, ["host.parameters", "xeon_6230"]),
        ({"device": {"base": "nvm"}}, ["device.base", "did you mean nvme"]),
        ({"workload": {"num": 5}}, ["workload.base", "lsmlab list workloads"]),
        ({"workload": {"base": "fillrandom", "numb": 5}}, ["workload.numb", "did you mean"]),
        ({"measured": {"ops_per_s": "fast"}}, ["measured.ops_per_s", "plain number"]),
        ({"noise": {"ops_per_s": -1}}, ["noise.ops_per_s", "negative"]),
        ({"series": "report.csv"}, ["series", "report.csv does not exist"]),
        ({"log": ["LOG.gz"]}, ["log", "does not exist"]),
        ({"log": ["x" * 5000]}, ["log", "does not exist"]),
        ({"initial_tree": 3}, ["initial_tree", "list of files"]),
        ({"prefill": {"base": "fillseq"}, "initial_tree": []}, ["prefill", "not both"]),
    ],
)
def test_a_mistake_names_key_and_remedy(changes: dict[str, Any], words: list[str], tmp_path: Path) -> None:
    """Each mistake in a case gives one line that names the key and the remedy."""
    text = message(example_case(**changes), tmp_path)

    assert [] == [word for word in words if word not in text]
    assert "\n" not in text


def test_a_mistake_names_its_file(tmp_path: Path) -> None:
    """Errors in a case file begin with the file's name."""
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(example_case(part="nowhere")))
    with pytest.raises(InputError, match=r"case\.yaml: part: 'nowhere'"):
        read_case(tmp_path)
    (tmp_path / "case.yaml").write_text("a: [")
    with pytest.raises(InputError, match=r"case\.yaml:2: not YAML"):
        read_case(tmp_path)


def test_cases_are_found_below_a_folder(tmp_path: Path) -> None:
    """Case files are found at any depth; a directory without one is an error."""
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    with pytest.raises(InputError, match=r"no case\.yaml"):
        find_cases(tmp_path)
    (place / "case.yaml").write_text(yaml.safe_dump(example_case()))

    assert [place / "case.yaml"] == find_cases(tmp_path)
    assert "throttle400_nvme_jobs2" == read_case(find_cases(tmp_path)[0]).name


# --- parameter sets ------------------------------------------------------------------------------------------------


def own_set(folder: Path, text: str) -> Path:
    """Write a configuration directory with one parameter set named mine; return the directory."""
    (folder / "parameters").mkdir()
    (folder / "parameters" / "mine.yaml").write_text(text)
    return folder


def test_a_set_applies_to_host_and_device(tmp_path: Path) -> None:
    """Constants of a set apply to the host and to the device that the set names, not to other devices."""
    text = "version: 2\nhost: {write_op: 9us}\ndevices: {nvme: {write_bandwidth: 123MB/s}}\n"
    folder = own_set(
        tmp_path, text + "standard_errors: {host: {write_op: 1us}, devices: {nvme: {write_bandwidth: 5MB/s}}}\n"
    )
    mine = compose(["host.parameters=mine"], [folder])
    other = compose(["host.parameters=mine", "device=sata"], [folder])

    assert ("9us", "123MB/s") == (mine["host"]["write_op"], mine["device"]["write_bandwidth"])
    assert "123MB/s" != other["device"]["write_bandwidth"]
    assert {"host.write_op": 1e-6, "device.write_bandwidth": 5e6} == mine["parameters"]["standard_errors"]
    assert {"host.write_op": 1e-6} == other["parameters"]["standard_errors"]


def test_constants_are_perturbed_both_ways(tmp_path: Path) -> None:
    """Each uncertain constant is multiplied by 1 + its error in one run, divided by it in another; overrides stay."""
    folder = own_set(tmp_path, "host: {write_op: 9us}\nstandard_errors: {host: {write_op: 0.9us}}\n")
    config = compose(["host.parameters=mine"], [folder])
    pair = sorted(c["host"]["write_op"] for c in perturbed(config))

    assert pytest.approx([9e-6 / 1.1, 9e-6 * 1.1]) == pair
    assert "9us" == config["host"]["write_op"]
    assert [] == perturbed(compose(["host.parameters=mine", "host.write_op=2us"], [folder]))
    assert [] == perturbed(compose([]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("host: 3\n", "host"),
        ("standard_errors: {host: {write_op: much}}\n", "standard_errors.host.write_op"),
        ("host: {write_opp: 1us}\n", "host.write_opp"),
        ("hosts: {write_op: 1us}\n", "hosts: no such key"),
        ("standard_errors: {host: {write_opp: 1us}}\n", "host.write_opp: no such key"),
    ],
)
def test_a_bad_set_is_named(tmp_path: Path, text: str, words: str) -> None:
    """An error in a parameter set names the key."""
    with pytest.raises(InputError, match=words):
        compose(["host.parameters=mine"], [own_set(tmp_path, text)])


def test_replications_include_uncertain_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--replications does two more runs with perturbed constants; mean and noise between seeds are those of the seeds."""
    folder = own_set(tmp_path, "host: {write_op: 9us}\nstandard_errors: {host: {write_op: 0.9us}}\n")
    common = ["run", "workload.num=2000", "--replications", "2", "--json", "-j", "1", "--config-dir", str(folder)]
    assert 0 == main([*common, "--out", str(tmp_path / "uncertain"), "host.parameters=mine"])
    uncertain = json.loads(capsys.readouterr().out)["interval"]["ops_per_s"]
    assert 0 == main([*common, "--out", str(tmp_path / "typed"), "host.parameters=mine", "host.write_op=9us"])
    typed = json.loads(capsys.readouterr().out)["interval"]["ops_per_s"]

    assert ["constants_1", "constants_2", "seed_1", "seed_2"] == sorted(
        p.name for p in (tmp_path / "uncertain").iterdir() if p.is_dir()
    )
    assert typed["mean"] == uncertain["mean"]
    assert (typed["seeds_low"], typed["seeds_high"]) == (uncertain["seeds_low"], uncertain["seeds_high"])
