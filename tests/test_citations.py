"""What code, configuration and documents point to exists: cited pages and headings, links between Markdown files."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"behaviour": ROOT / "docs" / "reference" / "behaviour", "background": ROOT / "docs" / "background"}
SUFFIXES = {".py", ".yaml", ".md", ".txt", ".toml", ".sh"}
MENTION = re.compile(r"(?<!\])\((?:behaviour|background)/")
CITATION = re.compile(r"\((?P<folder>behaviour|background)/(?P<page>[\w-]+\.md), (?P<headings>[^()]+)\)")
"""The form that docs/reference/behaviour/README.md states."""
ABSENT = re.compile(r"\b(?:rocksdb|lessons|ecosystem|rocksdb_universal_fifo_leveldb)\.md|\b(?:engines|devices)\.md,? §")
"""Pages that never belonged to the repository."""
SECTION = re.compile(r"(?<!SILK )(?<!ADOC )(?<!vLSM )(?<!LDC )(?<!Dostoevsky )(?<!FAST 2023 )(?<!ATC 2019 )§")
"""A section sign that does not follow the name of a paper."""
HEADING = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^()\s]+)\)")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```|^    [^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def texts() -> Iterator[Path]:
    """Every text file of the repository, this test apart."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file() and path != Path(__file__):
            yield path


def numbered_lines() -> Iterator[tuple[str, str]]:
    """Every line of every text file with its place."""
    for path in texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


@cache
def headings(page: Path) -> frozenset[str]:
    """The headings of a page, without their marks."""
    return frozenset(HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))))


def anchor(heading: str) -> str:
    """GitHub's anchor of a heading: lower case, no punctuation, hyphens for spaces."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def fault(citation: re.Match[str]) -> str | None:
    """Why a citation leads nowhere; None if it leads to a page and all of its headings."""
    page = FOLDERS[citation["folder"]] / citation["page"]
    if not page.is_file():
        return f"{citation['folder']}/{citation['page']} does not exist"
    missing = [h for h in citation["headings"].split("; ") if h not in headings(page)]
    return f"{citation['page']} has no heading {missing}" if missing else None


@pytest.fixture(scope="module")
def lines() -> list[tuple[str, str]]:
    """Every line of the repository's text files with its place."""
    found = list(numbered_lines())
    if not found:
        pytest.skip("needs a git checkout")
    return found


def test_every_citation_leads_to_a_heading(lines: list[tuple[str, str]]) -> None:
    """Each citation stands on one line in the stated form and names a page and headings that exist; there are many."""
    citations = [(place, found) for place, line in lines for found in CITATION.finditer(line)]
    malformed = [
        f"{place}: {line.strip()}" for place, line in lines if len(MENTION.findall(line)) != len(CITATION.findall(line))
    ]

    assert [] == malformed
    assert [] == [f"{place}: {why}" for place, found in citations if (why := fault(found))]
    assert len(citations) > 100


def test_nothing_cites_pages_that_are_absent(lines: list[tuple[str, str]]) -> None:
    """No line names a page that the repository lacks, and a section sign only follows the name of a paper."""
    assert [] == [f"{place}: {line.strip()}" for place, line in lines if ABSENT.search(line) or SECTION.search(line)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(behaviour/no-page.md, Slots)", "behaviour/no-page.md does not exist"),
        ("(behaviour/jobs-and-threads.md, Slots; Nothing)", "jobs-and-threads.md has no heading ['Nothing']"),
        ("(behaviour/jobs-and-threads.md, Slots; Pressure rule)", None),
    ],
)
def test_a_wrong_citation_is_found(text: str, why: str | None) -> None:
    """A citation of a missing page or heading has a fault that names it."""
    found = CITATION.fullmatch(text)

    assert found
    assert why == fault(found)


@pytest.mark.parametrize("line", ["see rocksdb.md", "engines.md §4.4", "lessons.md", "(§2.1)"])
def test_a_reference_to_absent_pages_is_found(line: str) -> None:
    """The patterns find the references that the repository had."""
    assert ABSENT.search(line) or SECTION.search(line)


def test_links_between_documents_resolve() -> None:
    """Every relative link of a Markdown file leads to a file, and its anchor to a heading of that file."""
    broken = []
    for path in texts():
        if path.suffix != ".md":
            continue
        for link in LINK.finditer(CODE.sub("", path.read_text(encoding="utf-8"))):
            file, _, mark = link["target"].partition("#")
            if re.match(r"[a-z]+:", file):
                continue
            target = (path.parent / file).resolve() if file else path
            if not target.exists():
                broken.append(f"{path.relative_to(ROOT)}: {link['target']} does not exist")
            elif mark and target.suffix == ".md" and mark not in {anchor(h) for h in headings(target)}:
                broken.append(f"{path.relative_to(ROOT)}: {link['target']} is no heading of that page")

    assert [] == broken
