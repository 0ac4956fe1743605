"""Why something holds, as a tree that unfolds down to messages and places in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from nicegui import ui

from sensorstream.console import page_addresses
from sensorstream.console.elements import FactList, Listing, link, show
from sensorstream.console.shown_values import Piece, Text, terms

_BASES: Final = {
    "said": "said by a message",
    "rule": "said by a semantic rule",
    "inferred": "inferred",
    "ontology": "stands in the ontology",
    "left": "was said of what left the window",
}
_MOST: Final = 2000
"""Statements that a tree shows."""


def show_statement(why: Mapping[str, Any]) -> None:
    """Show an answer of ``GET /why``."""
    ui.label(str(why["answer"]))
    if why["held"] is not None:
        _show([why["held"]])
    _notes(why["notes"])


def show_alert(why: Mapping[str, Any]) -> None:
    """Show an answer of ``GET /alerts/{id}/why``."""
    rule, because = why["rule"], why["because"]
    if rule is not None:
        with ui.element("p"):
            link(f"rule {rule['name']}", page_addresses.rule_file(str(rule["file"])))
            at = rule["position"]
            if at is not None:
                ui.label(f", line {at['line']}").classes("inline")
        Listing(str(rule["text"]), f"Rule {rule['name']}")
    if because is not None:
        FactList().show({f"?{name}": terms(value) for name, value in because["bindings"].items()})
        _show(because["statements"])
        if because["left_out"]:
            ui.label(f"{because['left_out']} more statements are not kept.")
    _notes(why["notes"])


def _show(statements: Iterable[Mapping[str, Any]]) -> None:
    left = iter(range(_MOST))
    with ui.element("div").classes("why"):
        for each in statements:
            _node(each, left, is_open=True)


def _node(node: Mapping[str, Any], left: Iterator[int], *, is_open: bool = False) -> None:
    if next(left, None) is None:
        return
    below = list(premises(node))
    with ui.element("details") as part:
        if is_open:
            part.props("open")
        with ui.element("summary"):
            # A summary is a button, in which links have no place.
            said = terms(node["statement"])
            show(
                [*(replace(each, address="") for each in said), Piece(heading(node), look="basis")]
            )
        leads: list[Text] = [each for each in said if each.address]
        if node["message_id"]:
            name = str(node["message_id"])
            leads += [Piece(f"message {name}", address=page_addresses.message(name))]
            leads += [f"from {node['source']}"]
        with ui.element("p"):
            show(leads)
        for where in found_at(node):
            ui.label(where).classes("xpath")
        for axiom in (node.get("entailed") or {}).get("axioms", ()):
            ui.label(str(axiom)).classes("axiom")
        if node["note"]:
            ui.label(str(node["note"]))
        for each in below:
            _node(each, left, is_open=len(below) == 1)


def heading(node: Mapping[str, Any]) -> str:
    """The way in which a statement came to hold."""
    by = node.get("by")
    if by is not None:
        return f"by rule {by['rule']}" + (f" ({by['comment']})" if by["comment"] else "")
    basis = _BASES.get(node["basis"], str(node["basis"]))
    if node["rules"]:
        return f"{basis}: {', '.join(node['rules'])}"
    return f"{basis} (told above)" if node.get("above") else basis


def premises(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The statements that a statement follows from."""
    yield from node["premises"]
    for key in ("by", "entailed"):
        yield from (node.get(key) or {}).get("premises", ())
    if node["because"] is not None:
        yield from node["because"]["statements"]


def found_at(node: Mapping[str, Any]) -> Iterator[str]:
    """The expressions of mapping rules that found it, and the nodes of the message."""
    for place in node["places"]:
        for part in ("value", "name"):
            for each in place[part]:
                for found in each["nodes"]:
                    text = f"{each['xpath']} found {found['text']!r} at {found['path']}"
                    yield f"rule {place['rule']}: {text}, line {found['line']}"


def _notes(notes: Iterable[str]) -> None:
    for each in notes:
        ui.label(each)
