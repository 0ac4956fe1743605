"""Notes on mapping rules: no faults, but worth knowing."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

from sensorstream.analysis import Note
from sensorstream.language.rule_printer import print_hole
from sensorstream.language.syntax import Hole, MappingRule, RuleFile
from sensorstream.mapping.location_path import lookup_of
from sensorstream.mapping.reference_data import ReferenceData
from sensorstream.mapping.rule_cost import largest, steep_of
from sensorstream.mapping.rule_report import ExpressionReport, explain, holes_of
from sensorstream.mapping.xml_document import Element
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.sparql.walk import nodes

_BY_PLACE: Final = ("join", "wkt")
_ASIDE: Final = re.compile(r"""\"[^"]*"|'[^']*'|\[[^\]]*\]""")
"""Strings and predicates of an XPath."""


def mapping_notes(files: Iterable[RuleFile], own: Container[str] = ()) -> Iterator[Note]:
    """Notes on rules whose paths cannot be looked up whole, which cost more with every message; on
    those not linear in the message; and on values in document order where another order is meant.
    ``own`` are the user's own functions.
    """
    for file in files:
        yield from _steep(file, own)
        for rule in file.mapping_rules:
            yield from _in_document_order(rule)
            lookup = lookup_of(rule.message.text, file.namespace_map)
            if lookup.exact:
                continue
            tried = "on the messages that have the rest of it" if lookup.paths else "on every one"
            yield Note(
                "not-indexed",
                f"rule {rule.name}: its path cannot be looked up whole, because of "
                f"'{lookup.left_out}': it is tried {tried}",
                rule.message.position,
            )


def _in_document_order(rule: MappingRule) -> Iterator[Note]:
    """Notes on values in document order that a function takes by place."""
    for hole in dict.fromkeys(nodes(rule, Hole)):
        by_place = next((each for each in hole.calls if each.function in _BY_PLACE), None)
        if by_place is not None and "|" in _ASIDE.sub("", hole.text):
            yield Note(
                "document-order",
                f"rule {rule.name}: {{{hole.text}}} gives {by_place.function} its values in the "
                "order of the message, in which '|' has no part: an element or attribute that "
                "stands elsewhere changes places; write concat(A, ' ', B)",
                hole.position,
            )


def _steep(file: RuleFile, own: Container[str]) -> Iterator[Note]:
    """A note for a whole file, at its costliest expression."""
    found = {
        rule: steep
        for rule in file.mapping_rules
        if (steep := steep_of(rule, own, in_parts=bool(file.parts)))
    }
    if not found:
        return
    degrees = {rule: max(each.degree for each in steep) for rule, steep in found.items()}
    rule = max(found, key=degrees.__getitem__)
    worst = max(found[rule], key=lambda each: each.degree)
    others = ", ".join(each.name for each in found if each is not rule)
    yield Note(
        "not-linear",
        f"rule {rule.name}: {print_hole(worst.hole)} takes up to n^{worst.degree} steps for n "
        f"nodes: messages of more than {largest(each.degree for each in found[rule])} nodes are "
        "mapped in a process of their own, which takes some milliseconds more, and may take "
        f"limits.mapping_seconds{f' (not linear either: {others})' if others else ''}",
        worst.hole.position,
    )


def sample_notes(
    files: Sequence[RuleFile],
    schema: Schema,
    timeline: Timeline,
    samples: Iterable[Element],
    reference: ReferenceData,
) -> Iterator[Note]:
    """``finds-nothing``: notes on properties without a value in any of some sample messages. A
    property with several expressions has one if any of them has.
    """
    found: dict[tuple[str, str, str], list[ExpressionReport]] = {}
    for number, root in enumerate(samples, 1):
        message = Message(f"sample-{number}", b"", 0)
        for part in explain(files, schema, timeline, root.getroottree(), message, reference):
            for report in part.rules:
                for each in report.expressions:
                    if not each.tried or each.role in ("on message", "if"):
                        continue
                    found.setdefault(_whose(report.rule, each.role, each.written), []).append(each)
    for file in files:
        for rule in file.mapping_rules:
            for role, hole in holes_of(file, rule):
                written = print_hole(hole)
                reports = found.get(_whose(rule.name, role, written), ())
                if not reports or any(each.found for each in reports):
                    continue
                causes = (each.cause for each in reports if each.written == written)
                cause = next(filter(None, causes), "")
                yield Note(
                    "finds-nothing",
                    f"rule {rule.name}: {written} ({role}) finds nothing in any sample message"
                    f"{cause and f': {cause}'}",
                    hole.position,
                )


def _whose(rule: str, role: str, written: str) -> tuple[str, str, str]:
    # A name needs a value of each of its expressions.
    return rule, role, written if role == "name" else ""
