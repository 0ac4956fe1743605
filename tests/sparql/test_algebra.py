from __future__ import annotations

from sensorstream.sparql.algebra import (
    BGP,
    Equals,
    EqualsOptional,
    Join,
    LeftJoin,
    Minus,
    OptionalSeq,
    Query,
    Seq,
    Union,
)
from sensorstream.sparql.query_parser import parse_query


def test_a_query_is_a_value() -> None:
    one, other = (parse_query("SELECT ?s { ?s ?p ?o }") for _ in range(2))
    assert isinstance(one, Query)
    assert (one, hash(one)) == (other, hash(other))


def test_equal_parts_of_different_kinds_are_different() -> None:
    kinds = (Join, Union, Minus, Seq, Equals, LeftJoin, OptionalSeq, EqualsOptional)
    made = [kind(BGP(), BGP()) for kind in kinds]
    assert len(set(made)) == len(made) == len(set(map(repr, made)))


def test_the_places_of_a_text_do_not_belong_to_what_it_means() -> None:
    one, other = (parse_query(f"{before}ASK {{ ?s ?p ?o }}") for before in ("", "\n "))
    assert one.places is not other.places
    assert {one, other} == {one}
