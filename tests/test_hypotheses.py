"""What recorded jobs waited for: each limit is found from jobs whose durations follow from it by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from log_sample import Sample
from lsmlab.models.devices.capped import FILE_PIECES, FILE_READS, FILE_WRITES, IO_BYTES, SYNC_WRITES
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import perturbed, read_parameters
from lsmlab.validation.checkout import OWN_CASES
from lsmlab.validation.importer.configuration import infer
from lsmlab.validation.importer.hypotheses import READ_WRITE_CAP, WRITE_CAP, work_of
from lsmlab.validation.importer.importing import summarised
from lsmlab.validation.importer.limits import HypothesisChoice, choose, fit
from lsmlab.validation.importer.reading import read
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

MB = 1e6
SIZES = tuple(np.random.default_rng(1).uniform(0.5, 30.0, 120) * MB)
"""Bytes of the jobs: from less than the allowance of a slice to many of them."""


def chosen(jobs: Sequence[TimedJob], cpu_s: float = 1e-3) -> HypothesisChoice:
    """Choose among all hypotheses."""
    return choose(work_of(jobs, [cpu_s] * len(jobs), reads=True))


def one_by_one(seconds: Callable[[float, int], float], files: Callable[[int], int] = lambda _: 1) -> list[TimedJob]:
    """Return flushes, one after the other; `seconds` gives the duration by bytes and number of files."""
    jobs, now_s = [], 0.0
    for number, size in enumerate(SIZES):
        count = files(number)
        end_s = now_s + seconds(size, count)
        jobs.append(TimedJob("flush", now_s, end_s, files=[(end_s, size / count)] * count))
        now_s = end_s
    return jobs


def pairs(alone_s: Callable[[float], float], crowd: float) -> list[TimedJob]:
    """Return pairs of equal jobs at the same time; a job that takes `alone_s` alone takes `crowd` times as long."""
    jobs, now_s = [], 0.0
    for number, size in enumerate(SIZES):
        together = number % 2 == 0
        end_s = now_s + alone_s(size) * (crowd if together else 1.0)
        jobs += [TimedJob("flush", now_s, end_s, files=[(end_s, size)])] * (2 if together else 1)
        now_s = end_s
    return jobs


def test_a_cap_on_bytes_is_not_one_on_operations() -> None:
    """With files of several sizes, durations in proportion to bytes show a cap on bytes and its rate."""
    found = chosen(one_by_one(lambda size, _: size / (40 * MB), lambda number: 1 + number % 7))

    assert found.best.hypothesis.name in ("write_cap", "read_write_cap", "bandwidth", "requests", "cores")
    assert 40 * MB == pytest.approx(found.best.value, rel=0.05)
    assert "iops_cap" not in {rival.hypothesis.name for rival in found.rivals}


def test_a_cap_on_operations_is_not_one_on_bytes() -> None:
    """Durations in proportion to operations show a cap on operations and its number. Reads of new files take turns."""

    def seconds(size: float, files: int) -> float:
        writes, reads = (FILE_WRITES + FILE_PIECES) * files, (FILE_READS + FILE_PIECES) * files
        return (size / IO_BYTES + writes + 2 * SYNC_WRITES + reads / 3.0) / 500.0

    found = chosen(one_by_one(seconds, lambda number: 1 + number % 7))

    assert "iops_cap" == found.best.hypothesis.name
    assert 500.0 == pytest.approx(found.best.value, rel=0.02)


def test_files_of_one_size_leave_both_caps_open() -> None:
    """Operations are in proportion to bytes if all jobs are alike: the LOG does not tell the caps apart."""
    jobs = [TimedJob("flush", n * 0.1, n * 0.1 + 0.1, files=[(n * 0.1 + 0.1, 4 * MB)]) for n in range(60)]
    found = chosen(jobs)
    names = {found.best.hypothesis.name, *(rival.hypothesis.name for rival in found.rivals)}

    assert {"write_cap", "iops_cap"} <= names


def test_bytes_count_before_operations_that_are_not_decisively_more_likely() -> None:
    """Short jobs vary by a slice of the cap's allowance. Where they favour operations a little, both caps are offered."""
    noise = np.random.default_rng(2).uniform(0.0, 2.0, len(SIZES))
    wait_s = iter(noise * 0.1)
    found = chosen(one_by_one(lambda size, files: size / (40 * MB) + 0.009 * files + next(wait_s), lambda number: 1 + number % 7))
    errors = {fit.hypothesis.name: fit.error for fit in (found.best, *found.rivals)}

    assert found.best.hypothesis.name in ("write_cap", "read_write_cap")
    assert 1.0 < errors[found.best.hypothesis.name] / errors["iops_cap"] < 1.5


