"""docs/reference/engines.md lists every engine and policy with the description of its YAML file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml
from lsmlab.models.policies.parts import GROUPS
from lsmlab.sim.configuration.catalogue import GroupEntry, entries, inherited

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "engines.md"
GROUP_NAMES = ("engine", *(f"engine/{group}" for group in GROUPS))


def table(group: str) -> str:
    """Return the entries of a group as a Markdown table."""
    rows = [f"| `{group}=` | | source |", "|---|---|---|"]
    for entry in entries(group):
        page = ROOT / "docs" / "background" / f"{entry.name}.md"
        name = f"[`{entry.name}`](../background/{entry.name}.md)" if page.exists() else f"`{entry.name}`"
        rows.append(f"| {name} | {entry.description()} | {citation(entry)} |")
    return "\n".join(rows)


def citation(entry: GroupEntry) -> str:
    """Return the citation of an entry, or of the entry that it inherits from."""
    for layer in reversed(inherited(entry)):
        found = yaml.safe_load(layer.text).get("citation")
        if found:
            return str(found)
    return "RocksDB"


@pytest.mark.parametrize("group", GROUP_NAMES)
def test_every_entry_is_listed(group: str) -> None:
    """The page has the tables generated from the YAML files; LSMLAB_REWRITE=1 writes them."""
    pattern = re.compile(rf"(?<=<!-- entries of {group} -->\n\n).*?(?=\n\n|\n*\Z)", re.DOTALL)
    text = PAGE.read_text(encoding="utf-8")
    found = pattern.search(text)
    assert found, f"{PAGE.name} has no place for {group}"
    if os.environ.get("LSMLAB_REWRITE") == "1":
        PAGE.write_text(text[: found.start()] + table(group) + text[found.end() :], encoding="utf-8")
    else:
        assert table(group) == found.group()


def test_every_entry_has_a_description() -> None:
    """Every entry has a description of at least 15 characters for `lsmlab list`."""
    assert [] == [f"{e.group}={e.name}" for group in GROUP_NAMES for e in entries(group) if len(e.description()) < 15]
