"""Composing: values set in a composed tree give Hydra's own configuration; folders, copies and threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose, output_directory
from lsmlab.sim.configuration.messages import one_line

LISTS = [
    [], ["workload.num=${seed}", "seed=7"], ["+engine.mine=3"], ["prefill=fillseq", "prefill.num=3M"], ["~checks"],
    ["~experiment"], ["experiment=write_burst", "device.write_cap=null"], ["engine.options={write_buffer_size:1MiB}"],
    ["engine=silk", "engine/picker=vlsm", "engine.scheduler.total_bandwidth=1MB/s"], ["device=sata", "device=hdd"],
    ["workload.num=5M", "workload.num=6M"], ["engine.version='7.10'"], ["+engine.families.a={options:{x:[1,2]}}"],
    ["device=[nvme]"], ["workload=trace"], ["device@mine=nvme"], ["seed=1,2"], ["engine.nope=1"], ["+seed=2"],
]  # fmt: skip


def composed_by_hydra(overrides: list[str]) -> dict[str, Any]:
    """Return the configuration that Hydra composes from files with all overrides at once."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_module
    from omegaconf import OmegaConf

    with initialize_config_module("lsmlab.configs", version_base="1.3"):
        keyed = [text.replace("prefill=", "workload@prefill=") for text in overrides]
        config = OmegaConf.to_container(hydra_compose("config", overrides=keyed), resolve=True, throw_on_missing=True)
    assert isinstance(config, dict)
    return {str(key): value for key, value in config.items()}


@pytest.mark.parametrize("overrides", LISTS, ids=" ".join)
def test_a_configuration_is_that_of_hydra(overrides: list[str]) -> None:
    """Keys, their order, values and types are those of Hydra; what Hydra refuses is an error with one line."""
    try:
        expected = composed_by_hydra(overrides)
    except Exception:
        assert message_of(overrides)
        return

    for _ in range(2):
        assert repr(expected) == repr(compose(overrides))


def message_of(overrides: list[str]) -> str | None:
    """Return the message for overrides that do not compose."""
    try:
        compose(overrides)
    except Exception as error:
        return one_line(error)
    raise AssertionError(f"{overrides} compose")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """A changed file of the user's configuration directory is read again by the next composition of the process."""
    path = tmp_path / "device" / "mine.yaml"
    path.parent.mkdir()
    found = []
    for cap in ("20MB/s", "300MB/s"):
        path.write_text(f"defaults: [nvme, _self_]\ndescription: mine\nwrite_cap: {cap}\n")
        found.append(compose(["device=mine"], [tmp_path])["device"]["write_cap"])

    assert ["20MB/s", "300MB/s"] == found


def test_changing_a_configuration_does_not_change_the_next() -> None:
    """Changing a returned configuration does not change the next one; nor does an error."""
    compose()["device"]["write_cap"] = "changed"
    with pytest.raises(InputError):
        compose(["no.such.key=1"])

    assert compose()["device"]["write_cap"] != "changed"


def test_threads_compose_at_the_same_time() -> None:
    """Each thread gets its own configuration."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: compose([f"seed={n}", f"device={('nvme', 'sata')[n % 2]}"])["seed"], range(40)))

    assert list(range(40)) == found


def test_an_output_folder_may_refer_to_the_configuration() -> None:
    """Hydra's own interpolations name the folder of a run."""
    named = output_directory(["seed=7", "hydra.run.dir=a/${hydra.job.name}/${hydra.job.override_dirname}/${seed}"])

    assert Path("a/lsmlab/seed=7/7") == named
