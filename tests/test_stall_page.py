"""The page of a run tells what stalls cost and why: the story, the order of stalls, and the tooltips of their bands."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from explorer_pack import explorer_of
from lsmlab.reports import numbers
from lsmlab.reports.answers.conclusion import COLUMNS, conclude
from lsmlab.reports.answers.confidence import confidence, settled_sentence, tie_sentence
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
    """A cap is doubled; slots suggest more jobs; memtables, more and larger ones; the unknown suggests nothing."""
    run = saved(tmp_path, *CAPPED)

    def tries(resource: str, config: str = "") -> list[str]:
        found = {"resource": resource, "lost_by_cause": {"l0_slowdown": 1.0}}
        changed = replace(run, summary={**run.summary, "bottleneck": found}, config_text=run.config_text + config)
        return [change.name for change in first_tries(changed)]

    jobs, threads, later = tries("background_slots")
    assert f"max_background_jobs={2 * run.summary['options']['max_background_jobs']}" == jobs
    assert ("max_subcompactions=4", "level0_slowdown_writes_trigger") == (threads, later.partition("=")[0])
    assert ["device.write_cap=40MB/s"] == [change.name for change in first_tries(run)]
    assert ["device=samsung_pm1743"] == tries("device_bandwidth")
    assert ["max_write_buffer_number", "write_buffer_size"] == [name.partition("=")[0] for name in tries("memtables")]
    assert [] == tries("unknown")
    assert "lsmlab whatif" in answers(run)
    assert "device.write_cap=40MB/s" in answers(run)


def test_the_page_divides_the_stalled_time(tmp_path: Path) -> None:
    """Each large part of the stalled time is a line with its share and seconds, and they are parts of the headline's time."""
    run = saved(tmp_path, *CAPPED)
    text = re.sub(r"<[^>]+>", "|", answers(run))
    held = {name: sum(jobs.values()) for name, jobs in run.summary["stall_waits_s"].items()}
    first = max(held, key=lambda name: held[name])

    assert "write_cap" == first
    assert f"|Of the {numbers.seconds(sum(held.values()))} stalled:|" in text
    assert re.search(rf"\|{numbers.percent(held[first] / sum(held.values()))} waited for the cap on written bytes in ", text)
    assert f"in {run.summary['stalls']:,} stalls, which cost" in text


def test_stalls_without_times_are_not_called_none(tmp_path: Path) -> None:
    """Statistics without events tell how long writers were stalled, not when: the page says so, and claims no reason."""
    run = load_run(write_run(tmp_path / "run", seconds=100))
    sums = {"stall_seconds": {"l0_slowdown": 0.0}, "stall_fraction": 0.81, "stall_count": {"l0_slowdown": 311}}
    stalls = {name: values[:0] for name, values in run.stalls.items()}
    unseen = replace(run, stalls=stalls, summary={**run.summary, **sums, "episodes": [], "import": {}, "counted_from": "tables"})
    text, conclusion = re.sub(r"<[^>]+>", " ", answers(unseen)), conclude(unseen)

    assert "Write stalls, but their times are unknown" in text
    assert conclusion.answer.startswith("Write stalls, but their times are unknown: 81 % of the time")
    assert conclusion.why == ["The input does not show which jobs ran during the stalls."]
    assert "L0 files: slowdown 311" in text
    assert "81 % of the time" in text
    assert "is RocksDB's own sum" in html.unescape(text)
    claims = ("As sure as the model", "No stall, no reason", "Nothing to mend", "Nothing: no write stalls")
    assert not [claim for claim in claims if claim in text]


def test_a_log_is_not_as_sure_as_the_model(tmp_path: Path) -> None:
    """The confidence of a LOG says what a LOG shows and what it does not, and nothing about seeds or the model."""
    run = load_run(write_run(tmp_path / "run", seconds=100))
    headline, sentences = confidence(replace(run, summary={**run.summary, "import": {}}))
    text = " ".join(sentences)

    assert "the use of device and cores is not in it" in headline
    assert "It does not show what a job waited for" in text
    assert not [word for word in ("seed", "model's own error", "simulat") if word in text]


def test_a_queue_without_stalls_is_told(tmp_path: Path) -> None:
    """An open loop that asks for more than the store serves has a queue: the page does not say that nothing was wrong."""
    run = load_run(write_run(tmp_path / "run", seconds=100))
    calm = replace(run, stalls={name: values[:0] for name, values in run.stalls.items()}, summary={
        **run.summary, "stall_seconds": {}, "stall_fraction": 0.0, "stall_count": {}, "episodes": [],
        "lost_operations": {"total": 0.0, "by_cause": {}},
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
    found = {"resource": "background_error", "text": "a background error: a job had failed", "uses": {}}
    reasons = np.array(["no_space", *run.jobs["reason"][1:]], dtype=object)
    summary = {**run.summary, "bottleneck": found, "episodes": [group]}
    failed = replace(run, summary=summary, jobs={**run.jobs, "reason": reasons})
    text = re.sub(r"<[^>]+>", " ", answers(failed))

    assert "Reason of the failure: the device was full." in text
    assert "Keep more space free" in text
    assert "until the next job succeeded" in text
    assert "which itself waited" not in text


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


@pytest.mark.parametrize("load", [CAPPED, ("workload=constant", "workload.num=10k", "workload.duration=2s")])
def test_a_conclusion_needs_few_columns(load: tuple[str, ...], tmp_path: Path) -> None:
    """The conclusion from the columns that `lsmlab run --json` reads is that from all tables, with and without stalls."""
    assert conclude(saved(tmp_path, *load)) == conclude(load_run(tmp_path, COLUMNS))
    assert set(load_run(tmp_path, COLUMNS).series) == {"t_s", "backlog_ops"}
