from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.kb.graph_changes import NamedGraphs
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.vocabulary import GRAPH_INFERRED, GRAPH_STATIC, GRAPH_WINDOW

names = st.sampled_from([IRI(f"http://example.org/{name}") for name in "ab"])
origins = st.sampled_from(list(Origin))
steps = st.lists(st.tuples(st.tuples(names, names, names), origins))
HELD = {
    GRAPH_STATIC: Origin.STATIC,
    GRAPH_WINDOW: Origin.WINDOW,
    GRAPH_INFERRED: Origin.INFERRED | Origin.STATIC_INFERRED,
}


def toggle(kb: KnowledgeBase, triple: Triple, origin: Origin) -> None:
    there = bool(kb.origins(triple) & origin)
    added, removed = ((), (triple,)) if there else ((triple,), ())
    kb.apply(origin, Delta(0, added, removed))


@given(steps, steps)
def test_an_index_holds_its_graph(
    before: list[tuple[Triple, Origin]], after: list[tuple[Triple, Origin]]
) -> None:
    kb = KnowledgeBase()
    for step in before:
        toggle(kb, *step)
    graphs = NamedGraphs(kb)
    followed = {name: graphs.index(name) for name in HELD}
    for step in after:
        toggle(kb, *step)
        for name, index in followed.items():
            expected = {t for t in kb.match(None, None, None) if kb.origins(t) & HELD[name]}
            assert set(index) == expected


def test_a_closed_index_follows_no_longer() -> None:
    kb = KnowledgeBase()
    graphs = NamedGraphs(kb)
    index = graphs.index(GRAPH_WINDOW)
    graphs.close()
    a = IRI("http://example.org/a")
    toggle(kb, (a, a, a), Origin.WINDOW)
    assert not index


@given(steps, st.lists(st.tuples(st.booleans(), st.tuples(names, names, names), origins)))
def test_those_that_begin_with_one_are_as_if_each_had_been_told_all(
    before: list[tuple[Triple, Origin]], after: list[tuple[bool, Triple, Origin]]
) -> None:
    begun = KnowledgeBase()
    told = [KnowledgeBase(), KnowledgeBase()]
    for triple, origin in before:
        if origin in (Origin.STATIC, Origin.STATIC_INFERRED):
            for kb in (begun, *told):
                toggle(kb, triple, origin)
    sharing = [KnowledgeBase(begun), KnowledgeBase(begun)]
    for place, triple, origin in after:
        for each in (told, sharing):
            toggle(each[place], triple, origin)
    for one, other in zip(told, sharing, strict=True):
        for origin in Origin:
            assert one.size(origin) == other.size(origin)
            assert set(one.triples(origin)) == set(other.triples(origin))
        for triple in one.match(None, None, None):
            assert one.marks(triple) == other.marks(triple)
        assert len(one) == len(other)