def test_short_jobs_at_full_speed_show_a_cap() -> None:
    """An allowance lets short jobs pass at once; no bandwidth or latency explains jobs that are so fast."""
    jobs, now_s = [], 0.0
    for number, size in enumerate(SIZES):
        end_s = now_s + (0.01 if number % 4 == 0 else size / (40 * MB))
        jobs.append(TimedJob("flush", now_s, end_s, files=[(end_s, 3 * MB if number % 4 == 0 else size)]))
        now_s = end_s
    found = chosen(jobs)

    assert {"write_cap", "read_write_cap"} >= {found.best.hypothesis.name}
    assert not {"bandwidth", "requests", "cores"} & {rival.hypothesis.name for rival in found.rivals}


def test_a_shared_bandwidth_is_not_one_per_thread() -> None:
    """Two jobs at a time take twice as long on a device that they share, and no longer if each has its own rate."""
    shared = chosen(pairs(lambda size: size / (200 * MB), 2.0), cpu_s=0.0)
    alone = chosen(pairs(lambda size: size / (200 * MB), 1.0), cpu_s=0.0)
    fits = {found.hypothesis.name: found.value for found in (*alone.rivals, alone.best)}

    assert {"bandwidth", "write_cap", "read_write_cap"} >= {shared.best.hypothesis.name}
    assert 200 * MB == pytest.approx(shared.best.value, rel=0.05)
    assert {"requests", "latency", "cores"} >= fits.keys()
    assert 200 * MB == pytest.approx(fits["requests"], rel=0.05)
    assert 2**20 / (200 * MB) == pytest.approx(fits["latency"], rel=0.1)


def test_jobs_that_share_a_core_have_no_cap() -> None:
    """Jobs that compute all the time and take twice as long in pairs wait for a core, whatever number of bytes they write."""
    jobs = pairs(lambda size: 0.01 + (size % MB) / MB, 2.0)
    crowd = [1 + (number % 3 != 2) for number in range(len(jobs))]
    cpu_s = [0.95 * (job.end_s - job.start_s) / n for job, n in zip(jobs, crowd, strict=True)]

    assert "cores" == choose(work_of(jobs, cpu_s, reads=True)).best.hypothesis.name


def test_reads_and_writes_take_turns_under_caps_on_both() -> None:
    """A lone compaction under equal caps takes 4/3 of the time of its writes; a cap on writes alone is too slow."""
    merges = []
    now_s = 0.0
    for size in SIZES:
        end_s = now_s + size / (80 * MB) * 4.0 / 3.0
        merges.append(TimedJob("compaction", now_s, end_s, read_bytes=size, files=[(end_s, size)]))
        now_s = end_s
    work = work_of(merges, [1e-3] * len(merges), reads=True)

    assert 80 * MB == pytest.approx(fit(work, READ_WRITE_CAP).value, rel=0.02)
    assert 60 * MB == pytest.approx(fit(work, WRITE_CAP).value, rel=0.02)


def test_work_counts_the_operations_of_each_thread() -> None:
    """A subcompaction is a thread with an equal part of the job; its operations are those that a cap counts."""
    job = TimedJob("compaction", 0.0, 1.0, read_bytes=8e6, parts=2, files=[(1.0, 2e6)] * 4)
    work = work_of([job], [0.5], reads=True)

    assert [0.25, 0.25] == list(work.cpu_s)
    assert 8e6 / IO_BYTES + 4 * (FILE_READS + FILE_PIECES) == pytest.approx(work.read_ops.sum())
    assert 8e6 / IO_BYTES + 4 * (FILE_WRITES + FILE_PIECES) + 2 * SYNC_WRITES == pytest.approx(work.write_ops.sum())
    assert 0.0 == work_of([job], [0.5], reads=False).read_bytes.sum()


