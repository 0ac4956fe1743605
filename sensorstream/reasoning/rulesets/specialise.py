"""The specialisation of rules to a known schema: rules about streamed triples alone.

``?p rdfs:domain ?c . ?x ?p ?y`` becomes ``?x ex:equips ?y`` for each property with a domain. As the
schema is solved once, at run time only streamed triples join.

A table replaces thousands of specialised rules that differ in constants alone. ``?c rdfs:subClassOf
?d . ?x a ?c`` would become a rule for each pair of classes. If the schema has many solutions, it is
looked up when a class is met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.network.recursion.derivation_rule import (
    DerivationRule,
    RuleClause,
    clauses,
    meant,
)
from sensorstream.network.recursion.triple_kinds import KindIndex, TriplesRead, reads, written
from sensorstream.reasoning.rulesets.pattern_solutions import (
    Binding,
    Substitution,
    bound,
    can_be_substituted,
    changed,
    filled,
    filled_triple,
    solutions,
    triples_of,
)
from sensorstream.reasoning.rulesets.rule_set import renamed
from sensorstream.reasoning.rulesets.schema_lists import (
    is_schema,
    kinds_of,
    kinds_of_lists,
    unrolled,
)
from sensorstream.sparql.algebra import BGP, Graph, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.variable_scope import names_in
from sensorstream.sparql.walk import nodes

LARGE: Final = 500
"""Triples of the schema at least, for a table."""


class SchemaTable:
    """The conclusions from ``?x predicate ?key`` about ``?x``, by the schema.

    A :class:`~sensorstream.network.recursion.linear_rules.LinearTable`. ``index`` holds the schema:
    the triples that ``is_static`` accepts. Only solutions that ``allows`` accepts count.
    """

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
        self.heads: tuple[TriplesRead, ...] = tuple(dict.fromkeys(map(written, heads)))
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
        return any(self._has(name, term) for name in self._names)

    def may_say(self, kind: TriplesRead) -> bool:
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
        """Whether the table has the conclusions from a solution of the schema."""
        key = row[self._key]
        known = self.said(key)
        return all(each in known or each == (self.predicate, key) for each in self.concluded(row))

    def concluded(self, row: Binding) -> list[tuple[IRI, Term]]:
        """Properties and objects that follow from a solution of the schema."""
        return [(property, filled(object_, row)) for property, object_ in self._heads]

    def _has(self, name: str, term: Term) -> bool:
        return any(map(self._holds, solutions(self._schema, self._index, {name: term})))

    def _holds(self, row: Mapping[str, Term]) -> bool:
        if not self._allows(row):
            return False
        return all(self._is_static(filled_triple(each, row)) for each in self._schema)


def table_of(
    schema: Sequence[TriplePattern],
    substitution: Substitution,
    heads: Sequence[TriplePattern],
    index: TripleIndex,
    is_static: Callable[[Triple], object],
) -> SchemaTable | None:
    """The table of a rule; None: it has another form, or the schema is small. ``substitution`` puts
    solutions of the schema into the rest of the rule.
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
    if least < LARGE:
        return None
    return SchemaTable(schema, premise, heads, substitution.allows, index, is_static)


def _ends(triple: TriplePattern) -> tuple[object, object, object]:
    return triple.subject, triple.predicate, triple.object


