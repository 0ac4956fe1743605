"""A query in a network, with the code of this version or of the one before plans."""

from __future__ import annotations

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.sparql.query_parser import parse_query


def operator(network: Network, index: TripleIndex, text: str) -> Node:
    """The operator whose output is a query's solutions over one graph."""
    query = parse_query(text)
    try:
        from sensorstream.network.build import build
        from sensorstream.network.plan.planner import plan_in_step
        from sensorstream.network.query_sources import DEFAULT, Sources
    except ImportError:
        from sensorstream.network import compile as before  # type: ignore[attr-defined]
        from sensorstream.network import query_sources

        compiler = before.Compiler(network, query_sources.Sources(index))  # type: ignore[arg-type]
        found: Node = compiler.compile(query.form.pattern)
        return found
    return build(plan_in_step(query.form.pattern, Sources(), None), network, {DEFAULT: index})
