from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple

A, B, P, Q = (IRI(f"http://example.org/{name}") for name in "abpq")
NODE = BlankNode("_:m1b1")

subjects: st.SearchStrategy[Subject] = st.sampled_from([A, B, NODE])
predicates = st.sampled_from([P, Q])
values: st.SearchStrategy[Term] = st.sampled_from([A, B, NODE, Literal("a"), Literal("b")])
triples: st.SearchStrategy[Triple] = st.tuples(subjects, predicates, values)
patterns = st.tuples(st.none() | subjects, st.none() | predicates, st.none() | values)
deltas = st.tuples(
    st.sampled_from(list(Origin)),
    st.lists(triples, max_size=6, unique=True),
    st.lists(triples, max_size=6, unique=True),
).map(
    lambda parts: (
        parts[0],
        Delta(0, tuple(parts[1]), tuple(t for t in parts[2] if t not in parts[1])),
    )
)


class Quads:
    """The same knowledge base as a plain set of (graph, triple)."""

    def __init__(self) -> None:
        self.quads: set[tuple[Origin, Triple]] = set()

    @property
    def union(self) -> set[Triple]:
        return {triple for _, triple in self.quads}

    def apply(self, origin: Origin, delta: Delta) -> tuple[set[Triple], set[Triple]]:
        before = self.union
        self.quads -= {(origin, triple) for triple in delta.removed}
        self.quads |= {(origin, triple) for triple in delta.added}
        return self.union - before, before - self.union


def fits(triple: Triple, pattern: tuple[Term | None, ...]) -> bool:
    return all(want is None or want == got for want, got in zip(pattern, triple, strict=True))


@given(steps=st.lists(deltas, max_size=15), asked=st.lists(patterns, min_size=1, max_size=8))
@settings(max_examples=100)
def test_it_is_a_set_of_quads(
    steps: list[tuple[Origin, Delta]], asked: list[tuple[Subject | None, IRI | None, Term | None]]
) -> None:
    kb, oracle = KnowledgeBase(), Quads()
    for origin, delta in steps:
        held = set(kb.triples(origin))
        exact = Delta(
            0,
            tuple(triple for triple in delta.added if triple not in held),
            tuple(triple for triple in delta.removed if triple in held),
        )
        change = kb.apply(origin, delta)
        added, removed = oracle.apply(origin, delta)
        assert kb.visible(origin, exact) == change
        assert (set(change.added), set(change.removed)) == (added, removed)
        assert len(change.added) == len(added)
        assert len(change.removed) == len(removed)

        assert len(kb) == len(oracle.union)
        for graph in Origin:
            held = {triple for g, triple in oracle.quads if g == graph}
            assert set(kb.triples(graph)) == held
            assert kb.size(graph) == len(held)
        for subject, predicate, value in asked:
            found = list(kb.match(subject, predicate, value))
            assert len(found) == len(set(found))
            wanted = {t for t in oracle.union if fits(t, (subject, predicate, value))}
            assert set(found) == wanted
            if subject is None and predicate is not None and value is not None:
                assert kb.count(predicate, value) == len(wanted)
        for triple in oracle.union:
            assert triple in kb
            holders = [graph for graph, held_triple in oracle.quads if held_triple == triple]
            assert kb.origins(triple) == sum(holders, Origin(0))


@given(first=st.lists(deltas, max_size=6), last=deltas)
@settings(max_examples=100)
def test_what_a_change_did_can_be_taken_back(
    first: list[tuple[Origin, Delta]], last: tuple[Origin, Delta]
) -> None:
    kb = KnowledgeBase()
    for origin, delta in first:
        kb.apply(origin, delta)
    origin, delta = last
    held = set(kb.triples(origin))
    before = {t: kb.origins(t) for t in kb.match(None, None, None)}
    effective = Delta(
        0,
        tuple(t for t in delta.added if t not in held),
        tuple(t for t in delta.removed if t in held),
    )
    change = kb.apply(origin, effective)
    undone = kb.apply(origin, effective.inverse())
    assert (set(undone.added), set(undone.removed)) == (set(change.removed), set(change.added))
    assert {t: kb.origins(t) for t in kb.match(None, None, None)} == before


def test_an_emptied_knowledge_base_keeps_no_index_entry() -> None:
    kb = KnowledgeBase()
    things = tuple((IRI(f"http://example.org/{n}"), P, Literal(str(n))) for n in range(50))
    kb.apply(Origin.WINDOW, Delta(0, added=things))
    kb.apply(Origin.WINDOW, Delta(1, removed=things))
    assert len(kb) == 0
    assert not kb.index.spo
    assert not kb.index.pos
    assert not kb.index.osp


def test_a_listener_hears_every_change_of_marks() -> None:
    kb = KnowledgeBase()
    heard: list[tuple[Triple, int, int]] = []
    kb.subscribe(lambda new, *marks: heard.extend((each, *marks) for each in new))
    triple = (A, P, B)
    kb.add(Origin.STATIC, [triple, triple])
    kb.apply(Origin.WINDOW, Delta(0, added=(triple,)))
    kb.apply(Origin.STATIC, Delta(0, removed=(triple,)))
    kb.apply(Origin.STATIC, Delta(0, removed=(triple,)))
    assert heard == [
        (triple, 0, Origin.STATIC),
        (triple, Origin.STATIC, Origin.STATIC | Origin.WINDOW),
        (triple, Origin.STATIC | Origin.WINDOW, Origin.WINDOW),
    ]
