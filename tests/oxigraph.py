"""Oxigraph alone, with values and functions of its own: what ours are compared with.

Of ``+`` it puts the operands into an order of its own, and then knows no duration before a
dateTime, and no date with a duration at all; ``-`` is right. So ``a + b`` becomes ``a - -b``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

import pyoxigraph as ox

from sensorstream.kb.graph_changes import KnowledgeChanges, Quad, QuadStore, quads_of
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.kb.oxigraph_terms import (
    OxigraphTerm,
    from_oxigraph,
    subject_to_oxigraph,
    to_oxigraph,
    triple_from_oxigraph,
)
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import NUMERIC_TYPES, RDF_LANG_STRING
from sensorstream.network.exact_values import Results, exact
from sensorstream.rules.conditions import ConditionQuery
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Query
from sensorstream.sparql.answerable import GRAPHS, read_answerable
from sensorstream.sparql.extensions import EXTENSIONS
from sensorstream.sparql.functions import Extension
from sensorstream.sparql.place_functions import PLACE_AGGREGATES
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.variable_scope import certain, in_scope
from sensorstream.sparql.walk import nodes, rebuilt, replaced

_KEPT_AS_WRITTEN: Final = frozenset({xsd.STRING, RDF_LANG_STRING})


def _for_oxigraph(extension: Extension) -> Callable[..., OxigraphTerm | None]:
    def function(*terms: OxigraphTerm) -> OxigraphTerm | None:
        if any(isinstance(term, ox.Triple) for term in terms):
            return None
        found = extension(*map(from_oxigraph, terms))
        return None if found is None else to_oxigraph(found)

    return function


FUNCTIONS: Final = {
    ox.NamedNode(name): _for_oxigraph(extension) for name, extension in EXTENSIONS.items()
}
"""The functions of :data:`.EXTENSIONS` for Oxigraph."""


class _Members:
    """The values of a group, for an aggregate of GeoSPARQL."""

    def __init__(self, aggregate: Extension) -> None:
        self._aggregate = aggregate
        self._members: Counter[Term] = Counter()

    def accumulate(self, term: OxigraphTerm) -> None:
        self._members[from_oxigraph(term)] += 1

    def finish(self) -> OxigraphTerm | None:
        return to_oxigraph(self._aggregate.value(self._members)) if self._members else None


AGGREGATES: Final[dict[ox.NamedNode, Any]] = {
    ox.NamedNode(name): partial(_Members, each) for name, each in PLACE_AGGREGATES.items()
}


def stored_form(literal: Literal) -> Literal:
    """The literal that Oxigraph's store gives back for ``literal``.

    The store keeps the value of numbers, booleans, times and durations, not how they were
    written: ``01`` comes back as ``1`` and an ``xsd:int`` as an ``xsd:integer``.
    """
    if literal.datatype in _KEPT_AS_WRITTEN:
        return literal
    store = ox.Store()
    node = ox.BlankNode("x")
    store.add(ox.Quad(node, ox.NamedNode("x:x"), to_oxigraph(literal)))
    stored = from_oxigraph(next(iter(store)).object)
    assert isinstance(stored, Literal)
    return stored


def same_when_stored(one: Term, other: Term) -> bool:
    """Whether Oxigraph's store cannot tell two terms apart."""
    if one == other:
        return True
    if not (isinstance(one, Literal) and isinstance(other, Literal)):
        return False
    if one.datatype in _KEPT_AS_WRITTEN or other.datatype in _KEPT_AS_WRITTEN:
        return False
    return stored_form(one) == stored_form(other)


_MOST_SUMS: Final = 3
"""Of sums within a sum that may have a duration first."""


def oxigraph_text(query: Query) -> str:
    """A query that Oxigraph answers as it is meant."""
    return query_text(replaced(query, _without_sum))


def _without_sum(node: object) -> Expression | None:
    match node:
        case algebra.Arithmetic("+", left, right) if not (_is_number(left) or _is_number(right)):
            one, other = replaced(left, _without_sum), replaced(right, _without_sum)
            found = algebra.Arithmetic("-", one, algebra.Sign("-", other))
            if _sums(left) + _sums(right) > _MOST_SUMS:
                # Written twice at each level, the text would grow with a power of two.
                return found
            return algebra.Call(
                "COALESCE", (found, algebra.Arithmetic("-", other, algebra.Sign("-", one)))
            )
    return None


