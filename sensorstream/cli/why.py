"""``sensorstream why``: why an alert was raised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from sensorstream.cli.options import json_option, server_options, server_url

_BASIS = {
    "said": "said by message {message}",
    "rule": "inserted by rule {rules} with message {message}",
    "inferred": "inferred ({profile}), caused by message {message}",
    "ontology": "in the ontology",
    "left": "left the window; said by message {message}",
}


@click.command("why")
@click.argument("alert", metavar="ID")
@server_options
@json_option
def command(alert: str, url: str | None, config: Path, as_json: bool) -> None:
    """Show why an alert was raised, down to the XPath of each value.

    The alert is given by its id, such as m42-1. Shows its rule with the values, the statements that
    its conditions had matched, the messages that said them, and where in these they stand.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json

    with Client(server_url(url, config)) as client:
        found = client.why(alert)
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(lines(found)))


def lines(why: Mapping[str, Any]) -> Iterator[str]:
    """What a server tells of an alert, for people."""
    alert, rule, because = why["alert"], why["rule"], why["because"]
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
        yield from _because(because, why["profile"], "")
    if why["notes"]:
        yield ""
        yield from (f"note: {each}" for each in why["notes"])


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
        basis = _BASIS[each["basis"]].format(
            message=each["message_id"], rules=" or ".join(each["rules"]), profile=profile
        )
        source = f" of {each['source']}" if each["source"] else ""
        at = f", received at {each['received_at']}" if each["received_at"] else ""
        yield f"{indent}    {basis}{source}{at}"
        if each["basis"] != "rule" and each["rules"]:
            yield f"{indent}    perhaps by rule {' or '.join(each['rules'])}"
        for place in each["places"]:
            yield from _place(place, f"{indent}    ")
        for premise in each["premises"]:
            yield f"{indent}    from {premise['statement']}"
            for place in premise["places"]:
                yield from _place(place, f"{indent}      ")
        if each["note"]:
            yield f"{indent}    {each['note']}"
        if each["because"] is not None:
            yield from _because(each["because"], profile, f"{indent}    ")


def _place(place: Mapping[str, Any], indent: str) -> Iterator[str]:
    if not place["value"]:
        yield f"{indent}the value is in mapping rule {place['rule']} itself"
    for each in place["value"]:
        yield f"{indent}by mapping rule {place['rule']}, {each['xpath']}"
        for node in each["nodes"]:
            text = " ".join(node["text"].split())
            yield f"{indent}  {node['path']} (line {node['line']}): {text}"
