"""The messages between the workers of Spark and the processes that hold the engines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Final

from sensorstream.history.effects_writer import EngineStanding
from sensorstream.model.frozen import field, frozen
from sensorstream.settings.settings import Settings

PROTOCOL: Final = 5


@frozen
class EnginePlace:
    """The first and the last entry of a key's engine; ``since`` counts from its checkpoint."""

    first: int
    last: int
    since: int


def installed_versions() -> dict[str, str]:
    """The versions of what must be equal on all machines: it passes objects between them."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"Python": python, **{name: version(name) for name in ("pyspark", "sensorstream")}}


@frozen
class HostTask:
    """The task of a host. ``shipped`` is the deployment in force after the entry ``upto``, for a
    machine without its files; empty: that of the files. ``versions`` are those where the pipeline
    was started.
    """

    settings: Settings
    url: str
    secret: bytes
    shipped: bytes = b""
    versions: Mapping[str, str] = field(default_factory=installed_versions)
    upto: int = 0


@frozen
class Work:
    """The next entries of a key, packed; none where an entry for all engines wakes it.

    ``place`` is where its engine must be; None: it is new. ``controls`` is the last entry for all
    engines that it must know. ``checkpoint`` and ``kept`` (packed as well) are sent when the host
    has asked for them.
    """

    key: str
    place: EnginePlace | None
    controls: int
    chunks: Sequence[bytes]
    rebuild: bool = False
    checkpoint: tuple[int, bytes] | None = None
    kept: Sequence[bytes] = ()


@frozen
class Done:
    """The packed effects, and the data to keep: the entries (b"": none), or a checkpoint instead of
    all.
    """

    place: EnginePlace
    effects: bytes
    entries: bytes
    checkpoint: bytes | None
    standing: EngineStanding


_WAITING: Final = 128


def listening_at(path: Path) -> socket:
    """A socket that takes connections, at a path where nobody else listens (any more). The path
    stays when it is closed: another process may listen on it too.
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
        AuthenticationError, EOFError, OSError: it does not know it, or has gone.
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
    """A connection to the process that listens at a path, once it is free; None: there is none."""
    try:
        return Client(str(path), "AF_UNIX", authkey=secret)
    except (ConnectionError, EOFError, FileNotFoundError):
        return None
