"""The output of the demo, with claims that must hold, and a webhook receiver as users write it."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from http.server import ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any

import click
from standardwebhooks import Webhook

from sensorstream.cli.terminal import print_table, working
from sensorstream.cli.webhooks_command import handler
from sensorstream.clock import SystemClock


class ClaimFailed(click.ClickException):
    """A claim of the demo does not hold."""

    exit_code = 3


class DemoOutput:
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
        """Print a message, a query or an answer, word for word."""
        for line in text.strip().splitlines():
            click.echo(click.style(f"     {line}", fg="cyan"))

    def table(self, columns: list[str], rows: list[list[object]]) -> None:
        """Print the rows of an answer."""
        print_table(columns, rows, indent=5)

    def expect(self, holds: object, claim: str) -> None:
        """Print a claim if it holds; raises ClaimFailed if it does not."""
        if not holds:
            raise ClaimFailed(f"the demo failed: it is not true that {claim}")
        click.echo(click.style("   ✓ ", fg="green") + claim)

    def waiting(self, what: str) -> AbstractContextManager[object]:
        """Show a progress text on a terminal while the block runs."""
        return working(what) if sys.stderr.isatty() else nullcontext()


class Receiver:
    """Listens on a free port of this machine; once it trusts a secret, signed requests alone count.

    A context manager. ``events`` are the CloudEvents received, each once, in order of arrival;
    ``refused`` counts requests whose signature did not fit a known secret.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refused = 0
        self._secrets: list[Webhook] = []
        self._seen: set[str] = set()
        self._arrived = Condition()
        heard = handler(self._secrets, self._take, is_told_last=True)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), heard)
        self._thread = Thread(target=self._server.serve_forever, name="receiver", daemon=True)

    def url(self, name: str) -> str:
        """The URL for one sender."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}"

    def trust(self, secret: str) -> None:
        """Accept requests that are signed with ``secret`` (``whsec_…``)."""
        self._secrets.append(Webhook(secret))

    def _take(self, identity: str, body: bytes, problem: str) -> None:
        with self._arrived:
            self.refused += bool(problem)
            # Delivery is at least once: a second copy has the same id.
            if not problem and identity not in self._seen:
                self._seen.add(identity)
                self.events.append(json.loads(body))
                self._arrived.notify_all()

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
