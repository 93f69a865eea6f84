"""The course: lessons without typed results, pages that hide answers until a guess, exercises and their grades."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.cli.course import course
from lsmlab.reports.course import textbook
from lsmlab.reports.course.classroom import Classroom
from lsmlab.reports.course.exercises import EXAMPLE, exercises, right_answers, seed, sheet, solution_markdown
from lsmlab.reports.course.expressions import PLACEHOLDER, evaluate, filled
from lsmlab.reports.course.grading import as_csv, as_records, as_table, grade, read_answers, sheet_text
from lsmlab.reports.course.notebooks import Lesson, read_lesson, read_lessons, run_lesson, write_notebook
from lsmlab.reports.course.pictures import bars, slider, tree
from lsmlab.reports.course.real import Both, both, stores
from lsmlab.reports.course.references import MARK, glossary, linker
from lsmlab.reports.course.site import lesson_page
from lsmlab.reports.course.spans import memtables, rewrites
from lsmlab.sim.configuration.compose import compose
from lsmlab.validation.recorder.command import bench_plan
from lsmlab.validation.recorder.drivers import ROCKSDICT

LESSONS = read_lessons(Path(__file__).parents[1] / "docs" / "course")
NAMES = re.compile(r"\b(L\d|P99|level0_\w+)\b")
"""Terms with digits: levels, a percentile, and names of options."""
DOCS = Path(__file__).parents[1] / "docs"
CODE = re.compile(r"`([^`]+)`")
FUNCTION = re.compile(r"(\w+::)?\w+|[\w/]+\.cc")
SOURCE = re.compile(
    r"^Run: |^Arithmetic|wiki|section \d|\((?:behaviour|background)/[\w-]+\.md, |docs/reference/\w+\.md"
)
"""What a note may name: a run, arithmetic, RocksDB's wiki, a section of a paper, or a page of the reference."""
SMALL = '''# ---
# title: A small lesson
# aim: You learn nothing new.
# invariants:
#   - A flush writes one file.
# ---
# %% [markdown]
# Open text.
# %%
import lsmlab
from lsmlab import course

store = lsmlab.run(["workload.num=20k", "workload.writes=20k"], progress=False)
# %%
course.predict("ops", "How many operations?", unit="operations", guess=None)
# %%
course.reveal("ops", store.summary["operations"], form="count")
# %%
course.bars({"store": 1.0}, title="Bars", unit="s", caption="One bar.")
# %% [markdown]
# The sealed text: {{ store.operations | count }} operations, {{ 2 * 3 }}.
'''


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Lesson:
    """Return a tiny lesson."""
    path = tmp_path_factory.mktemp("course") / "1-small.py"
    path.write_text(SMALL, encoding="utf-8")
    return read_lesson(path)


@pytest.fixture(scope="module")
def page(small: Lesson) -> str:
    """Return the page of the tiny lesson."""
    return lesson_page(small, run_lesson(small))


def sealed(page: str) -> dict[str, object]:
    """Return what the first question of a page hides."""
    packed = re.search(r'octet-stream">([A-Za-z0-9+/=]+)</script></section>', page)
    assert packed is not None
    return dict(json.loads(gzip.decompress(base64.b64decode(packed[1]))))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_lessons_hold_no_typed_results(lesson: Lesson) -> None:
    """Texts of lessons contain no numbers except in names such as L0: values are placeholders."""
    texts = [cell.source for cell in lesson.cells if cell.cell_type == "markdown"]
    texts += [lesson.title, lesson.aim, *lesson.invariants]
    typed = [found for text in texts for found in re.findall(r"\d[\d.,]*", NAMES.sub("", PLACEHOLDER.sub("", text)))]

    assert [] == typed


def claims(lesson: Lesson) -> list[str]:
    """Return the paragraphs, items and rows of tables of a lesson that state something."""
    found = list(lesson.invariants)
    for cell in lesson.cells:
        if cell.cell_type == "markdown":
            blocks = re.split(r"\n\s*\n|\n(?=- |\|)", cell.source)
            found += [block for block in blocks if not re.match(r"#|    |\|[ -]*(queue|-)", block) and not block.endswith(":")]
    return found


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_claims_of_lessons_have_a_check(lesson: Lesson) -> None:
    """Each paragraph, item and row of a lesson has a footnote or a value of a run."""
    assert [] == [text for text in claims(lesson) if not PLACEHOLDER.search(text) and not MARK.search(text)]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_notes_of_lessons_name_their_check(lesson: Lesson) -> None:
    """A note names a source; the assertions and formulas that it quotes are in the code of the lesson."""
    code = " ".join(" ".join(cell.source.split()) for cell in lesson.cells if cell.cell_type == "code")
    quoted = [quote for text in lesson.notes.values() if text.startswith("Run: ") for quote in CODE.findall(text)]

    assert [] == [text for text in lesson.notes.values() if not SOURCE.search(text)]
    assert [] == [quote for quote in quoted if re.search(r"[<>]| = ", quote) and " ".join(quote.split()) not in code]


