"""Sentences on a run: its experiment, speed, latency, device and amplification."""

from __future__ import annotations

import re

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.drive_source import drive_sentence_of_run
from lsmlab.reports.headline import endurance_years, writes_and_reads
from lsmlab.reports.palette import CONSUMER_NAMES, CONSUMERS
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.sentences import device_use
from lsmlab.sim.results.conditions import condition_sentences


def lead_sentences(run: RunData) -> list[str]:
    """Return where the drive's speed comes from, the description of the experiment, and what changed or failed meanwhile."""
    found = (drive_sentence_of_run(run), _experiment(run), *condition_sentences(run.summary))
    return [sentence for sentence in found if sentence]


def summary_sentences(run: RunData) -> list[str]:
    """Return sentences on throughput, latency, device and amplification."""
    return [sentence for sentence in (_speed(run), _tail(run), _device(run), _amplification(run)) if sentence]


def _experiment(run: RunData) -> str:
    """Return the description of the experiment, a top-level key of config.yaml; "" without one."""
    found = re.search(r"^description: *(.+(?:\n +.+)*)", run.config_text, re.MULTILINE)
    text = " ".join(found[1].split()).strip("'\"") if found else ""
    return f"Experiment: {text}." if text and text != "null" else ""


def stall_reason(cause: str, run: RunData) -> str:
    """Return the reason of a stall in words, with the value of the option if the run has it."""
    l0_slow, l0_stop = run.option("level0_slowdown_writes_trigger"), run.option("level0_stop_writes_trigger")
    soft, hard = run.option("soft_pending_compaction_bytes_limit"), run.option("hard_pending_compaction_bytes_limit")
    memtables = run.option("max_write_buffer_number")
    return {
        "memtable_stop": f"{_n(memtables, 'all')} memtables were full and waited for their flush",
        "memtable_slowdown": "all memtables but one were full and waited for their flush",
        "l0_stop": f"level 0 had reached {_n(l0_stop, 'too many')} files (the stop trigger)",
        "l0_slowdown": f"level 0 had reached {_n(l0_slow, 'many')} files (the slowdown trigger)",
        "pending_stop": f"pending compaction bytes exceeded {_size(hard, 'the hard limit')} (stop)",
        "pending_slowdown": f"pending compaction bytes exceeded {_size(soft, 'the soft limit')} (slowdown)",
        "background_error": "a flush or compaction had failed, and the database accepted no write",
        "write_buffer_manager_limit": "the memtables of all databases took the whole buffer of the write buffer manager",
        "ingestion": "files were ingested, and the memtables that they overlapped were flushed first",
    }.get(cause, cause.replace("_", " "))


def _n(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else numbers.count(value)


def _size(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else numbers.size(value)


def _speed(run: RunData) -> str:
    rate = run.number("ops_per_s")
    if rate is None:
        return ""
    both = writes_and_reads(run)
    if both:
        writes, reads = (numbers.count(value) for value in both)
        return f"The store did {writes} writes and {reads} reads per second over {numbers.duration(run.operations_s)}."
    return f"The store did {numbers.count(rate)} operations per second over {numbers.duration(run.operations_s)}."


def _tail(run: RunData) -> str:
    p50, p99, p999 = (run.number(f"write_latency_s.{key}") for key in ("p50", "p99", "p999"))
    if p50 is None or p99 is None or p999 is None or p50 <= 0:
        return ""
    text = (
        f"Half of the writes ended within {numbers.seconds(p50)}, 99 % within {numbers.seconds(p99)}, "
        f"99.9 % within {numbers.seconds(p999)}"
    )
    factor = p999 / p50
    return f"{text}: a tail {numbers.count(round(factor))} times the median." if factor >= 10 else f"{text}."


def bytes_by_consumer(run: RunData) -> dict[str, float]:
    """Return the bytes that each consumer read from and wrote to the device during the run."""
    return {
        c: float(np.nansum(run.column(f"read_bytes_{c}_per_s")) + np.nansum(run.column(f"write_bytes_{c}_per_s")))
        for c in CONSUMERS
    }


def _device(run: RunData) -> str:
    """Return the largest consumer of the device; for statistics, which have no clients' bytes over time, what the jobs moved."""
    if run.only_statistics:
        return _moved_by_jobs(run)
    moved = bytes_by_consumer(run)
    total = sum(moved.values())
    if not total or ("import" in run.summary and not len(run.jobs["start_s"])):  # a LOG without its jobs
        return ""
    largest = max(moved, key=lambda c: moved[c])
    names = {"client": "clients", "flush": "flushes", "l0": "compactions of level 0", "deeper": "deeper compactions"}
    assert names.keys() == CONSUMER_NAMES.keys()
    of_all = "were read and written" if "import" in run.summary else "the device read and wrote"
    text = f"Of all bytes that {of_all}, {numbers.percent(moved[largest] / total)} were for {names[largest]}"
    if run.number("device.utilisation") is None:
        return f"{text}."
    return f"{text}. Use of the device over the run: {device_use(run.summary)}."


def _moved_by_jobs(run: RunData) -> str:
    sums = (("flushes wrote", "flush"), ("compactions read", "compaction_read"), ("compactions wrote", "compaction_write"))
    parts = [f"{did} {numbers.size(size)}" for did, name in sums if (size := run.number(f"{name}_bytes")) is not None]
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _amplification(run: RunData) -> str:
    w_amp = run.number("write_amplification")
    if not w_amp:
        return ""
    text = f"Each byte of user data was written {numbers.ratio(w_amp)} times"
    years, device = endurance_years(run), run.summary.get("device")
    if years:
        return f"{text}; at this rate the device's rated writes last {numbers.years(years)}."
    unknown = isinstance(device, dict) and "years_left" in device
    return f"{text}; the endurance of the device is unknown." if unknown else f"{text}."
