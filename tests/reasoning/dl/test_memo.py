"""Equal shapes, and only they, share an answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import Inconsistent
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf, xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.islands import Memo
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import MemberEntailments, Terminology
from sensorstream.reasoning.dl.value_classes import ValueClasses
from sensorstream.reasoning.ontology import Ontology, load_ontology

COUNT = 4
numbers = st.integers(0, COUNT - 1)
islands = st.builds(
    IslandFacts,
    st.lists(st.sampled_from([None, None, "urn:x:named"]), min_size=COUNT, max_size=COUNT),
    st.lists(st.tuples(numbers, st.sampled_from(["urn:x:A", "urn:x:B"])), max_size=4),
    st.lists(st.tuples(numbers, st.sampled_from(["urn:x:p", "urn:x:q"]), numbers), max_size=4),
    st.lists(
        st.tuples(
            numbers,
            st.just("urn:x:d"),
            st.sampled_from(["1", "2"]),
            st.just(xsd.INTEGER),
            st.none(),
        ),
        max_size=2,
    ),
    st.lists(st.tuples(numbers, numbers), max_size=1),
    st.lists(st.tuples(numbers, numbers), max_size=1),
)


def memo(size: int = 10) -> Memo:
    return Memo(ValueClasses(Axioms([]), frozenset()), size)


def renumbered(facts: IslandFacts, place: list[int]) -> IslandFacts:
    names: list[str | None] = [None] * len(place)
    for number, name in enumerate(facts.names):
        names[place[number]] = name
    return IslandFacts(
        names,
        [(place[n], c) for n, c in facts.types],
        [(place[n], p, place[m]) for n, p, m in facts.links],
        [(place[n], p, text, kind, tag) for n, p, text, kind, tag in facts.values],
        [(place[n], place[m]) for n, m in facts.same],
        [(place[n], place[m]) for n, m in facts.different],
    )


def portrait(facts: IslandFacts) -> list[MemberEntailments]:
    """An answer that tells everything about the facts, so that no mistake goes unseen."""
    return [
        MemberEntailments(
            frozenset(
                IRI(each)
                for each in (
                    *(c for m, c in facts.types if m == n),
                    f"urn:name:{facts.names[n]}",
                    *("urn:valued" for m, *_ in facts.values if m == n),
                    *("urn:different" for m, k in facts.different if n == m),
                )
            ),
            frozenset((IRI(p), m) for k, p, m in facts.links if k == n),
            frozenset(),
            frozenset(m for k, m in facts.same if k == n),
        )
        for n in range(len(facts.names))
    ]


@given(facts=islands, seed=st.integers(0, 1000))
def test_a_remembered_answer_is_the_answer_whatever_the_numbers(
    facts: IslandFacts, seed: int
) -> None:
    held = memo()
    shape = held.shape(facts)
    assert shape is not None
    assert held.look_up(shape) is None
    held.store(shape, portrait(facts))
    place = list(range(COUNT))
    random.Random(seed).shuffle(place)
    moved = renumbered(facts, place)
    again = held.shape(moved)
    assert again is not None
    found = held.look_up(again)
    # Members that look alike may be numbered in either way: then it is a miss, never a mistake.
    if found is not None:
        assert list(found[0] or ()) == portrait(moved)
    assert held.hits + held.misses == 2


@given(one=islands, other=islands)
def test_different_islands_have_different_shapes(one: IslandFacts, other: IslandFacts) -> None:
    held = memo()
    first, second = held.shape(one), held.shape(other)
    assert first is not None
    assert second is not None
    if first.key == second.key:
        held.store(first, portrait(one))
        found = held.look_up(second)
        assert found is not None
        assert list(found[0] or ()) == portrait(other)


def test_a_chain_is_recognised_from_either_end() -> None:
    chain = IslandFacts([None] * 4, [], [(n, "urn:x:p", n + 1) for n in range(3)], [], [], [])
    held = memo()
    shape = held.shape(chain)
    assert shape is not None
    held.store(shape, None)
    again = held.shape(renumbered(chain, [3, 1, 0, 2]))
    assert again is not None
    assert held.look_up(again) == (None,)
    assert (held.hits, held.misses) == (1, 0)


def test_the_oldest_answer_is_forgotten() -> None:
    held = memo(2)
    empty = IslandFacts([None], [], [], [], [], [])
    shapes = [held.shape(replace(empty, types=[(0, f"urn:x:{n}")])) for n in range(3)]
    for shape in shapes:
        assert shape is not None
        held.store(shape, [MemberEntailments()])
    assert [held.look_up(shape) is None for shape in shapes if shape] == [True, False, False]


def test_what_is_not_remembered_counts_as_a_miss() -> None:
    without_room, usual = memo(0), memo()
    assert without_room.shape(IslandFacts([None], [], [], [], [], [])) is None
    assert usual.shape(IslandFacts([None] * 65, [], [], [], [], [])) is None
    assert usual.look_up(None) is None
    assert (usual.hits, usual.misses) == (0, 1)


ONTOLOGIES = Path(__file__).parents[3] / "ontologies"
TRACKING = "http://sensorstream.example/tracking#"


def message(chance: random.Random, number: int) -> list[Triple]:
    """What a mapping rule makes of a message; some messages contradict the ontology."""
    name = IRI(f"{TRACKING}p{chance.randrange(3 * number // 4, number + 1)}")
    kinds = chance.sample(["Human", "Staff", "Visitor", "Guard"], chance.choice([1, 1, 1, 2]))
    facts: list[Triple] = [(name, IRI(rdf.TYPE), IRI(f"{TRACKING}{kind}")) for kind in kinds]
    for prop, values in (
        ("hasCertainty", [10, 100]),
        ("hasXLocation", [5, 72]),
        ("hasYLocation", [8, 100]),
    ):
        if chance.random() < 0.7:
            value = Literal(str(chance.choice(values)), xsd.INTEGER)
            facts.append((name, IRI(f"{TRACKING}{prop}"), value))
    if chance.random() < 0.5:
        room = IRI(f"{TRACKING}room{chance.randrange(3)}")
        facts.append((name, IRI(f"{TRACKING}hasLocation"), room))
        if chance.random() < 0.3:
            facts.append((room, IRI(rdf.TYPE), IRI(f"{TRACKING}RestrictedZone")))
    # Whatever is the same makes larger islands, for as long as the reasoner lives.
    if number > 200 and chance.random() < 0.1:
        facts.append((name, IRI(owl.SAME_AS), IRI(f"{TRACKING}p{number // 2}")))
    return facts


# A number that has no rules: so the reasoner is asked about whoever it may concern.
LIMIT = """
@prefix : <http://sensorstream.example/tracking#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Human rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :hasLocation ;
    owl:minCardinality "9"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger> ] .
