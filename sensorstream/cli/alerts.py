"""``sensorstream alerts``: the alerts of a running server."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any, Final

import click

from sensorstream.cli.client import Client
from sensorstream.cli.options import count_option
from sensorstream.cli.served import after, asks, limit, served, show_page
from sensorstream.cli.terminal import follow, print_fields, print_json, print_table, rows_of
from sensorstream.clock import SystemClock
from sensorstream.errors import ServerUnreachable

_COLUMNS: Final[tuple[str, ...]] = ("seq", "time", "severity", "rule", "key", "text")
_OPEN: Final = ("seq", "id", "count", "last_time", "severity", "rule", "key", "text")
_FIELDS: Final = (
    *("id", "state", "severity", "escalated", "rule", "kind", "key", "text", "count", "first_at"),
    *("last_at", "acknowledged_by", "assignee", "cleared_at", "silenced", "flapping"),
)
_ID: Final = click.Argument(["id_"], metavar="ID")
_WHY: Final = click.Option(["--text"], default="", help="Why, for the history.")


@click.group("alerts")
def command() -> None:
    """List or follow the alerts of a running server, and see to them."""


_add = partial(asks, command)


@served(command.command("list"), json=True)
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only alerts older than this one.")
@click.option(
    "--state",
    type=click.Choice(["open", "acknowledged", "cleared"]),
    help="Not each alert, but what is in this state, with its repeats.",
)
def list_(client: Client, limit: int, before: int | None, state: str | None, as_json: bool) -> None:
    """The newest alerts, newest first; or what is open, with its repeats."""
    if state is None:
        columns, found = _COLUMNS, client.alerts(limit, before)
    else:
        columns, found = _OPEN, client.alerts_in(state, limit, before)
    (print_json if as_json else rows_of(*columns))(found)


@served(command.command("follow"), json=True)
@click.option(
    "--after", metavar="SEQ", help='Begin after this alert; "" begins with the oldest kept one.'
)
@click.option("--changes", is_flag=True, help="Not each alert, but what becomes of open ones.")
@count_option
def follow_(
    client: Client, after: str | None, changes: bool, count: int | None, as_json: bool
) -> None:
    """Alerts as they are raised, one a line, until Ctrl-C."""
    last = after or "0"

    def show(alert: dict[str, Any]) -> None:
        nonlocal last
        last = str(alert["seq"])
        if as_json:
            print_json(alert)
        elif changes:
            click.echo(
                f"{alert['seq']} {alert['at']} {alert['id']} {alert['change']} "
                f"{alert['severity']} {alert['rule'] or alert['kind']} {alert['key']} "
                f"{alert['by']}: {alert['text']}"
            )
        else:
            click.echo(f"{alert['seq']} {alert['time']} {alert['severity']}: {alert['text']}")

    if not follow(client.follow_alerts(after, changes), count, show):
        raise ServerUnreachable(f"the server ended the stream: continue with --after {last}")


def _show_messages(found: list[dict[str, Any]]) -> None:
    columns = ("message_id", "source", "received_at")
    rows = [
        [
            *(each[name] for name in columns),
            "(dropped by retention)" if each["dropped"] else " ".join(each["content"].split()),
        ]
        for each in found
    ]
    print_table((*columns, "content"), rows)


def _show(found: dict[str, Any]) -> None:
    told = {name: found[name] for name in _FIELDS}
    print_fields({name: "" if each is None else str(each) for name, each in told.items()})


_add(
    "messages",
    Client.alert_messages,
    """The messages that led to an alert, given by its id (m42-1), oldest first.

    They are those that said, or caused to be inferred, what the alert's rule matched.
    """,
    _ID,
    limit(100),
    after("messages"),
    show=lambda found: show_page(found, "messages", _show_messages),
)
_add(
    "history",
    Client.alert_history,
    "What became of an alert, oldest first; repeats are only counted.",
    _ID,
    limit(100),
    after("changes"),
    show=lambda found: show_page(
        found, "changes", rows_of("seq", "at", "change", "by", "count", "text")
    ),
)
_change = partial(_add, show=_show)
_change(
    "show",
    Client.alert,
    "The state of what an alert (m42-1) belongs to, and how often it was raised.",
    _ID,
)
_change(
    "acknowledge",
    Client.acknowledge,
    "Say that somebody sees to an alert: no more reminders, no escalation.",
    _ID,
    _WHY,
)
_change("clear", Client.clear_alert, "Say that what an alert told of has ended.", _ID, _WHY)
_TEXT = click.Argument(["text"])
_change("comment", Client.comment, "Add a text to the history of an alert.", _ID, _TEXT)
_change(
    "assign",
    Client.assign,
    'Say who is to see to an alert; "" is nobody in particular.',
    _ID,
    click.Argument(["to"], metavar="NAME"),
)
_add(
    "silences",
    Client.silences,
    "The silences that have not ended.",
    show=rows_of("id", "rule", "key", "severity", "starts_at", "ends_at", "by", "comment"),
)
_add(
    "unsilence",
    Client.end_silence,
    "Tell receivers again of what a silence matched.",
    click.Argument(["silence_id"], metavar="ID", type=int),
)


@served(
    command.command("silence"),
    lambda made: click.echo(f"silence {made['id']} until {made['ends_at']}"),
)
@click.option("--rule", help="The rule, or the kind of an alert of the system; * for any signs.")
@click.option("--key", help="The key; * for any signs.")
@click.option("--severity", type=click.Choice(["info", "warning", "critical"]))
@click.option("--hours", type=click.FloatRange(0, 87_600, min_open=True), default=1.0)
@click.option("--comment", default="", help="Why.")
def silence(client: Client, hours: float, **told: Any) -> dict[str, Any]:
    """Do not tell receivers of alerts that match, for a while (an hour); they are kept."""
    return client.silence(SystemClock().now() + timedelta(hours=hours), **told)