def test_notes_name_functions_of_the_reference() -> None:
    """Each function of RocksDB and LevelDB in a note is one that the pages on their behaviour name."""
    reference = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference" / "behaviour").glob("*.md"))
    named = {
        quote
        for lesson in LESSONS
        for text in lesson.notes.values()
        if text.startswith(("RocksDB", "LevelDB"))
        for quote in CODE.findall(text)
        if FUNCTION.fullmatch(quote)
    }

    assert 15 < len(named)
    assert [] == sorted(name for name in named if name.split("::")[-1] not in reference)


def test_marks_and_notes_belong_together(tmp_path: Path) -> None:
    """A mark without a note and a note without a mark are refused by name."""
    for head, text, message in (
        ("{}", "A claim.[^why]", "no such note; add 'why"),
        ("{why: because}", "No claim.", "notes.why: no text uses it"),
    ):
        path = tmp_path / "1-small.py"
        path.write_text(f"# ---\n# title: T\n# aim: A\n# invariants: []\n# notes: {head}\n# ---\n# %% [markdown]\n# {text}\n")
        with pytest.raises(InputError, match=re.escape(message)):
            read_lesson(path)


def test_terms_are_linked_where_they_come_first() -> None:
    """The first use of a term in a text leads to the glossary; headings, code, links and values keep theirs."""
    link = linker("g.html")

    assert "## A memtable\n[Memtables](g.html#memtable) and `stall`, [stall](x), {{ stall }}" == link(
        "## A memtable\nMemtables and `stall`, [stall](x), {{ stall }}"
    )
    assert "memtable [stalls](g.html#stall)" == link("memtable stalls")


def test_the_glossary_has_the_terms_of_the_lessons() -> None:
    """Lessons use each term of the glossary, and each word that a lesson sets in bold as new is one of them."""
    texts = {lesson.number: "\n".join(lesson.texts()) for lesson in LESSONS}
    known = {form.lower() for term in glossary() for form in term.forms}
    bold = {word.lower() for text in texts.values() for word in re.findall(r"\*\*(.+?)\*\*", text)}
    words = {term.name: "|".join(re.escape(form) for form in term.forms) for term in glossary()}
    everything = " ".join(" ".join(texts.values()).split())
    unused = [name for name, forms in words.items() if not re.search(rf"(?i)\b({forms})\b", everything)]

    assert ([], set()) == (unused, bold - known)


def test_every_task_of_the_exercises_is_solved() -> None:
    """Each task has a way to its answer; the pages show it for the example."""
    assert [] == [task.key for one in exercises().values() for task in one.tasks if not task.solution]
    mine = sheet(7, EXAMPLE)
    solved = solution_markdown(mine)
    assert "{{" not in solved
    assert all(f"**{value if isinstance(value, str) else f'{value:,.0f}'}**" in solved for value in right_answers(mine).values())


def test_levels_of_the_exercise_are_full_but_for_the_last() -> None:
    """For all parameters of lesson 3 the levels above the last one are full, and the last one holds a rest."""
    parameters = exercises()[3].parameters
    for data, base, multiplier in itertools.product(*(parameters[key] for key in ("data", "base", "multiplier"))):
        held, first = parse_quantity(data, "bytes"), parse_quantity(base, "bytes")
        levels = textbook.levels_for(held, first, multiplier)
        assert textbook.held_by(levels - 1, first, multiplier) < held <= textbook.held_by(levels, first, multiplier)


