"""Connections between processes of one machine, over sockets in a folder of their user."""

from __future__ import annotations

from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Final

_WAITING: Final = 128


def listening_at(path: Path) -> socket:
    """A socket that takes connections, at a path where nobody else listens (any more).

    The path stays when it is closed: another process may listen on it too.
    """
    path.unlink(missing_ok=True)
    listening = socket(AF_UNIX)
    try:
        listening.bind(str(path))
        listening.listen(_WAITING)
    except BaseException:
        listening.close()
        raise
    return listening


def accepted(listening: socket, secret: bytes) -> Connection:
    """The next connection, when the other side has shown that it knows the secret.

    Raises:
        AuthenticationError, EOFError, OSError: it has not, or has gone.
    """
    found, _ = listening.accept()
    connection = Connection(found.detach())
    try:
        deliver_challenge(connection, secret)
        answer_challenge(connection, secret)
    except BaseException:
        connection.close()
        raise
    return connection


def connected(path: Path, secret: bytes) -> Connection | None:
    """A connection to the process that listens at a path; None: there is none (any more).

    Waits until that process has time for it.
    """
    try:
        return Client(str(path), "AF_UNIX", authkey=secret)
    except (ConnectionError, EOFError, FileNotFoundError):
        return None
