"""Observers: functions that a station, a database or the clients call at an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Observers(Generic[P]):
    """Functions to call at one kind of event, in the order in which they were added.

    >>> switched = Observers[[float, int]]()
    >>> switched.add(lambda now_s, files: print(f"{files} files at {now_s} s"))
    >>> switched(1.5, 4)
    4 files at 1.5 s
    """

    __slots__ = ("_functions",)

    def __init__(self) -> None:
        self._functions: list[Callable[P, object]] = []

    def add(self, function: Callable[P, object]) -> None:
        """Call `function` at each event from now on; its return value is ignored."""
        self._functions.append(function)

    def __bool__(self) -> bool:
        return bool(self._functions)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all observers with these arguments."""
        for function in self._functions:
            function(*args, **kwargs)
