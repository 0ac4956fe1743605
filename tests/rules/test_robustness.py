"""Whatever stands in a rule, compiling it gives a rule or an error with a place."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import LanguageError
from sensorstream.language import parse
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_compiler import compile_rules

RULE = """prefix : <http://example.org/>
rule r
on insert :Human as ?h
if count :Human > 2 and select { SELECT ?room (COUNT(?p) AS ?n)
  WHERE { ?p :in ?room . ?h :in ?room } GROUP BY ?h ?room ORDER BY ?n }
and not ask { ASK { ?room :closed true OPTIONAL { ?room :by ?who } } }
then alert warning "{?n} in {?room}" key "{?room}" for "10"
  update individual :action-{new} a :Action ; :of ?room ; :n "{?n}"^^:number, 5 .
  sparql { PREFIX e: <http://example.org/> DELETE { ?room e:n ?old } INSERT { ?room :n ?n }
    WHERE { ?room :n ?old FILTER(?old < 3) } ; INSERT DATA { :x :p "text", 1.5 } }
  delete { ?h :in ?anywhere ; a ?kind }
  delete individual ?h .
  reply "<a b='{?h}'>{new}</a>"
"""
PIECES = (
    *("{", "}", "(", ")", "<", ">", '"', "'", "#", ";", ".", ":", "?", "?z", "?h", "[", "]"),
    *(" SELECT * ", " WHERE ", " DATA ", " GRAPH ", " SERVICE ", " GROUP BY ", " LIMIT 0 "),
    *(" INSERT ", " DELETE ", " ASK ", " BIND(1 AS ?h) ", "\n", "\r", "\t", "é", "\x00", "\\", ""),
)


@given(
    edits=st.lists(
        st.tuples(
            st.integers(0, len(RULE)), st.integers(0, 12), st.sampled_from(PIECES) | st.text()
        ),
        max_size=3,
    )
)
@settings(max_examples=200)
def test_a_rule_compiles_or_says_where_it_does_not(edits: list[tuple[int, int, str]]) -> None:
    text = RULE
    for start, length, piece in edits:
        text = f"{text[:start]}{piece}{text[start + length :]}"
    fault = fault_of(text)
    if fault is not None:
        assert fault.position is not None
        assert 1 <= fault.position.line <= text.count("\n") + 1
        assert fault.position.column >= 1


def fault_of(text: str) -> LanguageError | None:
    try:
        compile_rules([parse(text, "fuzzed")], Schema(), Timeline.INTEGER)
    except LanguageError as error:
        return error
    return None


def test_the_rule_itself_compiles() -> None:
    (rule,) = compile_rules([parse(RULE, "rule")], Schema(), Timeline.INTEGER)
    assert (rule.name, len(rule.conditions), len(rule.actions)) == ("r", 3, 6)
