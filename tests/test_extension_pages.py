"""Code of the how-to pages: Monkey's filters, a device with sharing of its own, and a verb."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lsmlab import reports
from lsmlab.models.devices.base import DeviceLoad
from lsmlab.models.devices.make import make_device
from lsmlab.models.engines.make import make_engine
from lsmlab.reports.cli.main import VERBS, main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file on a page: its path in a comment, and its text."""
STORE = (
    "engine.options.write_buffer_size=1MiB", "engine.options.max_bytes_for_level_base=4MiB", "engine.options.num_levels=4",
    "engine.options.target_file_size_base=1MiB", "engine.options.level_compaction_dynamic_level_bytes=false",
    "engine.options.cache_size=8KiB", "device=nvme", "workload.duration=2s",
)  # fmt: skip


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the files of both pages; return the folder of entries."""
    for page in ("add-a-filter-policy.md", "add-a-device.md"):
        for path, text in BLOCK.findall((ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "mine"


def summary(mine: Path, *overrides: str) -> dict[str, Any]:
    """Run a configuration with the user's entries and classes, as a user does, and return its summary."""
    out = mine.parent / f"run{len(list(mine.parent.iterdir()))}"
    trusted = ("--config-dir", str(mine), "--allow-package", "monkey_filter", "--allow-package", "fair_drive")
    assert 0 == main(["run", *STORE, *overrides, *trusted, "--no-report", "--out", str(out)])
    return dict(json.loads((out / "summary.json").read_text(encoding="utf-8")))


def test_monkey_saves_reads_at_equal_memory(mine: Path) -> None:
    """Files of each level keep their own bits, and fewer blocks are read than with the same memory in equal filters."""
    reads = ("workload=readrandom", "workload.num=300k", "workload.value_size=100")
    monkey = summary(mine, "engine=monkey", *reads)
    bits = 8.0 * monkey["memory"]["filter_bytes"] / monkey["live_entries"]
    equal = summary(mine, f"engine.options.bloom_bits={bits}", *reads)
    none = summary(mine, *reads)

    assert bits > 5.0
    assert monkey["memory"]["filter_bytes"] == pytest.approx(equal["memory"]["filter_bytes"], rel=0.02)
    assert monkey["read_amplification"] < equal["read_amplification"] < none["read_amplification"]


@pytest.mark.parametrize("broken", ["return 1 / 0", "import json; return json.loads('no bits')"], ids=["own", "library"])
def test_an_exception_of_an_own_class_names_its_line(mine: Path, capsys: pytest.CaptureFixture[str], broken: str) -> None:
    """`compare` names file, line and package of code that a user added, also if a library below it raised the exception."""
    source = mine.parent / "monkey_filter.py"
    lines = source.read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines) if "ratio = self.options" in line)
    lines[number] = f"        {broken}"
    source.write_text("\n".join(lines), encoding="utf-8")
    sys.modules.pop("monkey_filter", None)

    trusted = ("--config-dir", str(mine), "--allow-package", "monkey_filter")
    assert 1 == main(["compare", "engine=rocksdb,monkey", *STORE, *trusted, "--no-report", "--out", str(mine.parent / "out")])
    (message,) = [line for line in capsys.readouterr().err.splitlines() if "Error" in line]
    assert f"({source}, line {number + 1}: a bug in monkey_filter)" in message


@pytest.mark.usefixtures("mine")
def test_files_of_a_level_have_the_bits_of_the_policy() -> None:
    """Each level above the last has ln 10 / ln(2)^2 bits more."""
    values = {
        "options": {"bloom_bits": 5, "num_levels": 4}, "filter": {"_target_": "monkey_filter.Monkey"}, "version": "7.8"
    }
    engine = make_engine(values, ("monkey_filter",))

    assert [f.bloom_bits for f in engine.table_formats] == pytest.approx([5.0 + n * 4.792 for n in (3, 2, 1, 0)], abs=0.01)


def test_a_device_with_sharing_of_its_own(mine: Path) -> None:
    """Streams beside them do not delay the clients of a drive that serves clients first; a run uses it as any other."""
    values = {"_target_": "fair_drive.ClientsFirst", "bandwidth": "500MB/s", "latency": "100us"}
    grant = make_device(values, ("fair_drive",)).device.allocate(None, DeviceLoad(readers=3, writers=1, client_read_iops=5e4))
    left = 500e6 - 5e4 * 4096.0
    assert (1e-4, left / 4) == pytest.approx((grant.client_read_latency_s, grant.write_bytes_per_s))

    write = ("workload=readwhilewriting", "workload.benchmark_write_rate_limit=8MB/s", "workload.num=200k")
    ran = summary(mine, *write, "workload.value_size=100", "device=clients_first", "limits.write_cap=100MB/s")
    assert ran["compaction_count"] > 0
    assert ran["device"]["name"] == "clients_first"


def test_a_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new verb simulates four rates, and writes its answer and its page."""
    ((_, text),) = BLOCK.findall((ROOT / "docs" / "how-to" / "add-a-verb.md").read_text(encoding="utf-8"))
    (tmp_path / "headroom.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(reports, "__path__", [*reports.__path__, str(tmp_path)])
    monkeypatch.setitem(VERBS, "headroom", ("headroom:HEADROOM", "how many times its present rate a store carries"))
    load = [f"--set=workload{text}" for text in ("=constant", ".rate=20k", ".duration=20s", ".num=200k")]

    assert 0 == main(["headroom", "device=sata", *load, "--steps=4", "--step=1", "--replications=2", f"--out={tmp_path}"])
    answer = json.loads((tmp_path / "headroom.json").read_text(encoding="utf-8"))
    assert 2.0 == answer["carried"]
    assert (tmp_path / "report.html").is_file()
