"""What is read: the ontology, the rules that the queries need, and events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from sensorstream.model.terms import Triple
from sensorstream.reasoning.ontology import Ontology, parse_ontology
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.rule_set_reader import read
from sensorstream.streams.event_lines import EventLines

SCHEMA: Final = Path(__file__).with_name("schema.ttl")
RULES: Final = Path(__file__).with_name("minimal.ru")


def ontology() -> Ontology:
    """What the universities' data are about."""
    return parse_ontology(SCHEMA.read_bytes(), "text/turtle")


def minimal() -> RuleSet:
    """Just the rules that the queries need."""
    return read(RULES.read_text(encoding="utf-8"), RULES.name)


def line_of(text: str) -> str:
    """An event whose graph is given in N-Triples, as a line of an event file."""
    return json.dumps({"time": 0, "graph": text})


class Reader:
    """Reads events one by one, as they come."""

    def __init__(self) -> None:
        self._lines = EventLines("departments")

    def read(self, line: str) -> tuple[Triple, ...]:
        """The triples of an event."""
        (event,) = self._lines.read([line])
        return event.triples
