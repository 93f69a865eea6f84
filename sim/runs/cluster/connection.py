"""Connections between a command and its workers: TCP, both ends prove that they know the key."""

from __future__ import annotations

import socket
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Final

_HANDSHAKE_S: Final = 60.0
"""Longest time for a handshake. A peer that says nothing, such as a port scanner, is dropped after it."""
_KEEPALIVE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A machine that lost power or its network counts as lost after a minute (Linux; others keep their defaults)."""


def accepted(peer: socket.socket, key: bytes) -> Connection:
    """Return the connection of a peer that knows the key. Raises AuthenticationError, EOFError or OSError otherwise."""
    connection = _prepared(peer)
    try:
        deliver_challenge(connection, key)
        answer_challenge(connection, key)
    except BaseException:
        connection.close()
        raise
    return _patient(connection)


def connected(host: str, port: int, key: bytes) -> Connection:
    """Connect to a command. Raises OSError if the command has ended, AuthenticationError for a wrong key."""
    connection = _prepared(socket.create_connection((host, port), timeout=_HANDSHAKE_S))
    answer_challenge(connection, key)
    deliver_challenge(connection, key)
    return _patient(connection)


def _prepared(peer: socket.socket) -> Connection:
    """Return a connection over a socket; during the handshake, reads end after a time."""
    peer.setblocking(True)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    _limit_reads(peer, _HANDSHAKE_S)
    return Connection(peer.detach())


def _patient(connection: Connection) -> Connection:
    """Let reads take any time, because a task may be long."""
    with socket.socket(fileno=socket.dup(connection.fileno())) as same:
        _limit_reads(same, 0.0)
    return connection


def _limit_reads(peer: socket.socket, seconds: float) -> None:
    import struct

    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(seconds), 0))
