"""How the time of a triples map grows with the message."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from sensorstream.language.syntax import Call, Hole
from sensorstream.language.walk import nodes
from sensorstream.mapping.rml.model import JoinCondition, ParentMap, RmlMapping, TermMap, TriplesMap
from sensorstream.mapping.rml.paths import absolute
from sensorstream.mapping.rule_cost import Steep
from sensorstream.mapping.xpath_cost import cost_of


def steep_of_map(
    triples_map: TriplesMap, mapping: RmlMapping, own: Container[str]
) -> Iterator[Steep]:
    """The expressions of a triples map that are not linear in the message.

    Those whose values multiply count at the iterator. ``own`` are the user's own functions.
    """
    iterator = triples_map.source.iterator
    rows = cost_of(absolute(iterator.text))
    if rows.degree > 1:
        yield Steep(rows.degree, iterator)
    for hole in set(nodes(triples_map, Hole)) - {iterator}:
        cost = cost_of(hole.text)
        degree = cost.each if rows.many else cost.degree
        if degree > 1:
            yield Steep(degree, hole)
    subject = _several([triples_map.subject])
    for each in triples_map.properties:
        objects = max(_several_of(value, mapping) for value in each.objects)
        graphs = _several([*triples_map.graphs, *each.graphs])
        degree = subject + _several(each.predicates) + objects + graphs
        if degree > 1:
            yield Steep(degree, iterator)
    if any(call.function in own for call in nodes(triples_map, Call)):
        yield Steep(2, iterator)


def _several(term_maps: Iterable[TermMap]) -> int:
    """The most values that one of them multiplies, each as many as a message has nodes."""
    return max((_references(each) for each in term_maps), default=0)


def _several_of(value: TermMap | ParentMap, mapping: RmlMapping) -> int:
    if isinstance(value, TermMap):
        return _several([value])
    parent = mapping.named(value.parent)
    assert parent is not None, "the reader has looked for it"
    own = _several([parent.subject])
    if not value.joins:
        return own
    # All rows of one may meet all rows of the other.
    return 1 + own + max(_joined(value.joins, "child"), _joined(value.joins, "parent"))


def _joined(joins: Iterable[JoinCondition], side: str) -> int:
    return sum(_references(getattr(each, side)) for each in joins)


def _references(value: object) -> int:
    holes = {hole.text for hole in nodes(value, Hole)}
    return sum(cost_of(text).many for text in holes)
