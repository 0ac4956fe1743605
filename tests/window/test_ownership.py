from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.window.window_partition import owners_of

REFERS = IRI("http://example.org/refers")
NODES = [IRI("http://example.org/a"), *(BlankNode(f"_:b{n}") for n in range(6))]


def one_by_one(event: Event, known: Mapping[BlankNode, Subject]) -> dict[Subject, Subject]:
    """The definition: each blank node walks up to its individual by itself."""
    owners: dict[Subject, Subject] = {triple[0]: triple[0] for triple in event.triples}
    referrer: dict[BlankNode, Subject] = {}
    for subject, _, value in event.triples:
        if isinstance(value, BlankNode) and value in owners and value != subject:
            referrer.setdefault(value, subject)
    for node in [each for each in owners if isinstance(each, BlankNode)]:
        owner: Subject = node
        seen: set[Subject] = set()
        while isinstance(owner, BlankNode) and owner not in seen:
            seen.add(owner)
            owner = referrer.get(owner) or known.get(owner, owner)
        owners[node] = next(o for o in owners if o in seen) if owner in seen else owner
    return owners


@given(
    st.lists(st.tuples(st.sampled_from(NODES), st.just(REFERS), st.sampled_from(NODES))),
    st.dictionaries(st.sampled_from(NODES[1:]), st.sampled_from(NODES)),
)
def test_each_blank_node_belongs_to_what_refers_to_it(
    triples: list[Triple], known: dict[BlankNode, Subject]
) -> None:
    event = Event(tuple(triples), 0, "m1")
    assert owners_of(event, known) == one_by_one(event, known)


def test_a_long_chain_is_walked_over_once() -> None:
    nodes: list[Subject] = [IRI("http://example.org/a")]
    nodes += (BlankNode(f"_:b{n}") for n in range(50_000))
    triples = [(a, REFERS, b) for a, b in pairwise(nodes)]
    # The last ones first: each would walk up the whole chain.
    owners = owners_of(Event(tuple(reversed(triples)), 0, "m1"), {})
    assert set(owners.values()) == {nodes[0]}