class Division:
    """A clause of a rule, divided into the part that the static graph answers and the streamed
    part.

    The rule has no lists; see :func:`.lists.unrolled`. ``schema`` are the patterns of the clause
    that the static graph answers, ``whole`` is the clause with these patterns.
    """

    def __init__(self, clause: RuleClause) -> None:
        body = clause.body.pattern
        asked = dict.fromkeys(filter(is_schema, triples_of(body)))
        self.schema: tuple[TriplePattern, ...] = tuple(asked)
        self.whole = DerivationRule(clause.rule.name, clause.head, body)
        rest = changed(body, lambda triple: None if triple in asked else triple)
        self._substitution = Substitution(replace(self.whole, body=rest), names_in(self.schema))
        in_graphs = any(isinstance(part, Graph) for part in nodes(rest))
        self.is_of_schema = next(reads(rest), None) is None and not in_graphs
        """Whether nothing is left that may stream."""
        self.is_selective = all(
            isinstance(each.predicate, IRI) and each.predicate != rdf.TYPE
            for each in triples_of(rest)
        )
        """Whether the clause is quick as it is: it reads few of the triples that stream."""
        self.kinds = frozenset(kind for triple in asked for kind in kinds_of(triple))
        # Whether terms may be substituted, by the variables that stand for blank nodes.
        self._fits: dict[frozenset[str], bool] = {}

    @property
    def always_fits(self) -> bool:
        """Whether terms may be substituted, whatever they are."""
        names = names_in(self.schema)
        return can_be_substituted(self.whole.body, names, names)

    def instance(self, binding: Binding) -> DerivationRule | None:
        """The rule for one solution of the schema; None: it says nothing about streamed triples.
        Triples of the head that the body requires are left out.
        """
        blank = frozenset(name for name, term in binding.items() if isinstance(term, BlankNode))
        if blank not in self._fits:
            self._fits[blank] = can_be_substituted(self.whole.body, binding.keys(), blank)
        if not self._fits[blank]:
            return self.whole
        if self.is_of_schema:
            return None
        made = self._substitution(binding)
        if made is None:
            return None
        premises = frozenset(triples_of(made.body))
        head = tuple(triple for triple in made.head if triple not in premises)
        if not head:
            return None
        return made if len(head) == len(made.head) else replace(made, head=head)

    def table(
        self, index: TripleIndex, is_static: Callable[[Triple], object]
    ) -> SchemaTable | None:
        """The table of all instances together, if they are many and of such a form."""
        if not self.always_fits:
            return None
        return table_of(self.schema, self._substitution, self.whole.head, index, is_static)

    def matches(self, triple: Triple) -> Iterator[Binding]:
        """The values of the variables by each pattern of the schema that a triple fits."""
        for pattern in self.schema:
            if isinstance(pattern.predicate, IRI | Variable):
                match = bound((pattern.subject, pattern.predicate, pattern.object), triple)
                if match is not None:
                    yield match
            elif any(kind.meets(TriplesRead(triple[1], None)) for kind in kinds_of(pattern)):
                yield {}

    def conclusions(self, binding: Binding) -> list[Triple]:
        """The conclusions of a clause of the schema alone from a solution."""
        made = self._substitution(binding)
        if made is None:
            return []
        return [
            (meant(s), p, meant(o))  # type: ignore[arg-type, misc]
            for s, p, o in ((each.subject, each.predicate, each.object) for each in made.head)
        ]


