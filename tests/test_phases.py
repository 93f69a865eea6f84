"""Phases of a run: db_bench's benchmarks and actions one after the other on one store, and manual compactions."""

from __future__ import annotations

from typing import Any

import pytest
from draining import check_entries
from lsmlab.models.errors import InputError
from lsmlab.models.options.compact_range import BottommostLevelCompaction, CompactRangeOptions
from lsmlab.models.options.options import resolve_options
from lsmlab.models.policies.decisions import Compaction, Drop, Move, RunningJob
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.manual import ManualStep, after, manual_pick, manual_steps, refit_level
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version
from lsmlab.models.workloads.base import StoreAction
from lsmlab.models.workloads.make import make_workload
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.results.results import Result
from running import SMALL, simulate

PHASES = "lsmlab.models.workloads.phases.Phases"
MIB = 1 << 20


def workload(phases: Any, **flags: Any) -> Any:
    """Return the workload of these phases."""
    return make_workload({"_target_": PHASES, "phases": phases, "num": 1000, **flags})


def phased(*phases: str) -> Result:
    """Simulate these phases on the small store."""
    return simulate(*SMALL, "workload=phases", f"workload.phases=[{','.join(phases)}]")


def test_spellings_of_phases_agree() -> None:
    """A list of names, db_bench's text with commas, and names with their flags mean the same."""
    names = workload(["fillrandom", "compact", "overwrite"])

    assert names == workload("fillrandom,compact, overwrite") == workload([{"fillrandom": None}, {"compact": {}}, "overwrite"])
    assert [None, StoreAction.COMPACT, None] == [phase.action for phase in names.phases]
    assert workload(["overwrite", {"wait": "60s"}]).phases[1] == workload(["overwrite", {"wait": {"duration": 60}}]).phases[1]


def test_flags_apply_to_all_phases_that_have_them() -> None:
    """A flag of the workload goes to every benchmark that knows it; a phase's own flag replaces it there alone."""
    found = workload(["overwrite", {"readrandom": {"duration": 5, "threads": 8}}], threads=2, reads=7, duration=60)
    writing, reading = found.phases

    assert (2, 60.0, None) == (writing.clients[0].threads, writing.duration_s, writing.clients[0].operations)
    assert (8, 5.0) == (reading.clients[0].threads, reading.duration_s)
    assert found.duration_s == 65.0
    assert found.threads == 8


@pytest.mark.parametrize(
    ("phases", "text"),
    [
        ([], "must be a list of phases"),
        (["compact"], "at least one must be a benchmark"),
        (["fillrandom", "shake"], "'shake' is not one of"),
        (["overwrite", "fillrandom"], "destroys the store"),
        (["overwrite", {"overwrite": {"num": 5}}], "population of overwrite and of overwrite differ"),
        (["overwrite", "deleterandom"], "differ in deletes"),
        ([{"compact": {"target_level": 3}}, "overwrite"], "no effect without change_level"),
        ([{"flush": {"wait": True}}, "overwrite"], "has no settings"),
        (["overwrite", {"readrandom": {"thread": 5}}], "did you mean"),
        ([["overwrite"]], "must be a name"),
    ],
)  # fmt: skip
def test_phases_that_do_not_fit_are_refused(phases: Any, text: str) -> None:
    """The message names the phase, or the two that do not fit one store."""
    with pytest.raises(InputError, match=r"workload\.phases|phases") as error:
        workload(phases)
    assert text in str(error.value)


def test_one_phase_is_the_benchmark_alone() -> None:
    """A run with the one phase fillrandom has the results of workload=fillrandom, to the last digit."""
    alone = simulate(*SMALL, "workload=fillrandom", "workload.num=100000").summary
    phase = simulate(*SMALL, "workload=phases", "workload.phases=[fillrandom]", "workload.num=100000").summary

    different = {key for key in alone if alone[key] != phase[key]}
    assert different == {"workload", "notes"}
    assert phase["phases"][0]["operations"] == alone["operations"]
    assert phase["phases"][0]["write_amplification"] == alone["write_amplification"]


def test_the_tree_goes_on_from_phase_to_phase() -> None:
    """After `compact` all files are in the deepest level, each key once; `overwrite` goes on from there."""
    result = phased("fillrandom", "compact", "overwrite", "waitforcompaction", "levelstats")
    filled, compacted, over, waited, stats = result.summary["phases"]

    check_entries(result)
    assert 1 == sum(files > 0 for files in compacted["files_per_level"]) < sum(files > 0 for files in filled["files_per_level"])
    assert compacted["live_bytes"] < filled["live_bytes"] < over["live_bytes"]
    assert (0, 0) == (compacted["operations"], waited["operations"])
    assert 200_000 == round(filled["operations"]) == round(over["operations"])
    assert stats["duration_s"] == 0.0
    assert stats["files_per_level"] == waited["files_per_level"] == result.summary["files_per_level"]
    ends = [row["start_s"] + row["duration_s"] for row in (filled, compacted, over, waited)]
    assert ends[:-1] == pytest.approx([row["start_s"] for row in (compacted, over, waited)])
    assert "ManualCompaction" in result.summary["job_reasons"]
    assert "waitforcompaction" in summary_text(result.summary)


