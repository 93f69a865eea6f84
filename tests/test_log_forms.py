"""A LOG gives the same answer in every form in which people have it, or fewer facts, never other ones."""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_forms import COLLECTORS, CONTENT, ENCODINGS, HOSTS, OWN, SYSLOG, Form
from log_sample import ENTRIES, Sample, write_log
from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.models.text.plain_lines import PlainLines
from lsmlab.validation.importer.importing import summarised
from lsmlab.validation.importer.reading import read

AMOUNTS = (
    "flush_count", "flush_bytes", "compaction_count", "compaction_read_bytes", "compaction_write_bytes", "trivial_move_count",
    "write_amplification", "entries_flushed", "operations", "live_bytes", "engine_version",
)  # fmt: skip
TIMES = ("duration_s", "write_ops_per_s", "stall_fraction", "longest_stall_s")


@functools.cache
def sample() -> Sample:
    """Return a LOG with stalls, moves and statistics."""
    return Sample().run(30)


def facts(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the amounts that a LOG gives, and its times and rates."""
    reading = read(path)
    summary = summarised(reading).facts
    amounts = {name: summary.get(name) for name in AMOUNTS}
    amounts |= {f"files of L{level}": n for level, n in enumerate(summary["files_per_level"])}
    amounts |= {f"stalls by {cause}": n for cause, n in summary["stall_count"].items()}
    amounts |= {f"option {name}": value for name, value in read_options(path).overrides.items()}
    times = {name: summary.get(name) for name in TIMES}
    times |= {f"stalled by {cause}": seconds for cause, seconds in summary["stall_seconds"].items()}
    return amounts, {**times, **{name: reading.problems[name] for name in reading.problems}}


@functools.cache
def true_facts() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts of the plain LOG."""
    with tempfile.TemporaryDirectory() as folder:
        return facts(write_log(Path(folder), sample().lines))


def assert_no_other_facts(path: Path, resolution_s: float) -> None:
    """Check that a file gives the facts of the plain LOG, times within its resolution, or none."""
    (true_amounts, true_times), (amounts, times) = true_facts(), facts(path)
    assert {} == {
        name: (true_amounts[name], value)
        for name, value in amounts.items()
        if value is not None and value != true_amounts.get(name)
    }
    assert true_amounts.keys() == amounts.keys(), "a number or option is missing"
    tolerance = 0.1 if resolution_s > 1e-6 else 1e-9
    assert {} == {
        name: (true_times.get(name), value)
        for name, value in times.items()
        if value is not None and value != pytest.approx(true_times.get(name), rel=tolerance)
        and not (resolution_s > 1e-6 and name.startswith("stalled") and abs(value - true_times[name]) <= resolution_s)
    }  # fmt: skip


@given(st.sampled_from(CONTENT), st.sampled_from(HOSTS), st.sampled_from(COLLECTORS), st.sampled_from(ENCODINGS))
def test_a_log_in_any_form_gives_no_other_facts(content: Form, host: Form, collector: Form, encoding: str) -> None:
    """Locale, fork, host program, log collector and encoding, and all of them together, change no fact."""
    stamps = content.name in ("whole seconds", "no thread ids")  # a host program replaces RocksDB's stamp
    lines = collector.change((HOSTS[0] if stamps else host).change(content.change(sample().lines)))
    resolution_s = content.resolution_s if stamps else max(content.resolution_s, host.resolution_s)
    with tempfile.TemporaryDirectory() as folder:
        path = write_log(Path(folder), ("\r\n".join(lines) + "\r\n").encode(encoding))
        assert_no_other_facts(path, resolution_s)


@pytest.mark.parametrize("form", [*CONTENT[1:], *HOSTS[1:], *COLLECTORS[1:]], ids=lambda form: form.name)
def test_each_form_alone(form: Form, tmp_path: Path) -> None:
    """Each form alone changes no fact and is no damage."""
    path = write_log(tmp_path, form.change(sample().lines), "host.log")

    assert_no_other_facts(path, form.resolution_s)
    reading = read(path)
    assert {} == dict(reading.log.troubles)
    assert (form in HOSTS) == reading.log.wrapped


def test_stamps_without_a_year(tmp_path: Path) -> None:
    """Syslog's stamps have no year: the events tell it. What precedes the first event has no time, such as the first fill."""
    path = write_log(tmp_path, SYSLOG.change(sample().lines), "syslog")
    (true_amounts, true_times), (amounts, times) = true_facts(), facts(path)

    assert {**true_amounts, "operations": true_amounts["operations"] - ENTRIES} == amounts
    assert 0.1 > max(abs(times[name] / value - 1) for name, value in true_times.items() if value and times.get(name) is not None)
    assert read(path).log.wrapped


def test_blank_lines_between_all_lines(tmp_path: Path) -> None:
    """A mail or a web page may have a blank line after each line; tables and options of tables stay what they are."""
    path = write_log(tmp_path, [text for line in sample().lines for text in (line, "")])

    assert_no_other_facts(path, 1e-6)
    assert {} == dict(read(path).log.troubles)


@pytest.mark.parametrize("later", [0, 4000], ids=["same job numbers", "other job numbers"])
def test_lines_of_two_stores_that_alternate_are_refused(later: int, tmp_path: Path) -> None:
    """The log of several pods has the lines of all stores in the order of time; the headers may be missing."""
    stores = [Sample().run(20), Sample(now_us=Sample().now_us + 50_000, first_job=2 + later).run(20)]
    lines = [
        (OWN.match(line)[0][:26], f"[pod/db-{n}/rocks] {line}")  # type: ignore[index]
        for n, store in enumerate(stores) for line in store.lines if "EVENT_LOG_v1" in line
    ]  # fmt: skip

    with pytest.raises(InputError, match=r"LOG:\d+: .* lines of several stores are mixed; give those of each store"):
        read(write_log(tmp_path, [line for _, line in sorted(lines)]))


@pytest.mark.parametrize("form", COLLECTORS, ids=lambda form: form.name)
def test_several_logs_in_one_file(form: Form, tmp_path: Path) -> None:
    """The LOG before LOG.old, as a shell lists them, is read in the order of time."""
    first = Sample().run(12)
    second = Sample(now_us=first.now_us + 60 * 10**6).run(12)
    in_order = read(write_log(tmp_path, form.change([*first.lines, *second.lines]), "a.log"))
    reversed_order = read(write_log(tmp_path, form.change([*second.lines, *first.lines]), "b.log"))

    for reading in (in_order, reversed_order):
        assert first.totals + second.totals == {name: reading.summary[name] for name in first.totals}
        assert {} == dict(reading.problems)
        assert all(reading.seconds(job.start_us) >= 0.0 for job in reading.jobs.jobs)
    assert 60.0 == pytest.approx(sum(part.gap_us for part in reversed_order.log.parts) / 1e6, abs=0.01)


@pytest.mark.parametrize(
    "keys", [("msg", "ts"), ("message", "@timestamp"), ("MESSAGE", "__REALTIME_TIMESTAMP"), ("line", "timestamp")]
)
def test_messages_in_json_objects(keys: tuple[str, str], tmp_path: Path) -> None:
    """Programs and collectors name the message and its time differently; the time may be a number."""
    text, time = keys

    def wrapped(found: re.Match[str]) -> str:
        stamp = f"{found[1]}-{found[2]}-{found[3]}T{found[4]}.{found[5]}Z"
        seconds = 1_700_000_000 + int(found[4][3:5]) * 60 + int(found[4][6:]) - 13 * 60 - 20
        value = str(seconds * 10**6 + int(found[5])) if time.startswith("__") else stamp
        return json.dumps({"level": "info", time: value, text: found[7]})

    lines = [wrapped(found) if (found := OWN.match(line)) else json.dumps({text: line}) for line in sample().lines]

    assert_no_other_facts(write_log(tmp_path, lines), 1e-6)


def test_lines_that_docker_cut(tmp_path: Path) -> None:
    """Docker cuts a line after 16 KiB; only the last part ends with a line feed."""
    padding = '"padding": "' + "x" * 20_000 + '", "num_subcompactions"'
    lines: list[str] = []
    for line in sample().lines:
        text = line.replace('"num_subcompactions"', padding) + "\n"
        parts = [text[i : i + 16_384] for i in range(0, len(text), 16_384)]
        lines += [json.dumps({"log": part, "stream": "stdout", "time": "2023-11-15T01:02:03Z"}) for part in parts]

    assert_no_other_facts(write_log(tmp_path, lines), 1e-6)
    assert 0 == read(tmp_path / "LOG").log.troubles["cut_events"]


def test_names_in_latin_1_are_text(tmp_path: Path) -> None:
    """A family's name in latin-1 is a name; a byte that is no letter, or inside a message, is damage."""
    text = sample().text.replace("[default]", "[Größe]").replace('"cf_name": "default"', '"cf_name": "Größe"')
    reading = read(write_log(tmp_path, text.encode("latin-1")))

    assert {} == dict(reading.log.troubles)
    assert {"Größe"} <= set(reading.jobs.families)
    assert sample().totals["flush_bytes"] == reading.summary["flush_bytes"]
    damaged = sample().text.encode().replace(b"Generated", b"Gen\xe9rated", 1)
    assert 1 == read(write_log(tmp_path, damaged)).log.troubles["undecodable_lines"]


@pytest.mark.parametrize(
    ("lines", "plain"),
    [
        (["2023/11/14-22:13:20 7f01 Shutdown complete"], ["2023/11/14-22:13:20 7f01 Shutdown complete"]),
        (["2023/11/14-22:13:20.000013 DB pointer 0x1"], ["2023/11/14-22:13:20.000013 - DB pointer 0x1"]),
        (["2023/11/14-22:13:20.000013 7f01 SpeeDB version: 6.22.1"], ["2023/11/14-22:13:20.000013 7f01 RocksDB version: 6.22.1"]),
        (["2023/11/14-22:13:20.000013 7f01 Speedb version: 2.5.0-? (8.1.1)"],
         ["2023/11/14-22:13:20.000013 7f01 RocksDB version: 8.1.1"]),
        (["Uptime(secs): 600,0 total, 600,0 interval"], ["Uptime(secs): 600.0 total, 600.0 interval"]),
        (['2023/11/14-22:13:20.000013 7f01 EVENT_LOG_v1 {"lsm_state": [4,0]}'], None),
        (["[DBOptions]", "  max_background_jobs=6"], None),
        (["> [DBOptions]", ">   max_background_jobs=6", "> "], ["[DBOptions]", "  max_background_jobs=6", ""]),
        (["server: MariaDB version: 10.5.8 started"], None),
        (['"2023-11-14 22:13:20","EVENT_LOG_v1 {""job"": 2}"'], ['2023/11/14-22:13:20 - EVENT_LOG_v1 {"job": 2}']),
        ([r"2023-11-14T22:13:20Z [7] INFO {rocksdb} [db/a.cc:1] ---- DUMPING STATS\n** DB Stats **\nUptime(secs): 1.0 total"],
         ["2023/11/14-22:13:20 - [db/a.cc:1] ---- DUMPING STATS", "** DB Stats **", "Uptime(secs): 1.0 total"]),
    ],
)  # fmt: skip
def test_plain_lines(lines: list[str], plain: list[str] | None) -> None:
    """Each form of a line becomes the line that RocksDB would have written; plain lines stay as they are."""
    assert (lines if plain is None else plain) == [text for _, text in PlainLines(lines)]


def test_other_programs_lines_have_no_facts(tmp_path: Path) -> None:
    """Lines of the host program between RocksDB's, with stamps of their own, change nothing."""

    def with_others(change: Callable[[Sequence[str]], list[str]]) -> list[str]:
        mixed: list[str] = []
        for number, line in enumerate(change(sample().lines)):
            if OWN.match(sample().lines[number]):
                mixed.append("2023-11-14T22:13:21.000000+0000 7f14e7001  1 osd.3: scrub of 3,141 objects, Cumulative: 12")
            mixed.append(line)
        return mixed

    for name in ("none", "Ceph"):
        form = next(form for form in HOSTS if form.name == name)
        assert_no_other_facts(write_log(tmp_path, with_others(form.change)), 1e-6)


@pytest.mark.parametrize("columns", [60, 80, 120, 160, 200, 240, 300, 500])
@pytest.mark.parametrize("whole", [True, False], ids=["wrapped", "cut"])
def test_lines_of_a_limited_length_give_no_other_facts(columns: int, whole: bool, tmp_path: Path) -> None:
    """A terminal or a mail program wraps lines, which are put together; a web page cuts them: fewer facts, or a refusal."""
    parts = [[line[at : at + columns] for at in range(0, max(1, len(line)), columns)] for line in sample().lines]
    path = write_log(tmp_path, [part for line in parts for part in (line if whole else line[:1])])
    if columns <= 200 and not whole:
        with pytest.raises(InputError, match="events are damaged: their JSON is cut off, wrapped"):
            read(path)
        return
    amounts, _ = facts(path)
    true_amounts, _ = true_facts()
    assert {} == {name: value for name, value in amounts.items() if value is not None and value != true_amounts.get(name)}


def test_the_newest_line_first_is_refused(tmp_path: Path) -> None:
    """Some collectors export that order; messages of several lines and causes of stalls cannot be read in it."""
    path = write_log(tmp_path, list(reversed(sample().lines)))

    with pytest.raises(InputError, match=r"the newest line comes first; .* tac"):
        read(path)
