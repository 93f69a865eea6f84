"""Old configuration keys and targets are accepted for one release, with a notice."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.targets import load_class
from lsmlab.sim.configuration import old_names
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import read_parameters

POLICIES = "lsmlab.models.policies."
TARGETS_OF_0_1 = [
    *(f"lsmlab.models.engines.rocksdb_parts.{name}" for name in ("NoTuner", "RocksDbCutting", "RocksDbPicker")),
    *(f"lsmlab.models.engines.rocksdb_parts.{name}" for name in ("RocksDbScheduling", "RocksDbThrottling")),
    *(f"{POLICIES}{name}" for name in ("adoc.Adoc", "adoc_code.AdocCode", "fixed_size.FixedSize", "l0_queue.L0Queue")),
    *(f"{POLICIES}{name}" for name in ("leveldb.LevelDbPicking", "leveldb_parts.LevelDbCutting")),
    *(f"{POLICIES}{name}" for name in ("leveldb_parts.LevelDbThrottling", "leveldb_parts.OneThread")),
    *(f"{POLICIES}{name}" for name in ("overflow.Overflow", "pebblesdb.PebblesDb", "pebblesdb_clients.PebblesSeeks")),
    *(f"{POLICIES}{name}" for name in ("pebblesdb_clients.PebblesThrottling", "silk.Silk", "silk_code.SilkCode")),
    *(f"{POLICIES}{name}" for name in ("vlsm.Vlsm", "vsst.FixedCutting", "vsst.VsstCutting")),
]
"""Every `_target_` of configs/ in release 0.1.0 whose module has moved since."""


@pytest.fixture(autouse=True)
def _notices_per_test() -> None:
    """Give each test its own notices, which are otherwise printed once per process."""
    old_names._tell.cache_clear()


def test_every_new_name_is_a_configuration_key() -> None:
    """Every new name is an existing configuration key."""
    config = compose(["engine=triad", "prefill=fillrandom"])
    for name in old_names.RENAMED.values():
        group: object = config
        for part in name.split("."):
            assert isinstance(group, dict)
            assert part in group, name
            group = group[part]


def test_an_override_by_an_old_name_sets_the_new_key(capsys: pytest.CaptureFixture[str]) -> None:
    """An override by an old name sets the new key only, and one line per key gives the new name."""
    config = compose(["workload.regions=3", "host.crowding=0.1", "workload.num=1000"])

    assert (3, 0.1) == (config["workload"]["shards"], config["host"]["core_contention"])
    assert "regions" not in config["workload"]
    notices = capsys.readouterr().err.splitlines()
    assert ["workload.regions is called workload.shards", "host.crowding is called host.core_contention"] == [
        line.removeprefix("lsmlab: ").partition(" now")[0] for line in notices
    ]


def test_an_experiment_with_an_old_name_sets_the_new_key(tmp_path: Path) -> None:
    """An experiment of a user's folder may use old keys."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "mine.yaml").write_text("# @package _global_\nworkload: {regions: 2}\nhost: {log_op: 1us}\n")
    config = compose(["experiment=mine"], [tmp_path])

    assert (2, "1us") == (config["workload"]["shards"], config["host"]["wal_op"])
    assert "log_op" not in config["host"]


def test_a_parameter_set_with_an_old_name_is_read(tmp_path: Path) -> None:
    """A parameter set may use old names in its constants and their standard errors."""
    (tmp_path / "parameters").mkdir()
    text = "version: 1\nhost: {crowding: 0.2}\nstandard_errors: {host: {crowding: 0.1}}\n"
    (tmp_path / "parameters" / "mine.yaml").write_text(text)
    found = read_parameters("mine", [tmp_path])

    assert ({"core_contention": 0.2}, {"host.core_contention": 0.1}) == (found.host, found.standard_errors)


def test_insert_keys_sharded_is_refused() -> None:
    """insert_keys=sharded, the old name of key ranges, raises an error with the new name, as its meaning changed."""
    with pytest.raises(InputError, match="insert_ranges"):
        compose(["workload=constant", "workload.insert_keys=sharded"])


@pytest.mark.parametrize("target", TARGETS_OF_0_1)
def test_every_old_target_resolves(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A class of 0.1.0 loads from its present module, and one line on stderr gives the new name."""
    new = old_names.new_target(target)

    assert target.rpartition(".")[2] == load_class(new, ("lsmlab",), "engine", "").__name__
    assert f"lsmlab: {target} is called {new} now" in capsys.readouterr().err


def test_every_moved_module_is_tested() -> None:
    """The table of moved modules and the targets of this test contain the same modules."""
    assert set(old_names.MOVED) == {target.rpartition(".")[0] for target in TARGETS_OF_0_1}


def test_an_entry_with_an_old_target_composes(tmp_path: Path) -> None:
    """An entry of a user's folder may name a class by its module of 0.1.0."""
    folder = tmp_path / "engine" / "scheduler"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("_target_: lsmlab.models.policies.silk.Silk\ntotal_bandwidth: 100MB/s\n")
    config = compose(["engine/scheduler=mine"], [tmp_path])

    assert config["engine"]["scheduler"]["_target_"] == "lsmlab.models.policies.silk.scheduler.Silk"
