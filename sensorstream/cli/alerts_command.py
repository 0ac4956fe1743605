"""``sensorstream alerts``: those of a running server; ``why``: the reason of one, or of a fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import after, asks, limit, served, show_page
from sensorstream.cli.options import count_option, key_option
from sensorstream.cli.terminal import (
    follow,
    print_fields,
    print_json,
    print_lines,
    print_table,
    rows_of,
)
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
def list_(
    client: CommandClient, limit: int, before: int | None, state: str | None, as_json: bool
) -> None:
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
    client: CommandClient, after: str | None, changes: bool, count: int | None, as_json: bool
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


_add(
    "messages",
    CommandClient.alert_messages,
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
    CommandClient.alert_history,
    "What became of an alert, oldest first; repeats are only counted.",
    _ID,
    limit(100),
    after("changes"),
    show=lambda found: show_page(
        found, "changes", rows_of("seq", "at", "change", "by", "count", "text")
    ),
)
_change = partial(_add, show=lambda found: print_fields({name: found[name] for name in _FIELDS}))
_change(
    "show",
    CommandClient.alert,
    "The state of what an alert (m42-1) belongs to, and how often it was raised.",
    _ID,
)
_change(
    "acknowledge",
    CommandClient.acknowledge,
    "Say that somebody sees to an alert: no more reminders, no escalation.",
    _ID,
    _WHY,
)
_change("clear", CommandClient.clear_alert, "Say that what an alert told of has ended.", _ID, _WHY)
_TEXT = click.Argument(["text"])
_change("comment", CommandClient.comment, "Add a text to the history of an alert.", _ID, _TEXT)
_change(
    "assign",
    CommandClient.assign,
    'Say who is to see to an alert; "" is nobody in particular.',
    _ID,
    click.Argument(["to"], metavar="NAME"),
)
_add(
    "silences",
    CommandClient.silences,
    "The silences that have not ended.",
    show=rows_of("id", "rule", "key", "severity", "starts_at", "ends_at", "by", "comment"),
)
_add(
    "unsilence",
    CommandClient.end_silence,
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
def silence(client: CommandClient, hours: float, **told: Any) -> dict[str, Any]:
    """Do not tell receivers of alerts that match, for a while (an hour); they are kept."""
    return client.silence(SystemClock().now() + timedelta(hours=hours), **told)


_BASIS = {
    "said": "said by message {message}",
    "rule": "inserted by rule {rules} with message {message}",
    "inferred": "inferred ({profile}), caused by message {message}",
    "ontology": "in the ontology",
    "left": "left the window; said by message {message}",
}


@served(
    click.command("why"),
    lambda found: print_lines(lines(found) if "alert" in found else held_lines(found)),
)
@click.argument("of", metavar="ID|STATEMENT")
@key_option
def why(client: CommandClient, of: str, key: str | None) -> dict[str, Any]:
    """Show why an alert was raised or a statement holds, down to each XPath.

    An alert is given by its id, such as m42-1. Shows its rule with the values, the statements that
    its conditions had matched, the messages that said them, and where in these they stand.

    A statement is given as in Turtle, with the prefixes of the rule files, such as ':ann a
    :Person'. Shows who said it, or the rules by which it follows from what was said.
    """
    if len(of.split()) > 1:
        return client.why_statement(of, key)
    if key is not None:
        raise click.UsageError("--key is for a statement")
    return client.why(of)


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Render a server's answer about an alert as lines for people."""
    alert, rule, because = told["alert"], told["rule"], told["because"]
    yield f"{alert['severity']}: {alert['text']}"
    yield f"raised at {alert['time']}, when message {alert['message_id']} came"
    if rule is not None:
        place = rule["position"]
        version = (
            "of the settings" if rule["version"] == "settings" else f"put as {rule['version']}"
        )
        yield f"\nby rule {rule['name']} ({rule['file']}:{place['line']}, {version})"
        yield from (f"  {line}" for line in rule["text"].splitlines())
    if because is not None:
        yield ""
        yield from _because(because, told["profile"], "")
    yield from _notes(told)


def _notes(told: Mapping[str, Any]) -> Iterator[str]:
    if told["notes"]:
        yield ""
        yield from (f"note: {each}" for each in told["notes"])


def held_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Render a server's answer about a statement as lines for people."""
    yield f"{told['statement']}\n{told['answer']}"
    rules: dict[str, Mapping[str, Any]] = {}
    if told["held"] is not None:
        yield ""
        yield from _held(told["held"], told["profile"], "", rules)
    for name, rule in rules.items():
        place = rule["position"]
        yield f"\nrule {name} ({place['file']}:{place['line']})"
        yield from (f"  {line}" for line in rule["comment"].splitlines())
        yield from (f"  {line}" for line in rule["text"].splitlines())
    yield from _notes(told)


