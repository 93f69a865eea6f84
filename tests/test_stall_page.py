"""The page of a run tells what stalls cost and why: the story, the order of stalls, and the tooltips of their bands."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from explorer_pack import explorer_of
from lsmlab.reports.answers.chain import beside_the_chain
from lsmlab.reports.answers.confidence import settled_sentence, tie_sentence
from lsmlab.reports.answers.page import answers
from lsmlab.reports.answers.stopped import causes, closed_loop_sentence, queued
from lsmlab.reports.answers.what_helps import first_tries
from lsmlab.reports.folder_page import page_of
from lsmlab.reports.headline import headline
from lsmlab.reports.run_data import RunData, load_run
from lsmlab.reports.run_sentences import summary_sentences
from lsmlab.sim.explain.sentences import count, device_use, reason_text
from report_fixture import write_run
from running import SMALL, simulate

CAPPED = (*SMALL, "device.write_cap=20MB/s", "workload.duration=10s")
pytestmark = pytest.mark.xdist_group("report")


def saved(directory: Path, *overrides: str) -> RunData:
    """Return the data of a run that was written to `directory`."""
    simulate(*overrides).save(directory)
    return load_run(directory)


def test_the_first_screen_tells_the_costliest_stalls(tmp_path: Path) -> None:
    """The five answers hold the costliest cause, the lost operations, the bottleneck, and the job with its own wait."""
    run = saved(tmp_path, *CAPPED)
    text = re.sub(r"<[^>]+>", " ", answers(run))
    first = run.summary["episodes"][0]

    for question in ("What stopped the store?", "For how long?", "Why?", "What would help?", "How sure is that?"):
        assert question in text
    assert causes(run)[0].name == next(iter(run.summary["lost_operations"]["by_cause"]))
    assert f"{count(run.summary['lost_operations']['total'])} operations" in text
    assert "Bottleneck: cap on written bytes" in text
    assert f"(job {first['culprits'][0]['job']})" in text
    assert "which itself waited" in text
    assert "lsmlab advise" in text


def test_the_bottleneck_suggests_what_to_try_first(tmp_path: Path) -> None:
    """A cap or a rate limit is doubled; slots suggest more jobs only if jobs waited for one; the unknown suggests nothing."""
    run = saved(tmp_path, *CAPPED)

    def tries(resource: str, slot: float = 0.0, config: str = "") -> list[str]:
        found = {"resource": resource, "lost_by_cause": {"l0_slowdown": 1.0}, "waits": {"slot": slot}}
        changed = replace(run, summary={**run.summary, "bottleneck": found}, config_text=run.config_text + config)
        return [change.name for change in first_tries(changed)]

    jobs, threads, later = tries("background_slots", slot=0.5)
    assert f"max_background_jobs={2 * run.summary['options']['max_background_jobs']}" == jobs
    assert ("max_subcompactions=4", "level0_slowdown_writes_trigger") == (threads, later.partition("=")[0])
    assert [later, threads, jobs] == tries("background_slots", slot=0.1)
    assert ["device.write_cap=40MB/s"] == [change.name for change in first_tries(run)]
    assert ["device=samsung_pm1743"] == tries("device_bandwidth")
    assert ["max_write_buffer_number=4"] == tries("memtables")
    assert [] == tries("unknown")
    assert "lsmlab whatif" in answers(run)
    assert "device.write_cap=40MB/s" in answers(run)


def test_slots_that_nobody_waited_for_are_doubted(tmp_path: Path) -> None:
    """If the jobs behind the stalls hardly waited for a slot, the page says that more slots may not help."""
    run = saved(tmp_path, *CAPPED)
    texts = []
    for slot in (0.1, 0.5):
        found = {**run.summary["bottleneck"], "resource": "background_slots", "waits": {"slot": slot}}
        texts.append(answers(replace(run, summary={**run.summary, "bottleneck": found})))

    assert ["did not wait for a slot" in text for text in texts] == [True, False]


def test_a_queue_without_stalls_is_told(tmp_path: Path) -> None:
    """An open loop that asks for more than the store serves has a queue: the page does not say that nothing was wrong."""
    run = load_run(write_run(tmp_path / "run", seconds=100))
    calm = replace(run, stalls={name: values[:0] for name, values in run.stalls.items()}, summary={
        **run.summary, "stall_seconds": {}, "episodes": [], "lost_operations": {"total": 0.0, "by_cause": {}},
        "ops_per_s": 1000.0, "device": {"name": "sata", "utilisation": 0.9},
        "conditions": {"changes": [{"at_s": 10.0, "text": "write_bandwidth x 0.25"}]},
    })  # fmt: skip
    backlog = np.where(run.times_s > 60.0, 5000.0, 100.0)
    text = re.sub(r"<[^>]+>", " ", answers(replace(calm, series={**calm.series, "backlog_ops": backlog})))

    assert queued(calm) is None
    assert "No write stall, but operations queued" in text
    assert "Up to 5,000 operations waited. In 40 s of 100 s" in text
    assert "at 10 s write_bandwidth x 0.25" in text
    assert "Nothing to mend" not in text


def test_a_full_device_is_the_reason_of_a_background_error(tmp_path: Path) -> None:
    """The page names the reason of the failed job and what helps; the job that ended the error is not the cause."""
    run = saved(tmp_path, *CAPPED)
    group = {**run.summary["episodes"][0], "cause": "background_error"}
    found = {"resource": "background_error", "text": "a background error: a job had failed", "uses": {}, "waits": {}}
    reasons = np.array(["no_space", *run.jobs["reason"][1:]], dtype=object)
    summary = {**run.summary, "bottleneck": found, "episodes": [group]}
    failed = replace(run, summary=summary, jobs={**run.jobs, "reason": reasons})
    text = re.sub(r"<[^>]+>", " ", answers(failed))

    assert "Reason of the failure: the device was full." in text
    assert "Keep more space free" in text
    assert "until the next job succeeded" in text
    assert "which itself waited" not in text


def test_a_chain_that_covers_only_the_end_of_a_stall_is_told(tmp_path: Path) -> None:
    """If the last jobs of an L0 stall were short, the page names the compaction out of L0 that ran meanwhile."""
    run = load_run(write_run(tmp_path / "run", seconds=100))
    jobs = {
        "kind": np.array(["compaction", "compaction", "flush"], dtype=object), "job": np.array([7, 8, 9]),
        "start_level": np.array([0, 0, -1]), "output_level": np.array([1, 0, 0]), "shard": np.zeros(3, dtype=np.int64),
        "start_s": np.array([10.0, 19.0, 10.0]), "end_s": np.array([25.0, 20.0, 20.0]),
    }  # fmt: skip
    group = {"cause": "l0_slowdown", "start_s": 12.0, "end_s": 20.0, "shard": 0, "chain": {"seconds": 1.0}}
    mine = replace(run, jobs=jobs)

    assert "1 s of 8 s; for 8 s of it ran the compaction from L0 to L1 (job 7)" in beside_the_chain(mine, group)
    assert "" == beside_the_chain(mine, {**group, "chain": {"seconds": 5.0}})
    assert "" == beside_the_chain(mine, {**group, "cause": "memtable_stop"})


def test_a_capped_device_is_not_called_busy(tmp_path: Path) -> None:
    """Where a cap limits the device, page and terminal tell the use of the cap, not that the device was busy."""
    run = saved(tmp_path, *CAPPED)
    fact = next(fact for fact in headline(run) if fact.key == "device.utilisation")

    assert ("use of the cap", "of the cap on written bytes") == (fact.label, fact.note.partition(";")[0])
    assert "of the cap on written bytes used" in device_use(run.summary)
    assert [] == [text for text in summary_sentences(run) if "% busy" in text]
    assert "for the cap on written bytes" in reason_text(run.summary["episodes"][0])


def test_stalls_are_listed_by_lost_operations(tmp_path: Path) -> None:
    """The selector of the job chart lists the costliest stall first, with its cost."""
    run = saved(tmp_path, *CAPPED)
    ranked = run.ranked_stalls()
    stalls = explorer_of(page_of(run).html())["stalls"]

    assert (np.diff(run.stalls["lost_ops"][ranked]) <= 0.0).all()
    assert ranked[0] == stalls["listed"][0]["row"]
    assert " operations lost, " in stalls["listed"][0]["label"]
    assert any("itself waited" in text and "shared with" in text for text in stalls["texts"].values())


def test_a_closed_loop_is_told_what_it_hides(tmp_path: Path) -> None:
    """A closed loop with stalls gets the waits of an open loop; a run without stalls gets no such sentence."""
    assert re.match(r"P99 of writes \(.*\) hides it", closed_loop_sentence(saved(tmp_path / "capped", *CAPPED)))
    assert "" == closed_loop_sentence(saved(tmp_path / "short", *SMALL, "workload.duration=1ms"))


def test_a_short_run_and_unknown_endurance_are_said_in_words(tmp_path: Path) -> None:
    """A run with few compactions out of L0 warns; a device without a rating has an unknown endurance."""
    run = saved(tmp_path, *SMALL, "device=sata", "workload.duration=300ms")

    assert settled_sentence(run).startswith("Not settled: the run is short: ")
    assert "The endurance of the device is unknown" in answers(run)


def test_ties_are_said_in_words(tmp_path: Path) -> None:
    """Two resources in nearly the same full use are a tie."""
    run = load_run(write_run(tmp_path / "run", seconds=100))
    uses = {"device": 0.97, "cores": 0.95, "bandwidth": 0.99, "flush_slots": 1.0}
    tied, apart = (
        replace(run, summary={**run.summary, "bottleneck": {"resource": "device_bandwidth", "uses": mine}})
        for mine in (uses, {**uses, "cores": 0.85})
    )

    assert "the device (97 %) and the cores (95 %)" in tie_sentence(tied)
    assert "" == tie_sentence(apart)
