"""The documents: their site (mkdocs.yml, docs/site), and the README. MkDocs is not needed; `make docs` builds the site."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = ("course/index.html", "reference/python.md")
"""Pages of the navigation that are no files of docs/: docs/site/hook.py adds them."""
NUMBERS = {"throughput": "throughput", "write amplification": "W-Amp, total", "stalled share of time": "stall fraction"}
"""Rows of the README's table, and the rows of docs/validation.md from which they come."""
CLOSED = {"throughput": "throughput", "write amplification": "W-Amp", "stalled share of time": "stalled share, points"}
"""The same in docs/reference/releases.md."""
WRONG = {
    'href="missing.html"': "does not exist",
    'href="other.html#nowhere"': "leads to no place",
    'href="#nowhere"': "leads to no place",
    'src="https://example.org/x.js"': "asks the network",
}
RIGHT = ('href="other.html#here"', 'href="other.html#t=3"', 'href="https://example.org/"', 'href="a%20b.html"', 'src="data:,"')


def leaves(node: Any) -> Iterator[str]:
    """Yield the pages of a navigation in their order."""
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from (value,) if isinstance(value, str) else leaves(value)


def table(text: str) -> dict[str, list[str]]:
    """Return the rows of the first table of a text by their first cell."""
    rows = [line.strip("|").split("|") for line in text[text.index("\n|") :].splitlines() if line.startswith("|")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in reversed(rows)}


def shallow_lines(text: str) -> list[int]:
    """Return the numbers of lines that belong to an item of a list for GitHub and not for MkDocs: indented by 1 to 3 spaces."""
    bare = re.sub(r"^```.*?^```$", lambda code: "\n" * code[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    lines = ["", *bare.splitlines()]
    begins = re.compile(r" {1,3}([-*]|\d+\.) ")
    shallow = [n for n in range(1, len(lines)) if re.match(r" {1,3}\S", lines[n])]
    return [n for n in shallow if not lines[n - 1].strip() or begins.match(lines[n])]


@pytest.fixture(scope="module")
def links() -> ModuleType:
    """Return the program that checks the built site."""
    spec = importlib.util.spec_from_file_location("site_links", DOCS / "site" / "links.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_navigation_has_every_page_once() -> None:
    """Each page below docs/ is in the navigation of mkdocs.yml, and each entry is a page."""
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    entries = list(leaves(settings["nav"]))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}

    assert set() == pages - set(entries), "add these pages to nav in mkdocs.yml"
    assert set(BUILT) == set(entries) - pages
    assert len(entries) == len(set(entries))


def test_lists_look_alike_on_the_site_and_on_github() -> None:
    """Paragraphs, code and lists inside an item are indented by four spaces, which both read as parts of the item."""
    found = {path.relative_to(ROOT).as_posix(): shallow_lines(path.read_text(encoding="utf-8")) for path in DOCS.rglob("*.md")}

    assert {} == {page: lines for page, lines in found.items() if lines}


def test_make_docs_builds_each_example_page() -> None:
    """`make examples` simulates each folder to which docs/tutorial/example-pages.md leads."""
    page = (DOCS / "tutorial" / "example-pages.md").read_text(encoding="utf-8")
    folders = set(re.findall(r"\.\./examples/(\w+)/", page))

    assert folders == set(re.findall(r"build/examples/(\w+)", (ROOT / "Makefile").read_text(encoding="utf-8")))


def test_the_check_of_the_site_finds_wrong_addresses(links: ModuleType, tmp_path: Path) -> None:
    """Files and places that do not exist, and addresses that a browser would load from the network, are named."""
    (tmp_path / "other.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "a b.html").write_text("", encoding="utf-8")
    text = "".join(f"<a {address}></a><script {address}></script>" for address in (*WRONG, *RIGHT))
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    found = links.faults(tmp_path)

    assert {address.split('"')[1] for address in WRONG} == {line.split(": ")[1] for line in found}
    assert all(any(why in line for line in found) for why in WRONG.values())
    program = [sys.executable, str(DOCS / "site" / "links.py"), str(tmp_path)]
    assert 1 == subprocess.run(program, capture_output=True, check=False).returncode
    (tmp_path / "page.html").write_text("", encoding="utf-8")
    assert 0 == subprocess.run(program, capture_output=True, check=False).returncode


def test_the_readme_is_short_and_its_numbers_are_the_scores() -> None:
    """The README has at most 80 lines; its errors are those of the closed recordings, and of what-ifs from a LOG."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = table(readme)
    scores = table((DOCS / "validation.md").read_text(encoding="utf-8").partition("\n## What-ifs from a LOG")[2])
    closed = table((DOCS / "reference" / "releases.md").read_text(encoding="utf-8").partition("\n## The next release")[2])

    assert readme.count("\n") <= 80
    for row, metric in NUMBERS.items():
        median, _, ninety, *_ = scores[metric]
        once = [f"{text} points" if row.startswith("stalled") else text for text in closed[CLOSED[row]][:2]]
        assert [*once, median.replace("pt", "points"), ninety.replace("pt", "points")] == shown[row]
    assert f"({scores['throughput'][-1]} pairs of recorded runs)" in readme
    unknown = (DOCS / "validation.md").read_text(encoding="utf-8").partition("\n## Development cases with data sheet")[2]
    median, _, ninety, *_ = table(unknown)["throughput"]
    assert f"throughput is {median} off (one in ten: {ninety})" in readme


def test_license_and_citation_are_those_of_the_package() -> None:
    """LICENSE, CITATION.cff and pyproject.toml agree on licence and version, and `all` has every extra but the clusters."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]

    assert (project["license"], project["version"]) == (citation["license"], citation["version"])
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert set(extras) - {"all", "dask", "ray"} == set(re.split(r"[\[\],]", everything)[1:-1])
