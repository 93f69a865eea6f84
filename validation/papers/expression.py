"""Expressions of claims: a small part of Python that computes one number from runs.

    reduction: 1 - vlsm_load_a.stall_fraction / rocksdb_io_load_a.stall_fraction

A name is a run. A name with a dotted path is a number of the run's summary.json. Numbers combine by + - * / and by the
functions of measures.py, some of which take a run: `worst_second_s(day, 0.75, 1)`. Functions that choose from a sweep
take a table: `argmax({3: fanout_3.ops_per_s, 5: fanout_5.ops_per_s})`. No other Python is accepted.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.validation.papers.claim import PaperRun
from lsmlab.validation.papers.measures import CONSTANTS, FUNCTIONS

_OPERATORS: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_PLACE: Final = re.compile(r"\{([^{}:]+):([^{}:]*)\}")
"""Place of a number in a text: expression, format."""
NOT_SIMULATED: Final = "(not simulated)"


_Runs = Mapping[str, PaperRun]
_Part = Callable[[_Runs], Any]
"""Returns the value of a part of an expression."""


class Expression:
    """A checked expression; a call with the runs of one seed, by name, returns its value."""

    def __init__(self, text: str, where: str, known: Collection[str] | None = None) -> None:
        """`where`: file and claim, for errors; `known`: names of runs, None for any.

        Raises InputError with file, claim and column if the text is no expression of this language.
        """
        self.text = text
        self._where = where
        self._known = known
        self._names: dict[str, None] = {}
        try:
            body = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError) as error:
            column = getattr(error, "offset", None) or len(text) + 1
            raise InputError(f"{where}: column {column} of '{text}': {getattr(error, 'msg', error)}") from None
        self._value = self._number(body)
        self.runs = tuple(self._names)
        """Names of the runs, in the order of the text."""

    def __call__(self, runs: _Runs) -> float:
        """Return the value. Raises InputError for a key that a summary lacks; other errors of a measure pass through."""
        return float(self._value(runs))

    def _error(self, node: ast.expr, problem: str) -> InputError:
        return InputError(f"{self._where}: column {node.col_offset + 1} of '{self.text}': {problem}")

    def _number(self, node: ast.expr) -> _Part:
        """Return the function of a number of this language."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return lambda _runs: value
            case ast.Name(id=name) if name in CONSTANTS:
                return lambda _runs: CONSTANTS[name]
            case ast.Name(id=name):
                self._run(node)
                raise self._error(node, f"the run {name} is no number; add a key of its summary.json, such as {name}.ops_per_s")
            case ast.Attribute():
                return self._key(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._number(operand)
                return lambda runs: -inner(runs)
            case ast.BinOp(left=first, op=op, right=second) if type(op) in _OPERATORS:
                combine, left, right = _OPERATORS[type(op)], self._number(first), self._number(second)
                return lambda runs: combine(left(runs), right(runs))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                if name not in FUNCTIONS:
                    raise self._error(node, f"no function {name}; the functions are {', '.join(sorted(FUNCTIONS))}")
                parts = [self._argument(argument) for argument in arguments]
                return lambda runs: FUNCTIONS[name](*(part(runs) for part in parts))
        raise self._error(node, "only numbers, keys of runs, + - * / and functions are allowed")

    def _argument(self, node: ast.expr) -> _Part:
        match node:
            case ast.Name(id=name) if name not in CONSTANTS:
                self._run(node)
                return lambda runs: runs[name]
            case ast.Constant(value=str() as text):
                return lambda _runs: text
            case ast.Dict(keys=keys, values=values):
                pairs = [(self._number(key or node), self._number(value)) for key, value in zip(keys, values, strict=True)]
                return lambda runs: {key(runs): value(runs) for key, value in pairs}
        return self._number(node)

    def _run(self, node: ast.expr) -> str:
        """Return the name of a run, and remember it."""
        if not isinstance(node, ast.Name):
            raise self._error(node, "a dotted path begins with the name of a run")
        if self._known is not None and node.id not in self._known:
            raise self._error(node, f"no run {node.id}; the runs are the names below 'settings'")
        self._names[node.id] = None
        return node.id

    def _key(self, node: ast.Attribute) -> _Part:
        """Return the function of a number in a run's summary."""
        start, keys = _path(node)
        name, whole = self._run(start), ".".join(keys)

        def value(runs: _Runs) -> float:
            found: Any = runs[name].summary
            for key in [whole] if whole in found else keys:  # numbers of recorded runs have dotted names
                found = found.get(key) if isinstance(found, Mapping) else None
            if isinstance(found, bool) or not isinstance(found, int | float):
                raise self._error(node, f"the summary of {name} has no number {whole}")
            return float(found)

        return value


def _path(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """Return the node at the begin of a dotted path, and its keys."""
    keys: list[str] = []
    while isinstance(node, ast.Attribute):
        keys.insert(0, node.attr)
        node = node.value
    return node, keys


def places(text: str, where: str, known: Collection[str] | None = None) -> list[Expression]:
    """Return the expressions in the places `{expression:format}` of a text. Raises InputError as Expression does."""
    return [Expression(found[1], where, known) for found in _PLACE.finditer(text)]


def filled(text: str, value_of: Callable[[Expression], float | None]) -> str:
    """Fill the places of a text; a place whose value is None says "(not simulated)".

    So a page never shows a number that was not computed.
    """

    def number(found: re.Match[str]) -> str:
        value = value_of(Expression(found[1], "a text"))
        return NOT_SIMULATED if value is None else format(value, found[2])

    return _PLACE.sub(number, text)
