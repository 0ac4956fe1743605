from __future__ import annotations

import pytest

from sensorstream.app.control.file_faults import axiom_notes
from sensorstream.language.rule_parser import parse

TEXT = """prefix : <http://example.org/>
prefix owl: <http://www.w3.org/2002/07/owl#>
prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>
mapping m on message {/m}
then insert individual :{@id} a :Thing, owl:NegativePropertyAssertion ; :of {@of} ;
    rdfs:subClassOf :Thing ; owl:sameAs :other .
"""


@pytest.mark.parametrize("profile", ["plain", "hermit", "pellet"])
def test_a_rule_that_writes_axioms_is_noted_with_the_place_of_each(profile: str) -> None:
    found = list(axiom_notes([parse(TEXT, "f.rules")], profile))
    assert [(each.code, each.position.line) for each in found] == [
        ("axiom-unread", 5),
        ("axiom-unread", 6),
    ]
    assert "NegativePropertyAssertion" in found[0].text
    assert f"the profile {profile} reads axioms from the ontology alone" in found[1].text


@pytest.mark.parametrize("profile", ["none", "owl2rl"])
def test_rule_sets_read_axioms_of_messages(profile: str) -> None:
    assert list(axiom_notes([parse(TEXT, "f.rules")], profile)) == []
