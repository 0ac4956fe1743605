"""Rows are laid out, joined, cancelled and made triples as solutions with names would be."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.network import rows
from sensorstream.network.rows import TIMES, Row
from sensorstream.sparql.algebra import TriplePattern, Variable

A, B = (IRI(f"http://example.org/{name}") for name in "ab")
cells: Any = st.sampled_from([A, B, None])
names = st.lists(st.sampled_from("xyzw"), max_size=4, unique=True)


def table(variables: list[str]) -> st.SearchStrategy[tuple[list[str], list[Row]]]:
    row = st.tuples(*[cells] * len(variables))
    return st.tuples(st.just(variables), st.lists(row, max_size=4))


tables = names.flatmap(table)
Table = tuple[list[str], list[Row]]


@given(tables, names)
def test_rows_are_laid_out_by_name(given_: Table, target: list[str]) -> None:
    source, content = given_
    expected = [dict(zip(source, row, strict=True)) for row in content]
    found = rows.rearranged(source, target)(content)
    assert found == [tuple(each.get(name) for name in target) for each in expected]


@given(tables, tables, names, st.booleans())
def test_the_joined_rows_are_those_that_agree_in_what_both_bind(
    one: Table, other: Table, target: list[str], backward: bool
) -> None:
    (left, lefts), (right, rights) = one, other
    loose = [name for name in left if name in right]
    joined = rows.merged(left, right, target, loose, backward=backward)
    agree = rows.compatible(left, right, loose)
    overlap = rows.overlapping(left, right, loose) if loose else None
    for row in rights if backward else lefts:
        expected = []
        for each in lefts if backward else rights:
            a = dict(zip(left, each if backward else row, strict=True))
            b = dict(zip(right, row if backward else each, strict=True))
            both = [name for name in loose if a[name] is not None and b[name] is not None]
            fits = all(a[name] == b[name] for name in both)
            if fits:
                expected.append(tuple(a.get(name) or b.get(name) for name in target))
            pair = (each, row) if backward else (row, each)
            assert agree is None or agree(*pair) is fits
            assert overlap is None or overlap(*pair) is bool(both)
        assert joined(row, lefts if backward else rights) == expected


intervals = st.tuples(st.integers(0, 5), st.integers(0, 5)) | st.just(rows.ALWAYS)


@given(intervals, st.lists(intervals, max_size=4))
def test_the_interval_of_a_joined_row_is_the_hull_of_both(one: Any, others: list[Any]) -> None:
    found = rows.merged(TIMES, TIMES, TIMES)(one, others)
    assert found == [(min(one[0], each[0]), max(one[1], each[1])) for each in others]
    assert rows.shown((*TIMES, "x")) == rows.shown(("x",)) == ("x",)


few = st.lists(st.tuples(cells), max_size=5)


@given(few, few)
def test_a_change_is_the_difference_of_bags(added: list[Row], removed: list[Row]) -> None:
    came, went = Counter(added), Counter(removed)
    found = rows.cancelled(added, removed)
    assert [*map(Counter, found)] == [came - went, went - came]
    weights = Counter(added)
    weights.subtract(removed)
    assert rows.net(added, removed) == {row: n for row, n in weights.items() if n}
    assert Counter(rows.repeated(rows.net(added, ()))) == came


ends = st.sampled_from([Variable("x"), Variable("y"), A, BlankNode("_:n"), BlankNode("_:m")])
templates = st.lists(
    st.builds(TriplePattern, ends, st.sampled_from([Variable("x"), B]), ends), max_size=3
)
terms: Any = st.sampled_from([A, B, None, Literal("a"), BlankNode("_:given")])


@given(templates, st.lists(st.tuples(terms, terms), max_size=4))
def test_a_template_gives_the_triples_that_are_well_formed(
    template: list[TriplePattern], solutions: list[Row]
) -> None:
    def named(label: BlankNode, row: Row) -> BlankNode:
        return BlankNode(f"{label}{row}")

    expected = []
    for row in solutions:
        bound = dict(zip("xy", row, strict=True))
        for each in template:
            s, p, o = (
                bound[end.name]
                if isinstance(end, Variable)
                else named(end, row)
                if isinstance(end, BlankNode)
                else end
                for end in each.parts
            )
            if isinstance(s, IRI | BlankNode) and isinstance(p, IRI) and o is not None:
                expected.append((s, p, o))
    assert rows.instantiated(template, "xy", named=named)(solutions) == expected
    # A solution always gives the same blank nodes, and another one others.
    made = rows.instantiated([TriplePattern(BlankNode("_:n"), B, BlankNode("_:m"))], "xy")
    nodes = [made([row])[0] for row in dict.fromkeys(solutions)]
    assert nodes == made(dict.fromkeys(solutions))
    assert len({end for s, _, o in nodes for end in (s, o)}) == 2 * len(nodes)
