"""Groups of public runs are predicted from constants that were fitted without their LOGs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.errors import InputError
from lsmlab.validation.calibrate import public_groups
from lsmlab.validation.calibrate.group_out import GroupOut, group_table
from lsmlab.validation.calibrate.job_costs import job_cpu
from lsmlab.validation.calibrate.public import fit_logs, main
from lsmlab.validation.calibrate.public_fits import (
    Copies,
    Fit,
    Machine,
    Source,
    copies_fit,
    core_contention_fit,
    jackknife,
    solved,
    statistics_fit,
    tied_costs,
    write_fit,
)
from lsmlab.validation.calibrate.public_groups import GROUPS, constants_of, leave_public_group_out
from lsmlab.validation.casefiles.case import Case, case_from_mapping
from lsmlab.validation.logs.history.fills import Fill
from lsmlab.validation.logs.timings.job_records import JobLog
from lsmlab.validation.logs.timings.jobs import Job

FIRST_DAY, SECOND_DAY = "20GB, 15 March 2022", "ycsb, 18 March 2022"
"""Sessions of runs whose paths begin with disk_type_influence and ycsb_test."""


def case(name: str, drive: str, folder: str = "disk_type_influence", value_size: int = 1000, **device: Any) -> Case:
    """Return a public run of the machine that wrote 1e6 entries; its path begins with `folder`."""
    mapping = {
        "name": name,
        "source": f"supermt/quicksand_results {folder}/{name}: RocksDB 6.4.0",
        "store": {"version": "6.4", "preset": "db_bench", "options": {"max_background_jobs": 2}},
        "host": {"parameters": "xeon_6230"},
        "device": {"base": drive, **device},
        "workload": {"base": "fillrandom", "value_size": value_size, "num": 1_000_000},
        "measured": {"ops_per_s": 1e5},
    }
    return case_from_mapping(mapping, Path())


def source(name: str, drive: str, jobs: Sequence[Job] = (), *, session: str = FIRST_DAY, timed: bool = False) -> Source:
    """Return the LOG of a run."""
    log = JobLog(list(jobs), timed, [])
    return Source(name, drive, session, capped=False, statistics=False, log=log, output="", run_bytes=1e11)


def machine(drives: Sequence[str], host: Mapping[str, float], session: str = FIRST_DAY) -> Machine:
    """Return constants of a host, and of drives that wrote 500 MB/s on average and 400 MB/s in one session."""
    fitted = {drive: Fit({"write_bandwidth": 5e8, "fsync_latency": 2e-3}) for drive in drives}
    return Machine(Fit(dict(host)), fitted, {session: {drive: {"write_bandwidth": 4e8} for drive in drives}})


class Fits:
    """Fit that records which LOGs it got, and the overrides of each simulated run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.logs: list[list[str]] = []
        self.simulated: dict[str, list[Sequence[str]]] = {}
        monkeypatch.setattr(public_groups, "errors_with", self._errors)

    def __call__(self, used: Sequence[Source], drives: Sequence[Source]) -> Machine:
        """Return constants of the drives of `used`; the fewer LOGs, the shorter a write."""
        self.logs.append([s.name for s in (*used, *drives)])
        return machine(sorted({s.device for s in used}), {"write_op": len(used) * 1e-6})

    def _errors(self, case: Case, overrides: Sequence[str], seeds: Sequence[int]) -> dict[str, float]:
        self.simulated.setdefault(case.name, []).append([*case.overrides, *overrides])
        return {"ops_per_s": 0.1}


def test_a_drive_is_predicted_from_the_other_drives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit has no LOG of the drive, nor one that tells only its bandwidth in a session; all its runs are predicted."""
    fits = Fits(monkeypatch)
    cases = [case("a", "sata"), case("b", "sata"), case("c", "nvme"), case("d", "sata", "ycsb_test")]
    used, drives = [source("a", "sata"), source("c", "nvme")], [source("d", "sata")]

    groups = {group.kind: group for group in leave_public_group_out(cases, used, drives, fits)}

    assert [["a", "c", "d"], ["a", "d"], ["c"]] == fits.logs
    assert ("a", "d") == groups["a SATA SSD"].left_out
    assert {"a", "b", "d"} == groups["a SATA SSD"].errors.keys()
    assert ("device.fsync_latency", "device.write_bandwidth") == groups["a SATA SSD"].at_prior
    assert list(groups) == ["an NVMe SSD", "a SATA SSD"], "values of 1000 bytes: no LOG would be left"


def test_a_range_without_a_log_needs_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no run of a group has a LOG, the constants are those fitted to all, and each run is simulated once."""
    fits = Fits(monkeypatch)
    cases = [case("a", "nvme"), case("b", "nvme", write_cap="400MiB/s"), case("c", "sata", value_size=100)]

    groups = list(leave_public_group_out(cases, [source("a", "nvme"), source("x", "sata")], [], fits))

    assert [("an NVMe SSD", 1), ("a SATA SSD", 0), ("values of 100 bytes and less", 0)] == [
        (group.kind, len(group.left_out)) for group in groups[:3]
    ]
    assert ["values of 1000 bytes and more", "a cap on device writes"] == [group.kind for group in groups[3:]]
    assert [["a", "x"], ["x"], ["x"]] == fits.logs, "all, without the NVMe SSD, without values of 1000 bytes"
    assert 1 == len(fits.simulated["c"])


