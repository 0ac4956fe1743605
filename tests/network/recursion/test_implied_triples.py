"""What is implied is what the asserted triples imply now."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.implied_triples import Implied, unknown
from sensorstream.network.recursion.linear_rules import FlatClosure, parted
from tests.network.recursion.random_linear_rules import facts, rules


@settings(max_examples=60)
@given(
    st.lists(rules(), max_size=4),
    st.sets(facts, max_size=2),
    st.lists(st.sets(facts, max_size=4), max_size=5),
)
def test_what_is_implied_is_what_the_asserted_triples_imply_now(
    drawn: list[DerivationRule], static: set[Triple], windows: list[set[Triple]]
) -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, static)
    closure = FlatClosure(parted(drawn)[0])
    implied, held, news = Implied(closure.conclusions), set[Triple](), set[Triple]()
    for window in windows:
        delta = Delta(0, tuple(window - held), tuple(held - window))
        change = unknown(kb, implied.change(delta))
        assert not news & set(change.added)
        assert set(change.removed) <= news
        held, news = window, news.difference(change.removed).union(change.added)
        assert news == {c for t in window for c in closure.conclusions(t)} - static
