"""Pages of sweeps: figures and tables of known results, and links to the pages of runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.reports.cli.report import study_kinds
from lsmlab.reports.decisions.plot import Plot, draw_plot
from lsmlab.reports.decisions.sweep import SWEEP
from lsmlab.reports.run_data import PAGE
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.studies.sweep.analysis import analyse
from lsmlab.sim.studies.sweep.measured import SWEEP as FILE
from lsmlab.sim.studies.sweep.measured import objectives
from lsmlab.sim.studies.sweep.sweep import SweepAnswer
from report_fixture import figures_of
from test_sweep_analysis import GRID, write_sweep


def drawn(folder: Path, *given: str) -> str:
    """Return the page of a sweep for objectives of the command line."""
    about = json.loads((folder / FILE).read_text())
    finished = about["configurations"] * len(about["seeds"])
    analysis = analyse(folder, objectives(given, folder))
    answer = SweepAnswer(**about, finished=finished, kept=0, failed=0, bad_input=0, failures=[], analysis=analysis, command="")
    return SWEEP.draw(answer, folder).read_text()


def test_report_draws_the_page_of_an_answer_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`lsmlab report` on the folder of an answer draws its verb's page, not a comparison of the runs in it."""
    folder = write_sweep(tmp_path / "s", GRID, value)
    page = drawn(folder)
    about = json.loads((folder / FILE).read_text())
    analysis = analyse(folder, objectives((), folder))
    answer = SweepAnswer(**about, finished=12, kept=0, failed=0, bad_input=0, failures=[], analysis=analysis, command="")
    write_json(folder / SWEEP.file, SWEEP.content(answer))
    (folder / PAGE).unlink()

    assert 0 == main(["report", str(folder)])
    assert page == (folder / PAGE).read_text()
    assert 2 == main(["report", str(folder), "--out", str(tmp_path / "p.html")])
    assert "--out" in capsys.readouterr().err


def test_report_knows_the_answers_of_all_verbs(tmp_path: Path) -> None:
    """Each kind of answer has a file of its own, and can be read back from it."""
    kinds = study_kinds()

    assert {"whatif", "advise", "tune", "plan", "grow", "sweep"} <= {kind.name for kind in kinds}
    assert len(kinds) == len({kind.file for kind in kinds})
    for kind in kinds:
        with pytest.raises(InputError, match=re.escape(kind.file)):
            kind.read(tmp_path)


def value(point: list[str], seed: int) -> dict[str, float]:
    """Return the numbers of a point: throughput rises with cores, the tail does too."""
    ops = 10.0 * float(point[0]) + (100.0 if point[1:] == ["nvme"] else 0.0) + seed
    return {"ops_per_s": ops, "write_latency_s.p99": 1e-3 * float(point[0])}


def test_the_page_of_a_grid(tmp_path: Path) -> None:
    """The page has a figure of each effect, a heat map with means, one line per configuration, and the front."""
    folder = write_sweep(tmp_path / "s", GRID, value)
    figures = figures_of(text := drawn(folder))
    cores, device = figures["effects-ops_per_s"]["traces"]

    assert {"effects-ops_per_s", "effects-write_latency_s-p99", "heat-map", "parallel", "pareto"} == set(figures)
    assert [62.0, 72.0, 92.0] == pytest.approx(cores["x"])
    assert "nvme: 125 ops/s" in device["text"]
    cells = [value for row in figures["heat-map"]["traces"][0]["z"] for value in row]
    assert [112.0, 12.0, 122.0, 22.0, 142.0, 42.0] == pytest.approx(cells)
    assert 6 * 5 == sum(len(trace["x"]) for trace in figures["parallel"]["traces"])
    assert "The largest throughput, 142 ops/s (140 to 144): 4 cores, nvme. It is the best with probability 100 %." in text
    assert "device causes 94 % (94 to 94) of the variance of throughput between the configurations." in text


def test_the_page_of_a_saltelli_design(tmp_path: Path) -> None:
    """Indices are bars with intervals; a single seed is said; a metric without variation has no figure."""
    folder = write_sweep(
        tmp_path / "s", ["host.cores=0.0..1.0", "workload.threads=0.0..1.0"],
        lambda p, _s: {"ops_per_s": float(p[0]), "write_amplification": 2.0}, "saltelli", 64, seeds=1,
    )  # fmt: skip
    figures = figures_of(text := drawn(folder))

    assert ["alone", "with all interactions"] == [trace["name"] for trace in figures["sobol-ops_per_s"]["traces"]]
    assert "effects-write_amplification" not in figures
    assert "no intervals over seeds" in text


def test_a_sweep_links_pages_and_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best runs get pages, to which the table links; --plot draws one dot per run."""
    monkeypatch.chdir(tmp_path)
    line = ["sweep", "device=nvme,sata,hdd", "workload.num=100k", "workload.duration=1s", "-j", "1", "--out", "o"]
    assert 0 == main([*line, "--objective", "ops_per_s"])
    text = Path("o/report.html").read_text()
    linked = re.findall(r'<a href="([^"]+)">', text)

    assert linked
    assert "sata gives exactly the same results as nvme" in text
    assert all(f"<h2>{title}</h2>" in text for title in ("The best side by side", "Differences", "Differences of the settings"))
    assert all((Path("o") / target).is_file() for target in linked)
    assert 0 == main(["results", "o", "--plot", "device", "ops_per_s", "--where", "device=nvme,sata"])
    (dots,) = figures_of(Path("o/plot.html").read_text())["plot-0"]["traces"]
    assert ["nvme", "sata"] == dots["x"]
    assert Path("o/plot.html") == draw_plot(Plot.read(Path("o/plot.json")), Path("o"))
