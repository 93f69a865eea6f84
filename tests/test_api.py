"""LSMLab from Python: results, comparisons and answers in programs and notebooks."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import lsmlab
import pandas as pd
import pytest
from log_sample import Sample
from lsmlab.plots import ComparisonPlots, RunPlots
from lsmlab.reports.numbers import on_page
from lsmlab.sim.results.schema.run_tables import RUN_TABLES
from plotly.graph_objects import Figure
from running import SLOW_JOBS

QUICK = [
    "workload.num=20k", "workload.duration=2s", "engine.options.write_buffer_size=256KiB", *SLOW_JOBS,
]  # fmt: skip
"""A small store whose jobs take long to start, so that it stalls."""
BAD = {
    "device=nvmee": "did you mean device=nvme?",
    "device=nvme,sata": "several values",
    "nonsense": "not an override",
    "engine.options.max_background_job=2": "did you mean engine.options.max_background_jobs?",
    "device='sata": "No closing quotation",
    "workload.num=${nothing}": "workload.num",
    "--help": "not an override",
}
"""Overrides that `configure` refuses, and a part of the message."""


def drawings(plots: type) -> list[str]:
    """Return the methods of a class of figures."""
    return [name for name in vars(plots) if not name.startswith("_")]


@pytest.fixture(scope="module")
def result() -> lsmlab.Result:
    """Return a run with flushes and compactions that is only in memory."""
    return lsmlab.run(["device=sata", *QUICK], progress=False)


@pytest.fixture(scope="module")
def both() -> lsmlab.Comparison:
    """Return a comparison of two drives with two seeds each, in temporary folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LSMLAB_RUNS", raising=False)
        return lsmlab.compare(["device=nvme,sata", *QUICK], replications=2, jobs=1, progress=False)


@pytest.mark.parametrize("override", BAD)
def test_bad_overrides_raise_input_errors(override: str) -> None:
    """Every kind of bad override raises InputError with the remedy, also from one text; nothing else is raised."""
    with pytest.raises(lsmlab.InputError) as error:
        lsmlab.configure(override if "'" in override else [override])

    assert BAD[override] in str(error.value)


def test_overrides_are_a_list_or_a_text() -> None:
    """A text is split as a shell does, so a command line can be pasted."""
    assert lsmlab.configure(["device=sata", "seed=3"]) == lsmlab.configure("device=sata seed=3")


def test_a_mapping_that_is_no_configuration_is_refused() -> None:
    """A run of another mapping names the missing key."""
    with pytest.raises(lsmlab.InputError, match="no engine"):
        lsmlab.run({"device": {}})


def test_a_run_writes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: lsmlab.Result) -> None:
    """A run, its tables, its figures and the text of its page leave no files in the folder of the program."""
    monkeypatch.chdir(tmp_path)
    assert "<!DOCTYPE html>" == result.html()[:15]
    assert result.folder is None
    with pytest.raises(lsmlab.InputError, match="name a file"):
        result.report()

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("schema", RUN_TABLES, ids=lambda schema: schema.name)
def test_tables_are_frames_with_documented_columns(result: lsmlab.Result, schema) -> None:
    """Each table is a DataFrame whose columns are those of the results contract, also a table without rows."""
    frame = getattr(result, schema.name)
    needed = {c.name for c in schema.columns if not (c.optional or c.family)}

    assert isinstance(frame, pd.DataFrame)
    assert needed <= set(frame.columns)
    assert all(schema.column(name) for name in frame.columns)


def test_empty_tables_have_columns_and_types() -> None:
    """Stalls of a run without stalls, and events that were not recorded, have all columns with their types."""
    calm = lsmlab.run(["workload.num=1k", "workload.duration=1s", "save.events=false"], progress=False)

    assert (0, 0) == (len(calm.stalls), len(calm.events))
    assert {"float64"} == {str(calm.stalls[name].dtype) for name in ("start_s", "end_s", "lost_ops")}
    assert ("int64", "bool") == (str(calm.stalls["chain_bytes"].dtype), str(calm.stalls["unfinished"].dtype))
    assert ("int32", "float32") == (str(calm.events["file"].dtype), str(calm.events["smallest"].dtype))
    assert calm.events["time_s"].sum() == 0.0
    assert isinstance(calm.plot.device(), Figure)  # without data: a sentence


@pytest.mark.parametrize("name", drawings(RunPlots))
def test_figures_of_a_run(result: lsmlab.Result, name: str) -> None:
    """Each figure of a run is a Plotly figure with data, which Plotly's own validation accepts."""
    assert len(getattr(result.plot, name)().data) > 0


@pytest.mark.parametrize("name", drawings(ComparisonPlots))
def test_figures_of_a_comparison(both: lsmlab.Comparison, name: str) -> None:
    """Each figure of a comparison is a Plotly figure with a title."""
    assert getattr(both.plot, name)().layout.title.text