"""


@pytest.fixture(params=["hermit", "pellet"])
def limited(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Ontology, Worker]]:
    file = tmp_path / "limit.ttl"
    file.write_text(LIMIT)
    ontology = load_ontology([ONTOLOGIES / "tracking.ttl", ONTOLOGIES / "city.ttl", file])
    worker = Worker(request.param, Terminology.of(ontology).document(), timeout=60)
    yield ontology, worker
    worker.close()


def test_a_long_stream_is_inferred_alike_with_and_without_remembered_answers(
    limited: tuple[Ontology, Worker],
) -> None:
    chance = random.Random(0)
    ontology, worker = limited
    terminology = Terminology.of(ontology)
    both, memos = [], []
    worker.start()
    for size in (4096, 0):
        kb = KnowledgeBase()
        reasoner = DlReasoner(terminology, worker, remembered=size)
        kb.add(Origin.STATIC, ontology.triples)
        reasoner.start(kb)
        both.append((kb, reasoner))
        memos.append(reasoner.memo)
    refused = 0
    held: dict[Triple, int] = {}
    for number in range(250):
        come = [t for t in message(chance, number) if t not in held]
        gone = [t for t, since in held.items() if since == number - 20]
        delta = Delta(number, tuple(come), tuple(gone))
        answers = [reacted(kb, reasoner, delta) for kb, reasoner in both]
        assert answers[0] == answers[1]
        if answers[0] is None:
            refused += 1
            held.update(dict.fromkeys(gone, number))  # they go another time
        else:
            held.update(dict.fromkeys(come, number))
            for triple in gone:
                del held[triple]
    (kb, _), (other, _) = both
    assert set(kb.triples(Origin.INFERRED)) == set(other.triples(Origin.INFERRED))
    assert 0 < refused < 200
    remembering, forgetful = memos
    assert remembering.hits > 20
    assert forgetful.hits == 0


def reacted(
    kb: KnowledgeBase, reasoner: DlReasoner, delta: Delta
) -> tuple[set[Triple], set[Triple]] | None:
    """What was inferred and what is so no longer; None if the change was refused."""
    kb.apply(Origin.WINDOW, delta)
    try:
        inferred = reasoner.react(kb, delta)
    except Inconsistent:
        kb.apply(Origin.WINDOW, delta.inverse())
        return None
    return set(inferred.added), set(inferred.removed)
