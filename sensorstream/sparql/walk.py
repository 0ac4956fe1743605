"""Traversals of trees of data classes: of the algebra, and of the rules that have it in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast, overload

from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Pattern, TriplePattern, Variable

_Node = TypeVar("_Node")


@overload
def nodes(tree: object) -> Iterator[object]: ...
@overload
def nodes(tree: object, kind: type[_Node]) -> Iterator[_Node]: ...
def nodes(tree: object, kind: type[Any] = object) -> Iterator[Any]:
    """``tree`` and the nodes below it of a kind, top-down, left to right, without recursion."""
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, kind):
            yield node
        ahead += children(node)[::-1]


def children(node: object) -> tuple[object, ...]:
    """The direct children of a node: the values of its fields, or the members of a tuple.

    Fields that do not belong to the meaning (``compare=False``) are left out.
    """
    if isinstance(node, tuple):
        return node
    names = _fields(type(node))  # type: ignore[arg-type]
    return tuple([getattr(node, name) for name in names])


@cache
def _fields(kind: type[Any]) -> tuple[str, ...]:
    if not is_dataclass(kind):
        return ()
    return tuple(each.name for each in fields(kind) if each.compare)


def patterns_in(pattern: object) -> tuple[Pattern, ...]:
    """The patterns directly inside a pattern, without those in expressions."""
    if isinstance(pattern, algebra.OfPatterns):
        return pattern.left, pattern.right
    return (pattern.pattern,) if hasattr(pattern, "pattern") else ()


def _kept(pattern: Pattern) -> tuple[str, ...]:
    if isinstance(pattern, algebra.OfPatterns):
        return pattern.kept
    return ("pattern",) if hasattr(pattern, "pattern") else ()


def kept_in(pattern: Pattern) -> tuple[Pattern, ...]:
    """The inner patterns of which every solution of a pattern contains a solution."""
    return tuple(getattr(pattern, name) for name in _kept(pattern))


def optional_in(pattern: Pattern) -> tuple[Pattern, ...]:
    """The inner pattern that may be missing beside the kept one, or must be."""
    if not isinstance(pattern, algebra.OfPatterns) or len(pattern.kept) != 1:
        return ()
    return (pattern.right if pattern.kept == ("left",) else pattern.left,)


def with_kept(pattern: Pattern, new: Iterable[Pattern]) -> Pattern:
    """The pattern with others in place of its :func:`kept_in`."""
    changed: dict[str, Any] = dict(zip(_kept(pattern), new, strict=True))
    return replace(pattern, **changed)


def depth(node: object) -> int:
    """The greatest depth of nested nodes, computed without recursion."""
    deepest, open_nodes = 0, [(node, 1)]
    while open_nodes:
        current, level = open_nodes.pop()
        if isinstance(current, tuple):
            open_nodes += ((each, level) for each in current)
        elif is_dataclass(current):
            deepest = max(deepest, level)
            open_nodes += ((child, level + 1) for child in children(current))
    return deepest


def variables(node: object) -> frozenset[Variable]:
    """The variables mentioned in a node, at any depth."""
    return frozenset(nodes(node, Variable))


def replaced(node: _Node, change: Callable[[Any], object | None]) -> _Node:
    """The node with each part replaced, from the top, for which ``change`` does not return None."""
    changed = change(node)
    if changed is not None:
        return cast(_Node, changed)
    new: list[object] = []
    for each in children(node):
        # No comprehension: it would take another frame at each level of a deep query.
        new.append(replaced(each, change))
    return renewed(node, new)


def rebuilt(node: _Node, change: Callable[[Any], Any]) -> _Node:
    """The node with ``change`` applied to every node of it, from the bottom up."""
    new: list[object] = []
    for each in children(node):
        new.append(rebuilt(each, change))
    made = renewed(node, new)
    return made if isinstance(made, tuple) else cast(_Node, change(made))


def renewed(node: _Node, new: Sequence[object]) -> _Node:
    """The node with ``new`` children, in the order of its fields; itself if they are the same."""
    if all(one is old for one, old in zip(new, children(node), strict=True)):
        return node
    if isinstance(node, tuple):
        return cast(_Node, tuple(new))
    names = _fields(type(node))  # type: ignore[arg-type]
    changed = dict(zip(names, new, strict=True))
    return cast(_Node, replace(cast(Any, node), **changed))


def aggregates(expression: object) -> Iterator[Aggregate]:
    """The aggregates of an expression, left to right, without those of patterns inside it."""
    if isinstance(expression, Aggregate):
        yield expression
    elif not isinstance(expression, algebra.Exists):
        for child in children(expression):
            yield from aggregates(child)


def visible(pattern: Pattern) -> tuple[Variable, ...]:
    """The variables that are in scope after a pattern, in order of appearance.

    Source: SPARQL 1.1 Query, section 18.2.1.
    """
    return tuple(dict.fromkeys(_visible(pattern)))


def _visible(pattern: Pattern) -> Iterator[Variable]:
    match pattern:
        case algebra.BGP(patterns):
            for triple in patterns:
                yield from triple_variables(triple)
        case algebra.Minus(left, _):
            yield from _visible(left)
        case algebra.Extend(inner, variable, _):
            yield from _visible(inner)
            yield variable
        case (
            algebra.Graph(Variable() as name, inner)
            | algebra.Service(Variable() as name, inner)
            | algebra.Window(Variable() as name, inner)
        ):
            yield name
            yield from _visible(inner)
        case algebra.Each(member, members, inner):
            if isinstance(members, Variable):
                yield members
            yield from (each for each in _visible(inner) if each != member)
        case algebra.Values(columns, _) | algebra.Project(_, columns):
            yield from columns
        case algebra.Group(_, keys, computed):
            yield from (key.variable for key in keys if key.variable is not None)
            yield from (variable for variable, _ in computed)
        case _:
            for each in patterns_in(pattern):
                yield from _visible(each)


def triple_variables(triple: TriplePattern) -> Iterator[Variable]:
    """The variables of a triple pattern, in its order; a variable may come twice."""
    for part in triple.parts:
        if isinstance(part, Variable):
            yield part
