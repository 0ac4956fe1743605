"""The process of the pages (:class:`.Child`): it serves them on one Unix socket and asks the server
by another one; it ends when the server hangs up.
"""

from __future__ import annotations

import os
import socket
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread

from sensorstream.console.page_service import serve
from sensorstream.console.page_visits import Upstream
from sensorstream.processes.pipe_waits import wait_for_hang_up


def main(owner: Connection, pages: str, interface: str, tiles: str, credit: str) -> None:
    """Serve until the server ends; ``pages`` and ``interface`` are the sockets' paths."""
    Thread(target=_end_with, args=(owner,), name="owner", daemon=True).start()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Under another name until it listens: the server looks for the file.
    there = Path(pages)
    fresh = there.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    listener.bind(str(fresh))
    listener.listen()
    upstream = Upstream("http://localhost", Path(interface), tiles, credit)
    serve(upstream, listener, lambda: fresh.rename(there))


def _end_with(owner: Connection) -> None:
    wait_for_hang_up(owner.fileno())
    # Sent at once, because pages wait for news, and nothing is kept.
    os._exit(0)
