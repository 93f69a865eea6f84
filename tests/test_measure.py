"""Measuring a machine: what follows from times, refusals, cleaning up, the file, and its use. No test depends on speed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import read_parameters
from lsmlab.sim.studies.baseline import changed
from lsmlab.validation.calibrate.fit import Calibration, equations_of, fit_runs
from lsmlab.validation.calibrate.recorded import read_run
from lsmlab.validation.calibrate.solve import Equation, FitConstant, solve_pinned
from lsmlab.validation.casefiles.case import read_case
from lsmlab.validation.measure import busy, drive, measuring
from lsmlab.validation.measure.drive import DriveFacts, drive_facts, end_of_burst
from lsmlab.validation.measure.drive_io import FileDrive
from lsmlab.validation.measure.machine_file import MeasuredMachine, machine_text
from lsmlab.validation.measure.nearest import nearest
from lsmlab.validation.measure.patterns import Pattern, Timing
from lsmlab.validation.measure.place import check_room, disk_below, remove_old, work_folder
from lsmlab.validation.measure.request import MeasureRequest
from lsmlab.validation.measure.stages import STAGES, chosen
from lsmlab.validation.recorder.drivers import DB_BENCH, ROCKSDICT
from lsmlab.validation.recorder.limits import DiskCounters
from lsmlab.validation.recorder.speed import Speed

ROOT = Path(__file__).parents[1]
TINY = drive.Effort(16 << 20, 0.01, 0.02)
TAKE = drive.take


class FakeDrive:
    """Drive whose times follow from its constants: latency plus bytes over bandwidth, and limits."""

    def __init__(
        self, *, bandwidth: float = 1e9, latency_s: float = 50e-6, most: float = 1e9, fsync_s: float = 2e-3, iops: float = 1e5,
        caps: bool = False, drop: float | None = None,
    ) -> None:  # fmt: skip
        self.size_bytes = TINY.file_bytes
        self.bandwidth, self.latency_s, self.most, self.fsync_s, self.iops = bandwidth, latency_s, most, fsync_s, iops
        self.caps, self.drop = caps, drop

    def perform(self, patterns: Sequence[Pattern]) -> list[Timing]:
        """Return the times of patterns; two at once share the time of the drive, or each has its cap."""
        share = 1.0 if self.caps or len(patterns) == 1 else 1.0 / len(patterns)
        return [self._timing(p, share) for p in patterns]

    def _timing(self, p: Pattern, share: float) -> Timing:
        if p.synced:
            each_s = self.fsync_s / share
        elif self.caps:
            each_s = p.request_bytes * p.streams / self.bandwidth
        else:
            each_s = self.latency_s + p.request_bytes / self.bandwidth
            each_s = max(each_s, p.streams * p.request_bytes / self.most, p.streams / self.iops) / share
        per_s = p.streams / each_s
        rates = [per_s * p.request_bytes] * 40
        if p.name == "burst" and self.drop is not None:
            rates[20:] = [self.drop * rates[0]] * 20
        return Timing(
            pattern=p, requests=20_000, elapsed_s=20_000 / per_s, mean_s=each_s, median_s=each_s, cpu_s=0.0,
            windows=tuple((float(i + 1), rate) for i, rate in enumerate(rates)),
        )  # fmt: skip


def facts_of(fake: FakeDrive, entry: str = "nvme") -> tuple[DriveFacts, dict[str, float]]:
    """Measure a fake drive; return the findings and the fitted constants of the device."""
    times = drive.take(fake, TINY, lambda _name, _seconds: None)
    found = drive_facts(times, compose([f"device={entry}"])["device"])
    _, solution = fit_runs(entry, (), found.equations)
    return found, {key.removeprefix("device."): value for key, value in solution.values.items()}


def test_constants_of_a_drive_follow_from_its_times() -> None:
    """Bandwidth, latency, fsync and IOPS come back as the drive has them."""
    found, device = facts_of(FakeDrive(bandwidth=1e9, latency_s=50e-6, fsync_s=2e-3))
    assert device["write_bandwidth"] == pytest.approx(1e9, rel=0.05)
    assert device["read_bandwidth"] == pytest.approx(1e9, rel=0.05)
    assert device["read_latency"] == pytest.approx(50e-6, rel=0.1)
    assert device["write_latency"] == pytest.approx(50e-6, rel=0.2)
    assert device["fsync_latency"] == pytest.approx(2e-3, rel=0.2)
    assert device["read_iops"] == pytest.approx(1e5, rel=0.1)
    assert found.constants["wal_fsync_latency"] == pytest.approx(2e-3)
    assert not found.limits
    assert any("not seen within" in text for text in found.unknown)


def test_a_drive_that_needs_several_streams_has_a_rate_for_one() -> None:
    """Where several streams move more than one can, the drive's bandwidth is that of several."""
    found, _ = facts_of(FakeDrive(bandwidth=1e9, most=3e9))
    assert found.constants["write_bandwidth"] == pytest.approx(3e9, rel=0.1)
    assert found.constants["stream_write_bandwidth"] == pytest.approx(1e9, rel=0.1)


