"""The suite of papers' figures on two small settings: verdicts, shared runs, the command, its page and document."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.reports.figures.papers import placed
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.casefiles.real import real_run
from lsmlab.validation.markdown import stated_digest
from lsmlab.validation.papers import document, suite
from lsmlab.validation.papers.claim import Claim, PaperRun, PaperSetting
from lsmlab.validation.papers.expression import Expression, filled
from lsmlab.validation.papers.measures import mean_latency_s, quantile_s, ratio
from lsmlab.validation.papers.released import compare
from lsmlab.validation.papers.reproduce import Reproduction
from lsmlab.validation.papers.runs import read_outcome, run_settings
from lsmlab.validation.papers.suite import PAPERS, Paper, read_papers, settings_of
from lsmlab.validation.papers.verdict import FAILED, Found, judge
from lsmlab.validation.scorecard.real_engines import DATA, real_engine_cases
from lsmlab.validation.scorecard.runs import CaseRun, Replication

ROOT = Path(__file__).parents[1]
TINY = ("workload.num=50k", "workload.duration=2s", "engine.options.write_buffer_size=1MiB", "device.write_cap=40MB/s")
PLAIN = PaperSetting("plain", TINY)
FAST = PaperSetting("fast", (*TINY[:3], "device.write_cap=80MB/s"))


def claim(name: str, *runs: PaperSetting, **changes: Any) -> Claim:
    """Return a claim on the speed-up by a faster device."""

    def measure(outcomes: dict[str, PaperRun]) -> float:
        written = [o.summary["device_bytes_written"] for o in outcomes.values()]
        return float(written[-1] / written[0])

    about: dict[str, Any] = {
        "setting": "a tiny store", "published": 1.8, "accepted": (1.4, 2.4), "neutral": 1.0, "measure": measure,
        "mechanism": "twice the bandwidth",
    }  # fmt: skip
    return Claim(id=name, runs=runs, **(about | changes))


def papers(*claims: Claim) -> list[Paper]:
    """Return one paper with these claims."""
    return [Paper("ldc", "A paper", claims)]


def test_shared_settings_run_once(tmp_path: Path) -> None:
    """Equal overrides are simulated once per seed under any names; each claim reads the run by its own name."""
    other = PaperSetting("same", PLAIN.overrides)
    mine = papers(claim("ldc.a", PLAIN, FAST), claim("ldc.b", other, measure=lambda o: o["same"].summary["seed"]))

    runs = run_settings(settings_of(mine), seeds=2, processes=1, directory=tmp_path)
    found = judge(mine, runs)

    assert 2 == len(runs)
    assert 4 == len(list(tmp_path.rglob("summary.json")))
    assert (1.0, 2.0) == found[1].values
    assert "reproduced" == found[0].verdict, found[0].values


def test_long_settings_may_have_fewer_seeds(tmp_path: Path) -> None:
    """A claim uses the seeds that all its settings have; a shared setting gets the largest number of seeds."""
    single = PaperSetting("plain", PLAIN.overrides, seeds=1)
    mine = papers(claim("ldc.a", FAST, single))

    (found,) = judge(mine, run_settings(settings_of(mine), seeds=2, processes=1, directory=tmp_path))

    assert 1 == len(found.values)
    assert 3 == len(list(tmp_path.rglob("summary.json")))
    assert [2] == [s.seeds for _, s in settings_of(papers(claim("ldc.a", single), claim("ldc.b", replace(single, seeds=2))))]


def test_finished_runs_are_not_repeated(tmp_path: Path) -> None:
    """A run in the store is not simulated again, unless its configuration changed or fresh=True."""
    mine = settings_of(papers(claim("ldc.a", PLAIN, FAST)))

    def files(**more: Any) -> set[tuple[int, int]]:
        """Return inode and mtime of the store's files, as a new file may get the inode of a deleted one."""
        run_settings(mine, seeds=1, processes=1, directory=tmp_path, **more)
        stats = [path.stat() for path in tmp_path.rglob("summary.json")]
        return {(found.st_ino, found.st_mtime_ns) for found in stats}

    first, again = files(), files()

    assert first == again
    assert not first & files(extra=["workload.num=49k"])
    assert first == files()
    assert not first & files(fresh=True)


