"""`lsmlab whatif`: the store in question, alternatives to it, and differences over common seeds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from known_errors import NVME, known_errors
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.import_log import import_log
from lsmlab.reports.cli.main import main
from lsmlab.reports.cli.studies import answer
from lsmlab.reports.decisions.whatif import WHATIF
from lsmlab.reports.differences import differences_table, held_text, in_words
from lsmlab.reports.numbers import MINUS
from lsmlab.sim.studies.baseline import read_baseline
from lsmlab.sim.studies.differences import Repeats, against_log, check_present, differences, reproduction, warning
from lsmlab.sim.studies.whatif import alternatives

ROOT = Path(__file__).parents[1]
LOG = ROOT / "validation" / "recordings" / "static" / "LOG.xz"
SHORT = ["workload.duration=4s", "workload.threads=1", "engine.options.write_buffer_size=4MiB"]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an imported LOG."""
    folder = tmp_path_factory.mktemp("whatif") / "store"
    assert 0 == import_log([str(LOG), "--out", str(folder), "--no-report"])
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run with a cap and a page cache."""
    folder = tmp_path_factory.mktemp("whatif") / "run"
    caps = ["device.write_cap=60MiB/s", "device.page_cache=64MiB"]
    assert 0 == main(["run", *SHORT, *caps, "--out", str(folder), "--no-report", "--json"])
    return folder


@pytest.fixture(scope="module")
def answered(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an answer about the LOG: a slow drive, a tie and another kind of drive, with all pages."""
    folder = tmp_path_factory.mktemp("whatif") / "answer"
    asked = ["device.write_bandwidth=100MB/s", "limits=none", "device=sata"]
    options = ["--set", "host.cores=2", "--replications", "2", "--out", str(folder), "-j", "1"]
    assert 0 == answer(WHATIF, [str(imported), *asked, *options])
    return folder


def trial(**values: list[float]) -> Repeats:
    """Return a trial with these values of each metric by seed."""
    count = len(next(iter(values.values())))
    return Repeats([{name: numbers[i] for name, numbers in values.items()} for i in range(count)], config=NVME)


def test_each_argument_is_an_alternative() -> None:
    """Quoted arguments join overrides, comma lists make a grid, repeated alternatives count once."""
    names = [a.name for a in alternatives(["device=sata", "a.x=1,2 b.y=3", "device=sata"])]

    assert ["device=sata", "a.x=1 b.y=3", "a.x=2 b.y=3"] == names
    with pytest.raises(InputError, match="an alternative is key=value"):
        alternatives(["sata"])


def test_the_store_in_question(imported: Path, finished: Path, tmp_path: Path) -> None:
    """A store is an imported LOG at the load that repeats it, a run, or an override; another folder is refused."""
    log = read_baseline(str(imported), ["host.cores=2"])
    run = read_baseline(str(finished))

    assert (True, ("experiment=imported_full_speed", "host.cores=2")) == (log.from_a_log, log.overrides)
    assert 2 == log.compose()["host"]["cores"]
    assert 4 * 2**20 == 2**20 * int(str(run.compose()["engine"]["options"]["write_buffer_size"]).removesuffix("MiB"))
    assert "sata" == read_baseline("experiment=throttled").compose(["device=sata"])["device"]["name"]
    with pytest.raises(InputError, match="contains no experiment/ of an import and no config"):
        read_baseline(str(tmp_path))


def test_changes_of_a_run_keep_what_belongs_to_the_machine(finished: Path) -> None:
    """Another drive keeps page cache and caps; other policies keep the options that they do not set."""
    baseline = read_baseline(str(finished))
    sata, vlsm, more = baseline.compose_all([["device=sata"], ["engine=silk"], ["engine.options.max_background_jobs=6"]])

    assert ("sata", "60MiB/s", "64MiB") == tuple(sata["device"][k] for k in ("name", "write_cap", "page_cache"))
    assert ("silk", "8.11", "128MiB") == (
        vlsm["engine"]["name"], vlsm["engine"]["version"], vlsm["engine"]["options"]["write_buffer_size"],
    )  # fmt: skip
    assert 6 == more["engine"]["options"]["max_background_jobs"]
    for bad in ("engine.options.max_jobs=6", "device.write_cap=a,b", "nonsense=1"):
        with pytest.raises(InputError):
            baseline.compose([bad])


