"""Worker of a cluster: connects to the command that invites it, does tasks, and ends with the command.

usage: python -m lsmlab.sim.runs.cluster.member     (the environment variable LSMLAB_INVITATION has the invitation)
"""

from __future__ import annotations

import _thread
import os
import queue
import socket
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any, Final

from lsmlab.sim.results.stopping import INTERRUPTED, stoppable
from lsmlab.sim.runs.cluster.connection import connected
from lsmlab.sim.runs.cluster.invitation import INVITATION_ENV, Answer, Invitation, Terms, refusal
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.runs.worker import ENDED, done

_GRACE_S: Final = 10.0
"""Seconds that a task has to remove its unfinished files after its command has ended."""


def join(text: str) -> str | None:
    """Do tasks of the command with the invitation `text` until it ends; return a line if it does not take this worker.

    Raises KeyboardInterrupt if the command ends or is lost in the middle of a task.
    """
    invitation = Invitation.of(text)
    try:
        connection = connected(invitation.host, invitation.port, invitation.key.encode())
        terms: Terms = connection.recv()
    except (OSError, EOFError):
        return f"the command at {invitation.host}:{invitation.port} has ended, or this machine cannot connect to it"
    host = socket.gethostname()
    os.environ.update(terms.environment)
    reason = refusal(terms, host)
    connection.send(Answer(host, os.getpid(), reason))
    if reason is not None:
        return reason
    os.chdir(terms.directory)
    default_store().clean()  # of workers that died on this machine: the command itself sees only its own machine
    _serve(connection, terms.period_s)
    return None


def _serve(connection: Connection, period_s: float) -> None:
    """Do each task that arrives and send back its result; return when the command closes the connection."""
    inbox: queue.SimpleQueue[tuple[Any, Any] | None] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_receive, args=(connection, inbox, busy), daemon=True).start()
    while True:
        message = inbox.get()
        if message is None:
            return
        busy.set()
        work, task = message
        try:
            result = done(connection, work, task, period_s)
            busy.clear()
            connection.send((ENDED, result))
        except OSError:  # the command has ended
            return


def _receive(connection: Connection, inbox: queue.SimpleQueue[tuple[Any, Any] | None], busy: threading.Event) -> None:
    """Put each message into `inbox`; when the connection ends, end the current task too: nobody wants its result."""
    try:
        while True:
            inbox.put(connection.recv())
    except (EOFError, OSError):
        inbox.put(None)
    if busy.is_set():
        _thread.interrupt_main()
        time.sleep(_GRACE_S)
        os._exit(1)


def main() -> int:
    """Join the command whose invitation is in the environment; return the exit code."""
    try:
        with stoppable():
            reason = join(os.environ.pop(INVITATION_ENV))
    except KeyboardInterrupt:
        return INTERRUPTED
    if reason is None:
        return 0
    sys.stderr.write(f"lsmlab: {reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
