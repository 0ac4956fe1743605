"""Datalog in files of rule sets: as in the paper of DOTR, section 3, and beside its meaning."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import ProgramError, QueryError
from sensorstream.kb.graph_index import Origin
from sensorstream.model.terms import Triple
from sensorstream.reasoning.rulesets.rule_set_reader import read
from tests.reasoning.rulesets.graphs import PREFIXES, graph
from tests.reasoning.rulesets.test_rule_reasoner import World

PROLOGUE = " ".join(PREFIXES.split("\n"))
TEXT = f"""{PROLOGUE}
# the paper's
:is_in_room(?A, ?B) :- :is_at_location(?A, ?C), :is_in_room(?C, ?B) .
# hot
:Hot(?r), :warned(?r, true) :- :is_in_room(?s, ?r), :value(?s, ?v), FILTER(?v > 30) .
# calm
[?r, :calm, ?s] :- :is_in_room(?s, ?r), not :Hot(?r), FILTER(?s != ?r) .
:near(?x, ?z) :- :near(?x, ?y), :near(?y, ?z) .
:near(?x, ?y) :- :is_in_room(?x, ?r), :is_in_room(?y, ?r), not :apart(?x, ?y) .
"""
FACTS = sorted(
    graph(
        ":s :is_at_location :a ; :value 31 . :t :is_at_location :b ; :value 5 . "
        ":a :is_in_room :r . :b :is_in_room :r, :q . :s :apart :t . :c :is_at_location :s"
    )
)


def name(text: str) -> str:
    return text.rpartition("/")[2]


def expected(facts: set[Triple]) -> set[tuple[str, str, str]]:
    """The meaning, rule by rule."""
    said = {(name(s), name(p), name(o)) for s, p, o in facts}
    room = {(s, o) for s, p, o in said if p == "is_in_room"}
    at = {(s, o) for s, p, o in said if p == "is_at_location"}
    while new := {(a, b) for a, c in at for d, b in room if c == d} - room:
        room |= new
    hot = {r for s, r in room if any(t[0] == s and '"31"' in t[2] for t in facts_of(facts))}
    near = {
        (x, y) for (x, r), (y, q) in product(room, room) if r == q and (x, "apart", y) not in said
    }
    while new := {(x, z) for (x, y), (w, z) in product(near, near) if y == w} - near:
        near |= new
    return (
        {(a, "is_in_room", b) for a, b in room}
        | {(r, "type", "Hot") for r in hot}
        | {(r, "calm", s) for s, r in room if r not in hot and s != r}
        | {(x, "near", y) for x, y in near}
    )


def facts_of(facts: set[Triple]) -> set[tuple[str, str, str]]:
    return {(name(s), name(p), str(o)) for s, p, o in facts}


@settings(max_examples=15)
@given(
    st.lists(
        st.lists(st.sampled_from(FACTS), min_size=1, max_size=4, unique=True),
        min_size=1,
        max_size=5,
    )
)
def test_it_means_what_its_rules_say(changes: list[list[Triple]]) -> None:
    world = World(read(TEXT, "mine.dlog"), set())
    kinds = {"is_in_room", "calm", "near"}
    for change in changes:
        world.toggle(change)
        found = {
            (name(s), name(p).rpartition("#")[2], name(o))
            for s, p, o in world.kb.index
            if name(p) in kinds or p.endswith("#type")
        }
        assert found == expected(set(world.kb.triples(Origin.WINDOW)))


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (":p(?x) :- :q(?x), FILTER(?z > 1) .", "2:19", r"FILTER: \?z has no value: expected a var"),
        (":p(?x) :- not :q(?x) .", "2:1", r"\?x of the head must stand in an atom"),
        (":p(?x, _:b) :- :q(?x) .", "2:1", "not an atom"),
        (":p(?x) :- :q(?x), FILTER(RAND() > 0.5) .", "2:1", r"RAND\(\) has another value"),
        (":p(?x) :- :q(?x)", "2:17", "the text ends here: expected ',' or '.'"),
        (":p(?x) :- :q(?x), 3 > 1 .", "2:21", "unexpected '>'"),
    ],
)
def test_what_is_no_datalog_is_refused_with_its_place(text: str, place: str, told: str) -> None:
    with pytest.raises(QueryError, match=told) as refused:
        read(f"{PROLOGUE}\n{text}", "mine.dlog")
    assert str(refused.value.position) == f"mine.dlog:{place}"


def test_a_circle_through_not_is_refused() -> None:
    text = "# a\n:a(?x) :- :q(?x), not :b(?x) .\n# b\n:b(?x) :- :a(?x) ."
    with pytest.raises(ProgramError, match="a → b → a") as refused:
        read(f"{PROLOGUE}\n{text}", "mine.dlog")
    assert str(refused.value.position) == "mine.dlog:3:1"
