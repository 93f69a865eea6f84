"""Citations and links of code, configuration and documents lead to existing pages and headings."""

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
"""The form that docs/reference/behaviour/README.md defines."""
HEADING = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^()\s]+)\)")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```|^    [^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def texts() -> Iterator[Path]:
    """Yield every text file of the repository except this test."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file() and path != Path(__file__):
            yield path


def numbered_lines() -> Iterator[tuple[str, str]]:
    """Yield every line of every text file with its file and number."""
    for path in texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


@cache
def headings(page: Path) -> frozenset[str]:
    """Return the headings of a page, without their marks."""
    return frozenset(HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))))


def anchor(heading: str) -> str:
    """Return GitHub's anchor of a heading: lower case, no punctuation, hyphens for spaces."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def fault(citation: re.Match[str]) -> str | None:
    """Return why a citation is wrong, or None if the page and all headings exist."""
    page = FOLDERS[citation["folder"]] / citation["page"]
    if not page.is_file():
        return f"{citation['folder']}/{citation['page']} does not exist"
    missing = [h for h in citation["headings"].split("; ") if h not in headings(page)]
    return f"{citation['page']} has no heading {missing}" if missing else None


@pytest.fixture(scope="module")
def lines() -> list[tuple[str, str]]:
    """Return every line of the repository's text files with its file and number."""
    found = list(numbered_lines())
    if not found:
        pytest.skip("needs a git checkout")
    return found


def test_every_citation_leads_to_a_heading(lines: list[tuple[str, str]]) -> None:
    """Each citation is on one line in the defined form and names an existing page and headings; there are over 100."""
    citations = [(place, found) for place, line in lines for found in CITATION.finditer(line)]
    malformed = [
        f"{place}: {line.strip()}" for place, line in lines if len(MENTION.findall(line)) != len(CITATION.findall(line))
    ]

    assert [] == malformed
    assert [] == [f"{place}: {why}" for place, found in citations if (why := fault(found))]
    assert len(citations) > 100


def test_links_between_documents_resolve() -> None:
    """Every relative link of a Markdown file leads to a file, and its anchor to a heading of that file.

    Pages that `make docs` simulates exist in the site only; MkDocs checks links to them.
    """
    broken = []
    for path in texts():
        if path.suffix != ".md":
            continue
        for link in LINK.finditer(CODE.sub("", path.read_text(encoding="utf-8"))):
            file, _, mark = link["target"].partition("#")
            if re.match(r"[a-z]+:", file):
                continue
            target = (path.parent / file).resolve() if file else path
            if target.is_relative_to(ROOT / "docs" / "examples"):
                continue
            if not target.exists():
                broken.append(f"{path.relative_to(ROOT)}: {link['target']} does not exist")
            elif mark and target.suffix == ".md" and mark not in {anchor(h) for h in headings(target)}:
                broken.append(f"{path.relative_to(ROOT)}: {link['target']} is no heading of that page")

    assert [] == broken
