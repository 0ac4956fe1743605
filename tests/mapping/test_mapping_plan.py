"""Statements of a message, and the graphs they are in."""

from __future__ import annotations

import pytest

from sensorstream.errors import TermError
from sensorstream.mapping.mapped_values import check_graph_name
from sensorstream.mapping.mapping_plan import Harvest, MappedStatements
from sensorstream.model.events import Message
from sensorstream.model.terms import IRI, Literal, Triple

A, P, G, H = (IRI(f"http://e/{name}") for name in "apgh")


def triple(text: str) -> Triple:
    return A, P, Literal(text)


def test_an_event_says_which_triples_are_in_which_graphs() -> None:
    harvest = Harvest(Message("m1", b"", 7))
    said = harvest.at(7)
    said.graph(G)[triple("named")] = None
    said.graph(G)[triple("both")] = None
    said.graph(H)[triple("both")] = None
    said.triples[triple("plain")] = None
    said.triples[triple("both")] = None
    (event,) = harvest.events()
    assert event.triples == (triple("plain"), triple("both"), triple("named"))
    assert event.graphs == (
        (triple("named"), G),
        (triple("both"), None),
        (triple("both"), G),
        (triple("both"), H),
    )
    assert event.named_graphs() == {triple("named"): (G,), triple("both"): (G, H)}


def test_statements_of_a_named_graph_alone_make_an_event() -> None:
    harvest = Harvest(Message("m1", b"", 7))
    harvest.at(7).graph(G)[triple("x")] = None
    (event,) = harvest.events()
    assert event.triples == (triple("x"),)


def test_what_is_added_to_a_graph_leaves_its_own_default_graph() -> None:
    more = MappedStatements({triple("x"): None}, {(A, P)}, {H: {triple("y"): None}})
    said = MappedStatements()
    said.add(more, G)
    assert (said.triples, said.replaces) == ({}, {(A, P)})
    assert said.named == {G: {triple("x"): None}, H: {triple("y"): None}}
    said.add(more)
    assert said.triples == {triple("x"): None}


def test_a_part_of_an_event_keeps_the_graphs_of_its_triples() -> None:
    harvest = Harvest(Message("m1", b"", 7))
    harvest.at(7).graph(G).update({triple("x"): None, triple("y"): None})
    (event,) = harvest.events()
    part = event.part((triple("y"),), frozenset())
    assert (part.triples, part.graphs) == ((triple("y"),), ((triple("y"), G),))


def test_names_of_the_system_are_not_for_graphs_of_messages() -> None:
    assert check_graph_name(G) == G
    with pytest.raises(TermError, match="<urn:sensorstream:window> cannot name a graph"):
        check_graph_name(IRI("urn:sensorstream:window"))
