"""One table instead of thousands of specialised rules that differ in constants alone.

``?c rdfs:subClassOf ?d . ?x a ?c`` would become a rule for each pair of classes. Where the schema
has many solutions, it is looked up for a class when that is met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.network.recursion.reads import Kind, written
from sensorstream.network.recursion.rule import meant
from sensorstream.reasoning.rulesets.solving import Binding, solutions
from sensorstream.reasoning.rulesets.substitution import Substitution
from sensorstream.sparql.algebra import BGP, PatternTerm, TriplePattern, Variable

LARGE: Final = 500
"""Triples of the schema at least, for a table."""


class SchemaTable:
    """What follows from ``?x predicate ?key`` about ``?x``, by the schema.

    A :class:`~sensorstream.network.recursion.linear.LinearTable`. ``index`` holds the schema, of
    which only triples count that ``is_static`` tells; of its solutions those that ``allows`` does.
    """

    __slots__ = (
        "_allows",
        "_found",
        "_heads",
        "_index",
        "_is_static",
        "_key",
        "_names",
        "_schema",
        "heads",
        "predicate",
    )

    def __init__(
        self,
        schema: Sequence[TriplePattern],
        premise: TriplePattern,
        heads: Sequence[TriplePattern],
        allows: Callable[[Binding], bool],
        index: TripleIndex,
        is_static: Callable[[Triple], object],
    ) -> None:
        assert isinstance(premise.predicate, IRI)
        assert isinstance(premise.object, Variable)
        self.predicate = premise.predicate
        self.heads: tuple[Kind, ...] = tuple(dict.fromkeys(map(written, heads)))
        self._key = premise.object.name
        self._schema = tuple(schema)
        self._heads: list[tuple[IRI, PatternTerm]] = []
        self._names = {self._key}
        for head in heads:
            assert isinstance(head.predicate, IRI)
            self._heads.append((head.predicate, head.object))
            if isinstance(head.object, Variable):
                self._names.add(head.object.name)
        self._allows = allows
        self._index = index
        self._is_static = is_static
        self._found: dict[Term, tuple[tuple[IRI, Term], ...]] = {}

    def said(self, object_: Term) -> Sequence[tuple[IRI, Term]]:
        """See :class:`~sensorstream.network.recursion.linear.LinearTable`."""
        found = self._found.get(object_)
        if found is None:
            made: dict[tuple[IRI, Term], None] = {}
            for row in solutions(self._schema, self._index, {self._key: object_}):
                if self._holds(row):
                    made.update(dict.fromkeys(self.concluded(row)))
            made.pop((self.predicate, object_), None)
            found = tuple(made)
            if found:
                self._found[object_] = found
        return found

    def names(self, term: Term) -> bool:
        """See :class:`~sensorstream.network.recursion.linear.LinearTable`."""
        return any(self._has(name, term) for name in self._names)

    def may_say(self, kind: Kind) -> bool:
        """Whether a conclusion may be of a kind."""
        return any(
            (kind.predicate is None or kind.predicate == property)
            and (
                kind.object is None
                or (
                    self._has(object_.name, kind.object)
                    if isinstance(object_, Variable)
                    else object_ == kind.object
                )
            )
            for property, object_ in self._heads
        )

    def has(self, row: Binding) -> bool:
        """Whether the table says what follows from a solution of the schema."""
        key = row[self._key]
        known = self.said(key)
        return all(each in known or each == (self.predicate, key) for each in self.concluded(row))

    def concluded(self, row: Binding) -> list[tuple[IRI, Term]]:
        """Properties and objects that follow from a solution of the schema."""
        return [(property, _term(object_, row)) for property, object_ in self._heads]

    def _has(self, name: str, term: Term) -> bool:
        return any(map(self._holds, solutions(self._schema, self._index, {name: term})))

    def _holds(self, row: Mapping[str, Term]) -> bool:
        if not self._allows(row):
            return False
        for each in self._schema:
            triple = (
                _term(each.subject, row),
                _term(each.predicate, row),
                _term(each.object, row),
            )
            if not self._is_static(triple):  # type: ignore[arg-type]
                return False
        return True


def _term(end: object, row: Binding) -> Term:
    if isinstance(end, Variable):
        return row[end.name]
    assert isinstance(end, IRI | Literal)
    return meant(end)


def table_of(
    schema: Sequence[TriplePattern],
    substitution: Substitution,
    heads: Sequence[TriplePattern],
    index: TripleIndex,
    is_static: Callable[[Triple], object],
) -> SchemaTable | None:
    """The table of a rule; None: it has another form, or the schema is small.

    ``substitution`` puts solutions of the schema into the rest of the rule.
    """
    rest = substitution.body
    if not isinstance(rest, BGP) or len(rest.patterns) != 1 or not schema:
        return None
    (premise,) = rest.patterns
    names = {end.name for each in schema for end in _ends(each) if isinstance(end, Variable)}
    subject = premise.subject
    if (
        not isinstance(premise.predicate, IRI)
        or not isinstance(subject, Variable)
        or subject.name in names
        or not isinstance(premise.object, Variable)
        or premise.object.name not in names
    ):
        return None
    for head in heads:
        known = isinstance(head.object, IRI | Literal) or (
            isinstance(head.object, Variable) and head.object.name in names
        )
        if head.subject != subject or not isinstance(head.predicate, IRI) or not known:
            return None
    if any(isinstance(end, BlankNode) for each in schema for end in _ends(each)) or not all(
        isinstance(each.predicate, IRI) for each in schema
    ):
        return None
    least = min(
        index.most(*(None if isinstance(end, Variable) else end for end in _ends(each)))
        for each in schema
    )
    return (
        SchemaTable(schema, premise, heads, substitution.allows, index, is_static)
        if least >= LARGE
        else None
    )


def _ends(triple: TriplePattern) -> tuple[object, object, object]:
    return triple.subject, triple.predicate, triple.object
