"""Rewrites the algebra of a query to an equal one that costs less to keep in step.

Each rule is a function of a pattern; :data:`RULES` is the order in which they are applied, once
each. The result has the same solutions, with the same multiplicity, on every dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import BGP, TURNED, Expression, Filter, Join, Pattern, Window
from sensorstream.sparql.variable_scope import certain, conjuncts, existences, in_scope, names_in
from sensorstream.sparql.walk import children, nodes, rebuilt, renewed, replaced

Rule = Callable[[Pattern], Pattern]


def windows_named(pattern: Pattern, windows: Collection[IRI]) -> Pattern:
    """``WINDOW ?w { A }`` becomes the union of A in each window, with its name as ?w.

    Source: RSP-QL, section 4, as GRAPH ?g in SPARQL 1.1, section 18.6.
    """

    def change(node: object) -> Pattern | None:
        if (
            not windows
            or not isinstance(node, Window)
            or not isinstance(node.name, algebra.Variable)
        ):
            return None
        inner, variables = replaced(node.pattern, change), (node.name,)
        each: list[Pattern] = [
            Join(algebra.Values(variables, ((name,),)), Window(name, inner)) for name in windows
        ]
        return reduce(algebra.Union, each[1:], each[0])

    made: Pattern = replaced(pattern, change)
    return made


def windows_down(pattern: Pattern) -> Pattern:
    """``WINDOW w { A FILTER(c) }`` becomes ``WINDOW w { A } FILTER(c)``, and so on for all in it.

    A window only selects the graph that blocks of triples match (RSP-QL, as GRAPH in SPARQL 1.1,
    section 18.6), those within EXISTS included; all other operators work on solutions and read no
    graph. Patterns from inside a window can then be moved, ordered and shared like all others. Of
    two nested windows the inner one applies, and GRAPH within a window matches the graph.
    """
    moved: Pattern = _within(pattern, None)
    return moved


def _within(node: Any, window: IRI | None) -> Any:
    match node:
        case Window(IRI() as name, inner):
            return _within(inner, name)
        case BGP(patterns):
            return Window(window, node) if patterns and window is not None else node
        case algebra.Graph(name, inner):
            return algebra.Graph(name, _within(inner, None))
        case algebra.Service():
            return node
    new: list[object] = []
    for each in children(node):
        new.append(_within(each, window))
    return renewed(node, new)


def filters_split(pattern: Pattern) -> Pattern:
    """``FILTER(a && b)`` becomes ``FILTER(a) FILTER(b)``: each then goes where it is cheapest.

    ``a && b`` is true exactly if both are (SPARQL 1.1, section 17.2: an error or false on either
    side leaves the row out, here as there).
    """
    return rebuilt(pattern, _split)


def _split(node: Any) -> Any:
    if not isinstance(node, Filter) or not isinstance(node.condition, algebra.And):
        return node
    return _filtered(node.pattern, conjuncts(node.condition))


def _filtered(pattern: Pattern, conditions: Iterable[Expression]) -> Pattern:
    for condition in conditions:
        pattern = Filter(condition, pattern)
    return pattern


def constants_right(pattern: Pattern) -> Pattern:
    """``5 < ?x`` becomes ``?x > 5``: filters that differ in the constant then look alike.

    The operators of section 17.3 compare the same two values either way, with the same errors.
    """
    return rebuilt(pattern, _turned)


def _turned(node: Any) -> Any:
    match node:
        case algebra.Comparison(operator, IRI() | Literal() as constant, other) if not isinstance(
            other, IRI | Literal
        ):
            return algebra.Comparison(TURNED[operator], other, constant)
    return node


def filters_up(pattern: Pattern) -> Pattern:
    """``{ A FILTER(c) } B`` becomes ``A B FILTER(c)`` if c uses a variable that neither binds.

    Within EXISTS such a variable is the outer solution's (section 18.6): the filter then stands at
    the top of the pattern, where it can be evaluated for the pair of an inner and an outer row.
    Elsewhere the variable is unbound, before as after. For the variables that A may bind, the
    joined row must have the value of A: either A always binds them, or B never does. Likewise out
    of ``GRAPH <g> { }`` and DISTINCT.
    """
    return rebuilt(pattern, _raised)


def _raised(node: Any) -> Any:
    match node:
        case Join(left, right):
            lefts, left = _taken(left, right)
            rights, right = _taken(right, left)
            if lefts or rights:
                return _filtered(Join(left, right), [*lefts, *rights])
        case algebra.Graph(IRI() as name, Filter(condition, inner)) if not existences(
            condition
        ) and _borrows(condition, inner):
            return Filter(condition, _raised(algebra.Graph(name, inner)))
        case algebra.Distinct(Filter(condition, inner)) | algebra.Reduced(
            Filter(condition, inner)
        ) if _borrows(condition, inner):
            return Filter(condition, _raised(type(node)(inner)))
    return node


def _taken(pattern: Pattern, other: Pattern) -> tuple[list[Expression], Pattern]:
    """The filters on top of an operand that can leave it, and the rest of the operand."""
    match pattern:
        case Filter(condition, inner):
            found, rest = _taken(inner, other)
            doubtful = names_in(condition) - certain(inner)
            if _borrows(condition, inner) and not doubtful & in_scope(other):
                return [*found, condition], rest
            return found, Filter(condition, rest)
    return [], pattern


def _borrows(condition: Expression, pattern: Pattern) -> bool:
    return not names_in(condition) <= in_scope(pattern)


def filters_down(pattern: Pattern) -> Pattern:
    """``A B FILTER(c)`` becomes ``{ A FILTER(c) } B`` if every solution of A binds all of c.

    Then no other operand can give c's variables another value, so the same rows are left out,
    before they cost anything. The filter also goes into the left of OPTIONAL and MINUS, below BIND
    to a variable that c does not mention, and into sub-selects that select all variables of c.

    EXISTS moves likewise, but not into an operand of a join: joined first, the triples are one
    ordered walk, and EXISTS is evaluated for fewer rows. No filter goes into UNION, because it
    would become two filters, or below a grouping: queries that differ in HAVING share the groups.
    """
    return rebuilt(pattern, _lowered)


def _lowered(node: Any) -> Any:
    return _placed(node.condition, node.pattern) if isinstance(node, Filter) else node


def _placed(condition: Expression, pattern: Pattern) -> Pattern:
    """``Filter(condition, pattern)``, as deep in the pattern as possible."""
    names, plain = names_in(condition), not existences(condition)

    def fits(inner: Pattern) -> bool:
        # The pattern of EXISTS has local variables, which no outer pattern binds.
        return (names if plain else names & in_scope(pattern)) <= certain(inner)

    part = "pattern"
    match pattern:
        case Filter(other, inner):
            below = _placed(condition, inner)
            if below == Filter(condition, inner):
                return Filter(condition, pattern)
            return Filter(other, below)
        case Join(left, _) if plain and fits(left):
            part = "left"
        case Join(_, right) if plain and fits(right):
            part = "right"
        case algebra.LeftJoin(left) | algebra.Minus(left) if fits(left):
            part = "left"
        case algebra.Extend(inner, variable, _) if fits(inner) and variable.name not in names:
            pass
        case algebra.Project() if plain and fits(pattern):
            pass
        case algebra.Distinct(inner) | algebra.Reduced(inner) | algebra.OrderBy(inner) if fits(
            inner
        ):
            pass
        case algebra.Graph(IRI(), inner) if plain and fits(inner):
            pass
        case _:
            return Filter(condition, pattern)
    lowered: dict[str, Any] = {part: _placed(condition, getattr(pattern, part))}
    return replace(pattern, **lowered)


def joins_flat(pattern: Pattern) -> Pattern:
    """``{ A B } { C }`` becomes ``{ A B C }``; the empty block is left out.

    Joins are associative and commutative (section 18.5), and a block of triples is the join of
    its triples. Blocks in which the same blank node stands are kept apart: a block is its scope.
    """
    return rebuilt(pattern, _flat)


def _flat(node: Any) -> Any:
    if not isinstance(node, Join):
        return node
    found: list[Pattern] = []
    for operand in _operands(node):
        for place, other in enumerate(found):
            merged = _merged(other, operand)
            if merged is not None:
                found[place] = merged
                break
        else:
            found.append(operand)
    return reduce(Join, found) if found else BGP()


def _operands(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, Join):
        yield from _operands(pattern.left)
        yield from _operands(pattern.right)
    elif pattern != BGP():
        yield pattern


def _merged(left: Pattern, right: Pattern) -> Pattern | None:
    match left, right:
        case BGP(one), BGP(other) if set(nodes(left, BlankNode)).isdisjoint(
            nodes(right, BlankNode)
        ):
            return BGP((*one, *other))
        case Window(IRI() as name, BGP() as one), Window(same, BGP() as other) if name == same:
            merged = _merged(one, other)
            return None if merged is None else Window(name, merged)
    return None


RULES: Final[tuple[Rule, ...]] = (
    windows_down,
    filters_split,
    constants_right,
    filters_up,
    filters_down,
    joins_flat,
)


def rewritten(pattern: Pattern) -> Pattern:
    """The pattern after all rules."""
    for rule in RULES:
        pattern = rule(pattern)
    return pattern