class Specialisation:
    """The result of specialising rules to a schema: :attr:`rules` about streamed triples.

    The schema is in an index: the static graph and its closure. Together with the index they
    conclude from streamed triples what the rules conclude, as long as no triple comes that
    :meth:`is_outdated` tells. A rule about the schema alone is kept only if others may conclude its
    premises, as rdfD2 does those of rdfs6. Equal rules are one. If several rules come from one,
    their names are numbered: :func:`standard_name` is the way back.
    """

    __slots__ = ("_by_kind", "_kept_whole", "_kinds_of_lists", "_known", "_tables", "rules")

    def __init__(
        self,
        rules: Iterable[DerivationRule],
        index: TripleIndex,
        is_static: Callable[[Triple], object] | None = None,
    ) -> None:
        """Specialise rules to the schema that an index holds. ``is_static`` tells which triples of
        the index are of the schema when others have come; :attr:`tables` look up there. Without it
        there are rules in place of tables.

        Raises:
            ProgramError: a list does not fit; see :func:`.lists.unrolled`.
        """
        given = tuple(rules)
        divisions = [Division(each) for rule in unrolled(given, index) for each in clauses(rule)]
        self._tables: dict[Division, SchemaTable] = {}
        if is_static is not None:
            for each in divisions:
                if (table := each.table(index, is_static)) is not None:
                    self._tables[each] = table
        made = {
            each: [] if each in self._tables else list(_instances(each, index))
            for each in divisions
        }
        self._kept_whole = _fed(made, self._tables.values())
        kept: dict[object, DerivationRule] = {}
        for division, instances in made.items():
            if division in self._kept_whole:
                instances = [division.whole]
            for rule in instances:
                kept.setdefault(renamed(rule), rule)
        self._by_kind: KindIndex[Division] = KindIndex()
        for division in divisions:
            for kind in division.kinds:
                self._by_kind.add(kind, division)
        self._known = kept.keys()
        self._kinds_of_lists = kinds_of_lists(given)
        self.rules = numbered(kept.values())

    @property
    def tables(self) -> tuple[SchemaTable, ...]:
        """The tables in place of specialised rules that would be too many."""
        return tuple(self._tables.values())

    def is_outdated(
        self, triple: Triple, index: TripleIndex, is_static: Callable[[Triple], object]
    ) -> bool:
        """Whether a new triple makes other rules; maybe true if it does not. Only triples of
        :func:`.lists.schema_kinds` do. ``index`` holds the triple, ``is_static`` tells if one holds
        whatever streams. With the other triples the rules conclude what the rule set does.
        """
        kind = TriplesRead(triple[1], triple[2])
        if any(each.meets(kind) for each in self._kinds_of_lists):
            return True
        near = dict.fromkeys(self._by_kind.meeting(kind))
        return any(self._is_new(each, triple, index, is_static) for each in near)

    def _is_new(
        self,
        division: Division,
        triple: Triple,
        index: TripleIndex,
        is_static: Callable[[Triple], object],
    ) -> bool:
        if division in self._kept_whole:
            return False
        table = self._tables.get(division)
        for binding in division.matches(triple):
            for row in solutions(division.schema, index, binding):
                if table is not None:
                    if not table.has(row):
                        return True
                elif division.is_of_schema:
                    if not all(map(is_static, division.conclusions(row))):
                        return True
                else:
                    made = division.instance(row)
                    if made is not None and renamed(made) not in self._known:
                        return True
        return False


def _instances(division: Division, index: TripleIndex) -> Iterator[DerivationRule]:
    if division.is_of_schema and division.always_fits:
        return
    for binding in solutions(division.schema, index):
        made = division.instance(binding)
        if made is not None:
            yield made


def _fed(
    instances: Mapping[Division, Iterable[DerivationRule]], tables: Iterable[SchemaTable]
) -> dict[Division, None]:
    """The divisions to keep as they are: rules, or each other, may conclude their premises. Others
    are made anew when that happens.
    """
    found: dict[Division, None] = {}
    candidates = [each for each in instances if each.is_of_schema or each.is_selective]
    new = {
        written(triple) for rules in instances.values() for rule in rules for triple in rule.head
    }
    asked = dict.fromkeys(kind for each in candidates for kind in each.kinds)
    new |= {kind for table in tables for kind in asked if table.may_say(kind)}
    while new:
        # A conclusion of any property makes the rules outdated if it is of the schema.
        kinds = [kind for kind in new if kind.predicate is not None]
        fed = [
            each
            for each in candidates
            if each not in found and any(one.meets(kind) for one in each.kinds for kind in kinds)
        ]
        found.update(dict.fromkeys(fed))
        new = {written(triple) for each in fed for triple in each.whole.head}
    return found


def numbered(rules: Iterable[DerivationRule]) -> list[DerivationRule]:
    """The rules with a number after each name that several of them have."""
    found = list(rules)
    several = {name for name, count in Counter(each.name for each in found).items() if count > 1}
    numbers: Counter[str] = Counter()
    named: list[DerivationRule] = []
    for rule in found:
        if rule.name in several:
            numbers[rule.name] += 1
            rule = replace(rule, name=f"{rule.name} #{numbers[rule.name]}")
        named.append(rule)
    return named


def standard_name(rule: DerivationRule) -> str:
    """The name in the rule set from which a rule was made."""
    return rule.name.partition(" #")[0]
