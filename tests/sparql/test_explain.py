from __future__ import annotations

from collections.abc import Iterator

import pytest

from sensorstream.sparql.algebra import Pattern, Select
from sensorstream.sparql.explain import expression_summary, summary
from sensorstream.sparql.parser import parse_query
from sensorstream.sparql.walk import nodes

PREFIXES = {"ex": "http://example.org/"}
TEXT = """
PREFIX ex: <http://example.org/>
SELECT DISTINCT ?s (COUNT(?o) AS ?n)
FROM NAMED WINDOW ex:w ON ex:s [RANGE 10s STEP 5s]
{
    GRAPH ex:g { ?s ex:p/ex:q ?o . ?s a <urn:x:y> . ?s <http://other.org/r#s> "<a>"@en, 5 }
    OPTIONAL { ?o ex:r ?x FILTER(?x > 1.5) }
    WINDOW ex:w { { ?s ex:p 1 } SEQ { ?s ex:p 2 } }
    MINUS { VALUES ?s { ex:a ex:b } }
    BIND(CONCAT("a", ?o) AS ?y)
    FILTER(?y = "2014-01-01"^^<http://www.w3.org/2001/XMLSchema#date>)
}
GROUP BY ?s HAVING (COUNT(?o) > 2) ORDER BY DESC(?n) LIMIT 3
"""


def lines() -> Iterator[str]:
    query = parse_query(TEXT)
    assert isinstance(query.form, Select)
    for node in nodes(query.form.pattern):
        if isinstance(node, Pattern):
            yield summary(node, PREFIXES)
    yield from (summary(window, PREFIXES) for window in query.dataset.windows)


@pytest.mark.parametrize(
    "line",
    [
        "Slice limit 3",
        "Distinct",
        "Project ?s ?n",
        "OrderBy ?n descending",
        "Extend ?n = ?.agg0",
        "Filter (?.agg0 > 2)",
        "Group by ?s ?.agg0 = COUNT(?o)",
        'Filter (?y = "2014-01-01"^^:date)',
        'Extend ?y = CONCAT("a", ?o)',
        "Minus",
        "Join",
        "LeftJoin if (?x > 1.5)",
        "Graph ex:g",
        'BGP ?s ex:p/ex:q ?o . ?s :type <urn:x:y> . ?s :s "<a>"@en . ?s :s 5',
        "Window ex:w",
        "Seq",
        "Values ?s (2 rows)",
        "ex:w ON ex:s [RANGE PT10S STEP PT5S]",
    ],
)
def test_every_node_is_said_in_a_line(line: str) -> None:
    assert line in list(lines())


def test_an_expression_is_said_in_a_line() -> None:
    query = parse_query("SELECT (1 + 2.5 AS ?x) { }")
    assert isinstance(query.form, Select)
    extend = query.form.pattern.pattern  # type: ignore[union-attr]
    assert expression_summary(extend.expression) == "(1 + 2.5)"  # type: ignore[union-attr]
