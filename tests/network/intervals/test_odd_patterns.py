"""Operators nested in each other as nobody would write them, against the definition."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from sensorstream.sparql.query_parser import parse_query
from tests.network.intervals.definition import solutions, timed
from tests.network.intervals.random_patterns import (
    PREFIX,
    events,
    restarted,
    stream_of,
    streams,
    triples,
)

ODD = {
    "OPTIONALSEQ of OPTIONALSEQ": """
        { { ?x :p ?y } OPTIONALSEQ { ?x :q ?z } } OPTIONALSEQ { ?x :p ?v }""",
    "OPTIONALSEQ before OPTIONALSEQ, with filters": """
        { ?x :p ?y FILTER(?y != ?z) }
        OPTIONALSEQ { { ?x :q ?z FILTER(?z != ?v) } OPTIONALSEQ { ?x :p ?v } }""",
    "MINUS on both sides of SEQ": """
        { ?x :p ?y MINUS { ?y :q ?z } } SEQ { ?x :q ?z MINUS { ?x :p ?x } }""",
    "MINUS of a SEQ that chooses": """
        ?x :p ?y MINUS { { ?x :q ?z } SEQ RECENT { ?x :p ?v } }""",
    "NOT EXISTS on both sides of SEQ": """
        { ?x :p ?y FILTER NOT EXISTS { ?y :q ?z } }
        SEQ { ?x :q ?v FILTER NOT EXISTS { { ?x :p ?w } SEQ { ?x :q ?u } } }""",
    "NOT EXISTS of OPTIONALSEQ": """
        { ?x :p ?y } EQUALS { ?x :p ?y }
        FILTER NOT EXISTS { { ?y :q ?z } OPTIONALSEQ { ?y :p ?z } }""",
    "NOT EXISTS of what is chosen first": """
        ?x :p ?y FILTER NOT EXISTS { SELECT ?x { ?x :q ?z } LIMIT 1 }""",
    "LIMIT on both sides of SEQ": """
        { SELECT ?x ?y { { ?x :p ?y } SEQ { ?x ?r ?y } } LIMIT 2 }
        SEQ { SELECT DISTINCT ?x { ?x :q ?z } LIMIT 3 OFFSET 1 }""",
    "lengths that are bound and joined": """
        { { ?x :p ?y } SEQ { ?x :q ?z } BIND(getDURATION() AS ?v) }
        OPTIONAL { { ?y :q ?w } SEQ { ?y :p ?x } BIND(getDURATION() AS ?v) }""",
    "lengths that are bound on both sides of EQUALS": """
        { ?x :p ?y BIND(getDURATION() AS ?v) } EQUALS { ?z :q ?w BIND(getDURATION() AS ?v) }""",
    "a start that is bound in the optional part": """
        { ?x :p ?y } EQUALSOPTIONAL { ?x :q ?z BIND(getSTARTTIME() AS ?v) FILTER(?v > 1) }""",
    "EQUALS of EQUALS": """
        { { ?x :p ?y } EQUALS { ?x :q ?z } } EQUALS { { ?x ?r ?v } EQUALS { ?y ?s ?x } }""",
    "EQUALS of SEQ and UNION": """
        { { ?x :p ?y } SEQ { ?x :q ?z } } EQUALS { { { ?v :p ?y } SEQ { ?v :q ?z } }
        UNION { ?v :p ?v } }""",
    "EQUALSOPTIONAL of OPTIONALSEQ": """
        { { ?x :p ?y } OPTIONALSEQ { ?x :q ?z } } EQUALSOPTIONAL { ?v :q ?z }
        FILTER(!BOUND(?v) || ?v = ?x)""",
    "absence by OPTIONAL of SEQ": """
        ?x :p ?y OPTIONAL { { ?x :q ?z } SEQ { ?x :q ?v } } FILTER(!BOUND(?z))""",
    "a group on one side of SEQ": """
        { SELECT ?x (COUNT(*) AS ?z) { { ?x :p ?y } UNION { ?x :q ?y } } GROUP BY ?x
          HAVING(getDURATION() < "PT3S"^^xsd:duration) } SEQ { ?x :q ?v }""",
    "SEQ with rows of constants": """
        { ?x :p ?y VALUES (?y ?z) { (:a 1) (:b UNDEF) (1 2) } } SEQ { ?x :q ?z }""",
    "a choosing SEQ of a choosing SEQ": """
        { { ?x :p ?y } SEQ CHRONOLOGICAL { ?x :q ?z } } SEQ RECENT { ?x ?r ?v }""",
    "OPTIONAL whose filter looks at the length": """
        { { ?x :p ?y } SEQ { ?x ?r ?z } }
        OPTIONAL { ?x :q ?v FILTER(getDURATION() < "PT2S"^^xsd:duration) }""",
    "MINUS of what shares nothing, and of what may": """
        ?x :p ?y OPTIONAL { ?x :q ?z } MINUS { ?v :p ?w } MINUS { ?a :q ?z }""",
}


@pytest.mark.parametrize("where", ODD.values(), ids=ODD)
@settings(max_examples=15)
@given(gaps=streams, background=st.lists(triples, max_size=2, unique=True), cut=st.integers(0, 7))
def test_an_odd_pattern_finds_what_its_definition_says_also_over_a_restart(
    where: str, gaps: list[tuple[int, int, list[Triple]]], background: list[Triple], cut: int
) -> None:
    text = f"{PREFIX}SELECT ?x ?y ?z ?v {{ {where} FILTER(getENDTIME() >= 0) }}"
    said = events(gaps)
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    found = Counter(restarted(text, said, background, cut))
    assert found == Counter({each for each in expected if timed(each)})