def _limited_log(folder: Path, *, limiter: bool = False) -> Path:
    """Write a LOG with direct I/O of a store whose jobs took their recorded times."""
    text = Sample().run(60).text
    direct = "".join(f"Options.{name}: 1\n" for name in ("use_direct_reads", "use_direct_io_for_flush_and_compaction"))
    head, mark, rest = text.partition("[db/column_family.cc:630]")
    line = head[: head.index("\n")].split(" ", 2)
    stamp = " ".join(line[:2])
    stamped = "".join(f"{stamp} {text}\n" for text in direct.splitlines())
    start = head.rindex("\n") + 1
    text = head[:start] + stamped + head[start:] + mark + rest
    if limiter:
        text = text.replace("Options.rate_limiter: (nil)", "Options.rate_limiter: 0x5617f0")
    (folder / "LOG").write_text(text)
    return folder / "LOG"


def test_a_rate_limiter_stays_one_beside_an_options_file(tmp_path: Path) -> None:
    """An OPTIONS file does not tell whether a store has a rate limiter; the LOG's header beside it does."""
    (tmp_path / "OPTIONS").write_text(
        "[Version]\n  rocksdb_version=7.8.3\n[DBOptions]\n  use_direct_reads=true\n"
        "  use_direct_io_for_flush_and_compaction=true\n[CFOptions \"default\"]\n  write_buffer_size=1048576\n"
    )  # fmt: skip
    limited = read(_limited_log(tmp_path, limiter=True), tmp_path / "OPTIONS")
    free = read(_limited_log(tmp_path), tmp_path / "OPTIONS")

    assert limited.rate_limiter_unknown
    assert not free.rate_limiter_unknown


def test_writes_end_when_the_store_begins_to_close(tmp_path: Path) -> None:
    """A close that waits ten seconds for a compaction does not lower the rate of the clients."""
    sample = Sample()
    sample.open()
    sample.fill(20)
    sample.say("[db/db_impl/db_impl.cc:512] Shutdown: canceling all background work", 7000)
    sample.now_us += 10_000_000
    sample.flush()
    sample.say("[db/db_impl/db_impl.cc:704] Shutdown complete", 7000)
    (tmp_path / "LOG").write_text(sample.text)
    reading = read(tmp_path / "LOG")

    assert reading.writes_until_s == pytest.approx(reading.seconds(reading.end_us) - 10.0, abs=0.1)
    assert summarised(reading).workload.until_s == pytest.approx(reading.writes_until_s)


def test_what_the_log_does_not_exclude_widens_the_interval() -> None:
    """The rival of a cap on bytes is named in a note and becomes the second of the pair of perturbed configurations."""
    reading = read(OWN_CASES / "test" / "hdd_like" / "1" / "LOG.xz")
    imported = summarised(reading)
    inferred = infer(reading, imported.workload, imported.estimates)
    found, rival = inferred.device["write_cap"], inferred.parameters.alternative["limits.iops_cap"][1]

    assert any("a cap on bytes" in note and "does not exclude a cap on operations" in note for note in imported.estimates.notes)
    limits = {key: pair for key, pair in inferred.parameters.alternative.items() if key != "host.cores"}
    assert {"limits.write_cap": (found, None), "limits.iops_cap": (None, rival)} == limits
    instead = {"limits.write_cap": None, "limits.iops_cap": rival}
    config = {"host": {}, "device": {}, "limits": {"write_cap": found}, "parameters": {"alternative": instead}}
    assert [{"write_cap": found}, {"write_cap": None, "iops_cap": rival}] == [c["limits"] for c in perturbed(config)]


def test_an_alternative_counts_only_for_the_limits_that_it_replaces(tmp_path: Path) -> None:
    """A what-if with another limit has no alternative; the alternative of a set is a pair of values per key."""
    place = tmp_path / "parameters" / "ours.yaml"
    place.parent.mkdir()
    place.write_text("version: 1\nalternative:\n  limits.iops_cap: [500, null]\n  limits.write_cap: [null, 1000000]\n")
    ours, cap = "host.parameters=ours", "limits.iops_cap=500"

    assert {"limits.iops_cap": None, "limits.write_cap": 1000000} == compose([ours, cap], [tmp_path])["parameters"]["alternative"]
    assert "alternative" not in compose([ours, "limits.iops_cap=600"], [tmp_path])["parameters"]
    place.write_text("version: 1\nalternative: {iops_cap: 500}\n")
    with pytest.raises(InputError, match=r"alternative.iops_cap: must be a key of limits, device or host with a pair"):
        read_parameters("ours", [tmp_path])
