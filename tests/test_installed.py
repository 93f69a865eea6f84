"""LSMLab as users install it: a wheel built from a copy of the source tree and installed without that tree.

Dependencies come from the environment that runs the tests, so that nothing is downloaded.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from log_sample import Sample
from lsmlab.reports.cli.main import VERBS

pytestmark = pytest.mark.xdist_group("installed")  # one process computes the runs that these tests share

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = ("models", "sim", "configs", "validation", "reports")
TREE_ONLY = ("validation/cases", "validation/demo", "validation/recordings")
"""Folders of the source tree that the wheel does not contain (docs/decisions/0017)."""
QUICK = ("workload.num=20k", "workload.value_size=100", "engine.options.write_buffer_size=256KiB")

CASE = """
name: own run
store: {preset: db_bench, version: "7.8", options_file: LOG}
workload: {base: fillrandom, value_size: 100, num: 20000, seed: 1}
measured: {ops_per_s: 100000}
"""
LACKING = {
    "validate": "validate: own, public, real_engines, logs, replay need LSMLab's recorded runs",
    "validate --only public": "validate: public needs LSMLab's recorded runs",
    "validate --write-docs": "validate: --write-docs renews docs/validation.md of the source tree",
    "calibrate": "calibrate: its default is LSMLab's recorded cases",
    "papers --write-docs": "papers: --write-docs renews docs/papers.md of the source tree",
}
"""Commands that need the source tree, and the beginning of their message."""


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the installed wheel."""

    wheel: Path
    python: Path

    def lsmlab(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Call the installed command in a folder outside the source tree."""
        return subprocess.run(
            [self.python.with_name("lsmlab"), *arguments], cwd=cwd, capture_output=True, text=True, check=False
        )


def pip(*arguments: str | Path) -> None:
    """Call pip without a network; a failure shows its output."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, f"{done.stdout}{done.stderr}"


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of the source tree, move it to another folder and delete the copy."""
    source = folder / "source"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder / "dist", source)
    shutil.rmtree(source)
    (wheel,) = (folder / "dist").glob("*.whl")
    (folder / "moved").mkdir()
    return Path(shutil.move(wheel, folder / "moved"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel in a new virtual environment."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = build_wheel(folder)
    venv.create(folder / "environment")
    python = folder / "environment" / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel)
    # A .pth file adds the folder of the dependencies, but not the .pth files in that folder (the source tree).
    site = sysconfig.get_path("purelib", vars={"base": str(folder / "environment")})
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return Installed(wheel, python)


def expected_files() -> set[str]:
    """Return the files that the wheel must contain: all of each folder without TREE_ONLY; reports/api becomes lsmlab itself."""
    found = {
        path.relative_to(ROOT).as_posix()
        for name in FOLDERS
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    kept = {name for name in found if not name.startswith(tuple(f"{folder}/" for folder in TREE_ONLY))}
    return {name.removeprefix("reports/api/") for name in kept}


def test_the_wheel_is_complete(installed: Installed) -> None:
    """The wheel contains every module and data file, and no file of a case, a recording or the demo."""
    names = [name for name in zipfile.ZipFile(installed.wheel).namelist() if ".dist-info/" not in name]

    assert {f"lsmlab/{name}" for name in expected_files()} == set(names)


def test_the_wheel_is_imported(installed: Installed, tmp_path: Path) -> None:
    """The installed command imports LSMLab from the new environment, not from the source tree."""
    asked = [installed.python, "-c", "import lsmlab.sim; print(lsmlab.sim.__file__)"]
    location = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert location.startswith(str(installed.python.parents[1]))


HELP = """
import contextlib, io, json, sys
from lsmlab.reports.cli.main import main
found = {}
for verb in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            code = main([verb, "--help"])
        except SystemExit as end:  # argparse's own --help
            code = end.code or 0
    found[verb] = code, out.getvalue(), err.getvalue()
print(json.dumps(found))
"""


def test_every_verb_has_help(installed: Installed, tmp_path: Path) -> None:
    """VERB --help works in the installed package; one process asks for all of them."""
    asked = [installed.python, "-c", HELP, *VERBS]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)

    assert list(VERBS) == [verb for verb, (code, out, err) in found.items() if (code, err) == (0, "") and f"lsmlab {verb}" in out]


def test_simulating_works(installed: Installed, tmp_path: Path) -> None:
    """Runs, comparisons, their pages and the catalogue work without the source tree."""
    for arguments in (
        ["run", *QUICK, "--out", "one"],
        ["compare", "device=nvme,sata", *QUICK, "--out", "two", "-j", "1"],
        ["report", "one"],
        ["list", "devices"],
        ["show", "device", "nvme"],
        ["show", "host", "xeon_gold_6230"],
    ):
        done = installed.lsmlab(*arguments, cwd=tmp_path)
        assert 0 == done.returncode, f"{arguments}: {done.stderr}"

    assert {"one/report.html", "two/report.html", "two/nvme/report.html", "two/sata/report.html"} == {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")
    }


def test_scoring_and_importing_work(installed: Installed, tmp_path: Path) -> None:
    """Importing a LOG, simulating it, scoring and recording own cases, and checking a paper's claim all work."""
    claim = ["--only", "vlsm.load_a.p99_write", "--set", "workload.duration=2s", "--seeds", "1"]
    (tmp_path / "LOG").write_text(Sample().run(8).text, encoding="utf-8")
    (tmp_path / "mine").mkdir()
    shutil.copy(tmp_path / "LOG", tmp_path / "mine" / "LOG")
    (tmp_path / "mine" / "case.yaml").write_text(CASE, encoding="utf-8")
    for arguments in (
        ["import", "LOG", "--out", "imported"],
        ["run", "--config-dir", "imported", "experiment=imported", "--no-report", "--out", "again"],
        ["validate", "--cases", "mine", "--seeds", "1", "--out", "score"],
        ["record", "mine", "--dry-run"],
        ["papers", "vlsm", *claim, "--out", "papers"],
    ):
        done = installed.lsmlab(*arguments, cwd=tmp_path)
        assert 0 == done.returncode, f"{arguments}: {done.stderr}"

    assert [] == json.loads((tmp_path / "score" / "scorecard.json").read_text(encoding="utf-8"))["failed"]
    assert (tmp_path / "papers" / "report.html").is_file()


@pytest.mark.parametrize("command", LACKING)
def test_commands_that_need_the_source_tree_give_one_line(installed: Installed, tmp_path: Path, command: str) -> None:
    """A command that needs recordings ends with exit code 2 and one line with the remedy, and writes nothing."""
    done = installed.lsmlab(*command.split(), cwd=tmp_path)

    assert (2, "") == (done.returncode, done.stdout)
    expected = f"lsmlab: {LACKING[command]}, which the installed package does not carry: run lsmlab from a checkout"
    assert [expected] == [line.partition(" of LSMLab")[0] for line in done.stderr.splitlines()]
    assert [] == list(tmp_path.iterdir())
