"""The configured devices: every number has a source or a named assumption, every mistake a clear message."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from device_catalogue import CONFIGS, NAMES, mapping, setup
from lsmlab.models.devices.capped import Capped
from lsmlab.models.devices.make import METADATA, DeviceSettings, make_device
from lsmlab.models.errors import InputError

REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "devices.md"
FILES = sorted((CONFIGS / "device").glob("*.yaml"))
NUMBER = re.compile(r"^(\w+): +([0-9][^ #]*)(?: +#(.*))?$", re.MULTILINE)
KEY = re.compile(r"\[([A-Z][0-9]+)\]")


@pytest.mark.parametrize("name", NAMES)
def test_configuration_is_complete(name: str) -> None:
    """A configuration has every key (so a typo fails at composing), a description, sources and assumptions."""
    values = mapping(name)
    configured = make_device(values)
    device = configured.device
    expected = {f.name for f in dataclasses.fields(DeviceSettings)} | {"_target_"} | set(METADATA)
    expected |= {f.name for f in dataclasses.fields(device)}  # type: ignore[arg-type]
    assert expected == set(values)
    assert len(values["description"]) > 20
    assert KEY.search(values["source"])
    assert values["assumptions"], "no device here is fully documented"
    assert configured.direct_io


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_number_has_a_source_or_an_assumption(path: Path) -> None:
    """Each number except 0 (switched off) names a source of the reference or an assumption explained in the file."""
    known = set(re.findall(r"^- \[([A-Z][0-9]+)\]", REFERENCE.read_text(), re.MULTILINE))
    text = path.read_text()
    assumptions = set(re.findall(r"^  (\w+):", text, re.MULTILINE))
    if not path.stem.startswith("_"):
        assumptions |= set(mapping(path.stem)["assumptions"])
    for key, value, comment in NUMBER.findall(text):
        if value == "0":
            continue
        source, assumption = "source:" in comment, re.search(r"assumption: (\w+)", comment)
        assert source or assumption, f"{path.name}: {key} has neither source nor assumption"
        if assumption:
            assert assumption.group(1) in assumptions, f"{path.name}: {key}: assumption is not explained"
    unknown = set(KEY.findall(text)) - known
    assert not unknown, f"{path.name}: sources {unknown} are not in docs/reference/devices.md"


def test_page_cache_switch() -> None:
    """page_cache=0 means direct I/O; a size is the size of the page cache."""
    assert setup("nvme").direct_io
    cached = setup("nvme", page_cache="16GiB")
    assert (cached.direct_io, cached.page_cache_bytes) == (False, 16 * 2.0**30)


def test_caps_and_capacity_are_read() -> None:
    """Caps with units wrap the device; capacity and price are passed on."""
    configured = setup("hdd", write_cap="80MiB/s", iops_cap="1k", throttle_io="1MiB")
    device = configured.device
    assert isinstance(device, Capped)
    assert (
        device.write_cap,
        device.read_cap,
        device.iops_cap,
        device.io_bytes,
    ) == (80 * 2.0**20, None, 1000.0, 2.0**20)
    assert device.name == "hdd"
    assert (configured.capacity_bytes, configured.settings.price_usd) == (1e12, 47.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"write_capp": "1MB/s"}, r"device\.write_capp: no such key; did you mean device\.write_cap\?"),
        ({"write_cap": "fast"}, r"device\.write_cap: 'fast' is not a quantity"),
        ({"write_cap": 0}, r"device\.write_cap: 0 is out of range"),
        ({"over_provisioning": 0}, r"device\.over_provisioning: 0 is out of range"),
        ({"page_cache": "-1GiB"}, r"device\.page_cache: -1GiB is out of range"),
        ({"slc_cache": "10GB"}, r"device: slc_write_bandwidth: a value is required with slc_cache"),
        ({"filled": "2TB"}, r"device: filled: must not exceed capacity"),
        ({"_target_": None}, r"device\._target_: None is not a class"),
        ({"_target_": "os.system"}, r"device\._target_: os\.system is outside the allowed packages \(lsmlab\)"),
        ({"_target_": "lsmlab.models.devices.nvme.Nvmee"}, r"cannot load lsmlab\.models\.devices\.nvme\.Nvmee"),
        ({"_target_": "lsmlab.models.devices.base.DeviceLoad"}, r"is not a device"),
    ],
)
def test_mistakes_name_key_and_remedy(changes: dict[str, Any], message: str) -> None:
    """Each mistake raises an error that names the key and the remedy."""
    with pytest.raises(InputError, match=message):
        setup("nvme", **changes)


def test_sata_cannot_exceed_its_link() -> None:
    """A SATA drive with more bandwidth than its interface is refused."""
    with pytest.raises(InputError, match=r"device: read_bandwidth: must not exceed interface_bandwidth"):
        setup("sata", read_bandwidth="700MB/s")
