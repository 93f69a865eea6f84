"""Laboratory without its server: settings with limits, choices as commands and YAML, previews, tasks of tabs, rules."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.units import Quantity, parse_quantity
from lsmlab.reports.cli import lab as verb
from lsmlab.reports.lab import safety
from lsmlab.reports.lab.choice import FormChoice, changed_values, fields
from lsmlab.reports.lab.job_queue import JobQueue
from lsmlab.reports.lab.kept_runs import UPLOADS, KeptRuns, decoded
from lsmlab.reports.lab.preview import preview
from lsmlab.reports.lab.slider_steps import positions, quantity_text
from lsmlab.reports.lab.work import Preview, WholeRun
from lsmlab.sim.configuration.compose import compose
from report_fixture import write_run

START = FormChoice(
    {"engine": "rocksdb", "device": "sata", "workload": "fillrandom"},
    {"workload.num": "1M", "workload.duration": "3s", "engine.options.write_buffer_size": "8MiB"},
)
TAB, OTHER_TAB = "00000000-0001", "00000000-0002"


# ---- settings --------------------------------------------------------------------------------------------------------
def test_every_setting_has_default_limits_and_positions() -> None:
    """Defaults and positions of sliders are values that the model reads; a default is one of the positions."""
    known = {f.key: f for f in fields(START.base())}

    assert {"engine.options.write_buffer_size", "device.write_cap", "workload.num", "host.cores", "seed"} <= known.keys()
    for field in known.values():
        for text in (field.default, *field.steps):
            assert field.kind is None or text == "" or parse_quantity(text, field.kind) is not None
        assert not field.steps or field.default in field.steps
    assert "1 to 10k" == known["workload.threads"].limits
    assert ("true", "false") == known["engine.options.use_direct_reads"].choices
    assert "kRoundRobin" in known["engine.options.compaction_pri"].choices
    assert "Keys in the key space" == known["workload.num"].description[:21].capitalize()


@pytest.mark.parametrize(
    ("rule", "default", "whole"),
    [
        (Quantity("bytes", 1, 2.0**64), 2.0**26, True), (Quantity("bytes_per_s", 1.0), None, False),
        (Quantity("count", 1, 1000), 2.0, True), (Quantity("ratio", 0.01, 0.8), 0.5, False),
        (Quantity("seconds"), 0.0, False), (Quantity("count", -1, 2**31), -1.0, True),
    ],
)  # fmt: skip
def test_positions_keep_the_limits(rule: Quantity, default: float | None, whole: bool) -> None:
    """All positions are within the limits, ascending, whole where the setting is, and contain the default."""
    found = positions(rule, default, whole=whole)

    assert 5 < len(found) == len(set(found))
    assert sorted(found) == list(found)
    assert all(rule.low <= value <= rule.high and (not whole or value == int(value)) for value in found)
    assert default is None or default in found
    assert all(abs(parse_quantity(quantity_text(v, rule.kind), rule.kind) - v) <= 1e-9 * abs(v) for v in found)


def test_only_changed_values_are_overrides() -> None:
    """A text that equals the default, or is empty, sets nothing."""
    known = {f.key: f for f in fields(START.base())}
    texts = {"workload.threads": "1", "workload.num": " 5M ", "device.write_cap": "", "no.such.key": "1"}

    assert {"workload.num": "5M"} == changed_values(texts, known)


# ---- choices ---------------------------------------------------------------------------------------------------------
def test_command_and_yaml_give_the_same_configuration(tmp_path: Path) -> None:
    """The copied command, and the copied YAML as an entry of `experiment`, compose to the configuration of the form."""
    choice = FormChoice(START.entries, {**START.values, "engine.version": "7.10", "workload.sync": "true", "device.name": "a,b"})
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(choice.yaml(), encoding="utf-8")
    wanted = choice.configuration()

    assert wanted == compose([text for text in shlex.split(choice.command())[2:] if not text.startswith("-")])
    assert wanted == compose(["experiment=mine"], [tmp_path])
    assert "7.10" == wanted["engine"]["version"]


def test_options_file_in_command_and_yaml(tmp_path: Path) -> None:
    """With an OPTIONS file the command names the file, and the YAML contains its options."""
    options = str(Path(__file__).parents[1] / "validation" / "demo" / "OPTIONS")
    choice = FormChoice(START.entries, {"workload.num": "1M"}, options)
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(choice.yaml(), encoding="utf-8")

    assert ["--options", options] == shlex.split(choice.command())[2:4]
    assert choice.configuration() == compose(["experiment=mine"], [tmp_path])
    assert "7.8" == choice.configuration()["engine"]["version"]


def test_names_of_choices() -> None:
    """A name has the entries and the values that differ from the start."""
    values = {"workload.num": "1M", "engine.options.write_buffer_size": "8MiB", "engine.options.max_background_jobs": "4"}

    assert "rocksdb on sata, fillrandom" == START.name(START)
    assert "rocksdb on sata, fillrandom, 4 jobs, duration=default" == FormChoice(START.entries, values).name(START)


@pytest.mark.parametrize(
    "content",
    [
        None, {"entries": []}, {"values": {"hydra.run.dir": "x"}}, {"values": {"+hydra/launcher": "x"}},
        {"entries": {"engine": "../../etc/passwd"}}, {"values": {"a b": "1"}}, {"values": {"seed": 1}}, {"other": 1},
        {"values": {"seed": "1" * 20_000}}, {"entries": {"hydra": "x"}},
    ],
)  # fmt: skip
def test_foreign_choices_are_refused(content: Any) -> None:
    """Content of the browser that is no choice, or sets something of Hydra, raises InputError."""
    with pytest.raises(InputError):
        FormChoice.of(content)


def test_a_choice_survives_the_browser() -> None:
    """A choice as JSON is the same choice."""
    assert START == FormChoice.of(START.as_json())


# ---- previews --------------------------------------------------------------------------------------------------------
def test_previews_are_short_windows() -> None:
    """A short run is previewed whole, a long one as its start; both have curves of throughput and level 0."""
    whole = preview(START.configuration())
    part = preview(FormChoice(START.entries, {**START.values, "workload.duration": "30d"}).configuration())

    assert "The whole run: 3 s simulated." == whole.window
    assert part.window.startswith("Preview: the first ")
    assert [["throughput", "l0-files"]] * 2 == [[f["id"] for f in p.figures] for p in (whole, part)]
    assert all(f["traces"] for f in whole.figures)
    assert "throughput" == whole.facts[0]["label"]


def test_a_preview_says_what_stopped_the_store_and_what_would_help() -> None:
    """The preview of a store that stalls names cause, bottleneck and changes; that of a store without stalls says so."""
    small = {"write_buffer_size": "1MiB", "target_file_size_base": "1MiB", "max_bytes_for_level_base": "4MiB"}
    values = {**START.values, **{f"engine.options.{name}": size for name, size in small.items()}, "workload.num": "200k"}
    stalls = preview(FormChoice(START.entries, values).configuration()).answers
    calm = preview(START.configuration()).answers

    assert ["What stopped the store?", "Why?", "What would help?"] == [one["question"] for one in stalls]
    assert stalls[1]["answer"].startswith("Bottleneck: ")
    assert stalls[2]["answer"].startswith("Try ")
    assert "Nothing to mend in this window" == calm[-1]["answer"]


def test_a_bad_value_is_an_input_error() -> None:
    """The error of a bad value names its key, as on the command line."""
    with pytest.raises(InputError, match=r"workload\.num: .*must be at least 1"):
        preview(FormChoice(START.entries, {"workload.num": "0"}).configuration())


# ---- tasks of tabs ---------------------------------------------------------------------------------------------------
class FakeProcess:
    """A worker process that answers when it is told to."""

    def __init__(self) -> None:
        self.alive, self.tasks = True, []  # type: bool, list[Any]
        self.go = threading.Event()

    def do(self, task: Any, share: Any = None, timeout_s: float | None = None) -> Any:
        """Wait, then return the task itself; raise EndedError if the process was ended."""
        from lsmlab.reports.lab.process import EndedError

        self.tasks.append(task)
        if isinstance(task, WholeRun):
            share(0.5)
        self.go.wait(5)
        if not self.alive:
            raise EndedError("ended")
        return task.config if isinstance(task, Preview) else Path(task.folder)

    def end(self) -> None:
        """End."""
        self.alive = False
        self.go.set()


def jobs(most: int = 1) -> tuple[JobQueue, list[FakeProcess]]:
    """Return a jobs with fake processes, and the list of its processes."""
    started: list[FakeProcess] = []

    def start() -> Any:
        started.append(FakeProcess())
        return started[-1]

    return JobQueue(start, most), started


def until(condition: Any) -> None:
    """Wait until a condition holds; fail after five seconds."""
    end_s = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.002)


def task(name: str) -> WholeRun:
    """Return a task."""
    return WholeRun(name, {"name": name}, Path(name))


def test_the_latest_preview_wins() -> None:
    """Of twenty previews that a tab requests while one runs, only that with the highest number is simulated.

    The highest number wins even if an earlier request arrives after it.
    """
    table, started = jobs()
    answers: dict[int, Any] = {}

    def ask(number: int) -> None:
        answers[number] = table.preview(TAB, number, {"number": number})

    threads = [threading.Thread(target=ask, args=(0,))]
    threads[0].start()
    until(lambda: started and started[0].tasks)
    for number in (*range(1, 18), 19, 18):
        threads.append(threading.Thread(target=ask, args=(number,)))
        threads[-1].start()
        until(lambda n=number: table._latest[TAB] >= n)
    started[0].go.set()
    for thread in threads:
        thread.join(5)

    assert {0: {"number": 0}, **dict.fromkeys(range(1, 19)), 19: {"number": 19}} == answers
    assert 2 == len(started[0].tasks)


def test_one_simulation_per_tab_and_a_limit_in_all() -> None:
    """Clicking again changes nothing, other settings replace the simulation, a second tab waits for the limit."""
    table, started = jobs(most=1)
    for _ in range(20):
        table.start(TAB, "first", task("first"))
    until(lambda: table.status(TAB).share == 0.5)
    table.start(OTHER_TAB, "other", task("other"))

    assert "waiting" == table.status(OTHER_TAB).phase
    assert 1 == len(started) == len(started[0].tasks)

    table.start(TAB, "second", task("second"))
    until(lambda: len(started) == 2 and started[1].tasks)
    started[1].go.set()
    until(lambda: len(started[1].tasks) == 2)  # an idle process does the next task
    until(lambda: not table.status(TAB).active and not table.status(OTHER_TAB).active)

    assert {"second", "other"} == {t.name for t in started[1].tasks}
    assert ("done", Path("second")) == (table.status(TAB).phase, table.status(TAB).page)


def test_cancel_ends_the_process() -> None:
    """A cancelled simulation ends its process and leaves the tab free for the next one; closing ends all processes."""
    table, started = jobs()
    table.start(TAB, "long", task("long"))
    until(lambda: started and started[0].tasks)
    table.cancel(TAB)

    assert "cancelled" == table.status(TAB).phase
    assert not started[0].alive

    table.start(TAB, "next", task("next"))
    until(lambda: len(started) == 2 and started[1].tasks)
    table.close()

    assert [False, False] == [process.alive for process in started]


def test_tabs_need_a_number() -> None:
    """A request without the number of a tab is refused."""
    with pytest.raises(InputError, match="reload the page"):
        jobs()[0].start("<script>", "x", task("x"))


# ---- kept runs and uploads -------------------------------------------------------------------------------------------
def test_kept_runs(tmp_path: Path) -> None:
    """Runs are listed by name with headline numbers, the latest first; only names of kept runs are accepted."""
    kept = KeptRuns(tmp_path)
    for name in ("a", "b"):
        write_run(tmp_path / name, seconds=20, jobs=10, stalls=2)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "summary.json").write_text("{")
    (tmp_path / "broken" / "series.parquet").write_text("")

    assert {"a", "b"} == {run.name for run in kept.runs()}
    assert "throughput" in kept.runs()[0].facts
    assert [tmp_path / "a", tmp_path / "b"] == kept.comparison(["a", "b"])[0]
    for bad in ("../a", "/etc", "", ".", "uploads", "c", "a/../b"):
        with pytest.raises(InputError):
            kept.find(bad)
    for marked in (["a"], ["a"] * 5):
        with pytest.raises(InputError, match="2 to 4"):
            kept.comparison(marked)

    kept.remove("a")

    assert ["b"] == [run.name for run in kept.runs()]


def test_uploads_stay_in_their_folder(tmp_path: Path) -> None:
    """Names of uploads lose folders and special characters; paths outside the folder are not accepted later."""
    kept = KeptRuns(tmp_path)
    path = kept.upload("../../etc/cron.d/x\\..\\$(evil) OPTIONS", b"text")

    assert tmp_path / UPLOADS in path.parents
    assert "evil-OPTIONS" == path.name
    assert kept.contains(str(path), UPLOADS)
    assert not any(kept.contains(p, UPLOADS) for p in ("/etc/passwd", str(tmp_path), f"{tmp_path}/uploads/../x", "\0"[:0]))


def test_upload_limits() -> None:
    """Uploads above the limit, or without content, are refused with one sentence."""
    with pytest.raises(InputError, match="larger than 32 MiB"):
        decoded("data:;base64," + "A" * (safety.MOST_UPLOAD_BYTES * 4 // 3 + 8), "LOG")
    for bad in (None, "file:///etc/passwd", "data:;base64,@@@@"):
        with pytest.raises(InputError):
            decoded(bad, "LOG")


# ---- rules of the server ---------------------------------------------------------------------------------------------
OWN = {"Host": "127.0.0.1:8050"}


@pytest.mark.parametrize(
    ("method", "headers", "allowed"),
    [
        ("GET", OWN, True),
        ("GET", {"Host": "localhost:8050"}, True),
        ("POST", {**OWN, "Origin": "http://127.0.0.1:8050", "Sec-Fetch-Site": "same-origin"}, True),
        ("GET", {**OWN, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, True),
        ("GET", {"Host": "evil.example:8050"}, False),  # DNS rebinding
        ("POST", {"Host": "evil.example:8050", "Origin": "http://evil.example:8050"}, False),
        ("GET", {"Host": "127.0.0.1"}, False),
        ("GET", {}, False),
        ("POST", {**OWN, "Origin": "http://evil.example"}, False),
        ("POST", {**OWN, "Origin": "null"}, False),
        ("POST", {**OWN, "Origin": "http://localhost:8050"}, False),
        ("POST", OWN, False),  # neither Origin nor Sec-Fetch-Site: no browser of today
        ("GET", {**OWN, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, False),
        ("GET", {**OWN, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, False),
        ("POST", {**OWN, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, False),
    ],
)  # fmt: skip
def test_requests_of_other_sites_are_refused(method: str, headers: dict[str, str], allowed: bool) -> None:
    """Only requests to this server's own address, from its own pages, are answered."""
    assert allowed == (safety.refusal(headers, method, 8050) is None)


def test_keys() -> None:
    """Only the key itself is right."""
    assert [True, False, False, False] == [safety.has_key(given, "kéy") for given in ("kéy", "ke", "", None)]


# ---- command ---------------------------------------------------------------------------------------------------------
def test_without_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package dash, one line names the command that installs it."""
    monkeypatch.setattr(verb, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"dash is not installed; install it with: pip install 'dash>=4'"):
        verb.lab(["--no-open"])


def test_the_command_loads_no_dash() -> None:
    """Importing the command loads neither Dash nor the simulation."""
    program = "import lsmlab.reports.cli.lab, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert not {"dash", "flask", "simpy", "hydra"} & set(done.stdout.split())