def test_numbers_of_phases_add_up() -> None:
    """Operations, bytes and stalls of the phases are those of the whole run."""
    summary = phased("fillrandom", "overwrite", "waitforcompaction").summary
    rows = summary["phases"]

    for key in ("operations", "flush_bytes", "compaction_write_bytes", "duration_s"):
        assert sum(row[key] for row in rows) == pytest.approx(summary[key])
    assert sum(row["stall_s"] for row in rows) == pytest.approx(sum(summary["stall_seconds"].values()))


def test_reads_follow_writes_and_waits_take_their_time() -> None:
    """A phase of reads has no writes, a wait has its length, and writers of readwhilewriting stop with their readers."""
    summary = phased(
        "fillrandom", "{wait:30s}", "{readrandom:{reads:5k}}", "{readwhilewriting:{reads:5k}}", "flush", "{readrandom:{reads:5k}}"
    ).summary
    _, wait, reads, both, _, again = summary["phases"]

    assert wait["duration_s"] == pytest.approx(30.0)
    assert reads["write_ops_per_s"] == again["write_ops_per_s"] == 0.0 < both["write_ops_per_s"]
    assert (5000, 5000) == (round(reads["operations"]), round(both["operations"]))
    assert reads["write_latency_s"] is None
    assert reads["read_latency_s"]["p50"] > 0.0


def test_reads_of_a_phase_are_those_after_a_prefill() -> None:
    """The block cache fills in a phase as it does in a run of its own on the same store."""
    cached = (*SMALL, "engine.options.cache_size=8MiB", "engine.options.bloom_bits=10")
    steps = "workload.phases=[fillrandom,flush,waitforcompaction,readrandom,{wait:10s},readrandom]"
    alone = cold = warm = 0.0
    for seed in ("seed=1", "seed=2", "seed=3"):  # a file more or less changes the rate by some percent
        alone += simulate(*cached, seed, "prefill=fillrandom", "prefill.num=200k", "workload=readrandom").summary["ops_per_s"]
        *_, first, _, second = simulate(*cached, seed, "workload=phases", steps).summary["phases"]
        cold, warm = cold + first["ops_per_s"], warm + second["ops_per_s"]

    assert cold == pytest.approx(alone, rel=0.03)
    assert warm > cold


def test_actions_of_rocksdb_need_its_pickers() -> None:
    """An engine with a picker of its own is refused by name."""
    with pytest.raises(InputError, match=r"workload\.phases: compact.*engine=ldc"):
        simulate(*SMALL, "engine=ldc", "workload=phases", "workload.phases=[fillrandom,compact]")


# --- manual compaction ------------------------------------------------------------------------------------------------


def picker(version: str = "7.8", **options: Any) -> LeveledPicker:
    """Return a levelled picker with small sizes and static levels."""
    small = {"level_compaction_dynamic_level_bytes": False, "max_compaction_bytes": 10 * MIB, "compression": "none", **options}
    parsed = Version.parse(version)
    return LeveledPicker(resolve_options(parsed, "library", small).options, parsed)


def file(number: int, lo: int, hi: int, size_mib: int = 4) -> SortedFile:
    """Return a file of keys lo to hi."""
    return SortedFile(number, lo, hi, size_mib * MIB, entries=100.0)


def tree_of(**levels: list[SortedFile]) -> Tree:
    """Return a tree with these files, by level (l0, l1, ...)."""
    tree = Tree()
    tree.install(added=[(int(name[1:]), files) for name, files in levels.items()])
    return tree


DEEP = {"l0": [file(9, 0, 90)], "l1": [file(7, 0, 40), file(8, 50, 90)], "l3": [file(1, 0, 30), file(2, 31, 60), file(3, 61, 99)]}


@pytest.mark.parametrize(
    ("version", "bottommost", "last"),
    [
        ("5.8", None, None),  # db_bench's compact: kIfHaveCompactionFilter
        ("5.10", None, ManualStep(3, 3)),
        ("6.2", None, ManualStep(3, 3, before=50)),
        ("7.8", BottommostLevelCompaction.SKIP, None),
        ("7.8", BottommostLevelCompaction.FORCE, ManualStep(3, 3)),
    ],
)  # fmt: skip
def test_each_level_goes_one_down(version: str, bottommost: BottommostLevelCompaction | None, last: ManualStep | None) -> None:
    """Levels from the first with files on go one down; the deepest goes into itself if the option says so."""
    request = CompactRangeOptions(bottommost_level_compaction=bottommost)
    found = manual_steps(tree_of(**DEEP), picker(version), request, 50, has_filter=False)

    assert [ManualStep(0, 1), ManualStep(1, 2), ManualStep(2, 3), *([last] if last else [])] == found


