"""``sensorstream webhook listen``: a receiver to try webhooks with."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import json_option

if TYPE_CHECKING:
    from standardwebhooks import Webhook

_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of an event that are read."""
_SECONDS: Final = 30.0
"""For which a sender may be silent."""


@click.command("listen")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65_535), default=9000, show_default=True)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    help="Refuse what this secret (whsec_…) has not signed; several times while one is rotated.",
)
@click.option("--count", type=click.IntRange(1), help="End after so many events.")
@json_option
def listen(
    host: str, port: int, secrets: tuple[str, ...], count: int | None, as_json: bool
) -> None:
    """Listen as a webhook does, verify the signatures and print what arrives, until Ctrl-C.

    A server on the same machine delivers here if its settings allow it: webhooks.allow =
    ["127.0.0.1/32"].
    """
    from standardwebhooks import Webhook

    from sensorstream.alerts.signing import check_secret
    from sensorstream.errors import AddressUnavailable

    known = [Webhook(check_secret(each)) for each in secrets]
    arrivals = Arrivals(count, as_json=as_json)
    try:
        server = ThreadingHTTPServer((host, port), _handler(known, arrivals.show))
    except OSError as error:
        raise AddressUnavailable(f"cannot listen on {host}:{port}: {error}") from None
    with server:
        click.echo(f"listening on http://{host}:{server.server_address[1]}/", err=True)
        if not known:
            click.echo("without --secret no signature is verified", err=True)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            arrivals.ended.wait()
        finally:
            server.shutdown()


class Arrivals:
    """Prints what arrives; ``ended`` is set after ``count`` events."""

    def __init__(self, count: int | None, *, as_json: bool) -> None:
        self.ended = Event()
        self._left = count
        self._as_json = as_json
        self._seen: set[str] = set()
        self._lock = Lock()

    def show(self, identity: str, body: bytes, problem: str) -> None:
        """Print one event, or why it was refused."""
        with self._lock:
            if problem:
                click.echo(f"refused {identity or 'a request'}: {problem}", err=True)
                return
            again = "" if identity not in self._seen else "again "
            self._seen.add(identity)
            text = body.decode(errors="replace")
            click.echo(text if self._as_json else f"{again}{identity} {_sentence(text)}")
            if self._left is not None:
                self._left -= 1
                if self._left <= 0:
                    self.ended.set()


def _sentence(text: str) -> str:
    """The kind of an event and what it says, in either format."""
    try:
        event: Any = json.loads(text)
        if event.get("version") == "4":
            first = event["alerts"][0]
            return f"{first['labels']['alertname']}: {first['annotations']['summary']}"
        data = event["data"]
        return f"{event['type']}: {data.get('text', json.dumps(data, ensure_ascii=False))}"
    except (ValueError, LookupError, TypeError, AttributeError):
        return text


def _handler(
    known: Sequence[Webhook], show: Callable[[str, bytes, str], None]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS

        def do_POST(self) -> None:
            length = self.headers.get("content-length", "")
            if not (length.isascii() and length.isdigit() and int(length[:12]) <= _LARGEST):
                self._answer(413)
                return
            body = self.rfile.read(int(length))
            headers = {name.lower(): value for name, value in self.headers.items()}
            problem = _problem(known, body, headers)
            self._answer(401 if problem else 204)
            show(headers.get("webhook-id", ""), body, problem)

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests."""

    return Handler


def _problem(known: Sequence[Webhook], body: bytes, headers: dict[str, str]) -> str:
    """Why none of the secrets has signed a request; empty: one has, or there is none."""
    from standardwebhooks import WebhookVerificationError

    problem = ""
    for each in known:
        try:
            each.verify(body, headers)
            return ""
        except (WebhookVerificationError, ValueError) as error:
            problem = str(error) or "the signature is wrong"
    return problem
