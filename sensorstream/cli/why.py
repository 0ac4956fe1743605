"""``sensorstream why``: why an alert was raised, or a statement holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from sensorstream.cli.client import Client
from sensorstream.cli.served import served
from sensorstream.cli.terminal import print_lines

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
def command(client: Client, of: str) -> dict[str, Any]:
    """Show why an alert was raised or a statement holds, down to each XPath.

    An alert is given by its id, such as m42-1. Shows its rule with the values, the statements that
    its conditions had matched, the messages that said them, and where in these they stand.

    A statement is given as in Turtle, with the prefixes of the rule files, such as ':ann a
    :Person'. Shows who said it, or the rules by which it follows from what was said.
    """
    return client.why(of) if len(of.split()) == 1 else client.why_statement(of)


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
    yield from _notes(why)


def _notes(why: Mapping[str, Any]) -> Iterator[str]:
    if why["notes"]:
        yield ""
        yield from (f"note: {each}" for each in why["notes"])


def held_lines(why: Mapping[str, Any]) -> Iterator[str]:
    """What a server tells of a statement, for people."""
    yield f"{why['statement']}\n{why['answer']}"
    rules: dict[str, Mapping[str, Any]] = {}
    if why["held"] is not None:
        yield ""
        yield from _held(why["held"], why["profile"], "", rules)
    for name, rule in rules.items():
        place = rule["position"]
        yield f"\nrule {name} ({place['file']}:{place['line']})"
        yield from (f"  {line}" for line in rule["comment"].splitlines())
        yield from (f"  {line}" for line in rule["text"].splitlines())
    yield from _notes(why)


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
    """Where a statement comes from."""
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
def why_not(client: Client, rule: str, individual: str, variable: str) -> dict[str, Any]:
    """Show what keeps a rule from firing for an individual.

    The parts of the semantic rule are tried one after the other on what the server knows now; the
    first that leaves nothing is told, with what is known instead. RULE may also be a continuous
    query, and its parts.
    """
    return client.why_not(rule, individual, variable)


def unmet_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What a server tells of a rule, for people."""
    yield found["answer"]
    yield ""
    for each in found["steps"]:
        count = each["solutions"]
        left = "" if count is None else f"  ({count} solution{'' if count == 1 else 's'})"
        yield f"{'yes' if each['held'] else 'no':<5}{each['kind']}  {each['text']}{left}"
        yield from (f"       {line}" for line in (*each["found"], each["note"]) if line)
