"""Values in texts and answer keys: `{{ store.write_amplification | ratio }}`, with arithmetic and formulas.

An expression may hold numbers, names, attributes, list indices, + - * / **, comparisons of none, and calls of the
formulas in `textbook`. It is no Python program: nothing else is evaluated.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.reports.course import textbook

PLACEHOLDER: Final = re.compile(r"\{\{(.+?)\}\}")
_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
FORMATS: Final[dict[str, Callable[[Any], str]]] = {
    "text": str, "number": lambda value: f"{value:,.3g}", "ratio": numbers.ratio, "count": numbers.count,
    "per_second": numbers.per_second, "size": numbers.size, "seconds": numbers.seconds, "percent": numbers.percent,
    "rate": numbers.rate, "years": numbers.years,
}  # fmt: skip


def filled(text: str, names: Mapping[str, Any]) -> str:
    """Return the text with each placeholder replaced by its value. Raises InputError for a name that is not known.

    >>> filled("{{ memtables * 64 | count }} MiB in {{ memtables }} memtables", {"memtables": 2})
    '128 MiB in 2 memtables'
    """

    def value(found: re.Match[str]) -> str:
        expression, _, form = found[1].partition("|")
        if form.strip() not in FORMATS and form.strip():
            raise InputError(f"{found[0]}: no such form; choose {', '.join(FORMATS)}")
        return FORMATS[form.strip() or "text"](evaluate(expression, names))

    return PLACEHOLDER.sub(value, text)


def evaluate(expression: str, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression. Raises InputError if it is not one, or names something unknown.

    >>> evaluate("leveled_write_amplification(3, ratio) - 1", {"ratio": 10})
    32.0
    """
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body, names)
    except (SyntaxError, KeyError, AttributeError, IndexError, TypeError, ZeroDivisionError) as error:
        raise InputError(f"{{{{ {expression.strip()} }}}}: cannot be evaluated ({type(error).__name__}: {error})") from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Attribute(value=inner, attr=name) if not name.startswith("_"):
            return _member(_value(inner, names), name)
        case ast.Subscript(value=inner, slice=index):
            return _value(inner, names)[_value(index, names)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in textbook.FORMULAS:
            return textbook.FORMULAS[name](*(_value(argument, names) for argument in arguments))
    raise SyntaxError(ast.unparse(node))


def _member(value: Any, name: str) -> Any:
    """Return an entry of a mapping, or of the summary of a result."""
    inner = value if isinstance(value, Mapping) else value.summary
    return inner[name]