def test_paired_differences() -> None:
    """The change is that of the pairs, so their common noise cancels; its error is that of two runs of the real store."""
    noise = [0.7, 1.0, 1.3, 0.9, 1.1]
    before = trial(ops_per_s=[1000 * x for x in noise], stall_fraction=[0.2] * 5)
    after = trial(ops_per_s=[1200 * x * (1 + 0.001 * i) for i, x in enumerate(noise)], stall_fraction=[0.2] * 5)
    throughput, stalled = differences(before, after, errors=known_errors({"ops_per_s": 0.1, "stall_fraction": 0.1}))

    assert 0.2 == pytest.approx(throughput.change, abs=0.004)
    assert throughput.low is not None
    assert throughput.high is not None
    assert pytest.approx([1.2 * math.exp(end * 0.1 * math.sqrt(2)) - 1 for end in (-1, 1)], abs=0.01) == [
        throughput.low, throughput.high,
    ]  # fmt: skip
    assert throughput.certain
    assert (True, 0.0, False) == (stalled.tie, stalled.change, stalled.certain)


def test_the_models_error_makes_a_change_uncertain() -> None:
    """A model error of 10 % makes a change of 5 % uncertain and one of 50 % certain."""
    before = trial(ops_per_s=[100.0, 100.1, 99.9])

    def certain(factor: float) -> bool:
        after = trial(ops_per_s=[100 * factor, 100.2 * factor, 99.9 * factor])
        return differences(before, after, errors=known_errors({"ops_per_s": 0.1}))[0].certain

    assert (False, True, True) == (certain(1.05), certain(1.5), certain(0.6))


def test_a_present_state_that_is_not_reproduced_is_said() -> None:
    """A throughput far outside its interval gives a warning in words; one inside gives none."""
    present = trial(ops_per_s=[1000.0, 1010.0, 990.0], write_amplification=[5.0, 5.1, 4.9])
    errors = known_errors({"ops_per_s": 0.08, "write_amplification": 0.08})
    good = check_present(present, {"ops_per_s": 1030.0, "write_amplification": 5.0}, errors)
    bad = check_present(present, {"ops_per_s": 1600.0, "write_amplification": 5.0}, errors)

    assert warning(good) is None
    assert "throughput 1,000 ops/s instead of 1,600 ops/s" in str(warning(bad))


def test_an_answer_from_a_log(answered: Path) -> None:
    """From a LOG to differences: the present state is checked, a slow drive costs throughput, a tie is exact."""
    found: dict[str, Any] = json.loads((answered / "whatif.json").read_text())
    slow, none, sata = found["alternatives"]
    change = {d["metric"]: d for d in slow["differences"]}

    assert 3 <= len(found["reproduction"]["checks"])
    assert ["device.write_bandwidth: 291.6MB/s -> 100MB/s"] == slow["changes"]
    assert change["ops_per_s"]["certain"]
    assert change["ops_per_s"]["change"] < -0.2
    assert change["ops_per_s"]["high"] < 0.0
    assert all(d["tie"] for d in none["differences"])
    assert "the page cache of 1.0 GiB stays" in sata["kept"]
    assert (answered / sata["folder"] / "summary.json").is_file()
    assert math.isclose(found["present"]["values"]["ops_per_s"], change["ops_per_s"]["present"])


