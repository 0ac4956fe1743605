from __future__ import annotations

import pytest

from sensorstream.language import parse
from sensorstream.model import rdf, rdfs
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import OWL
from sensorstream.rules.rule_compiler import compile_rules
from sensorstream.rules.rule_notes import rule_notes

E = "http://example.org/"
HEAD = """prefix : <http://example.org/>
mapping people on message {/m}
then insert individual :p-{@id} a :Human ; :hasName {@name} .
"""


def name(text: str) -> IRI:
    return IRI(f"{E}{text}")


ONTOLOGY: tuple[Triple, ...] = (
    *((name(each), rdf.TYPE, IRI(f"{OWL}Class")) for each in ("Human", "Agent", "Room", "Lab")),
    (name("hasName"), rdf.TYPE, IRI(f"{OWL}DatatypeProperty")),
    (name("isIn"), rdf.TYPE, IRI(f"{OWL}ObjectProperty")),
    (name("Human"), rdfs.SUBCLASS_OF, name("Agent")),
    (name("Lab"), rdfs.SUBCLASS_OF, name("Room")),
)


def told(
    rules: str, *more: Triple, others_make: bool = False, line: Timeline = Timeline.INTEGER
) -> list[tuple[str, int, int, str]]:
    ontology = (*ONTOLOGY, *more)
    schema = Schema.of(ontology)
    file = parse(HEAD + rules, "a.rules")
    compile_rules([file], schema, line)
    return [
        (note.code, note.position.line, note.position.column, note.text)
        for note in rule_notes([file], schema, ontology, line, others_make=others_make)
    ]


def codes(rules: str, *more: Triple, others_make: bool = False) -> list[str]:
    return [code for code, *_ in told(rules, *more, others_make=others_make)]


ON_ROOM = 'rule r on insert :Room as ?r then alert info "{?r}"'


def test_a_rule_for_a_class_that_nobody_makes_cannot_fire() -> None:
    ((code, line, column, text),) = told(ON_ROOM)
    assert (code, line, column) == ("rule-never-fires", 4, 18)
    assert text.startswith("rule r cannot fire: no rule makes a :Room")
    assert codes(ON_ROOM.replace("on insert", "on expire")) == ["rule-never-fires"]


@pytest.mark.parametrize(
    "rules",
    [
        'rule r on insert :Human as ?h then alert info "{?h}"',
        'rule r on insert :Agent as ?h then alert info "{?h}"',
        f"{ON_ROOM} rule s on change then insert individual :x a :Lab .",
        f"{ON_ROOM} rule s on change then sparql {{ INSERT DATA {{ :x a :Room }} }}",
        f"{ON_ROOM} rule s on change then sparql {{ INSERT {{ ?x ?p ?o }} WHERE {{ ?o ?p ?x }} }}",
        f"{ON_ROOM} rule s on change then sparql {{ INSERT {{ ?x a ?o }} WHERE {{ ?x ?p ?o }} }}",
    ],
)
def test_a_rule_for_what_is_made_or_follows_needs_no_note(rules: str) -> None:
    assert codes(rules) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("exists :Room", ["rule-never-fires"]),
        ("not exists :Room", []),
        ("exists :Agent", []),
        ("count :Lab > 0", ["rule-never-fires"]),
        ("count :Lab = 2", ["rule-never-fires"]),
        ("count :Lab = 0", []),
        ("count :Lab < 3", []),
        ("not count :Lab >= 3", []),
    ],
)
def test_a_condition_on_a_class_without_members_is_told(
    condition: str, expected: list[str]
) -> None:
    rule = f'rule r on change if {condition} then alert info "x"'
    assert codes(rule) == expected
    # An individual of the ontology is a member from the start, but never inserted.
    lab = (name("lab-1"), rdf.TYPE, name("Lab"))
    assert codes(rule, lab) == []
    assert codes(ON_ROOM, lab) == ["rule-never-fires"]


@pytest.mark.parametrize(
    "axiom",
    [
        (name("hasName"), rdfs.DOMAIN, name("Lab")),
        (name("Room"), IRI(f"{OWL}equivalentClass"), BlankNode("_:some")),
        (BlankNode("_:some"), rdfs.SUBCLASS_OF, name("Lab")),
        (BlankNode("_:some"), IRI(f"{OWL}allValuesFrom"), name("Lab")),
        (BlankNode("_:some"), rdf.FIRST, name("Lab")),
    ],
)
def test_what_the_ontology_may_infer_is_no_ground_for_a_note(axiom: Triple) -> None:
    assert codes(ON_ROOM, axiom) == []


def test_an_inverse_may_state_a_property_that_no_rule_states() -> None:
    domain = (name("isIn"), rdfs.DOMAIN, name("Room"))
    inverse = (name("holds"), IRI(f"{OWL}inverseOf"), name("isIn"))
    assert codes(ON_ROOM, domain) == ["rule-never-fires"]
    assert codes(ON_ROOM, domain, inverse) == []


