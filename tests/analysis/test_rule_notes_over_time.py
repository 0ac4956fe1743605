"""Notes on rules over time: what they say, where, and what they leave alone."""

from __future__ import annotations

import pytest

from sensorstream.analysis import QueryContext, rules_notes
from sensorstream.errors import Position
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.sparql.dotr.dotr_reader import read_program

E = "http://e/"
SCHEMA = Schema(
    classes=frozenset(IRI(f"{E}{each}") for each in ("Smoke", "High", "Rain")),
    object_properties=frozenset((IRI(f"{E}in"), IRI(f"{E}at"))),
    datatype_properties=frozenset((IRI(f"{E}value"),)),
)
TEXT = """\
PREFIX : <http://e/>
:near(?x, ?r) :- :at(?x, ?p), :in(?p, ?r).
rule fire define { dotr_id1 a :Fire ; :where ?room }
from Smoke(SELECT ?s ?room { ?s a :Smoke ; :near ?room })
and last High(SELECT ?v { ?h a :High ; :value ?v FILTER(?v > 3) }) within 5 min from Smoke
and not Rain(SELECT ?r { ?r a :Rain }) between High and Smoke
and count(Calm(SELECT ?c { ?c a :Fire })) as ?calm within 5 min from High
where High.?v > 3 and Rain.?r != Smoke.?s and ?calm > 2
with ?room = Smoke.?room
"""


def notes(text: str, schema: Schema = SCHEMA) -> list[tuple[int, int, str, str]]:
    program = read_program(text, name="r", start=Position("r.dotr", 1, 1))
    return [
        (each.position.line, each.position.column, each.code, each.text)
        for each in rules_notes(program, QueryContext(schema, continuous=True))
    ]


def test_of_rules_without_anything_odd_there_are_none() -> None:
    assert notes(TEXT) == []
    # What is not in the ontology is known if rules make it.
    assert ":Fire" in TEXT
    assert notes(TEXT.replace(":near", ":p").replace(":at", ":q"), Schema()) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("a :Smoke ;", "a :Smok ;", (4, 35, "unknown-class", "has no class :Smok: did you mean")),
        (":- :at(", ":- :ate(", (2, 1, "unknown-property", "has no property :ate")),
        ("?v > 3) }", '"a" > 3) }', (5, 61, "filter-never-true", "between a text and a number")),
        ("?v > 3) }", "1 > 3) }", (5, 10, "rule-never-fires", "rule fire cannot fire: High never")),
        ("a :Rain }", "a :Rain FILTER(1>3) }", (3, 1, "condition-never-holds", "'not Rain' excl")),
        ("a :Fire })", "a :Fire FILTER(1>3) })", (3, 1, "condition-never-holds", "?calm is that")),
        ("where High.?v > 3", 'where High.?v > "x" + 1', (3, 1, "rule-never-fires", "'High.?v >")),
        ("Rain.?r != Smoke.?s", "Rain.?r > 3", (3, 1, "condition-never-holds", "'Rain.?r > 3'")),
        (
            "between High and Smoke",
            "between Smoke and High",
            (6, 9, "scope-is-empty", "never later"),
        ),
        ("with ?room", "with ?v = High.?v, ?room", (3, 1, "unused-value", "'define' has no ?v")),
    ],
)
def test_what_is_odd_is_told_with_its_place(
    old: str, new: str, told: tuple[int, int, str, str]
) -> None:
    assert old in TEXT
    found = notes(TEXT.replace(old, new, 1))
    *place, part = told
    assert any([*each[:3]] == place and part in each[3] for each in found), found
