"""A receiver of webhooks that is slow, drops a connection now and then, and can hang."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Final

from tests.integration.endurance.witness import Witness, plain_report

_SELDOM: Final = 0.003


class Receiver:
    """``url`` is its address; while ``hanging`` is set it answers nobody."""

    def __init__(self, url: str, hanging: Event) -> None:
        self.url = url
        self.hanging = hanging


@contextmanager
def receiving(witness: Witness, dice: random.Random) -> Iterator[Receiver]:
    """A receiver in threads of this process."""
    hanging = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            while hanging.is_set():
                time.sleep(0.1)
            chance = dice.random()
            if chance < _SELDOM:
                time.sleep(3)
            if chance > 1 - _SELDOM:
                return
            # The id of the event, and that of the webhook.
            witness.event(self.headers["webhook-id"].rpartition(".")[0], _said(json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Do not print what a killed server's connection gives."""

    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Receiver(f"http://127.0.0.1:{server.server_address[1]}/", hanging)
    finally:
        hanging.clear()
        server.shutdown()
        server.server_close()


def _said(event: dict[str, Any]) -> dict[str, Any]:
    """What an event says: the time of its raising is the wall's, and new after a crash."""
    data = dict(event["data"])
    data.pop("raised_at", None)
    return plain_report(data) if "bindings" in data else data
