"""What the demo prints, with claims that must hold, and a webhook receiver as users write it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any

import click
from standardwebhooks import Webhook, WebhookVerificationError

from sensorstream.cli.terminal import print_table
from sensorstream.clock import SystemClock


class ClaimFailed(click.ClickException):
    """A claim of the demo does not hold."""

    exit_code = 3


class Output:
    """Prints what happens, with the seconds since the beginning."""

    def __init__(self) -> None:
        self._counter = SystemClock().counter
        self._start = self._counter()
        self._chapter = 0

    def chapter(self, title: str) -> None:
        """Begin a new chapter."""
        self._chapter += 1
        heading = f"\n{self._chapter}. {title}"
        seconds = f"  [{self._counter() - self._start:.0f} s]"
        click.echo(click.style(heading, bold=True) + click.style(seconds, dim=True))

    def say(self, text: str) -> None:
        """Print a sentence."""
        click.echo(f"   {text}")

    def quote(self, text: str) -> None:
        """A message, a query or an answer, word for word."""
        for line in text.strip().splitlines():
            click.echo(click.style(f"     {line}", fg="cyan"))

    def table(self, columns: list[str], rows: list[list[object]]) -> None:
        """Rows of an answer."""
        print_table(columns, rows, indent=5)

    def expect(self, holds: object, claim: str) -> None:
        """Print a claim if it holds.

        Raises:
            ClaimFailed: it does not hold.
        """
        if not holds:
            raise ClaimFailed(f"the demo failed: it is not true that {claim}")
        click.echo(click.style("   ✓ ", fg="green") + claim)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show a progress text while the block runs."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield


class Receiver:
    """Listens on a free port of this machine and accepts only signed requests.

    Use as a context manager. ``events`` are the CloudEvents received, each once, in order of
    arrival; ``refused`` counts requests whose signature did not fit a known secret.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refused = 0
        self._secrets: dict[str, Webhook] = {}
        self._seen: set[str] = set()
        self._arrived = Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = self.rfile.read(length)
                if len(body) < length:  # the sender has ended half-way, and will send it again
                    self.close_connection = True
                    return
                known = receiver.accept(self.path, body, dict(self.headers.items()))
                self.send_response(204 if known else 401)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Do not log requests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, name="receiver", daemon=True)

    def url(self, name: str) -> str:
        """The URL for one sender."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}"

    def trust(self, name: str, secret: str) -> None:
        """Accept requests to ``url(name)`` that are signed with ``secret`` (``whsec_…``)."""
        self._secrets[f"/{name}"] = Webhook(secret)

    def accept(self, path: str, body: bytes, headers: dict[str, str]) -> bool:
        """Keep a request if its signature is right."""
        headers = {name.lower(): value for name, value in headers.items()}
        with self._arrived:
            try:
                self._secrets[path].verify(body, headers)
            except (KeyError, WebhookVerificationError):
                self.refused += 1
                return False
            # Delivery is at least once: a second copy has the same id.
            if headers["webhook-id"] not in self._seen:
                self._seen.add(headers["webhook-id"])
                self.events.append(json.loads(body))
                self._arrived.notify_all()
        return True

    def wait(self, count: int, timeout: float) -> bool:
        """Wait for ``count`` events; False if there are fewer after ``timeout`` seconds."""
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self.events) >= count, timeout)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
