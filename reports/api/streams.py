"""Keeps what a command prints out of a program's output; other threads print as before."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_KEPT: Final[ContextVar[Mapping[str, io.StringIO] | None]] = ContextVar("texts of this context by stream", default=None)


class _Routed:
    """Stream that is a text for the thread of a command, and for all other threads the stream that it stands for."""

    def __init__(self, name: str, stream: Any) -> None:
        self.name_of_stream, self.stream = name, stream

    def __getattr__(self, attribute: str) -> Any:
        return getattr((_KEPT.get() or {}).get(self.name_of_stream, self.stream), attribute)


@contextmanager
def kept(*names: str) -> Iterator[Mapping[str, io.StringIO]]:
    """Keep what this thread writes to stdout or stderr (`names`) in this block. One block at a time (`session`)."""
    texts = {name: io.StringIO() for name in names}
    token = _KEPT.set(texts)
    for name in names:
        setattr(sys, name, _Routed(name, getattr(sys, name)))
    try:
        yield texts
    finally:
        for name in names:
            if isinstance(stream := getattr(sys, name), _Routed):  # else another thread has put its own stream there
                setattr(sys, name, stream.stream)
        _KEPT.reset(token)
