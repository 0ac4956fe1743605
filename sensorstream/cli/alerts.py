"""``sensorstream alerts``: the alerts of a running server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.alert_changes import (
    acknowledge,
    assign,
    clear,
    comment,
    history,
    show,
    silence,
    silences,
    unsilence,
)
from sensorstream.cli.following import count_option, follow
from sensorstream.cli.options import asks_server, json_option, prints, rows_of
from sensorstream.errors import ServerUnreachable

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_COLUMNS: tuple[str, ...] = ("seq", "time", "severity", "rule", "key", "text")
_OPEN = ("seq", "id", "count", "last_time", "severity", "rule", "key", "text")


@click.group("alerts")
def command() -> None:
    """List or follow the alerts of a running server, and see to them."""


for _command in (
    *(show, history, acknowledge, clear, comment, assign),
    *(silences, silence, unsilence),
):
    command.add_command(_command)


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only alerts older than this one.")
@click.option(
    "--state",
    type=click.Choice(["open", "acknowledged", "cleared"]),
    help="Not each alert, but what is in this state, with its repeats.",
)
@asks_server
@json_option
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


@command.command("messages")
@click.argument("alert", metavar="ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only messages after this one.")
@asks_server
@prints(_show_messages)
def messages(client: Client, alert: str, limit: int, after: int) -> dict[str, Any]:
    """The messages that led to an alert, given by its id (m42-1), oldest first.

    They are those that said, or caused to be inferred, what the alert's rule matched.
    """
    return client.alert_messages(alert, limit, after)


@command.command("follow")
@click.option(
    "--after", metavar="SEQ", help='Begin after this alert; "" begins with the oldest kept one.'
)
@click.option("--changes", is_flag=True, help="Not each alert, but what becomes of open ones.")
@count_option
@asks_server
@json_option
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