def test_the_text_of_an_answer(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal names changes, facts that stay, and differences; lines have at most 120 columns. --json prints the file."""
    out = ["--out", str(tmp_path), "--no-report", "--replications", "2"]
    assert 0 == answer(WHATIF, [str(finished), *out, "device=hdd", "limits.read_cap=1GB/s"])  # alternatives may come last
    printed = capsys.readouterr().out
    assert 0 == answer(WHATIF, [str(finished), *out, "device=hdd", "limits.read_cap=1GB/s", "--json"])
    as_json = json.loads(capsys.readouterr().out)
    assert str(tmp_path) == as_json.pop("directory")
    assert json.loads((tmp_path / "whatif.json").read_text()) == as_json

    assert "device: nvme -> hdd" in printed
    assert "device.write_cap=63MB/s stays although the drive is another one" in printed
    assert "exactly the same results as the present state with every seed" in printed
    assert all(len(line) <= 120 for line in printed.splitlines())


def test_bad_input_is_one_line(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing folder, an unknown key and an impossible alternative end with exit code 2 and one line."""
    for arguments in (["none"], [str(imported), "device=sataa"], [str(imported), "engine.options.write_buffer_size=-1"]):
        assert 2 == main(["whatif", *arguments, "--out", str(tmp_path), "--replications", "1"])
        assert 1 == len([x for x in capsys.readouterr().err.splitlines() if x.startswith("lsmlab: ") and " runs" not in x])


def test_the_page_of_an_answer(answered: Path) -> None:
    """The page tells the differences, the check against the LOG, and links to the pages of the runs."""
    page = (answered / "report.html").read_text()

    assert f"device.write_bandwidth=100MB/s: throughput {MINUS}" in page
    assert "Is the present state reproduced?" in page
    assert '"id":"change-ops_per_s"' in page
    assert '"LOG"' in page
    assert (answered / "present state" / "report.html").is_file()
    assert 'href="present%20state/report.html"' in page


def test_a_budget_refuses_long_work(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Work above the budget ends with one line that gives the estimate and the remedy; nothing is written."""
    long = ["workload=constant", "workload.duration=40h", "--budget", "1s", "--out", str(tmp_path / "out")]
    for command in (["run", *long], ["compare", "seed=1,2", *long], ["whatif", str(finished), "host.cores=3",
                    "--set", "workload.duration=40h", "--budget", "1s", "--out", str(tmp_path / "out2")]):  # fmt: skip
        assert 2 == main(command)
        assert "more than the budget of 1 s; raise --budget, or choose" in capsys.readouterr().err
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_a_latency_without_a_known_error_has_no_interval() -> None:
    """The spread of seeds is no interval of a latency: only with the model's error there is one, and a certain change."""
    before, after = (
        Repeats([{"seed": i, "read_latency_s": {"p99": x}} for i, x in enumerate(values)], config=NVME)
        for values in ([20.6e-6, 20.7e-6, 20.5e-6], [27.0e-6, 27.1e-6, 26.9e-6])
    )
    errors = known_errors({"read_latency_s.p99": 0.01}, change=0.1)
    (unknown,), (known,) = (differences(before, after, errors=of) for of in (known_errors({}), errors))

    assert (None, None, False, False) == (unknown.low, unknown.high, unknown.certain, unknown.error_known)
    assert 0.31 == pytest.approx(unknown.change, abs=0.01)
    assert "read P99 +31.1% (the model's error is not known)" in in_words([unknown])
    assert "within the error" not in in_words([unknown])
    assert known.certain
    assert known.low is not None


def test_each_metric_of_the_log_is_compared_before_it_is_shown() -> None:
    """Latencies and rates in the LOG that the present state misses are named beside their differences, others are not."""
    summaries = [
        {"seed": i, "ops_per_s": 100.0 * x, "read_latency_s": {"p99": 20.6e-6 * x}, "write_latency_s": {"p99": 1e-3 * x},
         "stall_fraction": 0.5, "duration_s": 60.0, "flush_count": 10}
        for i, x in enumerate([1.0, 1.01, 0.99])
    ]  # fmt: skip
    recorded = {
        "ops_per_s": 104.0, "read_latency_s": {"p99": 93e-6}, "write_latency_s": {"p99": 2e-3}, "stall_fraction": 0.9,
        "duration_s": 1200.0, "flush_count": 300,
    }  # fmt: skip
    errors = known_errors({"ops_per_s": 0.08, "stall_fraction": 0.08, "write_latency_s.p99": 2.0})
    present = Repeats(summaries, config=NVME)
    faster = Repeats([{**summary, "ops_per_s": 200.0} for summary in summaries], config=NVME)
    reproduced = reproduction(present, recorded, errors)
    found = {d.metric: d for d in against_log(differences(present, faster, errors=errors), reproduced)}

    assert {"ops_per_s": True, "read_latency_s.p99": False, "write_latency_s.p99": True, "stall_fraction": False} == {
        name: one.held for name, one in found.items()
    }
    assert reproduced is not None
    assert "read P99 20.6 us instead of 93 us" in str(reproduced.warning)
    assert "The simulated run is 60 s long, and the LOG 1,200 s" in str(reproduced.warning)
    assert "flush_count" not in {check.metric for check in reproduced.checks}, "a run of another length has other counts"
    assert {"write_latency_s.p99", "read_latency_s.p99"} == {check.metric for check in reproduced.checks if not check.close}, (
        "2 ms instead of 1 ms is reproduced only because its interval is wide"
    )
    assert "not reproduced: 93 us in the LOG" == held_text(found["read_latency_s.p99"])
    assert "" == held_text(found["ops_per_s"])
    assert "not reproduced: 90.0 %" in differences_table(list(found.values())).html()