def test_caps_are_limits_and_not_a_drive() -> None:
    """Reads and writes that keep their rate beside each other are capped; the bandwidth of the drive stays unknown."""
    found, device = facts_of(FakeDrive(bandwidth=80e6, caps=True))
    assert found.limits == {"write_cap": pytest.approx(80e6), "read_cap": pytest.approx(80e6)}
    assert "write_bandwidth" not in device


def test_a_cap_on_operations_holds_for_all_sizes() -> None:
    """Requests of 4 to 64 KiB that end at the same number per second have a cap on operations."""
    found, _ = facts_of(FakeDrive(iops=500.0))
    assert found.limits["iops_cap"] == pytest.approx(500.0)


def test_the_end_of_an_slc_cache_is_seen() -> None:
    """Writes that slow down once tell size and rate of the cache; the bandwidth is that of the other writes."""
    found, _ = facts_of(FakeDrive(drop=0.4))
    assert found.constants["slc_write_bandwidth"] > 0.9e9
    assert found.constants["slc_cache"] > 0
    assert any("were faster for the first" in text for text in found.notes)


@pytest.mark.parametrize("rates", [[1e9] * 40, [1e9, 2e9] * 20, [1e9] * 38 + [2e8] * 2, [1e9 * 0.99**i for i in range(40)]])
def test_noise_is_no_end_of_a_cache(rates: list[float]) -> None:
    """A steady, alternating, slowly falling or last slow rate is no drop."""
    pattern = Pattern(name="burst", writes=True, request_bytes=1 << 20, seconds=1.0)
    windows = tuple((float(i + 1), rate) for i, rate in enumerate(rates))
    timing = Timing(pattern=pattern, requests=1, elapsed_s=40.0, mean_s=1.0, median_s=1.0, windows=windows)
    assert end_of_burst(timing) is None


def test_a_hard_disk_has_its_own_constants() -> None:
    """A class without latencies of requests gets bandwidths, fsync and the time of a seek."""
    found, device = facts_of(FakeDrive(bandwidth=200e6, latency_s=12e-3, iops=80.0, most=200e6), "hdd")
    assert {"write_bandwidth", "read_bandwidth", "fsync_latency"} <= set(device)
    assert found.constants["seek"] == pytest.approx(12e-3 + 1 / 80 / 100 - 60 / 7200 / 2, rel=0.2)


