"""Transitive properties, derived link by link.

Where ``?x p ?y . ?y p ?z`` makes ``?x p ?z``, a pair is derived once for each way to split it: n³
derivations in a chain of n. But each pair also follows from a pair and a link, which is a triple
with another reason than that rule: n². So the first premise is read from the links alone.

Source: the right-linear form of the transitive closure; Abiteboul, Hull, Vianu, "Foundations of
Databases", 1995, section 13.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.delta_join import DeltaJoin, Pattern
from sensorstream.network.recursion.derivation_rule import RuleClause
from sensorstream.network.recursion.derived_triples import Derived
from sensorstream.network.recursion.linear_rules import FlatClosure
from sensorstream.sparql.algebra import BGP, TriplePattern, Variable

_X: Final = Variable("x")
_Y: Final = Variable("y")
_Z: Final = Variable("z")


def transitive(clause: RuleClause) -> IRI | None:
    """The property that a clause says is transitive, if it says just that."""
    body = clause.body.pattern
    if not isinstance(body, BGP) or len(body.patterns) != 2 or len(clause.head) != 1:
        return None
    (head,) = clause.head
    x, z = head.subject, head.object
    for first, second in (body.patterns, body.patterns[::-1]):
        y, parts = first.object, {first.subject, first.object, second.object}
        if (first, second, head) == (
            TriplePattern(x, head.predicate, y),
            TriplePattern(y, head.predicate, z),
            TriplePattern(x, head.predicate, z),
        ):
            is_general = len(parts) == 3 and all(isinstance(each, Variable) for each in parts)
            return head.predicate if is_general and isinstance(head.predicate, IRI) else None
    return None


def _is_symmetric(property: IRI, linear: FlatClosure) -> bool:
    """Whether a rule says that a property is symmetric, for all of its triples."""
    for rule in linear.rules:
        one, other = rule.premise.subject, rule.premise.object
        if (
            rule.premise.predicate == property
            and isinstance(one, Variable)
            and isinstance(other, Variable)
            and one != other
            and not rule.conditions
            and TriplePattern(other, property, one) in rule.head
        ):
            return True
    return False


class Links:
    """The triples of transitive properties that hold for another reason than transitivity.

    A link is a triple that another writer has written, that ``is_written`` by the stratum for other
    rules, or both; or one that ``is_copied`` by equality, as that may be its only reason.
    :meth:`follow` brings the index up to date; a triple that is over-deleted is no link until it
    comes back. O(1) per change of a triple of these properties. Memory: the links, and a number for
    each that other rules derive.
    """

    def __init__(
        self,
        properties: Collection[IRI],
        derived: Derived,
        is_written: Callable[[Triple], bool],
        is_copied: Callable[[Triple], bool] | None,
    ) -> None:
        self.index = TripleIndex()
        self._properties = frozenset(properties)
        self._derived = derived
        self._is_written = is_written
        self._is_copied = is_copied
        # The number of solutions of other rules that derive a triple.
        self._others: dict[Triple, int] = {}
        self._touched = derived.follow(self._properties)

    def operator(
        self, network: Network, property: IRI, linear: FlatClosure | None
    ) -> tuple[Node, tuple[TriplePattern, ...]]:
        """The operator of solutions of a link and a pair, and the pairs that each makes.

        If the property is symmetric, too, each also makes the inverse pair, which follows from the
        inverse links.
        """

        def make() -> Node:
            first = Pattern(self.index, _X, property, _Y)
            second = Pattern(self._derived.kb.index, _Y, property, _Z)
            return DeltaJoin((first, second), (), ("x", "y", "z"), network.dispatcher)

        pairs: tuple[TriplePattern, ...] = (TriplePattern(_X, property, _Z),)
        if linear is not None and _is_symmetric(property, linear):
            pairs = (*pairs, TriplePattern(_Z, property, _X))
        return network.share(("links", property), make), pairs

    def counted(self, triples: Iterable[Triple], change: int) -> Iterator[Triple]:
        """Pass triples on, noting that other rules derive them, or no longer (``change`` is -1)."""
        properties, others = self._properties, self._others
        for triple in triples:
            if triple[1] in properties:
                count = others[triple] = others.get(triple, 0) + change
                if not count:
                    del others[triple]
                self._touched[triple] = None
            yield triple

    def follow(self) -> bool:
        """Take in changes; returns whether there were any."""
        if not self._touched:
            return False
        for triple in self._touched:
            is_link = self._is_link(triple)
            (self.index.add if is_link else self.index.discard)(triple)
        self._touched.clear()
        return True

    def _is_link(self, triple: Triple) -> bool:
        if triple not in self._derived.kb:
            return False
        if triple in self._others or not self._is_written(triple):
            return True
        if self._is_copied is not None and self._is_copied(triple):
            return True
        return self._derived.elsewhere(triple)