def test_levels_are_drawn_to_scale() -> None:
    """The lengths of levels have the ratios of their bytes, and each level has a part for each of its files."""
    levels = [
        {"level": level, "files": files, "bytes": size, "target_bytes": target}
        for level, files, size, target in ((1, 4, 40, 30), (2, 10, 400, 300), (3, 0, 0, 3000))
    ]
    drawn = tree(SimpleNamespace(summary={"levels": levels}), "Levels.")
    lengths = [float(x) for x in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn.content)]

    assert [100.0, 1000.0] == lengths
    assert 3 + 9 == drawn.content.count('class="gap"')
    assert "whole width is 400 B" in drawn.caption


def test_sliders_hold_their_axes() -> None:
    """Each step of a slider shows its own traces, on axes that hold the values of all steps."""
    steps = {name: bars({"a": value}, title="", caption="", unit="s") for name, value in (("one", 1.0), ("two", 5.0))}
    figure = slider(steps, title="T", caption="C", label="size").figure
    (bar,) = figure.layout["sliders"]

    assert [True, False] == [trace["visible"] for trace in figure.traces]
    assert [[True, False], [False, True]] == [move["args"][0]["visible"] for move in bar["steps"]]
    assert 5.0 < figure.layout["xaxis"]["range"][1] < 6.0
    assert [["size", "a"], ["one", "1 s"], ["two", "5 s"]] == figure.extra["table"]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_lessons_ask_before_they_answer(lesson: Lesson) -> None:
    """Each lesson reveals each of its questions once, after it has asked it."""
    code = "\n".join(cell.source for cell in lesson.cells if cell.cell_type == "code")
    steps = re.findall(r'course\.(predict|reveal)\(\s*"(\w+)"', code)
    keys = [key for step, key in steps if step == "predict"]

    assert keys
    assert [(step, key) for key in keys for step in ("predict", "reveal")] == steps


def test_there_are_nine_lessons() -> None:
    """Lessons are numbered from 1 to 9, and each has an exercise."""
    assert list(range(1, 10)) == [lesson.number for lesson in LESSONS]
    assert list(range(1, 10)) == sorted(exercises())


def test_answers_are_hidden_until_the_guess(page: str) -> None:
    """The HTML source has the question and the open text; answer, figure and explanation are compressed."""
    hidden = sealed(page)

    assert "Open text." in page
    assert "How many operations?" in page
    assert "sealed text" not in page
    assert "Simulated" not in page.replace("simulated answer", "")
    assert "The sealed text: 20,000 operations, 6." in str(hidden["html"])
    assert "Simulated: <b>20,000 operations</b>" in str(hidden["html"])
    figures = hidden["figures"]
    assert isinstance(figures, list)
    assert [{"trace": 1, "kind": "number", "letters": []}, None] == [figure["extra"].get("guess") for figure in figures]


def test_pages_need_no_network(page: str) -> None:
    """A page names no address on the network; Plotly comes from the file beside it."""
    assert [] == re.findall(r'(?:src|href)="(?:https?:)?//', page)
    assert '<script src="plotly.min.js">' in page


def test_notebooks_hold_no_results(small: Lesson, tmp_path: Path) -> None:
    """A notebook has the code of the lesson and no outputs; texts with values become calls that need the guesses."""
    cells = json.loads(write_notebook(small, tmp_path / "small.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]

    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")
    assert any(source.startswith("course.explain(") for source in code)
    assert "20,000" not in json.dumps(cells)


def test_a_classroom_wants_the_guess_first() -> None:
    """In a notebook, neither the answer nor the explanation comes before the guess; both come with it."""
    room = Classroom()
    room.predict("w", "How much?", unit="bytes")

    with pytest.raises(InputError, match="predict first"):
        room.reveal("w", 2.0)
    with pytest.raises(InputError, match="predict first"):
        room.explain("{{ 1 }}", {})
    room.predict("w", "How much?", unit="bytes", guess=3)
    assert "Your guess: 3.0. Simulated: 2 bytes." == repr(room.reveal("w", 2.0))
    assert "1 and 2" == room.explain("1 and {{ x }}", {"x": 2}).markdown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"guess": "much"}, "give a number in bytes"),
        ({"choices": ["x", "y"], "guess": "c"}, "choose one of a, b"),
        ({"points": [1, 2], "guess": [1]}, "give a list of 2 numbers in bytes"),
    ],
)
def test_guesses_are_checked(given: dict[str, object], message: str) -> None:
    """A guess that does not fit its question is refused with what to give."""
    with pytest.raises(InputError, match=message):
        Classroom().predict("w", "How much?", unit="bytes", **given)  # type: ignore[arg-type]


