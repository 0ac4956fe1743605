"""Semantic rules that describe a class are told, with the place and the definition to write."""

from __future__ import annotations

import pytest

from sensorstream.errors import LanguageError, Position
from sensorstream.language.rule_parser import parse
from sensorstream.rules.rule_notes import check_classes_named, unnamed_class_faults

HEAD = """prefix : <urn:x:>
prefix owl: <http://www.w3.org/2002/07/owl#>
rule odd
"""
SOME = "[ owl:onProperty :p ; owl:someValuesFrom :A ]"


@pytest.mark.parametrize(
    "text",
    [
        f'on change\nif select {{ SELECT ?x {{ ?x a {SOME} }} }}\nthen alert info "x"',
        f'on change\nif not ask {{ ASK {{ ?x a {SOME} }} }}\nthen alert info "x"',
        f'when ask {{ ASK {{ ?x a {SOME} }} }} becomes true\nthen alert info "x"',
        "when select { SELECT ?x { ?x a :A } } becomes true\n"
        f'until ask {{ ASK {{ ?x a {SOME} }} }}\nthen alert info "{{?x}}"',
        f'every "PT10S" from history select {{ SELECT ?x {{ ?x a {SOME} }} }}\n'
        'then alert info "{?x}"',
        f"on change\nthen sparql {{ DELETE {{ ?x :p ?y }} WHERE {{ ?x :p ?y ; a {SOME} }} }}",
    ],
)
def test_a_class_is_described_wherever_a_rule_asks(text: str) -> None:
    written = HEAD + text
    with pytest.raises(LanguageError, match=r"the query describes a class.*<urn:x:p>") as caught:
        check_classes_named([parse(written, "odd.rules")])
    before = written[: written.index(SOME)].splitlines()
    place = caught.value.position
    assert place == Position("odd.rules", len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(
    "text",
    [
        'on change\nif ask { ASK { ?x a [ :p :A ] } }\nthen alert info "x"',
        'on change\nif ask { ASK { ?x a :A ; :p [ a :A ] } }\nthen alert info "x"',
        "on insert :A as ?x\nthen sparql { INSERT DATA { :a :p [ a :A ] } }",
    ],
)
def test_blank_nodes_that_are_individuals_may_stand_in_rules(text: str) -> None:
    check_classes_named([parse(HEAD + text, "even.rules")])


def test_each_rule_is_told_once_and_those_with_other_faults_are_told_elsewhere() -> None:
    rule = f'\non change\nif ask {{ ASK {{ ?x a {SOME} ; a {SOME} }} }}\nthen alert info "x"\n'
    broken = 'rule broken\non change\nif ask { ASK { ?x a } }\nthen alert info "x"\n'
    text = f"{HEAD}{rule}rule second{rule}{broken}"
    faults = list(unnamed_class_faults([parse(text, "odd.rules")]))
    assert len(faults) == 2