def test_requests_reach_a_real_file(tmp_path: Path) -> None:
    """All patterns run on a real file, and leave none behind."""
    work = tmp_path / "work"
    work.mkdir()
    with contextlib.suppress(OSError):  # tests may run in memory, where no direct I/O is possible
        os.close(os.open(tmp_path / "direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT))
    if not (tmp_path / "direct").exists():
        pytest.skip("no direct I/O in the folder of the tests")
    with FileDrive(work, TINY.file_bytes) as file:
        times = drive.take(file, TINY, lambda _name, _seconds: None)
        assert {p.name for step in drive.steps(TINY) for p in step} == set(times)
    assert list(work.iterdir()) == []


def test_places_in_memory_are_refused(tmp_path: Path) -> None:
    """A file system in memory or of another machine has no drive to measure; the deepest mount point counts."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:2 / {tmp_path} rw shared:1 - tmpfs tmpfs rw\n")
    with pytest.raises(InputError, match="is in memory"):
        disk_below(tmp_path, mounts)
    mounts.write_text(f"2 1 0:2 / {tmp_path} rw - nfs4 server:/x rw\n")
    with pytest.raises(InputError, match="another machine"):
        disk_below(tmp_path, mounts)


def test_drives_have_the_class_that_linux_says(tmp_path: Path) -> None:
    """A partition belongs to its disk; a disk of a hypervisor is no hard disk, whatever the kernel says."""
    status = tmp_path.stat()
    mounts, block, disks = tmp_path / "mountinfo", tmp_path / "block", tmp_path / "disks"
    mounts.write_text("1 0 0:1 / / rw - ext4 /dev/x rw\n")
    block.mkdir()
    for name, rotational, vendor, expected in (
        ("sda", "1", "ATA", "hdd"), ("sdb", "0", "ATA", "sata"), ("nvme0n1", "0", "", "nvme"), ("vda", "1", "", "nvme"),
        ("sdc", "1", "QEMU", "nvme"),
    ):  # fmt: skip
        disk = disks / name
        (disk / "queue").mkdir(parents=True)
        (disk / "device").mkdir()
        (disk / "part1").mkdir()
        (disk / "queue" / "rotational").write_text(rotational)
        (disk / "device" / "vendor").write_text(vendor)
        (disk / "part1" / "partition").write_text("1")
        link = block / f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
        link.symlink_to(disk / "part1")
        found = disk_below(tmp_path, mounts, block)
        assert (found.name, found.device_class) == (name, expected)
        link.unlink()


def test_a_folder_without_room_is_refused(tmp_path: Path) -> None:
    """A missing folder and one without space are refused with the remedy."""
    with pytest.raises(InputError, match="no such folder"):
        check_room(tmp_path / "none", 0)
    with pytest.raises(InputError, match="free space, choose another folder, or use --quick"):
        check_room(tmp_path, 1 << 60)


def test_leftovers_of_a_killed_measurement_are_removed(tmp_path: Path) -> None:
    """A process that is killed leaves its folder; the next one removes it, and no other folder."""
    (tmp_path / "mine").mkdir()
    child = os.fork()
    if child == 0:
        with work_folder(tmp_path) as work:
            (work / "requests").write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 2
    assert remove_old(tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with work_folder(tmp_path) as work:
        assert remove_old(tmp_path) == 0  # a running process keeps its folder
    assert not work.exists()


FAKE_DB_BENCH = """#!{python}
import sys, time
if "--version" in sys.argv:
    print("db_bench version 7.8.3"); raise SystemExit
open(next(a[5:] for a in sys.argv if a.startswith("--db=")) + "/LOG", "w").close()
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interruption_leaves_nothing(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C and SIGTERM during a stage end db_bench, remove all files, write no machine.yaml and exit with 130."""
    tool, place = tmp_path / "db_bench", tmp_path / "place"
    place.mkdir()
    tool.write_text(FAKE_DB_BENCH.format(python=sys.executable))
    tool.chmod(0o755)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            without_the_drive(monkeypatch)
            code = main(["measure", str(place), "--db-bench", str(tool), "--out", str(tmp_path / "machine.yaml")])
        finally:
            os._exit(code)
    for _ in range(400):
        if list(place.glob(".*/db/LOG")):
            break
        time.sleep(0.05)
    os.kill(child, number)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert list(place.iterdir()) == []
    assert not (tmp_path / "machine.yaml").exists()


def without_the_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace what takes time or a real drive."""
    monkeypatch.setattr(measuring, "measure_speed", lambda: Speed(0.1, 0.12, 5.0, 0.0))
    monkeypatch.setattr(measuring.drive, "take", lambda _file, _effort, began: TAKE(FakeDrive(), TINY, began))
    monkeypatch.setattr(measuring.drive_io, "FileDrive", lambda *_: work_folder_stub())
    monkeypatch.setattr(measuring, "check_room", lambda *_: None)
    monkeypatch.setattr(measuring, "disk_below", lambda _: measuring.Disk("fake", None))


class work_folder_stub:  # noqa: N801 (stands for a context manager)
    """Context manager in place of a real file."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


def test_a_drive_alone_gives_a_file_that_runs_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--drive-only writes the constants of the drive with errors, and machine=FILE applies them to a run."""
    without_the_drive(monkeypatch)
    file = tmp_path / "machine.yaml"
    assert main(["measure", str(tmp_path), "--drive-only", "--out", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "Nearest drive of the catalogue" in printed
    assert f"machine={file}" in printed
    found = read_parameters(str(file))
    assert found.host == {}
    assert set(found.devices) == {"nvme"}
    assert "devices.nvme.write_bandwidth" in found.standard_errors
    config = compose([f"machine={file}"])
    assert config["device"]["name"] == "nvme"
    assert parse_quantity(config["device"]["write_bandwidth"], "bytes_per_s") == pytest.approx(1e9, rel=0.05)
    assert "device.write_bandwidth" in config["parameters"]["standard_errors"]
    assert "Not determined" in file.read_text()


def test_a_dry_run_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run prints the requests and the command lines."""
    without_the_drive(monkeypatch)
    tool = tmp_path / "db_bench"
    tool.write_text(FAKE_DB_BENCH.format(python=sys.executable))
    tool.chmod(0o755)
    assert main(["measure", str(tmp_path), "--dry-run", "--db-bench", str(tool)]) == 0
    printed = capsys.readouterr().out
    assert "random read 4 KiB x32" in printed
    assert "--benchmarks=readwhilewriting,stats" in printed
    assert list(tmp_path.iterdir()) == [tool]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--drive-only", "--db-bench", "x"], "--drive-only runs no RocksDB"),
        (["--out", "machine.txt"], "must end in .yaml"),
        (["--out", "none/machine.yaml"], "its folder does not exist"),
        (["none"], "no such folder"),
    ],
)
def test_bad_requests_are_refused(given: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each bad option has one line with the remedy."""
    assert main(["measure", *given]) == 2
    assert words in capsys.readouterr().err


def test_each_driver_gets_the_stages_that_it_can_run() -> None:
    """A driver in Python has one writer; one core has no stage of two threads; --quick has fewer and shorter stages."""
    assert len(STAGES) == len(chosen(DB_BENCH, 2, quick=False))
    assert {"puts_v400_t2", "gets_drive_t2"}.isdisjoint(s.name for s, _ in chosen(DB_BENCH, 1, quick=False))
    assert all(s.load["base"] == "fillrandom" and s.threads == 1 for s, _ in chosen(ROCKSDICT, 8, quick=False))
    assert sum(s for _, s in chosen(DB_BENCH, 2, quick=True)) < sum(s for _, s in chosen(DB_BENCH, 2, quick=False)) / 3


def test_machine_files_hold_limits_and_doubts() -> None:
    """The text of a machine is a parameter set; caps and doubts are in it."""
    equations, solution = fit_runs("nvme", (), facts_of(FakeDrive())[0].equations)
    calibration = Calibration("measured", "nvme", 2, (), (), "", "", "", equations, solution)
    found = MeasuredMachine(
        calibration=calibration, drive=DriveFacts((), limits={"write_cap": 80e6, "iops_cap": 500.0}), times={}, disk="vda",
        seconds=60.0, busy={"others": 3.0}, doubts=["other programs ran"], unknown=["nothing"],
    )  # fmt: skip
    text = machine_text(found, "2026-11-28")
    assert yaml.safe_load(text)["limits"] == {"write_cap": "80MB/s", "iops_cap": 500}
    assert "# - other programs ran" in text


def machine_file(folder: Path, text: str = "") -> Path:
    """Write a machine with a drive, a limit and errors."""
    path = folder / "my machine.yaml"
    path.write_text(text or (
        "version: 1\nhost: {cores: 3}\ndevices: {sata: {write_bandwidth: 200MB/s}}\nlimits: {iops_cap: 300}\n"
        "standard_errors: {devices: {sata: {write_bandwidth: 1MB/s}}}\n"
    ))  # fmt: skip
    return path


def test_a_machine_chooses_host_drive_and_limits(tmp_path: Path) -> None:
    """machine=PATH applies all constants; what the user types wins, and another drive keeps its own."""
    path = machine_file(tmp_path)
    config = compose([f"machine={path}"])
    assert (config["host"]["cores"], config["device"]["name"], config["limits"]["iops_cap"]) == (3, "sata", 300)
    assert config["device"]["write_bandwidth"] == "200MB/s"
    typed = compose([f"machine={path}", "device=nvme", "host.cores=5", "limits.iops_cap=7"])
    assert (typed["host"]["cores"], typed["device"]["name"], typed["limits"]["iops_cap"]) == (5, "nvme", 7)
    assert typed["device"]["write_bandwidth"] != "200MB/s"


def test_a_machine_replaces_that_of_a_finished_run(tmp_path: Path) -> None:
    """A change machine=PATH of a run's configuration applies the constants, not only the name."""
    before = compose(["device=nvme", "workload=overwrite", "device.page_cache=1GiB"])
    after = changed(before, [f"machine={machine_file(tmp_path)}"])
    assert (after["host"]["cores"], after["device"]["write_bandwidth"], after["limits"]["iops_cap"]) == (3, "200MB/s", 300)
    assert after["workload"] == before["workload"]
    assert after["device"]["page_cache"] == "1GiB"
    assert after["parameters"]["standard_errors"] == {"device.write_bandwidth": 1e6}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such file; 'lsmlab measure' writes one"),
        ("host: [1]\n", "must be a mapping of constants"),
        ("version: 1\nspeed: 3\n", "speed: no such key"),
        ("version: 1\nhost: {speed: 3}\n", "host.speed: no such key"),
        ("version: 1\nlimits: {speed: 3}\n", "limits.speed: no such key"),
        ("a: [", "my machine.yaml"),
    ],
)
def test_bad_machine_files_have_a_clear_error(
    tmp_path: Path, text: str | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing or invalid file is one line that names file and key."""
    path = tmp_path / "none.yaml" if text is None else machine_file(tmp_path, text)
    assert main(["run", f"machine={path}"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_several_machines_of_one_sweep_need_one_kind_of_drive(tmp_path: Path) -> None:
    """Hydra's sweep has one choice of the device for all its runs."""
    from lsmlab.sim.configuration.overrides import prepare
    from lsmlab.sim.configuration.parameters import with_drive

    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text("devices: {sata: {}}\n")
    other.write_text("devices: {nvme: {}}\n")
    assert with_drive(prepare([f"machine={one}"]))[-1] == "device=sata"
    with pytest.raises(InputError, match="their drives differ"):
        with_drive(prepare([f"machine={one},{other}"]))


def test_the_nearest_drive_is_the_one_with_its_figures() -> None:
    """An entry's own figures find the entry, or one that has the same."""
    device = compose(["device=sata"])["device"]
    kinds = {"write_bandwidth": "bytes_per_s", "read_bandwidth": "bytes_per_s", "fsync_latency": "seconds"}
    found = nearest({key: parse_quantity(device[key], kind) for key, kind in kinds.items()})
    assert found is not None
    assert found.distance == 0.0
    assert found.entry in ("sata", "intel_s4500")


def test_a_busy_machine_is_doubtful(tmp_path: Path) -> None:
    """Cores of other programs, drift and stolen time are told; a quota of a container counts as its cores."""
    quiet = busy.busy_facts(30.0, Speed(0.1, 0.12, 5.0, 0.0), Speed(0.1, 0.12, 5.0, 300.0))
    assert list(busy.doubts(quiet, 2)) == []
    loud = busy.busy_facts(300.0, Speed(0.1, 0.12, 5.0, 0.0), Speed(0.2, 0.12, 65.0, 300.0))
    assert len(list(busy.doubts(loud, 2))) == 3
    quota = tmp_path / "cpu.max"
    quota.write_text("50000 100000")
    assert busy.usable_cores(quota) == 1


def test_own_work_does_not_count_as_that_of_others(tmp_path: Path) -> None:
    """The machine's CPU time less that of this process; a system that does not tell it leaves no doubt and no number."""
    stat = tmp_path / "stat"
    tick = os.sysconf("SC_CLK_TCK")
    own = sum(os.times()[:4])
    stat.write_text(f"cpu  {1000 * tick} {tick} {2 * tick} 9 9 {3 * tick} {4 * tick} 50 0 0\n")

    assert busy.cpu_of_others_s(stat) == pytest.approx(1010.0 - own, abs=1.0)
    unknown = busy.busy_facts(busy.cpu_of_others_s(tmp_path / "none"), Speed(0.1, 0.1, 0.0, 0.0), Speed(0.1, 0.1, 0.0, 9.0))
    assert list(busy.doubts(unknown, 2)) == []


def test_a_whole_disk_is_counted_without_root(tmp_path: Path) -> None:
    """The block layer's counters give bytes and requests since the start."""
    stat = tmp_path / "stat"
    stat.write_text("10 0 100 0 20 0 200 0 0 0 0\n")
    counters = DiskCounters(tmp_path)
    stat.write_text("13 0 108 0 27 0 216 0 0 0 0\n")
    traffic = counters.traffic()
    assert (traffic.reads, traffic.writes, traffic.read_bytes, traffic.write_bytes) == (3, 7, 8 * 512, 16 * 512)


def test_requests_are_typed() -> None:
    """The defaults: the working directory, and its machine.yaml."""
    request = MeasureRequest()
    assert (request.place, request.out) == (Path(), Path("machine.yaml"))
    assert MeasureRequest(quick=True).needed_bytes <= MeasureRequest().needed_bytes <= 4 << 30


def test_what_the_data_do_not_determine_stays_at_its_prior() -> None:
    """Of two constants of which only the sum is measured, the wider one takes the difference and the other stays."""
    constants = [FitConstant("host.a", 1.0, 0.2), FitConstant("host.b", 1.0, 2.0), FitConstant("host.c", 1.0, 1.0)]

    def misses(values: Mapping[str, float]) -> np.ndarray:
        return np.array([np.log((values["host.a"] + values["host.b"]) / 4.0) / 0.01])

    found = solve_pinned(constants, [Equation("sum", misses, ["one"], ("host.a", "host.b"))])
    assert found.values["host.a"] == pytest.approx(1.0, rel=0.01)
    assert found.values["host.b"] == pytest.approx(3.0, rel=0.05)
    assert found.values["host.c"] == pytest.approx(1.0, rel=0.01)
    assert found.undetermined() == ["host.a", "host.c"]


def test_equations_of_a_quiet_machine_exist() -> None:
    """The names of the equations that a busy machine leaves out are those of the calibrator."""
    case = read_case(ROOT / "validation" / "cases" / "calibration" / "cpu_v100")
    reads = read_case(ROOT / "validation" / "cases" / "calibration" / "rww_cpu_v200")
    second = read_case(ROOT / "validation" / "cases" / "calibration" / "cpu_v1000_wal")
    runs = [read_run(one.logs[0].parent, one.name, with_cores(one.config())) for one in (case, second, reads)]
    assert set(measuring._OF_A_QUIET_MACHINE) <= {equation.name for equation in equations_of(runs)}


def test_the_cpu_time_of_puts_is_near_their_time_on_a_quiet_machine() -> None:
    """A recording of a quiet machine: the process needs a little more than the puts, 6 to 27 % in seven recordings."""
    case = read_case(ROOT / "validation" / "cases" / "calibration" / "cpu_v100")
    run = read_run(case.logs[0].parent, case.name, with_cores(case.config()))
    equation = measuring.put_cpu([run])
    assert equation is not None
    per_put_s = float(np.median([fill.entry_s for fill in run.fills]))
    cost = run.write.counts()
    constants = dict.fromkeys(equation.keys, 0.0) | {"host.write_op": 1.07 * per_put_s / cost["host.write_op"]}
    assert float(equation.misses(constants)[0]) == pytest.approx(0.0, abs=0.3)


def with_cores(config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a recording of two cores."""
    config["host"]["cores"] = 2
    return config
