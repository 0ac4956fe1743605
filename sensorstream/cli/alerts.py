"""``sensorstream alerts``: the alerts of a running server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from sensorstream.cli.options import rows_of, served
from sensorstream.cli.terminal import count_option, follow
from sensorstream.clock import SystemClock
from sensorstream.errors import ServerUnreachable

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_COLUMNS: tuple[str, ...] = ("seq", "time", "severity", "rule", "key", "text")
_OPEN = ("seq", "id", "count", "last_time", "severity", "rule", "key", "text")


@click.group("alerts")
def command() -> None:
    """List or follow the alerts of a running server, and see to them."""


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
    from sensorstream.cli.terminal import print_json

    if state is None:
        columns, found = _COLUMNS, client.alerts(limit, before)
    else:
        columns, found = _OPEN, client.alerts_in(state, limit, before)
    (print_json if as_json else rows_of(*columns))(found)


def _show_messages(found: dict[str, Any]) -> None:
    from sensorstream.cli.terminal import print_table

    rows = [
        [
            each["message_id"],
            each["source"],
            each["received_at"],
            "(dropped by retention)" if each["dropped"] else " ".join(each["content"].split()),
        ]
        for each in found["messages"]
    ]
    print_table(("message_id", "source", "received_at", "content"), rows)
    if found["next"] is not None:
        click.echo(f"there may be more: --after {found['messages'][-1]['seq']}", err=True)


@served(command.command("messages"), _show_messages)
@click.argument("alert", metavar="ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only messages after this one.")
def messages(client: Client, alert: str, limit: int, after: int) -> dict[str, Any]:
    """The messages that led to an alert, given by its id (m42-1), oldest first.

    They are those that said, or caused to be inferred, what the alert's rule matched.
    """
    return client.alert_messages(alert, limit, after)


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
    from sensorstream.cli.terminal import print_json

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


_Change: TypeAlias = "Callable[[Client, str, str], dict[str, Any]]"
_FIELDS = (
    *("id", "state", "severity", "escalated", "rule", "kind", "key", "text", "count", "first_at"),
    *("last_at", "acknowledged_by", "assignee", "cleared_at", "silenced", "flapping"),
)


def _show(found: dict[str, Any]) -> None:
    from sensorstream.cli.terminal import print_fields

    told = {name: found[name] for name in _FIELDS}
    print_fields({name: "" if each is None else str(each) for name, each in told.items()})


@served(command.command("show"), _show)
@click.argument("alert", metavar="ID")
def show(client: Client, alert: str) -> dict[str, Any]:
    """The state of what an alert (m42-1) belongs to, and how often it was raised."""
    return client.alert(alert)


def _show_history(found: dict[str, Any]) -> None:
    rows_of("seq", "at", "change", "by", "count", "text")(found["changes"])
    if found["next"] is not None:
        click.echo(f"there may be more: --after {found['changes'][-1]['seq']}", err=True)


@served(command.command("history"), _show_history)
@click.argument("alert", metavar="ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only changes after this one.")
def history(client: Client, alert: str, limit: int, after: int) -> dict[str, Any]:
    """What became of an alert, oldest first; repeats are only counted."""
    return client.alert_history(alert, limit, after)


def _change(name: str, sentence: str, what: click.Parameter, do: _Change) -> None:
    """Add a command that changes an alert, by its id and one more value, and shows it then."""

    alert = click.Argument(["alert"], metavar="ID")

    @served(command.command(name, help=sentence, params=[alert, what]), _show)
    def change(client: Client, alert: str, **value: str) -> dict[str, Any]:
        return do(client, alert, *value.values())


def _why() -> click.Parameter:
    return click.Option(["--text"], default="", help="Why, for the history.")


_change(
    "acknowledge",
    "Say that somebody sees to an alert: no more reminders, no escalation.",
    _why(),
    lambda client, alert, text: client.acknowledge(alert, text),
)
_change(
    "clear",
    "Say that what an alert told of has ended.",
    _why(),
    lambda client, alert, text: client.clear_alert(alert, text),
)
_change(
    "comment",
    "Add a text to the history of an alert.",
    click.Argument(["text"]),
    lambda client, alert, text: client.comment(alert, text),
)
_change(
    "assign",
    'Say who is to see to an alert; "" is nobody in particular.',
    click.Argument(["to"], metavar="NAME"),
    lambda client, alert, to: client.assign(alert, to),
)


@served(
    command.command("silences"),
    rows_of("id", "rule", "key", "severity", "starts_at", "ends_at", "by", "comment"),
)
def silences(client: Client) -> list[dict[str, Any]]:
    """The silences that have not ended."""
    return client.silences()


@served(
    command.command("silence"),
    lambda made: click.echo(f"silence {made['id']} until {made['ends_at']}"),
)
@click.option("--rule", help="The rule, or the kind of an alert of the system; * for any signs.")
@click.option("--key", help="The key; * for any signs.")
@click.option("--severity", type=click.Choice(["info", "warning", "critical"]))
@click.option("--hours", type=click.FloatRange(0, 87_600, min_open=True), default=1.0)
@click.option("--comment", default="", help="Why.")
def silence(
    client: Client,
    rule: str | None,
    key: str | None,
    severity: str | None,
    hours: float,
    comment: str,
) -> dict[str, Any]:
    """Do not tell receivers of alerts that match, for a while (an hour); they are kept."""
    until = SystemClock().now() + timedelta(hours=hours)
    return client.silence(until, rule=rule, key=key, severity=severity, comment=comment)


@served(command.command("unsilence"))
@click.argument("silence_id", metavar="ID", type=int)
def unsilence(client: Client, silence_id: int) -> None:
    """Tell receivers again of what a silence matched."""
    client.end_silence(silence_id)