def test_a_drive_left_out_has_the_constants_of_its_class() -> None:
    """Neither the parameter set of the machine nor the session, which know the drive, give a constant of it."""
    run = case("a", "sata", write_bandwidth=123e6)

    predicted = public_groups._without_session(run).config(constants_of(run, "sata", machine(["nvme"], {"write_op": 5e-7})))

    plain = case_from_mapping(
        {"store": {"version": "6.4"}, "device": {"base": "sata"}, "workload": {"base": "fillrandom"}}, Path()
    ).config()
    assert plain["device"] == predicted["device"]
    assert {**plain["host"], "write_op": "500ns"} == predicted["host"], "what was not fitted is the default"


def test_a_drive_has_the_bandwidth_of_the_session() -> None:
    """A session without a LOG has the drive's mean."""
    fitted = machine(["sata"], {})

    assert "device.write_bandwidth=400MB/s" in constants_of(case("a", "sata"), "sata", fitted)
    assert "device.write_bandwidth=500MB/s" in constants_of(case("a", "sata", "ycsb_test"), "sata", fitted)
    assert "device.fsync_latency=2ms" in constants_of(case("a", "sata", "ycsb_test"), "sata", fitted)


def test_a_run_on_a_hard_disk_has_the_speed_of_its_tracks() -> None:
    """Runs of a session that followed each other are told apart by their jobs, or by the limit on their client's rate."""
    speeds = {"hdd": 400e6, "hdd/2": 300e6, "hdd/5": 200e6}
    fitted = replace(machine(["hdd"], {}), sessions={FIRST_DAY: {key: {"write_bandwidth": rate} for key, rate in speeds.items()}})
    limited = replace(case("a", "hdd"), overrides=(*case("a", "hdd").overrides, "workload.benchmark_write_rate_limit=5MB/s"))
    more_jobs = replace(case("a", "hdd"), overrides=(*case("a", "hdd").overrides, "engine.options.max_background_jobs=4"))

    assert "device.write_bandwidth=300MB/s" in constants_of(case("a", "hdd"), "hdd", fitted)
    assert "device.write_bandwidth=200MB/s" in constants_of(limited, "hdd", fitted)
    assert "device.write_bandwidth=400MB/s" in constants_of(more_jobs, "hdd", fitted)


@pytest.mark.parametrize(
    ("changes", "groups"),
    [
        ({"drive": "pmem"}, {"persistent memory", "values of 1000 bytes and more"}),
        ({"drive": "hdd", "value_size": 100}, {"a hard disk", "values of 100 bytes and less"}),
        ({"drive": "nvme", "write_cap": "400MiB/s"}, {"an NVMe SSD", "values of 1000 bytes and more", "a cap on device writes"}),
    ],
)
def test_groups_of_a_run(changes: dict[str, Any], groups: set[str]) -> None:
    """A run is in each group whose condition its configuration meets."""
    config = case("a", **changes).config()

    assert groups == {group for group, of_group in GROUPS.items() if of_group(config)}


@pytest.mark.parametrize(
    ("override", "group"),
    [
        ("workload=filluniquerandom", "a YCSB load"),
        ("workload=readwhilewriting", "clients that read"),
        ("workload.benchmark_write_rate_limit=5000000", "a limit on the client's rate"),
        ("engine.options.max_background_jobs=8", "4 to 8 background jobs"),
        ("engine.options.max_background_jobs=20", "10 to 20 background jobs"),
    ],
)
def test_groups_of_loads(override: str, group: str) -> None:
    """Each of these groups is a change of one setting."""
    run = case("a", "nvme")

    assert GROUPS[group](run.config([override]))
    assert not GROUPS[group](run.config())


