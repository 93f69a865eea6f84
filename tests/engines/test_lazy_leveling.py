"""Lazy leveling: the worked sequence of its specification, its costs, and the how-to page with its code."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, DoNothing, Move, Pick
from lsmlab.models.policies.lazy_leveling import LazyLevelingPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.merge import merge_files
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.results.results import Result
from running import configuration, run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "add-an-engine.md"
SHOWN = re.compile(r"^<!-- the whole of (\S+) -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file shown on the page, and the shown text."""
BYTES = 100
"""Bytes of a flush in the sequences."""


class Steps:
    """A store whose jobs take no time: flushes of distinct keys, each followed by all compactions that are due."""

    def __init__(self, ratio: int, tiered: bool = False) -> None:
        options = RocksDbOptions(max_bytes_for_level_multiplier=float(ratio), write_buffer_size=BYTES)
        self.picker = LazyLevelingPicker(options, tiered)
        self.tree = Tree(num_levels=5)
        self.written = [0] * 5
        """Bytes written to each level, in flushes."""
        self._numbers = count(1)

    def flush(self) -> None:
        """Flush one memtable with keys from the whole key space, then compact."""
        number = next(self._numbers)
        self._write(0, np.array([number, 10_000 + number]), BYTES)
        while not isinstance(pick := self.picker.pick(self.tree, (), 0.0), DoNothing):
            self._do(pick)

    def state(self) -> str:
        """Return the sizes of sorted runs per level in the form of the specification; L0 is its level 1."""
        levels = [" ".join("1" for _ in self.tree.l0)]
        for level in range(1, self.tree.num_levels):
            levels.append(" ".join(str(run.size_bytes // BYTES) for run in self.tree.runs(level)))
        while not levels[-1]:
            levels.pop()
        return " / ".join(level or "-" for level in levels)

    def _do(self, pick: Pick) -> None:
        assert isinstance(pick, Compaction | Move)
        size = sum(f.size_bytes for _, files in pick.inputs for f in files)
        if isinstance(pick, Move):
            self.tree.install(pick.inputs, [(pick.output_level, pick.inputs[0][1])])
            return
        keys, _ = merge_files(pick.inputs)
        self.written[pick.output_level] += size // BYTES
        file = SortedFile(next(self._numbers) + 5000, int(keys[0]), int(keys[-1]), size, keys=keys)
        self.tree.install(pick.inputs, [(pick.output_level, [file])], pick.placement)
        self.tree.check()

    def _write(self, level: int, keys: np.ndarray, size: int) -> None:
        self.written[level] += size // BYTES
        self.tree.install(added=[(level, [SortedFile(int(keys[0]), int(keys[0]), int(keys[-1]), size, keys=keys)])])


def test_the_worked_sequence() -> None:
    """With T = 4, the tree has the listed states from the fourth flush on; before, L0 is the only level.

    Source: (behaviour/lazy-leveling.md, Lazy leveling sequences).
    """
    steps, states = Steps(4), {}
    for n in range(1, 35):
        steps.flush()
        states[n] = steps.state()

    expected = {
        4: "- / 4", 5: "1 / 4", 6: "1 1 / 4", 7: "1 1 1 / 4", 8: "- / 8", 12: "- / 12", 15: "1 1 1 / 12",
        16: "- / - / 16", 17: "1 / - / 16", 19: "1 1 1 / - / 16", 20: "- / 4 / 16", 24: "- / 4 4 / 16",
        28: "- / 4 4 4 / 16", 31: "1 1 1 / 4 4 4 / 16", 32: "- / - / 32",
    }  # fmt: skip
    assert expected == {n: states[n] for n in expected}
    # in all 36 and 48 to the lower levels; the first 16 of level 3 were written to level 2 and moved
    assert [34, 36 + 16, 48 - 16, 0, 0] == steps.written


def test_tiering_keeps_runs_in_the_last_level() -> None:
    """With K = Z = 3, the states are those of tiering (behaviour/lazy-leveling.md, Lazy leveling sequences)."""
    steps, states = Steps(4, tiered=True), {}
    for n in range(1, 21):
        steps.flush()
        states[n] = steps.state()

    expected = {3: "1 1 1", 4: "- / 4", 8: "- / 4 4", 12: "- / 4 4 4", 16: "- / - / 16"}
    assert expected == {n: states[n] for n in expected}
    assert [20, 16, 16, 0, 0] == steps.written


@pytest.mark.parametrize(("tiered", "last"), [(False, 9 / 2), (True, 0.9)])
def test_write_amplification(tiered: bool, last: float) -> None:
    """With T = 10 and three levels, W-Amp is 1 for flushes, plus (T-1)/T, plus (T-1)/2 for a last level that fills.

    Source: (behaviour/lazy-leveling.md, Lazy leveling costs).
    """
    steps = Steps(10, tiered)
    for _ in range(999):
        steps.flush()

    assert sum(steps.written) / steps.written[0] == pytest.approx(1 + 0.9 + last, rel=0.06)


STORE = (
    "workload=fillrandom", "workload.num=200000", "workload.value_size=1000", "workload.duration=60s",
    "workload.benchmark_write_rate_limit=5MB/s", "engine.options.write_buffer_size=1MiB",
    "engine.options.target_file_size_base=1MiB", "engine.options.max_bytes_for_level_base=4MiB",
    "engine.options.max_bytes_for_level_multiplier=4", "engine.options.max_background_jobs=4",
    "engine.options.level_compaction_dynamic_level_bytes=false", "device=samsung_970_pro", "device.write_cap=60MiB/s",
)  # fmt: skip
"""300 memtables make three or four levels at T = 4; the rate leaves time for all due compactions."""


def simulated(*overrides: str) -> Result:
    """Return a run of a small store."""
    return run(configuration(*STORE, *overrides))


def test_lazy_leveling_writes_less_than_leveling_and_more_than_tiering() -> None:
    """W-Amp is ordered tiering < lazy leveling < leveling; space amplification is lower than with tiering.

    Source: (behaviour/lazy-leveling.md, Lazy leveling costs).
    """
    tiering = simulated("engine=lazy_leveling", "engine.picker.tiered_last_level=true").summary
    lazy = simulated("engine=lazy_leveling").summary
    leveling = simulated("engine=rocksdb").summary

    amplification = [s["write_amplification"] for s in (tiering, lazy, leveling)]
    assert sorted(amplification) == amplification
    assert amplification[2] > 1.3 * amplification[0]
    assert tiering["space_amplification"] > lazy["space_amplification"]


def test_the_page_shows_the_engines_files() -> None:
    """docs/how-to/add-an-engine.md shows the engine's files, complete and unchanged."""
    shown_files = dict(SHOWN.findall(PAGE.read_text(encoding="utf-8")))

    assert {
        "models/policies/lazy_leveling.py", "configs/engine/picker/lazy_leveling.yaml",
        "configs/engine/lazy_leveling.yaml", "tests/testdata/engines/lazy_leveling.txt",
    } == set(shown_files)  # fmt: skip
    assert {path: (ROOT / path).read_text(encoding="utf-8") for path in shown_files} == shown_files
