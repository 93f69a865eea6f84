"""First releases of RocksDB's rules: one module, one table in the documentation, and no version literal elsewhere.

Source: (behaviour/versions.md, Rules; Defaults; Options).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsmlab.models import since
from lsmlab.models.options.defaults import CHANGES, RELEASES
from lsmlab.models.version import Version

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "behaviour" / "versions.md"
MAY_NAME_VERSIONS = {"models/since.py", "models/options/defaults.py", "models/options/options.py"}
"""Files of models and sim with version literals; the last has the oldest and the newest release."""
RULES = {name: value for name, value in vars(since).items() if isinstance(value, Version)}


def table(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading of the page, without code marks."""
    lines = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    return [[cell.strip().replace("`", "") for cell in row.strip("|").split("|")] for row in rows]


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Yield every module of the model with its path; studies only ask for what a release has."""
    for folder in ("models", "sim"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.is_relative_to(ROOT / "sim" / "studies"):
                yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def uses() -> set[tuple[str, str, str]]:
    """Return (rule, file, function) for every use of a name of `since`; nested functions count as the outermost."""
    found = set()
    for file, tree in sources():
        for function in (f for node in tree.body for f in (node.body if isinstance(node, ast.ClassDef) else [node])):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "since":
                    found.add((node.attr, file, getattr(function, "name", "")))
    return found


def test_the_table_lists_every_rule() -> None:
    """The table names each rule of the module once, with its first release."""
    listed = [(name, release) for name, _, release, _, _ in table("Rules")]
    assert sorted(listed) == sorted((name, str(release)) for name, release in RULES.items())


def test_the_table_names_the_functions_of_the_model() -> None:
    """The functions in the last column are those that compare with the rule's first release."""
    listed = set()
    for name, _, _, _, functions in table("Rules"):
        for where in functions.split(", "):
            file, function = where.split(" ")
            listed.add((name, file, function))
    assert sorted(uses()) == sorted(listed)


def test_the_table_lists_every_changed_default() -> None:
    """The table of defaults has one line for each option whose default a release changed."""
    changed = [(option, str(release)) for release, defaults in CHANGES for option in defaults]
    assert sorted(changed) == sorted((option, release) for option, release, _, _ in table("Defaults"))


def test_the_table_lists_options_that_not_all_releases_have() -> None:
    """The table of options has the first and the last release with each of them."""
    releases = [
        (name, str(first), "" if last.major == 2**31 else str(last)) for name, (first, last) in RELEASES.items()
    ]
    assert sorted(releases) == sorted((name, first, last) for name, first, last, _ in table("Options"))


@pytest.mark.parametrize("file", [file for file, _ in sources() if file not in MAY_NAME_VERSIONS])
def test_no_other_module_names_a_version(file: str) -> None:
    """Nothing else compares with a literal version or makes one."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    literal = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Compare) and "version" in ast.unparse(node.left) and _numbers(node.comparators))
        or (isinstance(node, ast.Call) and ast.unparse(node.func) == "Version" and _numbers(node.args))
    ]
    assert literal == []


def _numbers(nodes: list[ast.expr]) -> bool:
    """Return whether the nodes are numbers or a tuple of numbers."""
    flat = [part for node in nodes for part in (node.elts if isinstance(node, ast.Tuple) else [node])]
    return len(flat) == 2 and all(isinstance(part, ast.Constant) and isinstance(part.value, int) for part in flat)
