"""Descriptions of settings: docstrings of the fields in the model's classes, and comments in the files of entries."""

from __future__ import annotations

import ast
import inspect
import itertools
from functools import cache
from pathlib import Path
from typing import Any

from lsmlab.sim.configuration.catalogue import entries, inherited, numbers


def docstring(cls: Any, field: str) -> str:
    """Return the docstring below a field of a class; empty if it has none."""
    return _docstrings(cls).get(field, "")


@cache
def _docstrings(cls: Any) -> dict[str, str]:
    """Return the docstring below each field of a class, by name of the field; those of its bases too."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            body = ast.parse(inspect.cleandoc(inspect.getsource(base))).body[0]
        except (OSError, TypeError, SyntaxError):  # a class without source, such as one of an extension module
            continue
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, text in itertools.pairwise(statements):
            if (
                isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            ):  # fmt: skip
                found[field.target.id] = " ".join(str(text.value.value).split())
    return found


@cache
def comments(group: str, entry: str, folders: tuple[Path, ...] = ()) -> dict[str, str]:
    """Return the comment on the line of each key of an entry and of the entries that it includes."""
    by_name = {e.name: e for e in entries(group, folders)}
    if entry not in by_name:
        return {}
    found: dict[str, str] = {}
    for layer in reversed(inherited(by_name[entry], folders)):
        found |= {n.key: _without_source(n.comment) for n in numbers(layer.text) if n.depth == 0 and n.comment}
    return {key: text for key, text in found.items() if text}


def entry_names(group: str) -> list[tuple[str, str]]:
    """Return name and description of each entry of a group."""
    return [(e.name, e.description()) for e in entries(group)]


def _without_source(comment: str) -> str:
    """Return a comment without the source or assumption at its end, which `lsmlab show` prints."""
    for mark in ("source:", "assumption:"):
        comment = comment.partition(mark)[0]
    return comment.strip().rstrip(";,")
