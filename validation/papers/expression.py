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


class Expression:
    """A checked expression; a call with the runs of one seed, by name, returns its value."""

    def __init__(self, text: str, where: str, known: Collection[str] | None = None) -> None:
        """`where`: file and claim, for errors; `known`: names of runs, None for any.

        Raises InputError with file, claim and column if the text is no expression of this language.
        """
        self.text = text
        self._where = where
        self._known = known
        names: dict[str, None] = {}
        try:
            self._body = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError) as error:
            column = getattr(error, "offset", None) or len(text) + 1
            raise InputError(f"{where}: column {column} of '{text}': {getattr(error, 'msg', error)}") from None
        self._check(self._body, names)
        self.runs = tuple(names)
        """Names of the runs, in the order of the text."""

    def __call__(self, runs: Mapping[str, PaperRun]) -> float:
        """Return the value. Raises InputError for a key that a summary lacks; other errors of a measure pass through."""
        return float(self._value(self._body, runs))

    def _error(self, node: ast.expr, problem: str) -> InputError:
        return InputError(f"{self._where}: column {node.col_offset + 1} of '{self.text}': {problem}")

    def _check(self, node: ast.expr, names: dict[str, None]) -> None:
        """Check that a node is a number of this language; add the runs in it to `names`."""
        match node:
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                pass
            case ast.Name(id=name) if name in CONSTANTS:
                pass
            case ast.Name(id=name):
                self._check_run(node, names)
                raise self._error(node, f"the run {name} is no number; add a key of its summary.json, such as {name}.ops_per_s")
            case ast.Attribute():
                self._check_run(_path(node)[0], names)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._check(operand, names)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                self._check(left, names)
                self._check(right, names)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                if name not in FUNCTIONS:
                    raise self._error(node, f"no function {name}; the functions are {', '.join(sorted(FUNCTIONS))}")
                for argument in arguments:
                    self._check_argument(argument, names)
            case _:
                raise self._error(node, "only numbers, keys of runs, + - * / and functions are allowed")

    def _check_argument(self, node: ast.expr, names: dict[str, None]) -> None:
        match node:
            case ast.Name(id=name) if name not in CONSTANTS:
                self._check_run(node, names)
            case ast.Constant(value=str()):
                pass
            case ast.Dict(keys=keys, values=values):
                for part in (*keys, *values):
                    self._check(part or node, names)
            case _:
                self._check(node, names)

    def _check_run(self, node: ast.expr, names: dict[str, None]) -> None:
        if not isinstance(node, ast.Name):
            raise self._error(node, "a dotted path begins with the name of a run")
        if self._known is not None and node.id not in self._known:
            raise self._error(node, f"no run {node.id}; the runs are the names below 'settings'")
        names[node.id] = None

    def _value(self, node: ast.expr, runs: Mapping[str, PaperRun]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return CONSTANTS[name] if name in CONSTANTS else runs[name]
            case ast.Attribute():
                return self._number(node, runs)
            case ast.UnaryOp(operand=operand):
                return -self._value(operand, runs)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self._value(left, runs), self._value(right, runs))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return FUNCTIONS[name](*(self._value(argument, runs) for argument in arguments))
            case ast.Dict(keys=keys, values=values):
                return {self._value(k, runs): self._value(v, runs) for k, v in zip(keys, values, strict=True) if k is not None}
        raise AssertionError(f"unchecked {ast.dump(node)}")

    def _number(self, node: ast.Attribute, runs: Mapping[str, PaperRun]) -> float:
        start, keys = _path(node)
        name = ast.unparse(start)
        found: Any = runs[name].summary
        whole = ".".join(keys)
        for key in [whole] if whole in found else keys:  # numbers of recorded runs have dotted names
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._error(node, f"the summary of {name} has no number {whole}")
        return float(found)


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