def _sums(node: Expression) -> int:
    return sum(
        isinstance(each, algebra.Arithmetic) and each.operator == "+" for each in nodes(node)
    )


def _is_number(node: Expression) -> bool:
    match node:
        case Literal():
            return node.datatype in NUMERIC_TYPES
        case algebra.Arithmetic("*" | "/", _, _):
            return True
    return False


class Copy:
    """A knowledge base in a store of its own, brought in step before each look at it."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._changes = KnowledgeChanges(kb)
        self._quads = QuadStore()

    @property
    def store(self) -> ox.Store:
        added, removed = self._changes.read()
        self._quads.change(list(quads_of(added)), list(quads_of(removed)))
        self._changes.done()
        return self._quads.store

    def quads(self) -> set[Quad]:
        """All triples with their graphs; None: the union."""
        return {
            (
                triple_from_oxigraph(quad),
                IRI(quad.graph_name.value) if isinstance(quad.graph_name, ox.NamedNode) else None,
            )
            for quad in self.store
        }

    def query(
        self, text: str, default_graphs: Sequence[str] = (), named_graphs: Sequence[str] = ()
    ) -> Results:
        store = self.store
        asked = exact(read_answerable(text, default_graphs, named_graphs), store)
        return asked.answer(store, default_graphs, named_graphs)


class Oracle:
    """Answers conditions over a knowledge base that holds no two literals of one value."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def ask(self, query: ConditionQuery, bindings: Mapping[str, Term]) -> bool:
        return bool(self.select(query, bindings))

    def select(self, query: ConditionQuery, bindings: Mapping[str, Term]) -> list[dict[str, Term]]:
        store = ox.Store()
        changes = KnowledgeChanges(self._kb)
        changes.close()
        for (s, p, o), graph in changes.read()[0]:
            place = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
            store.add(ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o), place))
        dataset = query.query.dataset
        asked, compared = _apart(query.query, query.given)
        given = {} if compared else bindings
        found = store.query(
            oxigraph_text(asked),
            named_graphs=None
            if dataset.default or dataset.named
            else [ox.NamedNode(graph) for graph in GRAPHS],
            substitutions={ox.Variable(n): to_oxigraph(v) for n, v in given.items()} or None,
            custom_functions=FUNCTIONS,
        )
        assert isinstance(found, ox.QuerySolutions)
        names = [variable.value for variable in found.variables]
        rows = (
            {name: from_oxigraph(value) for name in names if (value := row[name]) is not None}
            for row in found
        )
        return list(_agreeing(query, bindings, rows) if compared else rows)


def _apart(query: Query, given: frozenset[str]) -> tuple[Query, bool]:
    """The query for Oxigraph, and whether its solutions have to be compared with values.

    Oxigraph puts the values given into both sides of a MINUS: sides that share no variable, and so
    remove nothing, would share these. Such a MINUS is left out. Where its sides may share a
    variable in some solutions only, Oxigraph gets no values.
    """
    form = query.form
    if not given or not isinstance(form, algebra.Select):
        return query, False
    pattern = rebuilt(form.pattern, lambda node: _without_idle(node, given))
    compared = any(
        isinstance(each, algebra.Minus) and not certain(each.right) & (certain(each.left) | given)
        for each in nodes(pattern)
    )
    if compared and isinstance(pattern, algebra.Slice):
        pattern = pattern.pattern
    return replace(query, form=replace(form, pattern=pattern)), compared


def _without_idle(node: object, given: frozenset[str]) -> object:
    if isinstance(node, algebra.Minus) and in_scope(node.right).isdisjoint(
        in_scope(node.left) | given
    ):
        return node.left
    return node


def _agreeing(
    query: ConditionQuery, bindings: Mapping[str, Term], found: Iterable[dict[str, Term]]
) -> Iterator[dict[str, Term]]:
    """The solutions of a compared query that agree with values, within its LIMIT."""
    agreeing = (
        {**bindings, **each}
        for each in found
        if all(each.get(name, value) == value for name, value in bindings.items())
    )
    pattern = query.query.form.pattern
    if not isinstance(pattern, algebra.Slice):
        return agreeing
    end = None if pattern.limit is None else pattern.offset + pattern.limit
    return islice(agreeing, pattern.offset, end)
