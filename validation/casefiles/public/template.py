"""Computes the values of a case from the columns of a table's row, by the descriptions in tables/.

A description is one of
- a text with columns in braces: `"{limit:.0f}MiB/s"`; a column with a format after the colon is read as a number;
- a text that begins with `=`: arithmetic on columns, such as `"= written_gib * 2**30"` (+ - * / ** and round);
- a mapping with `column` or `text`, and one of: `pattern` (a regular expression; its first group is the value, or its
  named groups become new columns), `map` (must contain every text), `lookup` (no value for a text that it does not
  contain), `replace` (keeps a text that it does not contain), `beginnings` (finds an entry by the start of the text);
- a list: the first of its descriptions that has a value;
- any other value: the value itself.

A description that names an empty or missing column has no value (`NOTHING`), and its key is left out of the case.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, Final

from lsmlab.models.errors import InputError

Row = Mapping[str, Any]
NOTHING: Final = object()
"""Result for a description whose columns are empty."""
_OPERATORS: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


class _EmptyColumnError(Exception):
    """Raised for a column that a description names and that is empty or missing."""


def number(value: Any) -> int | float:
    """Return a cell as int if possible, else as float. Raises InputError for other text."""
    if isinstance(value, int | float):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{value!r} is not a number") from None


def value_of(description: Any, row: Row) -> Any:
    """Return the value of a description for a row, or `NOTHING`. Raises InputError for a wrong description or cell."""
    try:
        return _value(description, row)
    except _EmptyColumnError:
        return NOTHING


def filled(template: Mapping[str, Any], row: Row) -> dict[str, Any]:
    """Replace the descriptions in a template, at any depth, by their values; keys may contain columns too."""
    found: dict[str, Any] = {}
    for key, description in template.items():
        name = value_of(key, row)
        if isinstance(description, Mapping) and not description.keys() & {"column", "text"}:
            value: Any = filled(description, row)
        else:
            value = value_of(description, row)
        if name is not NOTHING and value is not NOTHING:
            found[name] = value
    return found


def _value(description: Any, row: Row) -> Any:
    if isinstance(description, str):
        return _arithmetic(description[1:], row) if description.startswith("=") else _text(description, row)
    if isinstance(description, Mapping):
        return _looked_up(description, row)
    if isinstance(description, list):
        found = (value_of(alternative, row) for alternative in description)
        return next((value for value in found if value is not NOTHING), NOTHING)
    return description


def _cell(name: str, row: Row) -> Any:
    value = row.get(name, "")
    if value == "" or value is NOTHING or value is None:
        raise _EmptyColumnError
    return value


def _text(template: str, row: Row) -> str:
    parts = []
    for literal, name, form, _ in Formatter().parse(template):
        parts.append(literal)
        if name is not None:
            cell = _cell(name, row)
            parts.append(format(number(cell), form) if form else str(cell))
    return "".join(parts)


def _looked_up(description: Mapping[str, Any], row: Row) -> Any:
    text = str(_cell(description["column"], row)) if "column" in description else _text(description["text"], row)
    if "pattern" in description:
        matched = re.search(description["pattern"], text)
        if matched is None:
            raise _EmptyColumnError
        return matched.groupdict() or matched[1]
    if "beginnings" in description:
        known = description["beginnings"]
        return next((known[start] for start in known if text.startswith(start)), NOTHING)
    if "lookup" in description:
        return description["lookup"].get(text, NOTHING)
    if "replace" in description:
        return description["replace"].get(text, text)
    if "map" in description and text not in description["map"]:
        raise InputError(f"{text!r} is not one of {', '.join(description['map'])}; add it to the map")
    return description["map"][text] if "map" in description else text


def _arithmetic(text: str, row: Row) -> Any:
    try:
        return _calculated(ast.parse(text.strip(), mode="eval").body, row)
    except SyntaxError:
        raise InputError(f"= {text.strip()}: not arithmetic; use numbers, columns, + - * / ** and round") from None


def _calculated(node: ast.AST, row: Row) -> Any:
    if isinstance(node, ast.Constant):
        return number(node.value)
    if isinstance(node, ast.Name):
        return number(_cell(node.id, row))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_calculated(node.left, row), _calculated(node.right, row))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_calculated(node.operand, row))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "round":
        return round(*(_calculated(argument, row) for argument in node.args))
    raise InputError(f"= {ast.unparse(node)}: not arithmetic; use numbers, columns, + - * / ** and round")