def test_a_machine_without_cases_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to give instead."""
    with pytest.raises(InputError, match="another folder by --data"):
        list(leave_public_group_out([], [source("a", "nvme")], [], Fits(monkeypatch)))


@pytest.mark.parametrize("option", [[], ["--leave-group-out"]])
def test_missing_data_are_one_line(option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with code 2 and names the file that is missing."""
    assert main(["--data", str(tmp_path / "public_runs"), *option]) == 2

    shown = capsys.readouterr()
    assert "" == shown.out
    assert 1 == shown.err.count("\n")
    assert "no such file" in shown.err


def test_the_set_is_not_written_from_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--write replaces the constants by those fitted to all LOGs; it excludes --leave-group-out."""
    assert main(["--data", str(tmp_path), "--write", "--leave-group-out"]) == 2
    assert "not allowed with" in capsys.readouterr().err


def test_the_table_compares_with_nothing_left_out() -> None:
    """A column shows the errors of throughput of the same runs in the fit to all LOGs."""
    group = GroupOut("a SATA SSD", ("a",), {"a": {"ops_per_s": -0.2}}, ("device.fsync_latency",), {"a": {"ops_per_s": 0.1}})

    assert group_table([group]).splitlines() == [
        "| runs with | runs | left out of the fit | throughput | W-Amp | stall | throughput, nothing left out | "
        "constants that only these determine |",
        "|---|---|---|---|---|---|---|---|",
        "| a SATA SSD | 1 | 1 | 20.0 / 20.0 / 20.0 % |  |  | 10.0 / 10.0 / 10.0 % | device.fsync_latency |",
    ]


def flush(start_s: float, entries: float, entry_bytes: float) -> Job:
    """Return a flush of 1 s and a commit of 10 ms, of which the fsync takes 0.4 s."""
    job = Job("flush", start_s, start_s + 1.01, entries, entries * entry_bytes, output_bytes=64e6, sync_s=0.4)
    job.files = [(start_s + 1.0, 64e6)]
    return job


def merge(start_s: float, entries: float, entry_bytes: float, host: Host, runs: int) -> Job:
    """Return a compaction whose CPU time is that of `host`, and whose fsync takes 0.4 s."""
    job = Job("compaction", start_s, 0.0, entries, entries * entry_bytes, output_bytes=64e6, runs=runs)
    job.cpu_s = job_cpu(job, host).seconds(host)
    job.wall_s = job.cpu_s + 0.4
    job.end_s = start_s + job.wall_s
    job.files = [(job.end_s - 0.01, 64e6)]
    return job


def test_a_fit_without_persistent_memory_leaves_the_rest_at_the_defaults() -> None:
    """Copies, sleeps and core contention show on persistent memory only; other drives still give the other constants."""
    host = Host(cores=40.0, job_start=1e-4, file_overhead=1.5e-4, compaction_record=0.2e-6, compaction_byte=1e-9)
    sizes, rng = {"x": 108.0, "y": 1008.0, "z": 1008.0}, np.random.default_rng(1)
    used = [
        source(
            f"rate-limited/{name}", "nvme", session=f"day {name}", timed=False,
            jobs=[flush(0.0, 6e4, size), *(
                merge(10.0 * k, rng.uniform(1e5, 1e6), size, host, int(rng.integers(2, 9))) for k in range(1, 9)
            )],
        )
        for name, size in sizes.items()
    ]  # fmt: skip

    found = fit_logs(used, [])

    assert {"nvme"} == found.drives.keys()
    assert not {"cold_start", "core_contention", "write_op", "sleep_penalty"} & found.host.values.keys()
    assert {"compaction_record": 0.2e-6, "compaction_byte": 1e-9} == pytest.approx(
        {name: found.host.values[name] for name in ("compaction_record", "compaction_byte")}, rel=0.02
    )
    assert {f"day {name}" for name in sizes} == found.sessions.keys()
    assert not [key for key in found.constants("pmem") if key.startswith("device.")]


def test_copies_are_unknown_without_persistent_memory() -> None:
    """Then a LOG whose CPU times lack the copies does not show the CPU time of compactions; others do."""
    unknown = copies_fit([source("a", "nvme", timed=True)])

    assert Copies(None, None) == unknown
    assert [False, True, False] == [
        unknown.shows_compactions(source("a", drive, timed=timed))
        for drive, timed in (("nvme", True), ("nvme", False), ("pmem", False))
    ]
    assert Copies(2e9, 1e-9).shows_compactions(source("a", "pmem"))


def test_entries_of_one_size_keep_the_proportion_of_the_defaults() -> None:
    """Flushes of entries of one size that take 1.5 times the defaults give 1.5 times both defaults."""
    flushes = [flush(0.0, entries, 1016.0) for entries in (1e4, 3e4, 6e4)]
    measured = [(job_cpu(job, Host()), 1.5 * job_cpu(job, Host()).seconds(Host())) for job in flushes]
    tied = tied_costs("flush", [source("a", "nvme", flushes)])

    found = solved(measured, Host(), tied=tied)

    assert {"host.flush_byte": "host.flush_record"} == tied
    assert {} == tied_costs("flush", [source("a", "nvme", [*flushes, flush(0.0, 1e4, 116.0)])])
    assert {"host.flush_record": 1.5 * Host().flush_record, "host.flush_byte": 1.5 * Host().flush_byte} == pytest.approx(found)


def test_a_fit_to_nothing_is_empty() -> None:
    """Without a run that shows it, a constant is missing."""
    assert ({}, {}) == jackknife(lambda left: {"host.write_op": 1.0}, [])


def test_copies_of_reads_need_io_statistics() -> None:
    """LOGs on persistent memory that time fsyncs, but have no I/O statistics or no compaction, give the copies to it only."""
    without = [source("a", "pmem", [flush(0.0, 6e4, 1016.0), merge(5.0, 1e5, 1016.0, Host(), 2)])]
    no_compaction = [source("b", "pmem", [flush(0.0, 6e4, 1016.0)], timed=True)]

    assert Copies(64e6 / 0.4, None) == copies_fit(without) == copies_fit(no_compaction)
    assert not copies_fit(without).shows_compactions(source("c", "nvme", timed=True))


def histogram(micros: float) -> str:
    """Return db_bench's output of a load whose writes took `micros` us: 99 in 100 a bucket of 1 us, one a sleep of 1 to 2 ms."""
    low = int(micros)
    return f"\nfillrandom : 1 micros/op\n[ {low:6}, {low + 1:6} ] 99000 99%\n( 870, 1300 ] 1000 1%\nDB path: [/x]\n"


