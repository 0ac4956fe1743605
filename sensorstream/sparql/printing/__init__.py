"""Algebra to text.

``parse_query(query_text(q)) == q`` for every query the parser can give, so an evaluator of plain
SPARQL that gets the text computes what the algebra means. The text is canonical: full IRIs,
literals in their N-Triples form, each compound expression in brackets.
"""

from sensorstream.sparql.printing.patterns import algebra_lines, expression_text, pattern_text
from sensorstream.sparql.printing.query_forms import operation_text, query_text, update_text
from sensorstream.sparql.printing.term_text import node_text, path_text

__all__ = [
    "algebra_lines",
    "expression_text",
    "node_text",
    "operation_text",
    "path_text",
    "pattern_text",
    "query_text",
    "update_text",
]
