"""Composing on cached bases gives the same configurations and messages as Hydra without a cache."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration import base_cache, base_files
from lsmlab.sim.configuration.compose import Composer, compose, composer
from lsmlab.sim.configuration.messages import one_line
from lsmlab.sim.configuration.plain_overrides import read_value
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


def wanted_lists(part: int | str) -> list[list[str]]:
    """Return the lists of overrides of a part of the test: a third of the special ones, all of them, or 80 drawn ones."""
    if isinstance(part, int):
        return override_lists(part)
    return SPECIAL[::3] if part == "some special" else SPECIAL


@pytest.mark.parametrize("part", ["some special", *(pytest.param(part, marks=pytest.mark.slow) for part in ("special", 0, 1, 2))])
def test_cached_bases_equal_hydra(part: int | str) -> None:
    """For 270 lists of overrides the keys, their order, values and types are the same, or the same error is raised."""
    wanted = wanted_lists(part)
    with composer(keep_bases=False) as slow:
        expected = [outcome(slow, one) for one in wanted]
    with composer() as fast:
        actual = [outcome(fast, one) for one in wanted]
        again = [outcome(fast, one) for one in wanted]
    base_cache._BASES.clear()
    with composer() as fresh:
        from_disk = [outcome(fresh, one) for one in wanted]

    assert expected == actual
    assert expected == again
    assert expected == from_disk


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


READ = [
    "1e5", "1E-05", "-0", "+7", "-0.50", "64MiB", "-2.5GB/s", "1inf", "NaN", "Null", "TRUE", "a-b", "'7.10'", "'80µs '",
    "'a,b'", "9" * 30, "1e999",
]  # fmt: skip
LEFT_TO_HYDRA = ["007", "1_000", "-inf", "''", "1.", ".5", "a,b", "a b", " 1", "1 ", "٣", "${seed}", "[1]", "-", ""]
PIECES = st.sampled_from(["true", "null", "inf", "nan", "MiB", "/s", "0", "12", "e", "E5", "k", "_", "-", "+", ".", "'", "\n"])


def check_value(text: str) -> bool:
    """Compare a value with the one of Hydra's parser; return False if only Hydra reads it."""
    try:
        value = read_value(text)
    except ValueError:
        return False
    override = OverridesParser.create().parse_override(f"key={text}")
    assert not override.is_sweep_override()
    expected = override.value()
    assert type(expected) is type(value)
    assert expected == value or (expected != expected and value != value)  # both are NaN
    return True


def test_values_read_without_hydra_are_those_of_its_grammar() -> None:
    """A value that is read without Hydra has the value and the type that Hydra's parser gives it."""
    assert READ == [text for text in (*READ, *LEFT_TO_HYDRA) if check_value(text)]


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.characters(), max_size=4).map("".join))
def test_values_of_any_form_are_those_of_hydras_grammar(text: str) -> None:
    """The same holds for any text."""
    check_value(text)


def composed_in_a_process(cache: Path | str, *overrides: str) -> tuple[str, bool]:
    """Compose in a new process; return the configuration as text, and whether the process has loaded Hydra."""
    program = (
        "import sys\nfrom lsmlab.sim.configuration.compose import compose\n"
        f"print(compose({list(overrides)!r}))\nprint('hydra' in sys.modules)"
    )
    env = {**os.environ, "LSMLAB_CACHE": str(cache)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    config, loaded = done.stdout.splitlines()
    return config, loaded == "True"


def test_a_second_process_needs_no_hydra(tmp_path: Path) -> None:
    """The first process with a choice of entries writes its base; the next one composes other values without Hydra."""
    composed_in_a_process(tmp_path, "device=sata", "seed=3")
    without_cache = composed_in_a_process("off", "device=sata", "engine.version=7.10")
    second = composed_in_a_process(tmp_path, "device=sata", "engine.version=7.10")

    assert (without_cache[0], True, False) == (second[0], without_cache[1], second[1])


def test_processes_share_a_cache(tmp_path: Path) -> None:
    """Processes that compose the same entries at the same time get the same configuration and leave one whole file."""
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: composed_in_a_process(tmp_path, "engine=universal")[0], range(4)))

    assert 1 == len(found)
    assert [".json"] == [path.suffix for path in tmp_path.rglob("*") if path.is_file()]
    assert (found.pop(), False) == composed_in_a_process(tmp_path, "engine=universal")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\0\xff", b'{"config": "1"}', None])
def test_a_damaged_file_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    """A file that is damaged or cut (None: to a half) is composed and written again."""
    monkeypatch.setenv("LSMLAB_CACHE", str(tmp_path))
    base_cache._BASES.clear()
    expected = compose(["device=sata"])
    (path,) = tmp_path.rglob("*.json")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    base_cache._BASES.clear()

    assert expected == compose(["device=sata"])
    assert whole == path.read_bytes()
    assert [path] == [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_cache_that_cannot_be_written_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path below a file cannot become a folder: composing works without a cache."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("LSMLAB_CACHE", str(tmp_path / "file" / "cache"))
    base_cache._BASES.clear()

    assert 1 == compose(["engine=universal"])["seed"]
    assert ["file"] == [path.name for path in tmp_path.iterdir()]


def test_a_changed_entry_or_library_changes_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bases on disk belong to the content of all entries and to the installed libraries; the oldest folders are removed."""
    entries = tmp_path / "configs"
    shutil.copytree(base_files.packaged_folder(), entries)
    monkeypatch.setattr(base_files, "packaged_folder", lambda: entries)
    monkeypatch.setenv("LSMLAB_CACHE", str(tmp_path / "cache"))
    names = []
    for number in range(10):
        status = (entries / "config.yaml").stat()
        (entries / "config.yaml").write_text(f"seed: {number}\n")
        os.utime(entries / "config.yaml", ns=(status.st_atime_ns, status.st_mtime_ns))
        files = base_files.base_files()
        assert files is not None
        names.append(files.folder.name)
        files.write([], base_files.Base("{}", "", "", None, ()))
        os.utime(files.folder, (number, number))
    monkeypatch.setattr(base_files, "_LIBRARIES", ("hydra", "json"))

    assert 10 == len(set(names))
    assert set(names[2:]) == {path.name for path in (tmp_path / "cache" / "bases").iterdir()}
    assert base_files.base_files().folder.name not in names


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LSMLAB_CACHE": "/a"}, "/a"), ({"LSMLAB_CACHE": "off"}, None), ({"XDG_CACHE_HOME": "/b"}, "/b/lsmlab"),
        ({"XDG_CACHE_HOME": "b"}, "/home/x/.cache/lsmlab"), ({}, "/home/x/.cache/lsmlab"),
    ],
)  # fmt: skip
def test_the_folder_of_the_cache(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str | None
) -> None:
    """LSMLAB_CACHE names the folder of the cache; else it is in the user's folder of caches."""
    for name in ("LSMLAB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/x", **environment}.items():
        monkeypatch.setenv(name, value)

    assert expected == (str(folder) if (folder := base_files.cache_folder()) is not None else None)
