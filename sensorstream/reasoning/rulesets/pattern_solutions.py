"""The solutions of triple patterns and paths over triples, and rules with terms for variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.network.expressions.expression_functions import Value, value_of
from sensorstream.network.recursion.derivation_rule import DerivationRule, constant, is_node, meant
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import (
    Expression,
    Path,
    Pattern,
    PatternTerm,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.values import truth
from sensorstream.sparql.variable_scope import conjuncts, existences, in_scope, names_in, own_names
from sensorstream.sparql.walk import kept_in, nodes, replaced, with_kept

Binding: TypeAlias = Mapping[str, Term]
"""Terms by the names of variables."""


def solutions(
    patterns: Sequence[TriplePattern], index: TripleIndex, given: Binding | None = None
) -> Iterator[dict[str, Term]]:
    """The matches of the patterns, each once (SPARQL 1.1, sections 18.3 and 18.4).

    ``given`` are terms that some variables have; they are part of each solution. The patterns have
    no blank nodes. The next pattern is always one with the fewest free ends, and of these the one
    with the fewest triples, so the cost is about that of the matches.
    """
    binding = dict(given or {})
    small_first = sorted(patterns, key=lambda each: _size(each, index, binding))
    yield from _solutions(small_first, index, binding, frozenset(binding))


def _solutions(
    patterns: Sequence[TriplePattern],
    index: TripleIndex,
    binding: dict[str, Term],
    given: frozenset[str],
) -> Iterator[dict[str, Term]]:
    if not patterns:
        yield binding
        return
    chosen = min(patterns, key=lambda each: _freedom(each, binding))
    others = [each for each in patterns if each is not chosen]
    if not _may_begin(chosen, index, binding, given):
        return
    for match in _matches(chosen, index, binding):
        yield from _solutions(others, index, {**binding, **match}, given)


def _size(triple: TriplePattern, index: TripleIndex, binding: Binding) -> int:
    if isinstance(triple.predicate, IRI | Variable):
        ends = (triple.subject, triple.predicate, triple.object)
        return index.most(*(_known(each, binding) for each in ends))
    return len(index)


def _freedom(triple: TriplePattern, binding: Binding) -> int:
    s, o = _known(triple.subject, binding), _known(triple.object, binding)
    ends = (s is None) + (o is None)
    if isinstance(triple.predicate, IRI | Variable):
        return ends + (_known(triple.predicate, binding) is None)
    # If both ends are free, a path may begin at each node.
    return ends if ends < 2 else 4


def _may_begin(
    triple: TriplePattern, index: TripleIndex, binding: Binding, given: frozenset[str]
) -> bool:
    """Whether the ends of a path are nodes of the graph, as far as other patterns bind them. A
    variable has no path of length zero at a term that is a property only. A given term is a node.
    """
    if isinstance(triple.predicate, IRI | Variable):
        return True
    for end in (triple.subject, triple.object):
        if isinstance(end, Variable) and end.name in binding and end.name not in given:
            term = binding[end.name]
            begun = () if isinstance(term, Literal) else index.match(term, None, None)
            if not any(begun) and not any(index.match(None, None, term)):
                return False
    return True


def _matches(
    triple: TriplePattern, index: TripleIndex, binding: Binding
) -> Iterator[dict[str, Term]]:
    s, o = _known(triple.subject, binding), _known(triple.object, binding)
    path = triple.predicate
    if isinstance(path, IRI | Variable):
        p = _known(path, binding)
        if isinstance(s, Literal) or (p is not None and not isinstance(p, IRI)):
            return
        for found in index.match(s, p, o):
            match = bound((triple.subject, path, triple.object), found)
            if match is not None:
                yield match
        return
    for ends in _walks(index, path, s, o):
        match = bound((triple.subject, triple.object), ends)
        if match is not None:
            yield match


def bound(asked: Sequence[object], found: Sequence[Term]) -> dict[str, Term] | None:
    """Terms for the variables; None if a constant differs, or a variable would have two terms."""
    match: dict[str, Term] = {}
    for end, term in zip(asked, found, strict=True):
        if (match.setdefault(end.name, term) if isinstance(end, Variable) else end) != term:
            return None
    return match


def filled(end: object, row: Binding) -> Term:
    """The term for an end of a pattern."""
    if isinstance(end, Variable):
        return row[end.name]
    assert isinstance(end, IRI | Literal)
    return meant(end)


def filled_triple(triple: TriplePattern, row: Binding) -> Triple:
    """The triple for a pattern without a path."""
    ends = (triple.subject, triple.predicate, triple.object)
    return tuple(filled(end, row) for end in ends)  # type: ignore[return-value]


def _known(end: PatternTerm, binding: Binding) -> Term | None:
    return binding.get(end.name) if isinstance(end, Variable) else end


def _walks(
    index: TripleIndex, path: Path, start: Term | None, end: Term | None
) -> Iterator[tuple[Term, Term]]:
    if start is None and end is not None:
        yield from ((each, end) for each in reached(index, path, end, back=True))
        return
    nodes = {node: None for s, _, o in index for node in (s, o)} if start is None else (start,)
    for each in nodes:
        found = reached(index, path, each)
        if end is None:
            yield from ((each, other) for other in found)
        elif end in found:
            yield each, end


def reached(index: TripleIndex, path: Path, start: Term, *, back: bool = False) -> dict[Term, None]:
    """The ends of a path from a node, each once; ``back``: where paths to it begin."""
    match path:
        case algebra.Inverse(inner):
            return reached(index, inner, start, back=not back)
        case algebra.Sequence(left, right):
            first, then = (right, left) if back else (left, right)
            return _from_all(index, then, reached(index, first, start, back=back), back)
        case algebra.Alternative(left, right):
            return reached(index, left, start, back=back) | reached(index, right, start, back=back)
        case algebra.ZeroOrOne(inner):
            return {start: None} | reached(index, inner, start, back=back)
        case algebra.ZeroOrMore(inner):
            return _closure(index, inner, {start: None}, back)
        case algebra.OneOrMore(inner):
            return _closure(index, inner, reached(index, inner, start, back=back), back)
        case algebra.NegatedSet(forward, backward):
            found: dict[Term, None] = {}
            if forward or not backward:
                steps = _steps(index, start, None, back)
                found.update((each, None) for p, each in steps if p not in forward)
            if backward:
                steps = _steps(index, start, None, not back)
                found.update((each, None) for p, each in steps if p not in backward)
            return found
    return {each: None for _, each in _steps(index, start, path, back)}


def _steps(
    index: TripleIndex, node: Term, step: IRI | None, back: bool
) -> Iterator[tuple[IRI, Term]]:
    """The triples from a node, or to it, each by its property and its other end."""
    if back:
        yield from ((p, s) for s, p, _ in index.match(None, step, node))
    elif not isinstance(node, Literal):
        yield from ((p, o) for _, p, o in index.match(node, step, None))


def _from_all(
    index: TripleIndex, path: Path, starts: Iterable[Term], back: bool
) -> dict[Term, None]:
    return {end: None for start in starts for end in reached(index, path, start, back=back)}


def _closure(
    index: TripleIndex, path: Path, ahead: dict[Term, None], back: bool
) -> dict[Term, None]:
    found = dict(ahead)
    while ahead:
        ahead = {each: None for each in _from_all(index, path, ahead, back) if each not in found}
        found.update(ahead)
    return found


def triples_of(body: Pattern, *, in_graphs: bool = False) -> Iterator[TriplePattern]:
    """The triple patterns that every solution matches, without those of EACH. ``in_graphs``: those
    of GRAPH are among them.
    """
    for block in _parts(body, in_graphs):
        if isinstance(block, algebra.BGP):
            yield from block.patterns


def eaches_of(body: Pattern) -> Iterator[algebra.Each]:
    """The EACH that every solution matches."""
    return (part for part in _parts(body) if isinstance(part, algebra.Each))


def _parts(body: Pattern, in_graphs: bool = False) -> Iterator[Pattern]:
    if isinstance(body, algebra.OneByOne) or (in_graphs and isinstance(body, algebra.Graph)):
        for each in kept_in(body):
            yield from _parts(each, in_graphs)
    else:
        yield body


def changed(
    body: Pattern,
    triple: Callable[[TriplePattern], TriplePattern | None] = lambda part: part,
    each: Callable[[algebra.Each], Pattern] = lambda part: part,
) -> Pattern:
    """The body with parts of :func:`triples_of` and :func:`eaches_of` replaced; None: left out."""
    match body:
        case algebra.BGP(patterns):
            kept = [new for old in patterns if (new := triple(old)) is not None]
            return algebra.BGP(tuple(kept))
        case algebra.Each():
            return each(body)
        case algebra.Join(left, right):
            return together(changed(left, triple, each), changed(right, triple, each))
        case _ if isinstance(body, algebra.OneByOne):
            return with_kept(body, (changed(inner, triple, each) for inner in kept_in(body)))
    return body


def together(left: Pattern, right: Pattern) -> Pattern:
    """Both patterns; two blocks of triples become one."""
    if isinstance(left, algebra.BGP) and isinstance(right, algebra.BGP):
        return algebra.BGP(tuple(dict.fromkeys((*left.patterns, *right.patterns))))
    if left == algebra.BGP():
        return right
    return left if right == algebra.BGP() else algebra.Join(left, right)


class Substitution:
    """A rule whose variables of these names become terms, bound by patterns that the body no longer
    needs; see :func:`can_be_substituted`. Filters that the terms alone decide are gone.
    """

    def __init__(self, rule: DerivationRule, names: Set[str]) -> None:
        self._rule = rule
        self._conditions: list[tuple[tuple[str, ...], Value]] = []
        self.body = self._undecided(rule.body, names)
        """The body of the rule without the filters that the terms alone decide."""

    def allows(self, binding: Mapping[str, Term]) -> bool:
        """Whether the filters that the terms alone decide hold."""
        return all(
            truth(value(tuple(binding[name] for name in names))) is True
            for names, value in self._conditions
        )

    def __call__(self, binding: Mapping[str, Term]) -> DerivationRule | None:
        """The rule for the solutions with these terms; None: it concludes nothing from them.
        Triples of the head that cannot be written are left out.
        """
        if not self.allows(binding):
            return None
        constants = {name: constant(term) for name, term in binding.items()}
        head = tuple(filter(_is_well_formed, _filled(self._rule.head, constants)))
        if self._rule.head and not head:
            return None
        body = _with_constants(self.body, constants)
        if not all(map(_is_well_formed, triples_of(body))):
            return None
        return DerivationRule(self._rule.name, head, body)

    def _undecided(self, body: Pattern, names: Set[str]) -> Pattern:
        """The body without the conditions of :attr:`_conditions`, which are collected."""
        match body:
            case algebra.Filter(condition, inner):
                left: Expression | None = None
                for each in conjuncts(condition):
                    if not self._decides(each, names):
                        left = each if left is None else algebra.And(left, each)
                below = self._undecided(inner, names)
                return below if left is None else algebra.Filter(left, below)
            case _ if isinstance(body, algebra.OneByOne):
                return with_kept(body, (self._undecided(each, names) for each in kept_in(body)))
        return body

    def _decides(self, condition: Expression, names: Set[str]) -> bool:
        """Whether the terms alone tell if a condition holds, which is then noted."""
        if existences(condition):
            return False
        its_names = tuple(sorted(names_in(condition)))
        if not names >= set(its_names):
            return False
        try:
            value = value_of(condition, {name: place for place, name in enumerate(its_names)})
        except (NotIncremental, UnsupportedQuery):
            return False
        self._conditions.append((its_names, value))
        return True


def _with_constants(body: Pattern, constants: Mapping[str, IRI | Literal]) -> Pattern:
    if isinstance(body, algebra.BGP):
        # By far the most frequent body.
        return algebra.BGP(_filled(body.patterns, constants))
    return replaced(
        body, lambda part: constants.get(part.name) if isinstance(part, Variable) else None
    )


def _filled(
    triples: Iterable[TriplePattern], constants: Mapping[str, IRI | Literal]
) -> tuple[TriplePattern, ...]:
    return tuple(
        TriplePattern(
            constants.get(s.name, s) if isinstance(s := each.subject, Variable) else s,
            constants.get(p.name, p) if isinstance(p := each.predicate, Variable) else p,  # type: ignore[arg-type]
            constants.get(o.name, o) if isinstance(o := each.object, Variable) else o,
        )
        for each in triples
    )


def can_be_substituted(body: Pattern, named: Set[str], blank: Set[str]) -> bool:
    """Whether a body means the same with terms for variables as with the patterns that bind them.

    ``named`` are the variables, ``blank`` those of them that stand for blank nodes. It does not if
    a variable is a column of a sub-select, of VALUES or of BIND, if a filter has a variable from
    outside its group, if a function that remains gets a blank node, or for a regular expression,
    which is checked before there are values if it is a constant.
    """
    for part in nodes(body):
        match part:
            case algebra.Call("REGEX" | "REPLACE", (_, *patterns)):
                if any(isinstance(each, Variable) and each.name in named for each in patterns):
                    return False
            case algebra.Project(_, columns) | algebra.Values(columns, _):
                if any(each.name in named for each in columns):
                    return False
            case algebra.Group():
                if named & names_in((part.keys, part.aggregates)):
                    return False
            case algebra.Extend(_, variable, expression):
                if variable.name in named or _asks_kind(expression, blank):
                    return False
            case algebra.Filter(condition, inner):
                for each in conjuncts(condition):
                    mentioned = own_names(each)
                    if mentioned & named - in_scope(inner):
                        return False
                    if not mentioned <= named and _asks_kind(each, blank):
                        return False
    return True


def _asks_kind(expression: Expression, names: Set[str]) -> bool:
    """Whether a function, other than those of texts only, is called with one of these variables."""
    return any(
        isinstance(part, algebra.Call | algebra.FunctionCall)
        and not (isinstance(part, algebra.Call) and (part.name == "SAMETERM" or is_node(part)))
        and any(isinstance(each, Variable) and each.name in names for each in part.arguments)
        for part in nodes(expression)
    )


def _is_well_formed(triple: TriplePattern) -> bool:
    """Whether the constants of a pattern are of kinds that RDF allows there."""
    predicate = triple.predicate
    if isinstance(predicate, IRI) and predicate.startswith("_:"):
        return False
    return not isinstance(triple.subject, Literal) and not isinstance(predicate, Literal)