def test_expressions_are_no_programs() -> None:
    """Placeholders do arithmetic on values and formulas; imports, attributes of objects and unknown names are refused."""
    assert "2.50 and 1,000" == filled("{{ s.w / 2 | ratio }} and {{ 10 ** 3 | count }}", {"s": {"w": 5}})
    for bad in ("__import__('os')", "s.__class__", "missing", "[x for x in s]", "s.w(1)"):
        with pytest.raises(InputError):
            evaluate(bad, {"s": {"w": 5}})


def test_textbook_cases() -> None:
    """Formulas give the numbers of RocksDB's documentation at the limits of stalls; others are in their docstrings."""
    assert 512 << 20 == textbook.l0_bytes(128 << 20, 1, 4)
    assert ["free", "delay", "delay", "stop"] == [textbook.stall_state(files, 20, 36) for files in (19, 20, 35, 36)]
    assert ["free", "delay", "stop"] == [textbook.stall_state(p << 30, 64 << 30, 256 << 30) for p in (63, 64, 256)]
    assert 16384.0 == textbook.delayed_write_rate(16 << 20, 32)


def test_students_have_their_own_parameters() -> None:
    """Parameters and seed follow from the name: the same for other spaces and capitals, different for other students."""
    names = [f"Student {i}" for i in range(30)]

    assert sheet(3, "Ada Lovelace").values == sheet(3, " ada  LOVELACE ").values
    assert 30 == len({seed(name) for name in names})
    assert len({str(sheet(3, name).text) for name in names}) > 10


def test_every_exercise_can_be_written() -> None:
    """Each exercise fills all its placeholders, and its sheet can be read back as unanswered."""
    for lesson in exercises():
        mine = sheet(lesson, "Ada Lovelace")
        assert "{{" not in sheet_text(mine)
        assert all("{{" not in part for run in mine.commands().values() for part in run)


def test_grades(tmp_path: Path) -> None:
    """The key recomputes answers from the name: right within the tolerance, wrong, missing; hidden unless asked for."""
    mine = sheet(7, "Grace Hopper")
    right = right_answers(mine)
    text = sheet_text(mine).replace("  work:", f"  work: {right['work'] * 1.005}").replace("  verdict:", "  verdict: 'no'")
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    grades = grade(read_answers(tmp_path / "a.yaml"))

    expected = ["right", "missing", "right" if right["verdict"] == "no" else "wrong"]
    assert expected == [one.verdict for one in grades]
    assert "right answer" not in as_table(grades, key=False)
    assert "right answer" in as_table(grades, key=True)
    assert all("right" not in record for record in as_records(grades, key=False))
    assert 3 == len(list(csv.DictReader(io.StringIO(as_csv(grades, key=True)))))


def test_memtables_take_turns() -> None:
    """A memtable takes writes until its switch, waits for the flush thread and is flushed; a stop delays the next one."""
    run = SimpleNamespace(
        summary={"duration_s": 6.0},
        events=pd.DataFrame({"kind": ["switch", "switch"], "time_s": [1.0, 2.0]}),
        jobs=pd.DataFrame({"kind": ["flush", "flush"], "start_s": [1.0, 3.0], "end_s": [3.0, 5.0]}),
        stalls=pd.DataFrame({"cause": ["memtable_stop"], "start_s": [2.0], "end_s": [3.0]}),
    )
    found = {
        (row, trace["name"], base, base + length)
        for trace in memtables(run, "Two memtables.").figure.traces
        for row, base, length in zip(trace["y"], trace["base"], trace["x"], strict=True)
    }

    assert found == {
        ("memtable A", "takes writes", 0.0, 1.0), ("memtable A", "is flushed", 1.0, 3.0),
        ("memtable A", "takes writes", 3.0, 6.0),
        ("memtable B", "takes writes", 1.0, 2.0), ("memtable B", "waits for its flush", 2.0, 3.0),
        ("memtable B", "is flushed", 3.0, 5.0), ("writers", "writers are stopped", 2.0, 3.0),
    }  # fmt: skip


