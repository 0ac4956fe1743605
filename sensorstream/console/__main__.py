"""``python -m sensorstream.console PAGES INTERFACE``: serve the pages on one Unix socket.

By the other one they ask the server. The process ends when its standard input does.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from threading import Thread

from sensorstream.console.service import serve
from sensorstream.console.visits import Upstream


def main() -> None:
    """Serve until the server ends."""
    pages, interface = map(Path, sys.argv[1:])
    Thread(target=_end_with_input, name="input", daemon=True).start()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Under another name until it listens: the server looks for the file.
    fresh = pages.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    listener.bind(str(fresh))
    listener.listen()
    serve(Upstream("http://localhost", interface), listener, lambda: fresh.rename(pages))


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    # At once: pages wait for news, and nothing is kept.
    os._exit(0)


if __name__ == "__main__":
    main()
