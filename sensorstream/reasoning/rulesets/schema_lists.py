"""Triples of the schema, known before anything streams, and rules about its lists. Lists of the
static graph replace EACH and paths over ``rdf:first`` and ``rdf:rest``: each makes a rule of its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sensorstream.errors import ProgramError, QueryError
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.network.recursion.derivation_rule import DerivationRule, RuleClause, clauses
from sensorstream.network.recursion.triple_kinds import TriplesRead, written
from sensorstream.reasoning.rulesets.graphs_read import check_plan
from sensorstream.reasoning.rulesets.pattern_solutions import (
    Substitution,
    can_be_substituted,
    changed,
    eaches_of,
    solutions,
    together,
    triples_of,
)
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Path, Pattern, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.text_places import Places, give_place
from sensorstream.sparql.variable_scope import names_in
from sensorstream.sparql.walk import kept_in, nodes, replaced, with_kept

_SPACES: Final = (RDF, RDFS, OWL)
_OF_INDIVIDUALS: Final = frozenset((owl.SAME_AS, owl.DIFFERENT_FROM, rdf.TYPE))
"""Properties of the vocabulary that individuals have."""
_CLASSES_OF_INDIVIDUALS: Final = frozenset(
    (
        *(owl.THING, owl.NOTHING, owl.NAMED_INDIVIDUAL),
        *(IRI(f"{RDFS}Resource"), IRI(f"{RDFS}Literal"), IRI(f"{RDF}Statement")),
        *(IRI(f"{RDF}List"), IRI(f"{RDF}Bag"), IRI(f"{RDF}Seq"), IRI(f"{RDF}Alt")),
    )
)
_OF_LISTS: Final = frozenset((rdf.FIRST, rdf.REST))


def is_schema(triple: TriplePattern) -> bool:
    """Whether a pattern asks for the schema, by its predicate, or by the class of ``rdf:type``. The
    other properties of RDF, RDFS and OWL are of the schema (rdfs:domain, rdf:first, …), and so are
    their classes of classes, properties and axioms (owl:TransitiveProperty, …).
    """
    if triple.predicate == rdf.TYPE:
        class_ = triple.object
        return _is_of_vocabulary(class_) and class_ not in _CLASSES_OF_INDIVIDUALS
    if isinstance(triple.predicate, Variable):
        return False
    return all(
        step is not None and step not in _OF_INDIVIDUALS and _is_of_vocabulary(step)
        for step in _steps(triple.predicate)
    )


def is_of_lists(triple: TriplePattern) -> bool:
    """Whether a pattern asks only for the members or the rest of lists."""
    path = triple.predicate
    return not isinstance(path, Variable) and all(step in _OF_LISTS for step in _steps(path))


def schema_kinds(rules: Iterable[DerivationRule]) -> frozenset[TriplesRead]:
    """The kinds of triples that the rules take for schema. Rules must be specialised anew when such
    a triple comes or goes, asserted or inferred.
    """
    found: set[TriplesRead] = set()
    for rule in rules:
        for clause in clauses(rule):
            for triple in triples_of(clause.body.pattern):
                if is_schema(triple):
                    found.update(kinds_of(triple))
    return frozenset(found)


def kinds_of(triple: TriplePattern) -> Iterator[TriplesRead]:
    """The kinds of triples that a pattern of the schema reads."""
    if isinstance(triple.predicate, IRI):
        yield written(triple)
    else:
        yield from (TriplesRead(step, None) for step in _steps(triple.predicate))


def _is_of_vocabulary(term: object) -> bool:
    return isinstance(term, IRI) and term.startswith(_SPACES)


def _steps(path: Path | Variable) -> list[IRI | None]:
    """The properties along a path; None: it may use any."""
    if isinstance(path, Variable) or any(nodes(path, algebra.NegatedSet)):
        return [None]
    return [*nodes(path, IRI)]


MOST_MEMBERS: Final = 200
"""Members of a list that EACH may go through: as many patterns a rule has then."""
MOST_RULES: Final = 500
"""Rules that one list may make of a rule; if it fits in more ways, these are a table in one."""
MOST_WAYS: Final = 200_000
"""Ways in which lists may fit a rule: pairs of 632 members."""
_ANY_HEAD: Final = (TriplePattern(rdf.NIL, rdf.REST, rdf.NIL),)
_CELLS: Final = tuple(
    TriplePattern(Variable("cell"), each, Variable("value")) for each in (rdf.FIRST, rdf.REST)
)


def unrolled(rules: Iterable[DerivationRule], index: TripleIndex) -> list[DerivationRule]:
    """The rules, those about lists once for each way in which lists of the index fit.

    Other patterns of the schema stay in a rule's body, so that conclusions about the schema are
    seen too. Only if conclusions make other nodes lists of a rule (another ``owl:unionOf``), must
    the rules be unrolled again, over an index with these.

    Raises:
        ProgramError: a list is too long for EACH, or the lists make too many rules.
    """
    found: list[DerivationRule] = []
    for rule in rules:
        if _has_lists(rule.body):
            made = dict.fromkeys(_unrolled(rule, index))
            found.extend(made)
        else:
            found.append(rule)
    return found


def kinds_of_lists(rules: Iterable[DerivationRule]) -> frozenset[TriplesRead]:
    """The kinds of triples that decide for which lists rules are unrolled."""
    return frozenset(
        kind
        for rule in rules
        if _has_lists(rule.body)
        for clause in clauses(rule)
        for triple in [*_asked(clause.body.pattern)[0], *_CELLS]
        for kind in kinds_of(triple)
    )


def _has_lists(body: Pattern) -> bool:
    return any(
        isinstance(part, algebra.Each) or (isinstance(part, TriplePattern) and is_of_lists(part))
        for part in nodes(body)
    )


def _unrolled(rule: DerivationRule, index: TripleIndex) -> Iterator[DerivationRule]:
    for clause in clauses(rule):
        for grounded in _grounded(clause, index):
            yield from _conjunctions(grounded, index)


def _grounded(clause: RuleClause, index: TripleIndex) -> Iterator[DerivationRule]:
    """A clause with terms for lists and members, for each way in which these fit. Many ways for one
    list, such as the pairs of an owl:AllDifferent, are a table in one rule: as rules they would
    take long to order, and to run.
    """
    body = clause.body.pattern
    rest = changed(body, lambda triple: None if is_of_lists(triple) else triple)
    plain = DerivationRule(clause.rule.name, clause.head, rest)
    asked, names = _asked(body)
    near = names_in(tuple(each for each in asked if not is_of_lists(each)))
    of_each = names_in(tuple(each.members for each in eaches_of(body)))
    lists = sorted(names & (near | of_each))
    members = sorted(names & (names_in(rest) | names_in(clause.head)) - {*lists})
    ways: dict[tuple[Term, ...], dict[tuple[Term, ...], None]] = {}
    for count, row in enumerate(solutions(asked, index)):
        if count == MOST_WAYS:
            raise _too_many(plain.name)
        of_list = ways.setdefault(tuple(row[each] for each in lists), {})
        of_list[tuple(row[each] for each in members)] = None
    filled = Substitution(plain, {*lists, *members})
    tabled = Substitution(plain, {*lists})
    for of_lists, table in ways.items():
        known = dict(zip(lists, of_lists, strict=True))
        if len(table) > MOST_RULES:
            _check_substitution(body, known, plain.name)
            made = tabled(known)
            if made is not None:
                yield replace(made, body=_with_table(made.body, members, table))
            continue
        for way in table:
            binding = known | dict(zip(members, way, strict=True))
            _check_substitution(body, binding, plain.name)
            made = filled(binding)
            if made is not None:
                yield made


def _with_table(body: Pattern, names: Sequence[str], rows: Iterable[tuple[Term, ...]]) -> Pattern:
    if isinstance(body, algebra.OneByOne) and not isinstance(body, algebra.Join):
        return with_kept(body, (_with_table(each, names, rows) for each in kept_in(body)))
    # Unlike a pattern, a table can hold a blank node of the graph.
    table = algebra.Values(tuple(map(Variable, names)), tuple(rows))  # type: ignore[arg-type]
    return together(body, table)


def _check_substitution(body: Pattern, binding: Mapping[str, Term], name: str) -> None:
    if not can_be_substituted(body, binding.keys(), _blank(binding)):
        raise ProgramError(
            f"rule {name}: a list or its member stands in BIND, VALUES, a sub-select or a "
            "function: expected it in triple patterns and comparisons only"
        )


def _too_many(name: str) -> ProgramError:
    return ProgramError(
        f"rule {name}: the lists of the ontology fit it in more than {MOST_WAYS:,} ways: leave the "
        "rule out of a copy of the rule set, or shorten the lists (pairs of a list's members are "
        "its length squared)"
    )


def _blank(binding: Mapping[str, Term]) -> set[str]:
    return {name for name, term in binding.items() if isinstance(term, BlankNode)}


def _asked(body: Pattern) -> tuple[list[TriplePattern], frozenset[str]]:
    """The patterns that find the lists of a body, and the variables of lists and their members."""
    of_lists = [triple for triple in triples_of(body) if is_of_lists(triple)]
    names = names_in(tuple(of_lists)) | names_in(tuple(each.members for each in eaches_of(body)))
    near = [
        triple
        for triple in triples_of(body)
        if is_schema(triple) and not is_of_lists(triple) and names & names_in(triple)
    ]
    return [*of_lists, *near], names


def _conjunctions(rule: DerivationRule, index: TripleIndex) -> Iterator[DerivationRule]:
    """A rule whose lists are constants, for each way to read these."""
    each = next(eaches_of(rule.body), None)
    if each is None:
        yield rule
        return
    if isinstance(each.members, Variable):
        return
    outside = names_in(rule.head) | names_in(
        changed(rule.body, each=lambda part: algebra.BGP() if part is each else part)
    )
    for members in readings(rule.name, index, each.members):
        made = _conjunction(each, members, outside, rule.name)
        if made is not None:
            body = changed(
                rule.body,
                each=lambda part, made=made: made if part is each else part,  # type: ignore[misc]
            )
            yield from _conjunctions(replace(rule, body=body), index)


def _conjunction(
    each: algebra.Each, members: tuple[Term, ...], outside: frozenset[str], name: str
) -> Pattern | None:
    """The pattern for each member; None: it cannot match one of them."""
    ends = {end.name for end in (each.first, each.last) if end is not None}
    local = names_in(each.pattern) - outside - ends - {each.member.name}
    substituted = Substitution(DerivationRule(name, (), each.pattern), {each.member.name})
    found: Pattern = algebra.BGP()
    for number, member in enumerate(members):
        of_member = substituted({each.member.name: member})
        if of_member is None:
            return None
        new: dict[str, PatternTerm] = {
            each_local: Variable(f".{each_local}{number}") for each_local in local
        }
        if each.first is not None and each.last is not None:
            if number:
                new[each.first.name] = Variable(f".link{number}")
            if number < len(members) - 1:
                new[each.last.name] = Variable(f".link{number + 1}")
        found = together(found, _renamed(of_member.body, new))
    return found


def _renamed(pattern: Pattern, names: Mapping[str, PatternTerm]) -> Pattern:
    return replaced(
        pattern, lambda part: names.get(part.name) if isinstance(part, Variable) else None
    )


def readings(rule: str, index: TripleIndex, head: PatternTerm) -> Iterator[tuple[Term, ...]]:
    """The members of a list, in order; several if a cell has several members or rests. An empty
    list has no reading, and neither has one that does not end.

    Raises:
        ProgramError: it has more than :data:`MOST_MEMBERS` members.
    """
    ahead: list[tuple[Term, tuple[Term, ...], tuple[Term, ...]]] = [(head, (), ())]  # type: ignore[list-item]
    steps = 0
    while ahead:
        cell, cells, members = ahead.pop()
        if cell == rdf.NIL:
            if members:
                yield members
            continue
        if cell in cells or isinstance(cell, Literal):
            continue
        steps += 1
        if len(members) >= MOST_MEMBERS or steps > MOST_WAYS:
            raise ProgramError(
                f"rule {rule}: the list {head} has more than {MOST_MEMBERS} members, or cells with "
                f"several members or rests: expected a list of at most {MOST_MEMBERS} for EACH; "
                "leave the rule out of a copy of the rule set, or split the list"
            )
        firsts = [o for _, _, o in index.match(cell, rdf.FIRST, None)]
        rests = [o for _, _, o in index.match(cell, rdf.REST, None)]
        ahead += (
            (rest, (*cells, cell), (*members, member))
            for rest in reversed(rests)
            for member in reversed(firsts)
        )


def without_lists(rule: DerivationRule) -> DerivationRule:
    """The rule as it reads and writes, with plain patterns in place of lists."""
    return replace(rule, body=_plain(rule.body))


def check_plans(rule: DerivationRule, places: Places) -> None:
    """Check that operators can be made of a rule, whatever is known before anything streams.

    Raises:
        ProgramError: the head cannot be written.
        QueryError: with the place, a part of the body that no operator can do.
    """
    for clause in clauses(without_lists(rule)):
        try:
            check_plan(clause.body)
        except QueryError as error:
            give_place(error, places)
            raise


def _plain(body: Pattern) -> Pattern:
    if isinstance(body, algebra.Union):
        return algebra.Union(_plain(body.left), _plain(body.right))
    return changed(body, _plain_triple, _plain_each)


def _plain_triple(triple: TriplePattern) -> TriplePattern:
    return replace(triple, predicate=rdf.REST) if is_of_lists(triple) else triple


def _plain_each(each: algebra.Each) -> Pattern:
    return together(
        algebra.BGP((TriplePattern(each.members, rdf.FIRST, each.member),)), each.pattern
    )


def check_lists(body: Pattern, places: Places) -> None:
    """Refuse EACH and paths along lists where the list is not known before anything streams.

    Raises:
        QueryError: with the place, and the way out.
    """
    reachable = set(map(id, _reachable(body)))
    for part in nodes(body):
        if isinstance(part, algebra.Each) and id(part) not in reachable:
            raise QueryError(
                "EACH within EACH, OPTIONAL, MINUS, EXISTS or a sub-select: expected it among the "
                "patterns that must match",
                position=places.of(part),
            )
    for alternative in clauses(DerivationRule("", _ANY_HEAD, body)):
        _check_known(alternative.body.pattern, places)


def _reachable(body: Pattern) -> Iterator[algebra.Each]:
    if isinstance(body, algebra.Union):
        yield from _reachable(body.left)
        yield from _reachable(body.right)
    else:
        yield from eaches_of(body)


def _check_known(body: Pattern, places: Places) -> None:
    triples = list(triples_of(body))
    known = {
        name
        for triple in triples
        if is_schema(triple) and not is_of_lists(triple)
        for name in names_in(triple)
    }
    of_lists = [triple for triple in triples if is_of_lists(triple)]
    while near := [
        triple
        for triple in of_lists
        if not names_in(triple) <= known
        and (names_in(triple) & known or not isinstance(triple.subject, Variable))
    ]:
        known.update(name for triple in near for name in names_in(triple))
    lists = [each.members for each in eaches_of(body)]
    lists += [end for triple in of_lists for end in (triple.subject, triple.object)]  # type: ignore[misc]
    for each in lists:
        if isinstance(each, Variable) and each.name not in known:
            name = "what a path goes along" if each.name.startswith(".") else str(each)
            raise QueryError(
                f"{name} is a list, or a member of one, that may stream, but lists are read from "
                "what is known before anything streams: expected a pattern with a property of RDF, "
                "RDFS or OWL that has the list, such as ?c owl:unionOf ?list",
                position=places.of(each),
            )
