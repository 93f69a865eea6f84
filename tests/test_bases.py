"""Composing on cached bases gives the same configurations and messages as Hydra without a cache."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import Composer, compose, composer
from lsmlab.sim.configuration.messages import one_line
from test_cli import SEEDS, mutated

SPECIAL = [
    ["workload.num=${seed}"], ["seed=${workload.num}", "device=sata"], ["+engine.mine=3"], ["+mine=3"], ["~checks"],
    ["~experiment"], ["prefill=fillseq", "prefill.num=3M"], ["prefill.num=3M"], ["workload.regions=2"], ["experiment=throttled"],
    ["workload=trace"], ["workload=trace", "workload.file=a.csv"], ["device={name:x}"], ["device=[nvme]"],
    ["host.parameters=recording_vm"], ["host.parameters=recording_vm", "host.cores=3"], ["engine.options={}"],
    ["engine.options.write_buffer_size=null", "engine.options.write_buffer_size=1MiB"], ["hydra.run.dir=x"],
    ["engine=silk", "engine/picker=vlsm"], ["engine/scheduler=silk"], ["engine/scheduler=nope"], ["seed=1,2"],
    ["device@mine=nvme"], ["+device@mine=nvme"], ["device@mine.x=3"], ["engine=rocksdb", "engine=universal"],
    ["workload.num=50M", "workload.num=60M"], ["engine.version=7.10"], ["engine.version=7.1,8.2"], [],
]  # fmt: skip


def outcome(one: Composer, overrides: list[str]) -> object:
    """Return the flattened configuration with its key order, or the error's type and its message for the user."""
    try:
        config = one(overrides).config
    except Exception as error:
        return type(error).__name__, one_line(error)
    return list(_flat(config))


def _flat(node: Any, prefix: str = "") -> list[tuple[str, object]]:
    if isinstance(node, dict):
        return [(prefix, list(node)), *(pair for key, value in node.items() for pair in _flat(value, f"{prefix}.{key}"))]
    return [(prefix, (type(node), node))]


def override_lists(part: int) -> list[list[str]]:
    """Return 80 lists of overrides, half of them mutated."""
    random_ = random.Random(30_000 + part)
    return [random_.sample(SEEDS, random_.randint(1, 6)) for _ in range(40)] + [mutated(random_) for _ in range(40)]


@pytest.mark.parametrize("part", ["special", *(pytest.param(part, marks=pytest.mark.slow) for part in range(3))])
def test_cached_bases_equal_hydra(part: int | str) -> None:
    """For 270 lists of overrides the keys, their order, values and types are the same, or the same error is raised."""
    wanted = SPECIAL if isinstance(part, str) else override_lists(part)
    with composer(keep_bases=False) as slow:
        expected = [outcome(slow, one) for one in wanted]
    with composer() as fast:
        actual = [outcome(fast, one) for one in wanted]
        again = [outcome(fast, one) for one in wanted]

    assert expected == actual
    assert expected == again


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
    """Changing a returned configuration does not change the next one."""
    compose()["device"]["write_cap"] = "changed"
    with pytest.raises(InputError):
        compose(["no.such.key=1"])

    assert compose()["device"]["write_cap"] != "changed"
