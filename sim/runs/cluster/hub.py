"""Hub of a command: accepts workers from other machines and receives their messages."""

from __future__ import annotations

import contextlib
import queue
import secrets
import selectors
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from lsmlab.sim.runs.cluster.connection import accepted
from lsmlab.sim.runs.cluster.invitation import Answer, Invitation, Terms

_BACKLOG: Final = 1024
"""Connections that wait to be accepted: all workers of a large job start at once."""


@dataclass(eq=False, slots=True)
class Member:
    """A worker that has joined, and its current task with its index."""

    connection: Connection
    host: str
    pid: int
    task: tuple[int, Any] | None = None


class Hub:
    """Listens for workers. Each handshake has a thread of its own, so that a slow peer does not delay the others."""

    def __init__(self, terms: Terms, host: str, port: int = 0) -> None:
        self._terms = terms
        self._key = secrets.token_hex(32)
        self._server = socket.create_server(("", port), backlog=_BACKLOG)
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._answers: queue.SimpleQueue[tuple[Connection, Answer]] = queue.SimpleQueue()
        self.members: list[Member] = []
        self.refusals: list[str] = []
        """Reasons why workers could not join, each once."""
        self.invitation = Invitation(host, self._server.getsockname()[1], self._key)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._welcome, args=(peer,), daemon=True).start()

    def _welcome(self, peer: socket.socket) -> None:
        with contextlib.suppress(Exception):  # a peer that is no worker of this command, or a worker that has gone
            connection = accepted(peer, self._key.encode())
            connection.send(self._terms)
            self._answers.put((connection, connection.recv()))
            self._wake.send(b"1")

    def wait(self, seconds: float) -> Iterator[tuple[Member, Any]]:
        """Wait for messages; yield each with its worker. The message None means that the worker is lost."""
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self._woken.recv(_BACKLOG)
                self._admit()
                continue
            try:
                message = key.data.connection.recv()
            except (EOFError, OSError):
                self.dismiss(key.data)
                message = None
            yield key.data, message

    def _admit(self) -> None:
        while not self._answers.empty():
            connection, answer = self._answers.get()
            if answer.refusal is not None:
                connection.close()
                if answer.refusal not in self.refusals:
                    self.refusals.append(answer.refusal)
                continue
            member = Member(connection, answer.host, answer.pid)
            self.members.append(member)
            self._selector.register(connection, selectors.EVENT_READ, member)

    def dismiss(self, member: Member) -> None:
        """Close the connection to a worker; the worker ends, also in the middle of a task."""
        self.members.remove(member)
        self._selector.unregister(member.connection)
        member.connection.close()

    def close(self) -> None:
        """Dismiss all workers and accept no further ones."""
        for member in list(self.members):
            self.dismiss(member)
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._server.close()
        self._selector.close()
        for end in (self._wake, self._woken):
            end.close()
