from __future__ import annotations

import pytest

from sensorstream.errors import Position, QueryError
from sensorstream.sparql.algebra import Construct
from sensorstream.sparql.dotr.datalog import read_clause
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.sparql.dotr.dotr_syntax import DatalogClause
from sensorstream.sparql.dotr.token_cursor import TokenCursor
from sensorstream.sparql.query_parser import parse_query

HEAD = "PREFIX : <http://e.org/> "


def clause(text: str) -> DatalogClause:
    cursor = TokenCursor(text, Position("r", 1, 1))
    cursor.prefixes = {"": "http://e.org/"}
    found = read_clause(cursor)
    assert cursor.token is None
    return found


@pytest.mark.parametrize(
    ("written", "template", "pattern"),
    [
        (":p(?x, ?y) :- :q(?y, ?x) .", "?x :p ?y", "?y :q ?x"),
        (":C(?x) :- [?x, :q, 7], ?p(?x, 'a'@en).", "?x a :C", "?x :q 7 ; ?p 'a'@en"),
        (":C(?x), [:a, :p, ?x] :- :D(?x).", "?x a :C . :a :p ?x", "?x a :D"),
        (
            ":C(?x) :- :q(?x, ?y), filter(?y > 3), not :D(?x), FILTER(?y < 9), not :q(?y, ?x).",
            "?x a :C",
            "{ { { ?x :q ?y FILTER(?y > 3) } FILTER(?y < 9) } FILTER NOT EXISTS { ?x a :D } } "
            "FILTER NOT EXISTS { ?y :q ?x }",
        ),
        (":C(:a).", ":a a :C", ""),
    ],
)
def test_a_rule_means_what_construct_says(written: str, template: str, pattern: str) -> None:
    form = parse_query(f"{HEAD} CONSTRUCT {{ {template} }} WHERE {{ {pattern} }}").form
    assert isinstance(form, Construct)
    found = clause(written)
    assert (found.head, found.body) == (form.template, form.pattern)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (":p(?x) :- :q(?y).", r"2:1: \?x of the head"),
        (":p(?x) :- :q(?x)", r"expected ',' or '\.'"),
        (":p(?x) :- not :q(?x).", r"\?x of the head"),
        ("z:p(?x) :- :q(?x).", "2:1: unknown prefix 'z:'"),
        ('"p"(?x) :- :q(?x).', "2:1: the name of a class is an IRI: expected an atom"),
        (":p(?x) :- :q(?x), filter(?y > 3).", r"2:19: FILTER: \?y has no value"),
        (":p(?x) :- :q(?x), [7, :q, ?x].", "2:19: not an atom, whose property is an IRI"),
    ],
)
def test_a_fault_of_a_datalog_rule_is_told(text: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        read_program(f"{HEAD}\n{text}", name="r", start=Position("r.dotr", 1, 1))