def test_mappings_of_another_language_may_make_anything() -> None:
    assert codes(ON_ROOM, others_make=True) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ask { ASK { ?x a :Human FILTER(1 > 2) } }", ["filter-never-true", "rule-never-fires"]),
        ("not ask { ASK { ?x a :Human FILTER(1 > 2) } }", ["filter-never-true"]),
        ("select { SELECT ?x { VALUES ?x { } } }", ["rule-never-fires"]),
        ("select { SELECT ?x { ?x a :Human } LIMIT 0 }", ["rule-never-fires"]),
        ("ask { ASK { { ?x a :Human } UNION { ?x a :Agent FILTER(false) } } }",
         ["filter-never-true"]),
        ("ask { ASK { OPTIONAL { ?x a :Agent FILTER(false) } } }", ["filter-never-true"]),
        ("ask { ASK { ?x a :Humn } }", ["unknown-class"]),
        ("ask { ASK { ?x a :Human FILTER(?y > 1) } }", ["unbound-variable", "rule-never-fires"]),
    ],
)  # fmt: skip
def test_the_queries_of_conditions_are_looked_at(condition: str, expected: list[str]) -> None:
    assert codes(f'rule r on change if {condition} then alert info "x"') == expected


def test_a_variable_of_the_trigger_or_an_earlier_condition_has_a_value() -> None:
    rule = (
        "rule r on insert :Human as ?h if select { SELECT ?n { ?h :hasName ?n } } "
        "and ask { ASK { ?x :hasName ?m FILTER(?m != ?n && ?x != ?h) } } "
        "then sparql { INSERT { ?x :hasName ?n } WHERE { ?x a :Human FILTER(?x != ?h) } }"
    )
    assert codes(rule) == []


def test_the_updates_of_actions_are_looked_at() -> None:
    rule = (
        "rule r on change then delete { ?x :hasNam ?y }\n"
        "sparql { INSERT { ?x a :Humn } WHERE { ?x :hasName ?y FILTER(?y > 'a' + 1) } }"
    )
    assert [(code, line) for code, line, *_ in told(rule)] == [
        ("unknown-property", 4),
        ("unknown-class", 5),
        ("filter-never-true", 5),
    ]


@pytest.mark.parametrize(
    ("line", "condition", "expected"),
    [
        (Timeline.INTEGER, "?now - ?t > %", "'>' never holds between a number and an xsd:dayTime"),
        (Timeline.DATETIME, "?now - ?t > %", None),
        (Timeline.DATETIME, "?now > 60", "'>' never holds between an xsd:dateTime and a number"),
        (Timeline.INTEGER, "?now > 60", None),
    ],
)
def test_an_operation_that_the_time_line_has_no_value_for_is_told(
    line: Timeline, condition: str, expected: str | None
) -> None:
    length = '"PT1M"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>'
    written = condition.replace("%", length)
    rule = (
        "rule r on insert :Human as ?h if select { SELECT ?n { ?h :hasName ?n ; :hasName ?t } } "
        f'and ask {{ ASK {{ ?h :hasName ?t FILTER({written}) }} }} then alert info "{{?h}}"'
    )
    found = told(rule, line=line)
    if expected is None:
        assert found == []
        return
    assert [code for code, *_ in found] == ["filter-never-true", "rule-never-fires"]
    (text,) = (said for code, _, _, said in found if code == "filter-never-true")
    assert expected in text


def test_a_condition_knows_the_kinds_of_an_earlier_one() -> None:
    rule = (
        "rule r on insert :Human as ?h if select { SELECT (COUNT(*) AS ?n) ?h { ?h :hasName ?t } "
        'GROUP BY ?h } and ask { ASK { ?h :hasName ?t FILTER(?n > "5") } } then alert info "{?h}"'
    )
    assert codes(rule) == ["filter-never-true", "rule-never-fires"]


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ("when exists :Room becomes true", ["rule-never-fires"]),
        ("when not exists :Room becomes true", []),
        ("when ask { ASK { ?x :hasNam 1 } } becomes true", ["unknown-property"]),
        ("when exists :Human becomes true until ask { ASK { ?x a :Humn } }", ["unknown-class"]),
    ],
)
def test_the_conditions_of_an_edge_are_looked_at(trigger: str, expected: list[str]) -> None:
    assert codes(f'rule r {trigger} then alert info "x"') == expected


def test_the_question_to_the_history_has_notes_and_says_what_its_values_are() -> None:
    rule = (
        'rule r every "10" from history select {{ SELECT ?x ?n {{ ?x a :{} ; :hasName ?n {} }} }}\n'
        'if select {{ SELECT ?x {{ ?x :hasName ?m FILTER({}) }} }} then alert info "{{?x}}"'
    )
    assert codes(rule.format("Human", "FILTER(?now > ?last)", "?m = ?n")) == []
    ((code, *_, text),) = told(rule.format("Humann", "", "true"))
    assert (code, text.split(":")[0]) == ("unknown-class", "the ontology has no class ")
    assert "rule-never-fires" in codes(rule.format("Human", 'FILTER(?last > "P1D")', "true"))


def test_a_given_variable_has_its_value_in_a_select_that_does_not_return_it() -> None:
    rule = (
        "rule r on insert :Human as ?h "
        "if select { SELECT ?m { ?x :hasName ?m FILTER(?now > 1 && ?x != ?h) } } "
        'then alert info "{?m}"'
    )
    assert codes(rule) == []
    within = rule.replace("{ ?x :hasName ?m FILTER", "{ { SELECT ?m { ?x :hasName ?m FILTER")
    assert "unbound-variable" in codes(within.replace(") } }", ") } } } }"))
