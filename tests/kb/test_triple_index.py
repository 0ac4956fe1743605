from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple

NAMES = tuple(IRI(f"http://example.org/{name}") for name in "abcd")
PROPERTIES = NAMES[:3]
TRIPLES = st.tuples(st.sampled_from(NAMES), st.sampled_from(PROPERTIES), st.sampled_from(NAMES))


def matches(triples: dict[Triple, None], pattern: tuple[IRI | None, ...]) -> list[Triple]:
    """The definition: what agrees with the pattern, in order of arrival."""
    return [
        triple
        for triple in triples
        if all(end in (None, part) for end, part in zip(pattern, triple, strict=True))
    ]


@given(st.lists(st.tuples(TRIPLES, st.booleans()), max_size=60))
def test_every_pattern_matches_what_came_and_has_not_gone(
    changes: list[tuple[Triple, bool]],
) -> None:
    index, plain = TripleIndex(), dict[Triple, None]()
    for triple, asks in changes:
        if triple in plain:
            del plain[triple]
            assert (index.discard(triple), index.discard(triple)) == ([triple], [])
        else:
            plain[triple] = None
            assert (index.add(triple), index.add(triple)) == ([triple], [])
        if asks:
            assert sum(len(v) for s in index.osp.values() for v in s.values()) == len(plain)
    assert len(index) == len(plain)
    assert set(index) == set(plain)
    ends = ((None, *NAMES), (None, *PROPERTIES), (None, *NAMES))
    for s, p, o in product(*ends):
        assert sorted(index.match(s, p, o)) == sorted(matches(plain, (s, p, o)))
        if s and p and o:
            assert ((s, p, o) in index) == ((s, p, o) in plain)
        if p and o:
            assert index.count(p, o) == len(matches(plain, (None, p, o)))
    for permutation in (index.spo, index.pos, index.osp):
        assert all(leaf for middle in permutation.values() for leaf in middle.values())
        assert all(permutation.values())


@given(st.permutations(NAMES), st.sets(st.sampled_from(NAMES)))
def test_answers_come_in_the_order_in_which_their_triples_came(
    names: list[IRI], leaving: set[IRI]
) -> None:
    index, (subject, predicate) = TripleIndex(), NAMES[:2]
    for name in names:
        index.add((subject, predicate, name))
    for name in leaving:
        index.discard((subject, predicate, name))
    staying = [name for name in names if name not in leaving]
    assert [o for _, _, o in index.match(subject, predicate, None)] == staying


@given(
    st.sets(TRIPLES), st.lists(st.tuples(st.integers(0, 2), TRIPLES), max_size=40), st.booleans()
)
def test_copies_share_nothing_that_one_of_them_changes(
    begun: set[Triple], changes: list[tuple[int, Triple]], all_permutations: bool
) -> None:
    first = TripleIndex()
    for triple in sorted(begun):
        first.add(triple)
    if all_permutations:
        assert len(first.osp) <= len(NAMES)
    indexes = (first, first.copy(), first.copy())
    plain = [dict.fromkeys(sorted(begun)) for _ in indexes]
    for place, triple in changes:
        if triple in plain[place]:
            del plain[place][triple]
            indexes[place].discard(triple)
        else:
            plain[place][triple] = None
            indexes[place].add(triple)
    for index, expected in zip(indexes, plain, strict=True):
        assert len(index) == len(expected)
        for s, p, o in product((None, *NAMES), (None, *PROPERTIES), (None, *NAMES)):
            assert sorted(index.match(s, p, o)) == sorted(matches(expected, (s, p, o)))