def test_a_result_survives_saving(tmp_path: Path, result: lsmlab.Result) -> None:
    """A saved run has the same numbers and tables when loaded, and its page is written beside it."""
    copy = lsmlab.load(result.save(tmp_path / "saved"))

    assert result.summary == copy.summary
    assert result.config == copy.config
    for schema in RUN_TABLES:
        pd.testing.assert_frame_equal(getattr(result, schema.name), getattr(copy, schema.name))
    assert (tmp_path / "saved" / "report.html") == copy.report()


def test_representations_are_short(result: lsmlab.Result, both: lsmlab.Comparison) -> None:
    """`repr` is one line with the main numbers; notebooks get a table."""
    assert repr(result).startswith("<lsmlab.Result ")
    assert max(len(repr(result)), len(repr(both))) < 200
    assert "<th>throughput</th>" in result._repr_html_()
    assert '<th class="number">sata</th>' in both._repr_html_()


def test_a_comparison_has_differences_with_intervals(both: lsmlab.Comparison) -> None:
    """Runs have short names; differences are those of the first run, with intervals and documented types."""
    rows = both.differences.set_index("metric")

    assert ["nvme", "sata"] == list(both.runs) == list(both.table["run"])
    assert {"sata"} == set(both.differences["run"])
    known = rows[rows["low"].notna() & ~rows["tie"]]
    assert len(known)
    assert (known["low"] < known["change"]).all()
    assert pd.isna(rows.loc["device.utilisation", "low"]), "nobody recorded the use of a device"
    assert not rows.loc["device.utilisation", "certain"]
    assert both["sata"].summary["device"]["utilisation"] > both["nvme"].summary["device"]["utilisation"]
    assert both.sentences[0].startswith("sata against nvme: ")
    assert on_page(both.sentences[0]) in both._repr_html_()
    with pytest.raises(lsmlab.InputError, match="nvme; sata"):
        both["hdd"]


def test_a_failed_configuration_raises(tmp_path: Path) -> None:
    """A comparison of which one configuration is impossible names it."""
    with pytest.raises(lsmlab.InputError, match=r"device\.write_cap: -5 is out of range"):
        lsmlab.compare(["device.write_cap=-5,1GB/s", *QUICK], jobs=1, progress=False)


def test_decisions_return_answers(both: lsmlab.Comparison) -> None:
    """A what-if about a result gives its differences as a table and its text; bad arguments raise InputError."""
    answer = lsmlab.whatif(both["nvme"], "device=sata", replications=2, jobs=1, progress=False)

    assert {"device=sata"} == set(answer.differences["run"])
    assert "device=sata: " in answer.conclusion.answer
    assert answer.conclusion.answer in " ".join(str(answer).split())
    for line in (["--help"], ["device=nvmee"], ["x"]):
        with pytest.raises(lsmlab.InputError):
            lsmlab.whatif(both["nvme"], *line, progress=False)


def test_a_log_becomes_a_result(tmp_path: Path) -> None:
    """An imported LOG has the tables of a run; events, which a LOG lacks, are empty with their columns."""
    (tmp_path / "LOG").write_text(Sample().run(8).text, encoding="utf-8")
    imported = lsmlab.import_log(tmp_path / "LOG")

    assert len(imported.jobs) > 0
    assert (0, "smallest" in imported.events.columns) == (len(imported.events), True)
    assert imported.folder is not None
    assert (imported.folder / "experiment").is_dir()


def test_public_names_have_docstrings() -> None:
    """Every public function, class, method and property of `lsmlab` has a docstring, from which the reference is built."""
    missing = []
    for name in lsmlab.__all__:
        value = getattr(lsmlab, name)
        missing += [name] if not inspect.getdoc(value) else []
        members = vars(value) if inspect.isclass(value) else {}
        public = {m: v for m, v in members.items() if not (m.startswith("_") or inspect.ismemberdescriptor(v))}
        missing += [f"{name}.{m}" for m, v in public.items() if not inspect.getdoc(v)]

    assert [] == missing


def test_without_pandas_one_sentence_names_the_remedy(
    both: lsmlab.Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that returns a DataFrame raises InputError with the remedy if pandas is not installed."""
    lsmlab.sweep("device=nvme,sata", *QUICK, jobs=1, progress=False, out=tmp_path / "runs")
    monkeypatch.setitem(sys.modules, "pandas", None)
    fresh = lsmlab.load(next(tmp_path.glob("runs/*/summary.json")).parent)
    for frame in (lambda: lsmlab.results(tmp_path / "runs"), lambda: fresh.jobs, lambda: both.differences):
        with pytest.raises(lsmlab.InputError, match=r"pip install 'lsmlab\[notebook\]'"):
            frame()
