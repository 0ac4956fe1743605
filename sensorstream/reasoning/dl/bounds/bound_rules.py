"""The lower and the upper bound of an ontology's entailments, as rules over assertions.

Both are read with equality: individuals that are ``owl:sameAs`` have each other's triples.

Source: Zhou, Cuenca Grau, Nenov, Kaminski and Horrocks, *PAGOdA: Pay-As-You-Go Ontology Query
Answering Using a Datalog Reasoner*, JAIR 54 (2015), sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from sensorstream.model import owl, rdf
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.reasoning.dl.bounds.axiom_clauses import Needs
from sensorstream.reasoning.dl.bounds.clauses import (
    NAMED,
    PREFIX,
    SAME_VALUE,
    BoundClause,
    ClauseHead,
    Crowd,
    member,
    renamed,
)
from sensorstream.reasoning.dl.bounds.foreseen_conclusions import MadeNames
from sensorstream.reasoning.dl.bounds.normal_form import NormalForm, normal_form
from sensorstream.reasoning.dl.bounds.value_names import ValueNames, loosened
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, TriplePattern, Variable


class Naming(NamedTuple):
    """A computed variable: a name that begins with ``prefix`` and ends with that of ``owner``."""

    variable: Variable
    prefix: str
    owner: Variable


@frozen
class Conclusion:
    """A rule: if ``premises`` and ``tests`` hold and nothing of ``absent`` does, ``heads`` hold.

    ``name`` is that of its axiom. ``absent`` are patterns about facts of the lower bound,
    assertions included; each holds if all of its triples do. All heads together are those of one
    clause.
    """

    name: str
    premises: tuple[TriplePattern, ...]
    heads: tuple[TriplePattern, ...] = ()
    absent: tuple[tuple[TriplePattern, ...], ...] = ()
    tests: tuple[Expression, ...] = ()
    names: tuple[Naming, ...] = ()

    def but(self, *tests: Expression) -> Conclusion:
        """The rule with more conditions."""
        return replace(self, tests=(*self.tests, *tests))

    def unless(self, *triples: TriplePattern) -> Conclusion:
        """The rule for cases in which the lower bound does not have these triples."""
        return replace(self, absent=(*self.absent, triples))


@frozen
class RulesBound:
    """Rules, and the axioms that they leave out, each with the reason.

    A lower bound is sound whatever is left out. An upper bound is complete only about individuals
    ``?x`` that are connected with nobody for whom one of ``needs`` holds. Both are so only if the
    assertions include the result of :meth:`facts_of` for each of their terms.
    """

    rules: tuple[Conclusion, ...]
    untreated: tuple[str, ...]
    needs: Needs
    choices: frozenset[str]
    """The names of the rules of axioms with uncertain conclusions, or subjects of them."""
    crowds: tuple[Crowd, ...]
    """The crowds of neighbours that the upper bound must be told of."""
    _values: ValueNames
    _names_matter: bool

    def facts_of(self, term: Term) -> tuple[Triple, ...]:
        """The facts that the rules take for granted about an individual or a literal of the
        assertions, to be asserted as long as any assertion has the term; most individuals need
        none.

        Raises:
            TermError: the text of a literal is not in its datatype's lexical space.
        """
        if isinstance(term, Literal):
            return self._values.facts_of(term)
        return ((term, rdf.TYPE, NAMED),) if self._names_matter else ()


def lower(axioms: tuple[Triple, ...], left_out: frozenset[str] = frozenset()) -> RulesBound:
    """Rules that derive only what the axioms and the assertions entail.

    An axiom gets none if the name of one of its rules is in ``left_out``. A derived
    ``ss:contradiction`` shows that they have no model. Names that begin with :data:`PREFIX` are
    class expressions and values.

    Raises:
        OntologyError: the axioms restrict datatypes by facets whose order no reasoner knows.
    """
    form = normal_form(axioms, left_out)
    rules: list[Conclusion] = []
    for clause in form.clauses:
        rules.extend(_without_choice(clause, form))
    return _bound(rules, form.untreated, form.needs, form)


def upper(axioms: tuple[Triple, ...], left_out: frozenset[str] = frozenset()) -> RulesBound:
    """Rules that derive everything that the axioms and the assertions entail, if they have a model.

    If no ``ss:contradiction`` is derived, they have one, which is the derived graph. A clause with
    several alternatives derives all; an individual that only exists is one for all clauses that ask
    for the same, but another one for each individual with a name. A clause that the lower bound
    satisfies derives nothing: that holds in every model, so the bound stays complete, and as the
    lower bound does not read the upper one, the two are strata. For the same reason two individuals
    that the lower bound shows to be different are not made the same. ``left_out`` must be that of
    :func:`lower`.

    Raises:
        OntologyError: as :func:`lower`.
    """
    form = normal_form(axioms, left_out)
    assert form.above is not None
    clauses = [*form.clauses, *form.above.clauses]
    clauses += [each for clause in form.clauses for each in loosened(clause)]
    made = MadeNames(map(form.enumerations.unfold, clauses), form.enumerations.certain)
    rules: list[Conclusion] = []
    for number, clause in enumerate(clauses):
        body = _body(clause)
        if len(clause.heads) > 1 or any(head.unnamed for head in clause.heads):
            rules.extend(_without_choice(clause, form))
            for head in clause.heads:
                body = body.unless(*head.triples)
        elif any(map(_merges, clause.heads)):
            ((same,),) = (head.triples for head in clause.heads)
            differ = TriplePattern(same.subject, owl.DIFFERENT_FROM, same.object)
            different = replace(clause, body=(*clause.body, differ), heads=())
            rules.extend(_conclusions(different, _body(different)))
        if clause.heads and all(map(_merges, clause.heads)):
            rules.extend(_not_merged(clause, body, made))
        clause = form.enumerations.unfold(clause)
        rules.extend(_alternatives(clause, body, made, IRI(f"{PREFIX}choice-{number}")))
    above = form.above
    return _bound(rules, (*form.untreated, *above.untreated), (*form.needs, *above.needs), form)


def _bound(
    rules: list[Conclusion], untreated: tuple[str, ...], needs: Needs, form: NormalForm
) -> RulesBound:
    # Only individuals that have a name are asked whom they are connected with.
    names = any(each.object == NAMED for clause in form.clauses for each in clause.body)
    names = names or bool(form.needs or (form.above and form.above.needs))
    choices = {
        clause.name
        for clause in form.clauses
        if len(clause.heads) > 1 or any(each.unnamed or _merges(each) for each in clause.heads)
    }
    return RulesBound(
        tuple(dict.fromkeys(rules)),
        untreated,
        needs,
        form.axioms & choices,
        form.crowds,
        form.values,
        names,
    )


def _without_choice(clause: BoundClause, form: NormalForm) -> Iterator[Conclusion]:
    """The certain conclusions of a clause."""
    for certain in _certain(form.enumerations.unfold(clause), form.values):
        yield from _conclusions(certain, _body(certain))


def _certain(clause: BoundClause, values: ValueNames) -> Iterator[BoundClause]:
    """The clause without alternatives, if it has only one besides equalities."""
    equalities = [head for head in clause.heads if _is_equality(head)]
    others = tuple(head for head in clause.heads if not _is_equality(head))
    if len(clause.heads) == 1 and not clause.heads[0].unnamed:
        yield clause
    elif len(others) <= 1 and not any(head.unnamed for head in others):
        body, apart = list(clause.body), list(clause.apart)
        for head in equalities:
            ((triple),) = head.triples
            one, other = triple.subject, triple.object
            if triple.predicate == SAME_VALUE:
                assert isinstance(one, Variable)
                assert isinstance(other, Variable)
                body += values.different(one, other)
                apart.append((one, other))
            else:
                body.append(TriplePattern(one, owl.DIFFERENT_FROM, other))
        yield BoundClause(clause.name, tuple(body), others, tuple(apart), clause.alike)


def _is_equality(head: ClauseHead) -> bool:
    return head.triples[0].predicate in (owl.SAME_AS, SAME_VALUE)


def _merges(head: ClauseHead) -> bool:
    """Whether a head makes two individuals the same."""
    return head.triples[0].predicate == owl.SAME_AS


def _body(clause: BoundClause) -> Conclusion:
    """The condition of a clause, not met if the conclusion equates an individual with itself."""
    same = [
        (t.subject, t.object) for each in clause.heads if _is_equality(each) for t in each.triples
    ]
    tests: list[Expression] = []
    for one, other in (*clause.apart, *same):
        if isinstance(one, Variable) or isinstance(other, Variable):
            assert not isinstance(one, BlankNode)
            assert not isinstance(other, BlankNode)
            tests.append(algebra.Comparison("!=", one, other))
    tests += [_in_order(*pair) for group in clause.alike for pair in pairwise(group)]
    return Conclusion(clause.name, tuple(dict.fromkeys(clause.body)), tests=tuple(tests))


def _in_order(one: Variable, other: Variable) -> Expression:
    """A test for one order of variables that can change places; blank nodes have no order."""
    order = algebra.Comparison("<", algebra.Call("STR", (one,)), algebra.Call("STR", (other,)))
    return algebra.Or(
        order, algebra.Or(algebra.Call("ISBLANK", (one,)), algebra.Call("ISBLANK", (other,)))
    )


def _conclusions(clause: BoundClause, body: Conclusion) -> Iterator[Conclusion]:
    """The conclusions of a clause without a choice."""
    for head in clause.heads:
        yield replace(body, heads=head.triples)
    if not clause.heads:
        about = clause.body[0].subject
        reason = TriplePattern(about, CONTRADICTION, Literal(clause.name))
        yield replace(body, heads=(reason,))


def _not_merged(clause: BoundClause, body: Conclusion, made: MadeNames) -> Iterator[Conclusion]:
    """A contradiction if names to be made equal are apart: maybe no other alternative is left."""
    pairs = [_variables(head) for head in clause.heads]
    tests: list[Expression] = [made.apart(*pair) for pair in pairs if pair is not None]
    if tests:
        yield from _conclusions(replace(clause, heads=()), body.but(reduce(algebra.Or, tests)))


def _variables(head: ClauseHead) -> tuple[Variable, Variable] | None:
    """The two variables that are made equal, unless one of them is named by the axioms."""
    (same,) = head.triples
    if isinstance(same.subject, Variable) and isinstance(same.object, Variable):
        return same.subject, same.object
    return None


def _alternatives(
    clause: BoundClause, body: Conclusion, made: MadeNames, choice: IRI
) -> Iterator[Conclusion]:
    """The conclusions of all alternatives of a clause. Alternatives with different conditions also
    state ``choice``, by which the search for what a fact depends on finds the others.
    """
    special = [head for head in clause.heads if head.unnamed or _merges(head)]
    tied: tuple[TriplePattern, ...] = ()
    if special and len(clause.heads) > 1:
        linked = [_linked(head) for head in special if head.unnamed]
        tied = (member(linked[0] if linked else clause.body[0].subject, choice),)
    if not clause.heads:
        yield from _conclusions(clause, body)
    for head in clause.heads:
        if head.unnamed:
            yield from _existences(head, body, made, tied)
        elif _merges(head):
            ((same,),) = (head.triples,)
            differ = TriplePattern(same.subject, owl.DIFFERENT_FROM, same.object)
            possible = body.unless(differ)
            if (pair := _variables(head)) is not None:
                possible = possible.but(algebra.Not(made.apart(*pair)))
            yield replace(possible, heads=(same, *tied))
        else:
            yield replace(body, heads=(*head.triples, *tied))


def _existences(
    head: ClauseHead, body: Conclusion, made: MadeNames, tied: tuple[TriplePattern, ...]
) -> Iterator[Conclusion]:
    """Rules for individuals or values that only exist: each linked individual has its own. Their
    names depend on the facts about them and on who is linked to them: individuals linked to names,
    or to blank nodes, are constants, since names of names would have no end.
    """
    constants = made.constants(head)
    triples = (*head.triples, *head.made, *tied)
    linked = _linked(head)
    is_made = algebra.Call("STRSTARTS", (algebra.Call("STR", (linked,)), Literal(PREFIX)))
    named = algebra.And(algebra.Call("ISIRI", (linked,)), algebra.Not(is_made))
    shared = {each: IRI(name) for each, name in constants.items()}
    yield replace(body.but(algebra.Not(named)), heads=tuple(renamed(t, shared) for t in triples))
    own = tuple(Naming(each, f"{name}:", linked) for each, name in constants.items())
    yield replace(body.but(named), heads=triples, names=own)


def _linked(head: ClauseHead) -> Variable:
    """The individual to whom unnamed individuals are linked."""
    (linked,) = {
        end
        for triple in head.triples
        for end in (triple.subject, triple.object)
        if isinstance(end, Variable) and end not in head.unnamed
    }
    return linked


def is_made(term: object) -> bool:
    """Whether a name is one of the bounds' own, which no answer may contain."""
    return isinstance(term, IRI) and term.startswith(PREFIX)
