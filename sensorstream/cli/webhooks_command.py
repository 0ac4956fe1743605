"""``sensorstream webhooks``: the receivers of alerts and reports, and their deliveries."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import add_versions, asks, before, limit, served
from sensorstream.cli.options import json_option
from sensorstream.cli.terminal import print_fields, print_json, print_table, rows_of
from sensorstream.errors import AddressUnavailable
from sensorstream.model.webhook_definition import (
    CLOUD_EVENTS,
    FORMATS,
    LABELS,
    Grouping,
    Label,
    WebhookDefinition,
)

if TYPE_CHECKING:
    from standardwebhooks import Webhook

_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of an event that are read."""
_SECONDS: Final = 30.0
"""Seconds for which a sender may be silent."""
_DELIVERIES: Final = (
    *("id", "raised_at", "event_id", "state", "attempts", "status", "seconds", "error"),
    "next_attempt_at",
)
_ID: Final = click.Argument(["webhook_id"], metavar="ID")


@click.group("webhooks")
def command() -> None:
    """Register webhooks with a running server, and see to their deliveries."""


_add = partial(asks, command)


@served(
    command.command("add"),
    lambda made: click.echo(
        f"registered {made['id']}; its secret, shown only now: {made['secret']}"
    ),
)
@click.argument("receiver", metavar="URL")
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="NAME",
    help="Deliver the reports of this continuous query too; may be given several times.",
)
@click.option(
    "--secret",
    help='"whsec_" and base64 of 24 to 64 random bytes; by default the server makes one.',
)
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default=CLOUD_EVENTS,
    help="What is sent: CloudEvents (also by default), or alerts as an Alertmanager sends them.",
)
@click.option("--changes", is_flag=True, help="Tell what becomes of open alerts, too.")
@click.option(
    "--group-by",
    multiple=True,
    type=click.Choice(LABELS),
    help="Tell alerts that are alike in this together; may be given several times.",
)
@click.option("--group-wait", type=float, help="Seconds to wait for others (30).")
@click.option("--escalated", is_flag=True, help="Tell of alerts that have escalated alone.")
@click.option("--group-interval", type=float, help="Seconds until a group is told again (300).")
def add(
    client: CommandClient,
    receiver: str,
    secret: str | None,
    group_by: tuple[Label, ...],
    group_wait: float | None,
    group_interval: float | None,
    **told: Any,
) -> dict[str, Any]:
    """Deliver the alerts raised from now on to URL.

    The secret that signs the deliveries is shown only once.
    """
    group: Grouping | None = None
    given = {"wait": group_wait, "interval": group_interval}
    times = {name: each for name, each in given.items() if each is not None}
    if group_by:
        group = Grouping(group_by, **times)
    elif times:
        raise click.UsageError("--group-wait and --group-interval need --group-by")
    return client.add_webhook(WebhookDefinition(receiver, group=group, **told), secret)


def _show_list(found: list[dict[str, Any]]) -> None:
    rows = [
        [each["id"], _state(each), _last(each), each["url"], ", ".join(each["queries"])]
        for each in found
    ]
    print_table(("id", "state", "last", "url", "queries"), rows)


def _show_one(found: dict[str, Any]) -> None:
    told = {"state": _state(found), "last": _last(found), "queries": ", ".join(found["queries"])}
    plain = ("id", "url", "created_at", "format", "failing_since")
    print_fields({**{name: found[name] or "" for name in plain}, **told})


def _state(webhook: dict[str, Any]) -> str:
    if not webhook["enabled"]:
        return f"disabled {webhook['disabled_at']}"
    return f"failing since {webhook['failing_since']}" if webhook["failing_since"] else "enabled"


def _last(webhook: dict[str, Any]) -> str:
    last = webhook["last_delivery"]
    if last is None:
        return ""
    return f"{last['attempted_at']} {last['error'] or last['status']}"


