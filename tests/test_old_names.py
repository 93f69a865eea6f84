"""Old configuration keys: accepted for one release, with a notice."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration import old_names
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import read_parameters


@pytest.fixture(autouse=True)
def _told_again() -> None:
    """Each test sees the notices of its own."""
    old_names._tell.cache_clear()


def test_every_new_name_is_a_key() -> None:
    """No alias leads to a key that does not exist."""
    config = compose(["engine=triad", "prefill=fillrandom"])
    for name in old_names.RENAMED.values():
        group: object = config
        for part in name.split("."):
            assert isinstance(group, dict)
            assert part in group, name
            group = group[part]


def test_an_override_by_an_old_name_sets_the_new_key(capsys: pytest.CaptureFixture[str]) -> None:
    """The value arrives, the old key does not, and one line tells the new name."""
    config = compose(["workload.regions=3", "host.crowding=0.1", "workload.num=1000"])

    assert (3, 0.1) == (config["workload"]["shards"], config["host"]["core_contention"])
    assert "regions" not in config["workload"]
    told = capsys.readouterr().err.splitlines()
    assert ["workload.regions is called workload.shards", "host.crowding is called host.core_contention"] == [
        line.removeprefix("lsmlab: ").partition(" now")[0] for line in told
    ]


def test_an_experiment_with_an_old_name_sets_the_new_key(tmp_path: Path) -> None:
    """Entries of a user's own folder may keep old keys too."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "mine.yaml").write_text("# @package _global_\nworkload: {regions: 2}\nhost: {log_op: 1us}\n")
    config = compose(["experiment=mine"], [tmp_path])

    assert (2, "1us") == (config["workload"]["shards"], config["host"]["wal_op"])
    assert "log_op" not in config["host"]


def test_a_parameter_set_with_an_old_name_is_read(tmp_path: Path) -> None:
    """So may parameter sets, in their constants and in the standard errors of these."""
    (tmp_path / "parameters").mkdir()
    text = "version: 1\nhost: {crowding: 0.2}\nstandard_errors: {host: {crowding: 0.1}}\n"
    (tmp_path / "parameters" / "mine.yaml").write_text(text)
    found = read_parameters("mine", [tmp_path])

    assert ({"core_contention": 0.2}, {"host.core_contention": 0.1}) == (found.host, found.standard_errors)


def test_the_old_word_for_key_ranges_is_refused() -> None:
    """`shards` meant key ranges once: a silent change of meaning would be worse than an error."""
    with pytest.raises(InputError, match="insert_ranges"):
        compose(["workload=constant", "workload.insert_keys=sharded"])
