"""A plan as lines for people."""

from __future__ import annotations

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.network.plan.plan_text import plan_lines
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamProcessor

WINDOW = "FROM NAMED WINDOW <urn:w> [RANGE PT10S]"


def processor() -> StreamProcessor:
    return StreamProcessor(TripleIndex(), instant=lambda text: int(text.lexical), second=1)


def test_a_plan_prints_itself_as_a_tree() -> None:
    text = (
        f"SELECT ?x (COUNT(?y) AS ?n) {WINDOW} WHERE {{ "
        "WINDOW <urn:w> { ?x <urn:p> ?y OPTIONAL { ?y <urn:q>* ?z } FILTER(?y > 3) } "
        "FILTER NOT EXISTS { ?x <urn:r> ?v } } GROUP BY ?x HAVING (COUNT(?y) > 2)"
    )
    lines = list(plan_lines(processor().check("q", parse_query(text)).plan))
    assert [(len(line) - len(line.lstrip())) // 2 for line in lines][:3] == [0, 1, 2]
    texts = [line.strip() for line in lines]
    assert "Match in window <urn:w>: ?x <urn:p> ?y -> ?x ?y" in texts
    assert "Match ?x <urn:r> ?v -> ?x ?v" in texts
    assert "Thresholds ?y > the constant of each reader" in texts
    assert "One or more steps" in texts
    assert any(text.startswith("Group by ?x") for text in texts)