_add("list", CommandClient.webhooks, "All webhooks, oldest first.", show=_show_list)
_add("show", CommandClient.webhook, "One webhook, without its secret.", _ID, show=_show_one)
_add(
    "delete",
    CommandClient.delete_webhook,
    "Stop delivering to a webhook; its deliveries are dropped.",
    _ID,
    says="removed {webhook_id}",
)
_add(
    "enable",
    CommandClient.enable_webhook,
    """Deliver again to a webhook that was disabled; what waits for it first.

    What was raised meanwhile is set aside: "webhooks recover" sends it.
    """,
    _ID,
    says="enabled {webhook_id}",
)
_add(
    "deliveries",
    CommandClient.deliveries,
    "The newest deliveries of a webhook, each with its last attempt; dead: set aside.",
    _ID,
    click.Option(["--state"], type=click.Choice(["pending", "delivered", "dead"])),
    limit(),
    before("deliveries", "DELIVERY"),
    show=rows_of(*_DELIVERIES),
)
_add(
    "resend",
    CommandClient.resend,
    'Send one delivery again, by its number in "webhooks deliveries".',
    click.Argument(["delivery_id"], metavar="DELIVERY", type=click.IntRange(0)),
    show="sending {event_id} to {webhook_id} again",
)
add_versions(command, "webhooks")


@served(command.command("rotate"), json=True)
@click.argument("webhook_id", metavar="ID")
@click.option("--secret", help="The new secret; by default the server makes one.")
def rotate(client: CommandClient, webhook_id: str, secret: str | None, as_json: bool) -> None:
    """Sign with another secret, which is shown only once; for a day the old one signs too."""
    made = client.rotate_secret(webhook_id, secret)
    if as_json:
        print_json(made)
        return
    click.echo(f"the secret of {webhook_id}, shown only now: {made['secret']}")
    click.echo(f"until {made['old_until']} the old one signs, too", err=True)


def _show_test(came: dict[str, Any]) -> None:
    told = f"answered {came['status']}" if came["delivered"] else came["error"]
    click.echo(f"{told}, after {came['seconds']:.3f} s")
    if came["answer"]:
        click.echo(came["answer"])


@served(command.command("test"), _show_test, fails=lambda came: not came["delivered"])
@click.argument("webhook_id", metavar="ID")
def test(client: CommandClient, webhook_id: str) -> dict[str, Any]:
    """Send a test event to a webhook and tell what came; exits with 1 if it was not taken."""
    return client.test_webhook(webhook_id)


def _moment(_context: click.Context, option: click.Parameter, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"expected a date and a time such as 2026-03-01T12:00:00Z, not '{text}'", param=option
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@served(
    command.command("recover"),
    lambda found: click.echo(f"sending {found['recovered']} deliveries again"),
)
@click.argument("webhook_id", metavar="ID")
@click.option(
    "--since", required=True, callback=_moment, metavar="TIME", help="What was raised from then on."
)
@click.option("--until", callback=_moment, metavar="TIME", help="And before then.  [default: now]")
def recover(
    client: CommandClient, webhook_id: str, since: datetime, until: datetime | None
) -> dict[str, int]:
    """Send all dead deliveries of a span again: after an outage, or while it was disabled.

    A TIME is ISO 8601; without a zone it is UTC.
    """
    return {"recovered": client.recover(webhook_id, since, until)}


@command.command("listen")
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

    known = [Webhook(check_secret(each)) for each in secrets]
    arrivals = Arrivals(count, as_json=as_json)
    try:
        server = ThreadingHTTPServer((host, port), handler(known, arrivals.show))
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


def handler(
    known: Sequence[Webhook], show: Callable[[str, bytes, str], None], *, is_told_last: bool = False
) -> type[BaseHTTPRequestHandler]:
    """The handler of a webhook's requests; ``show`` gets the id, the body, and why it was refused.

    The sender is answered before ``show``, or after it if ``is_told_last``.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS

        def do_POST(self) -> None:
            length = self.headers.get("content-length", "")
            if not (length.isascii() and length.isdigit() and int(length[:12]) <= _LARGEST):
                self._answer(413)
                return
            body = self.rfile.read(int(length))
            if len(body) < int(length):  # the sender has ended half-way, and will send it again
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            problem = _problem(known, body, headers)
            tell = partial(self._answer, 401 if problem else 204)
            shown = partial(show, headers.get("webhook-id", ""), body, problem)
            for do in (shown, tell) if is_told_last else (tell, shown):
                do()

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests."""

    return Handler


def _problem(known: Sequence[Webhook], body: bytes, headers: dict[str, str]) -> str:
    """The reason why none of the secrets has signed a request; empty: one has, or there is none."""
    from standardwebhooks import WebhookVerificationError

    problem = ""
    for each in known:
        try:
            each.verify(body, headers)
            return ""
        except (WebhookVerificationError, ValueError) as error:
            problem = str(error) or "the signature is wrong"
    return problem
