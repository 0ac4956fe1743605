"""What people do with alerts: ``alerts show``, ``acknowledge``, ``clear`` and so on, silences."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from sensorstream.cli.options import asks_server, prints, rows_of
from sensorstream.clock import SystemClock

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_Change: TypeAlias = "Callable[[Client, str, str], dict[str, Any]]"
_FIELDS = (
    *("id", "state", "severity", "escalated", "rule", "kind", "key", "text", "count", "first_at"),
    *("last_at", "acknowledged_by", "assignee", "cleared_at", "silenced", "flapping"),
)


def _show(found: dict[str, Any]) -> None:
    from sensorstream.cli.terminal import print_fields

    told = {name: found[name] for name in _FIELDS}
    print_fields({name: "" if each is None else str(each) for name, each in told.items()})


@click.command("show")
@click.argument("alert", metavar="ID")
@asks_server
@prints(_show)
def show(client: Client, alert: str) -> dict[str, Any]:
    """The state of what an alert (m42-1) belongs to, and how often it was raised."""
    return client.alert(alert)


def _show_history(found: dict[str, Any]) -> None:
    rows_of("seq", "at", "change", "by", "count", "text")(found["changes"])
    if found["next"] is not None:
        click.echo(f"there may be more: --after {found['changes'][-1]['seq']}", err=True)


@click.command("history")
@click.argument("alert", metavar="ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only changes after this one.")
@asks_server
@prints(_show_history)
def history(client: Client, alert: str, limit: int, after: int) -> dict[str, Any]:
    """What became of an alert, oldest first; repeats are only counted."""
    return client.alert_history(alert, limit, after)


def _change(name: str, sentence: str, what: click.Parameter, do: _Change) -> click.Command:
    """A command that changes an alert, by its id and one more value, and shows it then."""

    @click.command(name, help=sentence, params=[click.Argument(["alert"], metavar="ID"), what])
    @asks_server
    @prints(_show)
    def change(client: Client, alert: str, **value: str) -> dict[str, Any]:
        return do(client, alert, *value.values())

    return change


def _why() -> click.Parameter:
    return click.Option(["--text"], default="", help="Why, for the history.")


acknowledge = _change(
    "acknowledge",
    "Say that somebody sees to an alert: no more reminders, no escalation.",
    _why(),
    lambda client, alert, text: client.acknowledge(alert, text),
)
clear = _change(
    "clear",
    "Say that what an alert told of has ended.",
    _why(),
    lambda client, alert, text: client.clear_alert(alert, text),
)
comment = _change(
    "comment",
    "Add a text to the history of an alert.",
    click.Argument(["text"]),
    lambda client, alert, text: client.comment(alert, text),
)
assign = _change(
    "assign",
    'Say who is to see to an alert; "" is nobody in particular.',
    click.Argument(["to"], metavar="NAME"),
    lambda client, alert, to: client.assign(alert, to),
)


@click.command("silences")
@asks_server
@prints(rows_of("id", "rule", "key", "severity", "starts_at", "ends_at", "by", "comment"))
def silences(client: Client) -> list[dict[str, Any]]:
    """The silences that have not ended."""
    return client.silences()


@click.command("silence")
@click.option("--rule", help="The rule, or the kind of an alert of the system; * for any signs.")
@click.option("--key", help="The key; * for any signs.")
@click.option("--severity", type=click.Choice(["info", "warning", "critical"]))
@click.option("--hours", type=click.FloatRange(0, 87_600, min_open=True), default=1.0)
@click.option("--comment", default="", help="Why.")
@asks_server
@prints(lambda made: click.echo(f"silence {made['id']} until {made['ends_at']}"))
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


@click.command("unsilence")
@click.argument("silence_id", metavar="ID", type=int)
@asks_server
def unsilence(client: Client, silence_id: int) -> None:
    """Tell receivers again of what a silence matched."""
    client.end_silence(silence_id)