def test_an_l0_alone_goes_to_the_base_level() -> None:
    """With dynamic levels L0 goes to the base level; since 6.14 a forced bottommost compaction rewrites it."""
    tree = tree_of(l0=[file(9, 0, 90)])
    dynamic = {"level_compaction_dynamic_level_bytes": True}
    for version, moves in (("6.13", True), ("6.14", False)):
        chosen = picker(version, **dynamic)
        (step,) = manual_steps(tree, chosen, CompactRangeOptions(), 50, has_filter=False)
        assert ManualStep(0, -1, moves=moves) == step
        pick = manual_pick(tree, chosen, (), step, 0.0).pick
        assert isinstance(pick, Move if moves else Compaction)
        assert pick.output_level == 6


def test_a_step_goes_on_where_its_last_job_ended() -> None:
    """A job takes files until they have max_compaction_bytes, the last one included; its next key is the file after it."""
    tree = tree_of(l1=[file(i, 10 * i, 10 * i + 9) for i in range(1, 6)])
    first = manual_pick(tree, picker(), (), ManualStep(1, 2), 0.0)
    second = after(ManualStep(1, 2), first)

    assert isinstance(first.pick, Move)
    assert [1, 2, 3] == [f.number for f in first.pick.inputs[0][1]]
    assert ManualStep(1, 2, from_key=40) == second
    rest = manual_pick(tree, picker(), (), second, 0.0)
    assert [4, 5] == [f.number for f in rest.pick.inputs[0][1]] if isinstance(rest.pick, Move) else False
    assert after(second, rest) is None


@pytest.mark.parametrize(("version", "files"), [("6.20", 3), ("6.21", 2)])
def test_overlapping_output_counts_since_6_21(version: str, files: int) -> None:
    """The files of the output level that the job would rewrite count towards max_compaction_bytes."""
    upper = [file(i, 10 * i, 10 * i + 9) for i in range(11, 16)]
    lower = [file(i, 10 * (i + 10), 10 * (i + 10) + 9, 1) for i in range(1, 6)]
    pick = manual_pick(tree_of(l1=upper, l2=lower), picker(version), (), ManualStep(1, 2), 0.0).pick

    assert isinstance(pick, Compaction)
    assert files == len(pick.inputs[0][1])


def test_a_running_job_is_waited_for() -> None:
    """Files in a job, and a job into the output range, are a conflict; an empty level is done."""
    tree = tree_of(l1=[file(7, 0, 40)])
    tree.mark(1, tree.levels[1].files, busy=True)

    assert manual_pick(tree, picker(), (), ManualStep(1, 2), 0.0).conflict
    tree.mark(1, tree.levels[1].files, busy=False)
    assert manual_pick(tree, picker(), (RunningJob(1, 2, 30, 60),), ManualStep(1, 2), 0.0).conflict
    assert manual_pick(tree, picker(), (RunningJob(0, 1, 0, 60),), ManualStep(0, 1), 0.0).pick is None


def test_forced_bottommost_leaves_out_own_files() -> None:
    """With kForceOptimized, files that the manual compaction has written are skipped."""
    tree = tree_of(l2=[file(60, 0, 9), file(3, 10, 19, 1), file(4, 20, 29, 1), file(61, 30, 39), file(5, 40, 49, 1)])
    step = ManualStep(2, 2, before=50)
    first = manual_pick(tree, picker(max_compaction_bytes=100 * MIB), (), step, 0.0)
    assert isinstance(first.pick, Compaction)
    assert [3, 4] == [f.number for f in first.pick.inputs[0][1]]
    rest = after(step, first)
    assert rest is not None
    second = manual_pick(tree, picker(max_compaction_bytes=100 * MIB), (), rest, 0.0)
    assert isinstance(second.pick, Compaction)
    assert [5] == [f.number for f in second.pick.inputs[0][1]]
    assert after(rest, second) is None


def test_universal_compacts_all_levels_at_once() -> None:
    """A manual universal compaction is one job of all files into the last level."""
    parsed = Version.parse("7.8")
    universal = UniversalPicker(resolve_options(parsed, "library", {"compaction_style": "universal"}).options, parsed)
    tree = tree_of(**DEEP)
    (step,) = manual_steps(tree, universal, CompactRangeOptions(), 50, has_filter=False)
    pick = manual_pick(tree, universal, (), step, 0.0).pick

    assert isinstance(pick, Compaction)
    assert not isinstance(pick, Drop)
    assert (6, 6) == (pick.output_level, sum(len(files) for _, files in pick.inputs))


def test_change_level_needs_empty_levels_between() -> None:
    """The deepest level moves up to the highest level that holds it, or to the level asked for if the way is free."""
    lone = tree_of(l5=[file(1, 0, 9)])
    chosen = picker(max_bytes_for_level_base=2 * MIB, max_bytes_for_level_multiplier=10)

    found = [refit_level(lone, chosen, target) for target in (-1, 6, 2)]
    assert [2, 6, 2] == [move.output_level for move in found if isinstance(move, Move)]
    assert not isinstance(refit_level(tree_of(**DEEP), chosen, 1), Move)
