"""Every example in the README and in docs/ runs and prints the output that the page shows.

A YAML block that begins with a comment such as `# jobs.yaml` is a file of that name for the commands below it.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(console|python|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return (language, text) of a page's examples; ```sh blocks change the machine and are skipped."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(text: str) -> list[tuple[str, str]]:
    """Return (command, expected output) of a console block; lines that begin with "$ " are commands."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


SLOW = ("advise.md", "plan-capacity.md", "score-your-own-runs.md", "tune.md", "what-if.md")
"""How-to guides of commands that simulate many runs; each command has tests of its own."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=pytest.mark.slow if page.name in SLOW else ())
        for page in PAGES if blocks(page)
    ],
)  # fmt: skip
def test_examples_run(page: Path, tmp_path: Path) -> None:
    """Console examples succeed and print what the page shows ("..." matches anything); Python examples run."""
    for folder in ("validation", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    python: list[str] = []
    for language, text in blocks(page):
        if language == "python":
            python.append(text)
            continue
        if language == "yaml":
            if name := re.match(r"# ([\w./]+\.yaml)\n", text):
                (tmp_path / name[1]).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name[1]).write_text(text, encoding="utf-8")
            continue
        for command, expected in commands(text):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
            )  # fmt: skip

            assert 0 == done.returncode, f"{command}\n{done.stderr}"
            if expected:
                matches = doctest.OutputChecker().check_output(expected, done.stdout, FLAGS)
                assert matches, f"{command}\nexpected:\n{expected}\nprinted:\n{done.stdout}"
    if python:
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(python)], cwd=tmp_path, capture_output=True, text=True, check=False
        )

        assert 0 == done.returncode, done.stderr