def test_rewritten_bytes_are_those_of_the_level_below() -> None:
    """A compaction rewrites the files of its output level; slices that are linked to a rewritten file move down with it."""
    columns = ["kind", "job", "file", "from_level", "bytes", "linked_to"]
    mib = 2**20
    created = [("create", 1, file, -1, size * mib, -1) for file, size in ((1, 1), (2, 2), (3, 3), (4, 4))]
    jobs = pd.DataFrame({"kind": ["compaction"], "job": [9], "output_level": [2]})
    moved = [("delete", 9, 1, 1, 0, -1), ("delete", 9, 2, 2, 0, -1), ("delete", 9, 3, 2, 0, -1)]
    linked = [("link", 8, 1, -1, mib // 2, 4), ("delete", 9, 4, 2, 0, -1), ("delete", 9, 1, -1, 0, -1)]
    runs = {
        name: SimpleNamespace(jobs=jobs, events=pd.DataFrame([*created, *rows], columns=columns))
        for name, rows in (("LevelDB", moved), ("LDC", linked))
    }
    down, with_it = rewrites(runs, "Bytes.").figure.traces

    assert (["LevelDB", "LDC"], [1.0, 0.5]) == (down["y"], down["x"])
    assert (["LevelDB", "LevelDB", "LDC"], [2.0, 3.0, 4.0]) == (with_it["y"], with_it["x"])


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_each_lesson_has_a_store_that_rocksdb_can_run(lesson: Lesson) -> None:
    """The recorder has flags for all options of the store, and the real RocksDB has the engine: no policy of a paper."""
    plan = bench_plan(compose(stores()[lesson.number].overrides), Path("report.csv"), ROCKSDICT)

    assert "--benchmarks=fillrandom,stats" in plan.measured


def test_the_distance_of_real_and_simulated_run_is_told() -> None:
    """The sentence names throughput, write amplification and the longest write, with their directions."""
    measured = {"ops_per_s": 100.0, "write_amplification": 2.0, "write_latency_s": {"max": 0.5}}
    simulated = {"ops_per_s": 110.0, "write_amplification": 1.5, "write_latency_s": {"max": 1.0}}

    assert Both(1, measured, simulated, [], []).apart() == (
        "The simulation does 10 % more writes per second than RocksDB here and writes 25 % fewer bytes per byte; the longest "
        "writes take 1 s and 500 ms."
    )


def test_unknown_lessons_cannot_be_recorded() -> None:
    """The number of a lesson that does not exist is refused with those that exist."""
    with pytest.raises(InputError, match="choose one of 1, 2, 3, 4, 5, 6, 7, 8, 9"):
        both(10)


def test_simulated_answers_follow_the_seed() -> None:
    """Answers by simulation are those of the student's own commands."""
    import lsmlab

    mine = sheet(2, "Grace Hopper")
    run = lsmlab.run(mine.commands()["store"], progress=False)

    assert run.summary["flush_count"] == right_answers(mine)["flushes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lesson: 7\nstudent: [", "not YAML"),
        ("- 1", "is not an answers file"),
        ("lesson: seven\nstudent: A\nanswers: {}", "lesson: must be a number"),
        ("lesson: 70\nstudent: A\nanswers: {}", "no such lesson"),
        ("lesson: 7\nstudent: ' '\nanswers: {}", "needs a letter"),
        ("lesson: 7\nstudent: A\nanswers: 5", "answers: must be keys"),
        ("lesson: 7\nstudent: A\nanswers: {wark: 5}", "no such question; there are work, room, verdict"),
        ("lesson: 7\nstudent: A\nanswers: {work: 5 MB}", "must be a plain number"),
        ("lesson: 7\nstudent: A\nanswers: {verdict: perhaps}", "choose one of yes, no"),
    ],
)
def test_damaged_answers_are_named(text: str, message: str, tmp_path: Path) -> None:
    """A damaged answers file gives one error with file, key and remedy."""
    path = tmp_path / "answers.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match=message) as caught:
        read_answers(path)
    assert str(path) in str(caught.value)


def test_the_command_writes_and_grades_sheets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`course exercise` writes a sheet once, and `course grade --json` grades it."""
    path = tmp_path / "sheet.yaml"

    assert 0 == course(["exercise", "7", "--student", "Grace Hopper", "--out", str(path)])
    with pytest.raises(InputError, match="exists already"):
        course(["exercise", "7", "--student", "Grace Hopper", "--out", str(path)])
    capsys.readouterr()
    assert 0 == course(["grade", "--json", str(path)])
    assert ["missing"] * 3 == [one["verdict"] for one in json.loads(capsys.readouterr().out)]
    assert 0 == course(["list"])
    assert 9 == len(capsys.readouterr().out.splitlines())
