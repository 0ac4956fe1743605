"""Blank nodes in the conclusions of rules: one for each solution of the body.

As in SPARQL Update (section 4.1.3) each solution has its own node for each label. Its name is
computed from the rule and the solution, so that the node goes when the solution does, and is the
same one after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from sensorstream.model.terms import BlankNode, Literal
from sensorstream.network.expressions.made_nodes import made_node
from sensorstream.network.recursion.rule import DerivationRule, node_of
from sensorstream.sparql.algebra import BGP, Each, Extend, Pattern, TriplePattern, Variable
from sensorstream.sparql.scope import in_scope, names_in
from sensorstream.sparql.walk import nodes, replaced

_Node = TypeVar("_Node")


def with_new_nodes(rule: DerivationRule) -> DerivationRule:
    """The rule with a computed variable in the place of each blank node of its head.

    The variables of a solution are those that SELECT * would have, and those of EACH that stand
    outside of it, too. Rules that differ in names of variables alone make the same nodes.
    """
    labels = [part for part in nodes(rule.head) if isinstance(part, BlankNode)]
    if not labels:
        return rule
    new = {label: Variable(f".new{place}") for place, label in enumerate(dict.fromkeys(labels))}
    head = _with(rule.head, new.get)
    solution = [
        name
        for name in _solution(rule.body) | (in_scope(rule.body) & names_in(head))
        if name.isidentifier()
    ]
    numbered = _numbered(replace(rule, head=head))
    key = _digest(repr((numbered.head, numbered.body)))
    names = sorted(solution)
    body = rule.body
    for place, variable in enumerate(new.values()):
        body = Extend(body, variable, node_of(f"{key} {place}", names))
    return DerivationRule(rule.name, head, body)


def stated_nodes(triples: Iterable[TriplePattern]) -> tuple[TriplePattern, ...]:
    """Triples that hold in any case, with nodes of their own in the place of blank ones."""
    stated = tuple(triples)
    labels = dict.fromkeys(part for part in nodes(stated) if isinstance(part, BlankNode))
    places = {label: BlankNode(f"_:{place}") for place, label in enumerate(labels)}
    key = _digest(repr(_with(stated, places.get)))
    made = {label: made_node(Literal(key), Literal(place)) for label, place in places.items()}
    return _with(stated, made.get)


def _solution(body: Pattern) -> frozenset[str]:
    """The variables of a body that are not of EACH alone."""
    plain = replaced(body, lambda part: BGP() if isinstance(part, Each) else None)
    ends = (
        end
        for part in nodes(body)
        if isinstance(part, Each)
        for end in (part.members, part.first, part.last)
    )
    return in_scope(plain) | names_in(tuple(ends))


def _numbered(rule: DerivationRule) -> DerivationRule:
    names: dict[object, Variable] = {}

    def new(part: object) -> Variable | None:
        if isinstance(part, Variable | BlankNode):
            return names.setdefault(part, Variable(str(len(names))))
        return None

    return replace(rule, name="", head=replaced(rule.head, new), body=replaced(rule.body, new))


def _with(node: _Node, terms: Callable[[BlankNode], object | None]) -> _Node:
    return replaced(node, lambda part: terms(part) if isinstance(part, BlankNode) else None)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
