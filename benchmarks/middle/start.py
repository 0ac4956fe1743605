"""What the first parse of a process costs; run it in a process of its own."""

from __future__ import annotations

import time

from sensorstream.language.rule_parser import parse
from sensorstream.sparql.query_parser import parse_query


def milliseconds() -> dict[str, float]:
    """CPU time of the first query and the first rule file, without the imports."""
    begun = time.process_time()
    parse_query("SELECT * { ?s ?p ?o }")
    query = time.process_time()
    parse("")
    rules = time.process_time()
    return {"SPARQL": (query - begun) * 1000, "mapping rules": (rules - query) * 1000}