def test_statistics_show_only_beside_runs_without_them() -> None:
    """If all loads kept statistics, a write has the default cost of statistics, and the rest of the time is its own."""
    with_, without = (replace(source("throttled/a", "nvme"), statistics=on, output=histogram(4.0 + on)) for on in (True, False))
    mute = source("throttled/b", "nvme")

    alone = write_fit([with_, replace(with_), mute], Host())
    beside = write_fit([with_, without], Host())

    assert "host.statistics_op" not in alone
    total_s = alone["host.write_op"] + 0.01 * alone.get("host.sleep_penalty", 0.0)
    assert 0.99 * 6e-6 == pytest.approx(total_s + Host().statistics_op, rel=0.01)
    assert 0.99e-6 == pytest.approx(beside["host.statistics_op"], rel=0.02)
    assert {} == write_fit([mute], Host())


def test_fills_tell_the_cost_of_statistics() -> None:
    """A put takes 0.8 us longer in loads with statistics than in others of the same drive; one kind of load tells nothing."""

    def load(drive: str, micros: float, *, statistics: bool) -> Source:
        filled = source("throttled/a", drive)
        filled.log.fills = [Fill(0, round(1e5 * (micros + 0.1 * (i % 3))), 1e5) for i in range(9)]
        return replace(filled, statistics=statistics)

    with_, without = load("nvme", 3.8, statistics=True), load("nvme", 3.0, statistics=False)
    slow = [load("hdd", 9.0, statistics=True), load("hdd", 5.0, statistics=False)]  # waits for the drive
    other = [load("sata", 4.0, statistics=True), load("sata", 3.2, statistics=False)]

    known, unsure = statistics_fit([with_, without])
    of_three, error = statistics_fit([with_, without, *slow, *other])

    assert {"host.statistics_op": pytest.approx(0.8e-6)} == known == of_three
    assert {} == unsure  # one drive
    assert {"host.statistics_op": pytest.approx(np.std([0.8e-6, 4e-6, 0.8e-6], ddof=1) / 3.0**0.5)} == error
    assert ({}, {}) == statistics_fit([with_, slow[1]]) == statistics_fit([without])


def test_a_known_cost_of_statistics_is_not_fitted_again() -> None:
    """Of a mean of 6 us in a histogram with statistics that cost 0.8 us, the write itself gets the rest."""
    with_ = replace(source("throttled/a", "nvme"), statistics=True, output=histogram(5.0))

    found = write_fit([with_], Host(), statistics_op_s=0.8e-6)

    assert "host.statistics_op" not in found
    assert 0.99 * 6e-6 - 0.8e-6 == pytest.approx(found["host.write_op"] + 0.01 * found.get("host.sleep_penalty", 0.0), rel=0.01)


