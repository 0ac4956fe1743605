from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.events import Delta, net_delta
from sensorstream.model.terms import IRI, Triple

TRIPLES: list[Triple] = [
    (IRI(f"http://example.org/{n}"), IRI("http://example.org/p"), IRI("http://example.org/o"))
    for n in range(5)
]


def deltas(held: frozenset[Triple]) -> st.SearchStrategy[Delta]:
    """A change that can happen to a set: nothing is added twice or removed while absent."""
    absent = [t for t in TRIPLES if t not in held]
    return st.builds(
        lambda added, removed: Delta(1, tuple(added), tuple(removed)),
        st.lists(st.sampled_from(absent), unique=True) if absent else st.just([]),
        st.lists(st.sampled_from(sorted(held)), unique=True) if held else st.just([]),
    )


def after(held: frozenset[Triple], delta: Delta) -> frozenset[Triple]:
    return (held - frozenset(delta.removed)) | frozenset(delta.added)


@given(st.data(), st.frozensets(st.sampled_from(TRIPLES)))
def test_the_net_delta_does_what_its_parts_did(
    data: st.DataObject, start: frozenset[Triple]
) -> None:
    held, parts = start, []
    for _ in range(data.draw(st.integers(0, 6))):
        part = data.draw(deltas(held))
        held = after(held, part)
        parts.append(part)
    net = net_delta(9, parts)
    assert net.time == 9
    assert after(start, net) == held
    assert set(net.added) == held - start
    assert set(net.removed) == start - held
    assert len(set(net.added)) == len(net.added)
    assert len(set(net.removed)) == len(net.removed)


def test_what_is_added_and_removed_again_is_no_change() -> None:
    change = Delta(1, added=tuple(TRIPLES))
    net = net_delta(1, [change, change.inverse()])
    assert not net


def test_the_order_of_a_change_is_kept() -> None:
    first, second, third = TRIPLES[:3]
    parts = [Delta(1, added=(third, first)), Delta(1, added=(second,))]
    assert net_delta(1, parts).added == (third, first, second)


def test_an_inverse_takes_back() -> None:
    change = Delta(1, added=(TRIPLES[0],), removed=(TRIPLES[1],))
    assert change.inverse() == Delta(1, added=(TRIPLES[1],), removed=(TRIPLES[0],))
    assert change.inverse().inverse() == change
