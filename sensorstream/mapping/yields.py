"""The results of RML maps and stylesheets for a message, as a whole, not per expression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from sensorstream.errors import MappingError
from sensorstream.mapping.document import Element
from sensorstream.mapping.hint import Landmarks, why_unmatched
from sensorstream.mapping.plan import Harvest, PlannedRule
from sensorstream.model.events import Message


@dataclass(frozen=True, slots=True)
class Yield:
    """One triples map or stylesheet.

    ``path`` is the iterator, or the path of the messages that the stylesheet is for; empty if
    it names none. ``found`` counts the nodes there, ``triples`` what came out. ``cause`` is the
    likely reason why nothing matched; ``error`` the reason for a rejection. ``missing`` are the
    XPaths of a map that found nothing in any of its iterations.
    """

    rule: str
    path: str
    matched: bool
    found: int
    triples: int
    cause: str
    error: str
    missing: tuple[str, ...] = ()


def yields(rules: Iterable[PlannedRule], root: Element, message: Message) -> tuple[Yield, ...]:
    """The result of each rule alone for a message."""
    return tuple(_yield(rule, root, message) for rule in rules)


def _yield(rule: PlannedRule, root: Element, message: Message) -> Yield:
    sought: dict[str, bool] = {}
    harvest, matched, error = Harvest(message, sought=sought), True, ""
    try:
        matched = rule.run(root, harvest, None)
    except MappingError as fault:
        error = str(fault)
    triples = 0 if error else sum(len(said.merged()) for said in harvest.by_time.values())
    landmarks = rule.landmarks
    cause = "" if matched else _cause(root, landmarks, message)
    found = _count(root, landmarks)
    missing = tuple(xpath for xpath, has_found in sought.items() if not has_found)
    return Yield(rule.name, landmarks.path, matched, found, triples, cause, error, missing)


def _count(root: Element, landmarks: Landmarks) -> int:
    if not landmarks.path:
        return 0
    try:
        found = etree.XPath(landmarks.path, namespaces=dict(landmarks.namespaces) or None)(root)
    except etree.XPathError:
        # The rule as a whole has reported it already.
        return 0
    return len(found) if isinstance(found, list) else 0


def _cause(root: Element, landmarks: Landmarks, message: Message) -> str:
    if not landmarks.path or _count(root, landmarks):
        return f"neither the message nor its source, {message.source}, selects it"
    return why_unmatched(root, [landmarks])