def _held(
    held: Mapping[str, Any], profile: str, indent: str, rules: dict[str, Mapping[str, Any]]
) -> Iterator[str]:
    yield f"{indent}{held['statement']}"
    by, inner = held["by"], f"{indent}  "
    if held["basis"] != "inferred":
        yield from _basis(held, profile, inner)
    if held["basis"] == "inferred" or by is not None:
        cause = held["caused_by"]
        told = f"caused by message {cause}" if cause else "from the ontology"
        also = "" if held["basis"] == "inferred" else "also "
        where = ": told above" if held["above"] else ""
        yield f"{inner}{also}inferred ({profile}), {told}{where}"
    if held["note"]:
        yield f"{inner}{held['note']}"
    if (entailed := held["entailed"]) is not None:
        yield f"{inner}because together"
        for each in entailed["premises"]:
            yield from _held(each, profile, f"{inner}  ", rules)
        yield from (f"{inner}  {each}\n{inner}    in the ontology" for each in entailed["axioms"])
    if by is None:
        return
    rules.setdefault(by["rule"], by)
    yield f"{inner}by rule {by['rule']} with"
    yield from (f"{inner}  ?{name} = {value}" for name, value in by["bindings"].items())
    if by["premises"] or by["paths"]:
        yield f"{inner}because"
    for each in by["premises"]:
        yield from _held(each, profile, f"{inner}  ", rules)
    yield from (f"{inner}  {each}" for each in by["paths"])


def _because(because: Mapping[str, Any], profile: str, indent: str) -> Iterator[str]:
    if (since := because["since"]) is not None:
        told = since["message_id"]
        spoken = f", when message {told} was the last to say something of it" if told else ""
        yield f"{indent}since {since['time']}{spoken}"
    if because["bindings"]:
        yield f"{indent}with"
        yield from (f"{indent}  ?{name} = {value}" for name, value in because["bindings"].items())
    if because["statements"]:
        yield f"{indent}because"
    for each in because["statements"]:
        yield f"{indent}  {each['statement']}"
        yield from _basis(each, profile, f"{indent}    ")
        if each["note"]:
            yield f"{indent}    {each['note']}"
        if each["because"] is not None:
            yield from _because(each["because"], profile, f"{indent}    ")


def _basis(each: Mapping[str, Any], profile: str, indent: str) -> Iterator[str]:
    """The lines about the origin of a statement: a message or rules."""
    basis = _BASIS[each["basis"]].format(
        message=each["message_id"], rules=" or ".join(each["rules"]), profile=profile
    )
    source = f" of {each['source']}" if each["source"] else ""
    at = f", received at {each['received_at']}" if each["received_at"] else ""
    yield f"{indent}{basis}{source}{at}"
    if each["basis"] != "rule" and each["rules"]:
        yield f"{indent}perhaps by rule {' or '.join(each['rules'])}"
    for place in each["places"]:
        yield from _place(place, indent)
    for premise in each["premises"]:
        yield f"{indent}from {premise['statement']}"
        for place in premise["places"]:
            yield from _place(place, f"{indent}  ")


def _place(place: Mapping[str, Any], indent: str) -> Iterator[str]:
    if not place["value"]:
        yield f"{indent}the value is in mapping rule {place['rule']} itself"
    for each in place["value"]:
        yield f"{indent}by mapping rule {place['rule']}, {each['xpath']}"
        for node in each["nodes"]:
            text = " ".join(node["text"].split())
            yield f"{indent}  {node['path']} (line {node['line']}): {text}"


@served(click.command("why-not"), lambda found: print_lines(unmet_lines(found)))
@click.argument("rule")
@click.argument("individual", metavar="IRI")
@click.option("--variable", default="", help="The variable of the rule that is the individual.")
@key_option
def why_not(
    client: CommandClient, rule: str, individual: str, variable: str, key: str | None
) -> dict[str, Any]:
    """Show what keeps a rule from firing for an individual.

    The parts of the semantic rule are tried one after the other on what the server knows now; the
    first that leaves nothing is told, with what is known instead. RULE may also be a continuous
    query, and its parts.
    """
    return client.why_not(rule, individual, variable, key)


def unmet_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Render a server's answer about a rule that does not fire as lines for people."""
    yield found["answer"]
    yield ""
    for each in found["steps"]:
        count = each["solutions"]
        left = "" if count is None else f"  ({count} solution{'' if count == 1 else 's'})"
        yield f"{'yes' if each['held'] else 'no':<5}{each['kind']}  {each['text']}{left}"
        yield from (f"       {line}" for line in (*each["found"], each["note"]) if line)