def test_fills_without_histograms_give_statistics_and_no_cost_of_a_write() -> None:
    """LOGs without db_bench's output tell how much longer a put takes with statistics, not what it takes."""
    used = [source(f"throttled/{name}", "nvme", [flush(0.0, 6e4, 1016.0)]) for name in "ab"]
    for one, micros in zip(used, (3.0, 3.8), strict=True):
        one.statistics = micros > 3.0
        one.log.fills = [Fill(0, round(1e5 * micros), 1e5)]

    found = fit_logs(used, []).host.values

    assert 0.8e-6 == pytest.approx(found["statistics_op"])
    assert "write_op" not in found


def test_a_log_tells_the_speeds_of_the_runs_that_followed() -> None:
    """The run with two jobs wrote at 110 MB/s, on the inner tracks; 100 GB later a run begins at the outer ones again."""
    slow = [
        Job(kind="flush", start_s=at, end_s=at + 5.0, raw_bytes=1e8, sync_s=4.0, files=[(at + 4.9, 4.4e8)])
        for at in 10.0 * np.arange(40)
    ]
    used = [
        source("throttled/none-20M-2-hdd", "hdd", slow, timed=True),
        source("throttled/another", "hdd", slow, timed=True, session=SECOND_DAY),
    ]

    found = fit_logs(used, []).sessions

    assert {"hdd", *(f"hdd/{jobs}" for jobs in range(2, 21, 2))} == found[FIRST_DAY].keys()
    assert {"hdd"} == found[SECOND_DAY].keys(), "its known run has no LOG"
    speeds = {label: found[FIRST_DAY][f"hdd/{label}"]["write_bandwidth"] for label in (2, 4, 6)}
    assert 110e6 == pytest.approx(speeds[2], rel=0.02)
    assert speeds[2] < speeds[6] < speeds[4]


def test_core_contention_is_not_negative() -> None:
    """Compactions with subcompactions that cost less per entry than others show no contention."""
    jobs = [Job(records=1e6, raw_bytes=1e9, cpu_s=cpu_s, parts=n, kind="compaction") for n, cpu_s in ((1, 1.0), (10, 0.9))]

    assert {"host.core_contention": 0.0} == core_contention_fit([source("a", "pmem", jobs)], {}, Host())


def jobs_of_a_day(entry_bytes: float) -> list[Job]:
    """Return a flush and eight compactions of entries of one size."""
    rng = np.random.default_rng(2)
    merges = (merge(10.0 * k, rng.uniform(1e5, 1e6), entry_bytes, Host(), int(rng.integers(2, 9))) for k in range(1, 9))
    return [flush(0.0, 6e4, entry_bytes), *merges]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("left", "drive_shows", "host_lacks"),
    [
        ("no uncapped LOG of the drive", {"write_bandwidth"}, "write_op"),
        ("no LOG with an fsync", set(), "flush_record"),
        ("no LOG that shows compactions", {"fsync_latency", "write_bandwidth"}, "compaction_record"),
        ("no LOG that shows the copies of compactions", {"fsync_latency"}, "compaction_record"),
        ("no LOG with an output", {"fsync_latency", "write_bandwidth"}, "write_op"),
    ],
)
def test_a_fit_without_the_last_log_of_a_kind(left: str, drive_shows: set[str], host_lacks: str) -> None:
    """The constants of the drive and of the host that no LOG shows are missing, and so stay at their defaults."""
    jobs = jobs_of_a_day(1016.0)
    plain = source("throttled/a", "nvme", jobs)
    of = {
        "no uncapped LOG of the drive": replace(plain, capped=True),
        "no LOG with an fsync": source("throttled/a", "nvme", [replace(jobs[1], output_bytes=0.0)]),
        "no LOG that shows compactions": source("throttled/a", "nvme", jobs, timed=True),
        "no LOG that shows the copies of compactions": source(
            "throttled/a", "pmem", [replace(job, sync_s=None) for job in jobs], timed=True
        ),
        "no LOG with an output": plain,
    }

    found = fit_logs([of[left]], [])

    ((name, drive),) = found.drives.items()
    assert drive_shows == drive.values.keys()
    assert host_lacks not in found.host.values
    assert all(np.isfinite([*drive.values.values(), *found.host.values.values()]))
    assert case("a", name).config(constants_of(case("a", name), name, found))