def test_a_setting_states_a_number_of_its_profile(tmp_path: Path) -> None:
    """The profile is simulated first, although no claim names it; a failed profile fails its setting."""
    rate = (*TINY, "workload.benchmark_write_rate_limit={0.5*plain.user_bytes_written/plain.duration_s:.0f}")
    half = PaperSetting("half", rate, profiles=(PLAIN,))
    lost = PaperSetting("lost", (*rate, "seed=2"), profiles=(PaperSetting("plain", ("engine=none",)),))
    mine = papers(claim("ldc.a", half), claim("ldc.b", lost))

    runs = run_settings(settings_of(mine), seeds=1, processes=1, directory=tmp_path)

    plain, slow = (read_outcome(runs[s.overrides].directories[0]).summary for s in (PLAIN, half))
    assert slow["user_bytes_written"] == pytest.approx(0.5 * plain["user_bytes_written"], rel=0.05)
    assert "its profile plain failed: " in str(runs[lost.overrides].error)


def test_texts_state_numbers_of_the_runs(tmp_path: Path) -> None:
    """A number in a text is the mean over the seeds of the named run; a missing run is marked "(not simulated)"."""
    texts = {"mechanism": "{fast.ops_per_s / 1e3:.3f} K/s", "note": "{stalled_s(plain):.2f} s, {lost.ops_per_s:.0f}"}
    mine = papers(claim("ldc.a", PLAIN, FAST, **texts))
    runs = run_settings(settings_of(mine), seeds=2, processes=1, directory=tmp_path)

    (found,) = judge(mine, runs)

    fast, plain = ([read_outcome(place).summary for place in runs[s.overrides].directories] for s in (FAST, PLAIN))
    assert f"{sum(s['ops_per_s'] for s in fast) / 2e3:.3f} K/s" == found.claim.mechanism
    stalled = sum(sum(s["stall_seconds"].values()) for s in plain) / 2
    assert f"{stalled:.2f} s, (not simulated)" == found.claim.note


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plain.ops_per_s / slow.ops_per_s", "column 19 of 'plain.ops_per_s / slow.ops_per_s': no run slow"),
        ("1 + plain", "column 5 of '1 + plain': the run plain is no number"),
        ("speed(plain)", "column 1 of 'speed(plain)': no function speed"),
        ("plain.ops_per_s +", "column 18 of"),
        ("__import__('os').getcwd()", "column 1 of"),
        ("[n for n in (1, 2)]", "only numbers, keys of runs"),
        ("plain.ops_per_s ** 2", "only numbers, keys of runs"),
        ("min(plain.ops_per_s, key=plain)", "only numbers, keys of runs"),
    ],
)
def test_an_error_names_file_claim_and_column(text: str, problem: str) -> None:
    """Whatever is no expression of the language is one error, before any run."""
    with pytest.raises(InputError, match=re.escape(f"ldc.yaml: ldc.a: {problem}") if "column" in problem else problem):
        Expression(text, "ldc.yaml: ldc.a", {"plain"})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("kind: number", "kind: word"), "kind 'word' of the published 2.0"),
        (("source: a test", "colour: red"), "colour is no key of a claim"),
        (("source: a test", "note: a test"), "source is missing"),
        (("fast.ops_per_s /", "quick.ops_per_s /"), "column 1 of .*: no run quick"),
        (("mechanism: speed", "mechanism: '{stalled(fast):.1f}'"), "no function stalled"),
        (("mechanism: speed", "mechanism: $speed"), r"\$speed is not defined"),
    ],
)
def test_a_claim_that_is_not_well_formed_is_refused(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    """One error names file, claim and what is wrong with it."""
    text = """
        {citation: A paper, overrides: {load: workload.num=50k}, texts: {}, settings: {fast: $load a=2, slow: $load},
         claims: {ldc.a: {setting: a, source: a test, kind: number, published: 2.0, accepted: [1, 3], neutral: 1,
                          expression: fast.ops_per_s / slow.ops_per_s, mechanism: speed}}}
    """
    path = tmp_path / "ldc.yaml"
    path.write_text(text)
    (one,) = suite.read_paper(path).claims
    path.write_text(text.replace(*change))

    assert [("workload.num=50k", "a=2"), ("workload.num=50k",)] == [run.overrides for run in one.runs]
    with pytest.raises(InputError, match=f"^ldc.yaml: ldc.a: .*{problem}"):
        suite.read_paper(path)


def test_expressions_combine_numbers_of_runs() -> None:
    """An expression reads the keys of summaries and calls measures and functions of numbers."""
    fast, slow = (PaperRun({"ops_per_s": ops, "write_latency_s": {"p99": ops / 100}}, {}, {}, {}, {}) for ops in (8.0, 2))
    runs = {"fast": fast, "slow": slow}

    def value(text: str) -> float:
        return Expression(text, "a test")(runs)

    assert value("-fast.ops_per_s / (1 + slow.ops_per_s)") == pytest.approx(-8 / 3)
    assert value("argmax({3: slow.ops_per_s, 5: fast.ops_per_s})") == 5.0
    assert value("knee({2: slow.ops_per_s, 4: fast.write_latency_s.p99 * 99, 6: fast.ops_per_s})") == 4.0
    assert value("max(nan, slow.ops_per_s, mean(1, 4))") == 2.5
    assert value("ratio(slow.ops_per_s, 0)") == math.inf
    with pytest.raises(InputError, match=r"column 1 of 'fast\.write_latency_s\.p98': the summary of fast has"):
        value("fast.write_latency_s.p98")


def test_a_failure_affects_only_its_own_claims(tmp_path: Path) -> None:
    """A setting that cannot be composed or a failing measure fails its claims with the reason, and no others."""
    bad = PaperSetting("bad", ("engine=nope",))
    mine = papers(
        claim("ldc.a", PLAIN, bad), claim("ldc.b", PLAIN, measure=lambda o: o["plain"].jobs["no_such_column"]),
        claim("ldc.c", PLAIN, measure=lambda o: len(o["plain"].series["t_s"]), accepted=(2, 2), published="two seconds"),
    )  # fmt: skip

    found = judge(mine, run_settings(settings_of(mine), seeds=1, processes=1, directory=tmp_path))

    assert [FAILED, FAILED, "reproduced"] == [f.verdict for f in found]
    assert "no such entry" in (found[0].error or "")
    assert "no_such_column" in (found[1].error or "")


@pytest.mark.parametrize(
    ("values", "accepted", "verdict", "simulated"),
    [
        ((4.0, 5.0), (4.0, 6.0), "reproduced", 4.5),
        ((1.5, 2.5), (4.0, 6.0), "direction only", 2.0),
        ((0.9,), (4.0, 6.0), "not reproduced", 0.9),
        ((0.8,), (0.2, 0.5), "direction only", 0.8),
        ((ratio(0.0, 0.0),), (4.0, 6.0), "not reproduced", math.nan),  # two runs without stalls give no verdict on their ratio
        ((ratio(4.0, 0.0),), (4.0, 6.0), "direction only", math.inf),
        ((math.inf,), (4.0, math.inf), "reproduced", math.inf),
    ],
)
def test_verdicts(
    tmp_path: Path, values: tuple[float, ...], accepted: tuple[float, float], verdict: str, simulated: float
) -> None:
    """The mean over seeds gives the verdict; a single value has no interval, and NaN and infinity cause no error."""
    numbers = iter(values)
    mine = papers(claim("ldc.a", PLAIN, accepted=accepted, measure=lambda _: next(numbers)))

    (found,) = judge(mine, run_settings(settings_of(mine), seeds=len(values), processes=1, directory=tmp_path))

    assert verdict == found.verdict
    assert found.simulated == pytest.approx(simulated, nan_ok=True)
    assert (len(values) > 1) == (found.low is not None)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command writes runs, JSON and a page; a failed claim gives exit code 2."""
    everything = papers(claim("ldc.a", PLAIN, FAST), claim("ldc.b", PaperSetting("bad", ("engine=nope",))))

    def chosen(_names: list[str], only: str | None) -> list[Paper]:
        return [Paper(p.name, p.citation, tuple(c for c in p.claims if only in (None, c.id))) for p in everything]

    monkeypatch.setattr("lsmlab.validation.papers.reproduce.read_papers", chosen)
    assert 0 == main(["papers", "--only", "ldc.a", "--seeds", "2", "-j", "1", "--out", str(tmp_path)])
    printed_text = capsys.readouterr().out
    assert 2 == main(["papers", "--seeds", "1", "-j", "1", "--json", "--only", "ldc.b"])
    printed = capsys.readouterr()

    assert "ldc.a: word, reproduced" in printed_text
    page = (tmp_path / "report.html").read_text()
    assert all(text in page for text in ("a tiny store", "twice the bandwidth", "reproduced"))
    (row,) = json.loads(printed.out)["claims"]
    assert {"id", "paper", "setting", "published", "simulated", "low", "high", "verdict"} <= set(row)
    assert ("failed", None) == (row["verdict"], row["simulated"])
    assert "engine=nope" in printed.err


def test_papers_are_chosen_by_name_and_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown paper and a pattern without a match raise errors with the remedy."""
    with pytest.raises(InputError, match="silkworm: no such paper; choose from vlsm, silk, adoc, ldc"):
        read_papers(["silkworm"])
    monkeypatch.setattr(suite, "PAPERS", ("ldc",))
    monkeypatch.setattr(suite, "read_paper", lambda _path: papers(claim("ldc.a", PLAIN), claim("ldc.b", PLAIN))[0])
    assert ["ldc.b"] == [c.id for p in read_papers(only="*.b") for c in p.claims]
    with pytest.raises(InputError, match="matches no claim"):
        read_papers(only="*.z")


@pytest.mark.parametrize("name", PAPERS)
def test_claims_are_well_formed(name: str) -> None:
    """Ids are unique and begin with the paper, equal setting names have equal overrides, and ranges are ordered.

    A run is one of a claim, and a text has no place of another form than `{expression:format}`.
    """
    (paper,) = read_papers([name])
    data = yaml.safe_load((ROOT / f"validation/papers/claims/{name}.yaml").read_text())

    assert {setting.name for one in paper.claims for setting in one.runs} == set(data["settings"])
    ids = [c.id for c in paper.claims]
    assert len(set(ids)) == len(ids)
    assert 5 == len(set(paper.headlines))
    assert [i for i in ids if i.startswith(f"{name}.")] == ids
    overrides: dict[str, tuple[str, ...]] = {}
    for one in paper.claims:
        assert one.accepted[0] <= one.accepted[1], one.id
        assert all((one.setting, one.mechanism, one.runs, one.source)), one.id
        assert "{" not in filled(one.mechanism + one.note, lambda _expression: None), one.id
        if isinstance(one.published, float):
            assert one.accepted[0] <= one.published <= one.accepted[1], f"{one.id}: published value not accepted"
        for run in one.runs:
            assert overrides.setdefault(run.name, run.overrides) == run.overrides, f"{one.id}: two settings {run.name}"


@pytest.mark.skipif(not document.FILE.is_file(), reason="docs/papers.md has not been written yet")
def test_the_document_is_up_to_date() -> None:
    """docs/papers.md was written from the present claims, engines, experiments and parameter sets."""
    assert document.digest() == stated_digest(document.FILE), "run 'lsmlab papers --write-docs' and commit docs/papers.md"


def test_the_document_has_three_columns() -> None:
    """A row has paper, released code, simulation and verdict; the text gives the mechanism and the range's origin."""
    one = claim("ldc.a", PLAIN, tolerance_from="the text says up to 2.4", note="Half of it is overhead")
    found = Found("ldc", one, (1.5, 1.7), "reproduced")

    text = document.document_text(Reproduction(papers(one), [found], [], 2))

    row = next(line for line in text.splitlines() if line.startswith("| `ldc.a`"))
    assert "| `ldc.a` | a tiny store | 1.8 (accepted: 1.4 to 2.4) |  | 1.6 [0.969, 2.23] | word: reproduced |" == row
    assert "twice the bandwidth. Half of it is overhead. Accepted range: the text says up to 2.4." in text


def test_effects_are_relative_to_the_published_one() -> None:
    """On the page 0 is no effect and 1 the published one (logarithmic for ratios); "no difference" has no position."""
    row = {"published": 4.0, "accepted": [2.0, None], "neutral": 1.0, "simulated": 2.0, "low": 1.0, "high": 1e9}

    place = placed(row)

    assert place is not None
    assert 0.5 == pytest.approx(place["value"])
    assert [0.0, 2.5] == pytest.approx(place["interval"])
    assert [0.5, 2.5] == pytest.approx(place["accepted"])
    assert placed(row | {"published": 1.0, "accepted": [0.9, 1.1]}) is None


@pytest.mark.skipif(not (ROOT / DATA).is_dir(), reason="the recorded engines are not there")
def test_released_code_and_simulation_use_one_formula() -> None:
    """Recorded and simulated runs use the same formula: the recorded ADOC gains what its README says."""
    cases = [c for c in real_engine_cases(ROOT / DATA) if isinstance(c, Case) and c.name.startswith("adoc/")]
    real = {c.name: real_run(c, c.config()) for c in cases}
    runs = [
        CaseRun(c, "real_engines", real[c.name], [Replication(dict(real[c.name].values), np.empty(0))]) for c in cases
    ]
    counterparts = [one for paper in read_papers() for one in paper.counterparts]
    found = {r.counterpart.figure: r for r in compare(counterparts, runs)}

    if not found:
        pytest.skip("this version has no adoc_code")
    assert 1.63 == pytest.approx(found["throughput, ADOC / no tuner"].recorded, abs=0.01)
    assert all(r.recorded == r.simulated for r in found.values())


def test_a_percentile_of_all_operations() -> None:
    """p99.9 of a thousand operations of two kinds is the last but one of all."""
    table = {
        "op": np.array(["write"] * 2 + ["read"] * 2), "upper_s": np.array([1e-6, 1e-3, 1e-5, 2e-4]),
        "count": np.array([499.0, 1.0, 498.0, 2.0]),
    }  # fmt: skip

    assert quantile_s(PaperRun({}, {}, {}, {}, table), 0.999) == 2e-4


def test_a_mean_latency_weighs_reads_and_writes_by_their_rates() -> None:
    """Three writes of 1 ms per read of 5 ms take 2 ms on average; a run without reads has the mean of its writes."""
    mix = {"write_ops_per_s": 3.0, "read_ops_per_s": 1.0, "write_latency_s": {"mean": 1e-3}, "read_latency_s": {"mean": 5e-3}}
    writes = {**mix, "read_ops_per_s": 0.0, "read_latency_s": None}

    assert mean_latency_s(PaperRun(mix, {}, {}, {}, {})) == pytest.approx(2e-3)
    assert mean_latency_s(PaperRun(writes, {}, {}, {}, {})) == pytest.approx(1e-3)
