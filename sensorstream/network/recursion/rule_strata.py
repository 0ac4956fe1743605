"""Stratification: the rules that are evaluated together, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sensorstream.errors import ProgramError
from sensorstream.model.frozen import frozen
from sensorstream.network.graph_components import strata
from sensorstream.network.recursion.derivation_rule import (
    ComputedSort,
    DerivationRule,
    RuleClause,
    clauses,
)
from sensorstream.network.recursion.equality_rules import EqualityRules, equality_among
from sensorstream.network.recursion.linear_rules import FlatClosure
from sensorstream.network.recursion.termination import endless
from sensorstream.network.recursion.triple_kinds import KindIndex, Read, reads, written


@frozen
class Layer:
    """Clauses that are evaluated together; ``recursive`` if they read what they write.

    ``equality`` are rules that belong to them, too, but are not evaluated.
    """

    clauses: tuple[RuleClause, ...]
    recursive: bool
    equality: EqualityRules | None = None

    def needs(self, rule: str) -> bool:
        """Whether a rule is one of equality, so that the layer would be another one without it."""
        return self.equality is not None and any(each.name == rule for each in self.equality.rules)


def stratified(rules: Iterable[DerivationRule], linear: FlatClosure | None = None) -> list[Layer]:
    """The clauses of all rules in layers, each after those that write what it reads.

    ``linear`` has the conclusions of each triple that a clause writes. Raises ProgramError if a
    head cannot be written; if a rule needs all triples of a kind that it helps to derive (a cycle
    through negation); or if new values might be computed from new values without end (see
    :func:`~sensorstream.network.recursion.termination.endless`).
    """
    rules = tuple(rules)
    equality = equality_among(rules, () if linear is None else linear.rules)
    found = [clause for rule in rules for clause in clauses(rule)]
    needed = {clause: list(reads(clause.body.pattern)) for clause in found}
    feeds = _feeds(found, needed, linear)
    # The clauses that feed each clause, which must be one stratum below it.
    sources: dict[RuleClause, dict[RuleClause, int]] = {clause: {} for clause in found}
    for source, fed in feeds.items():
        for reader in fed:
            sources[reader][source] = 1
    recursive = dict[RuleClause, bool]()

    def check(members: list[RuleClause]) -> None:
        circular = len(members) > 1 or members[0] in feeds[members[0]]
        recursive.update(dict.fromkeys(members, circular))
        if circular:
            _check(members, feeds, linear)

    layers: dict[tuple[int, bool], list[RuleClause]] = {}
    # Edges go to the needed clauses.
    for clause, level in strata(found, lambda each: sources[each].items(), check).items():
        layers.setdefault((level, recursive[clause]), []).append(clause)
    return [_layer(layers[key], key[1], equality) for key in sorted(layers)]


def _layer(members: list[RuleClause], recursive: bool, equality: EqualityRules | None) -> Layer:
    if equality is not None:
        rest = tuple(clause for clause in members if clause.rule not in equality.rules)
        if len(rest) < len(members):
            # A rule that reads and writes any triple is in one cycle with all that reads.
            return Layer(rest, recursive, equality)
    return Layer(tuple(members), recursive)


Feeds = dict[RuleClause, dict[RuleClause, Read]]
"""The clauses that read what each clause writes, each with such a read."""


def _feeds(
    found: Sequence[RuleClause],
    needed: Mapping[RuleClause, Sequence[Read]],
    linear: FlatClosure | None,
) -> Feeds:
    readers = KindIndex[tuple[RuleClause, Read]]()
    for clause, its_reads in needed.items():
        for read in its_reads:
            readers.add(read.kind, (clause, read))
    feeds: Feeds = {}
    for clause in found:
        fed = feeds[clause] = {}
        kinds = dict.fromkeys(map(written, clause.head))
        if linear is not None:
            kinds = {made: None for kind in kinds for made in sorted(linear.kinds(kind), key=str)}
        for kind in kinds:
            for reader, read in readers.meeting(kind):
                # A read that must wait for its stratum takes precedence over other reads.
                if reader not in fed or read.through:
                    fed[reader] = read
    return feeds


def _check(members: Sequence[RuleClause], feeds: Feeds, linear: FlatClosure | None) -> None:
    inside = set(members)
    for clause in members:
        for reader, read in feeds[clause].items():
            if reader in inside and read.through is not None:
                raise ProgramError(
                    f"rule {reader.rule.name} reads {read.kind} through {read.through}, but helps "
                    f"to derive it: {_circle(reader, clause, feeds)}; only plain patterns may be "
                    "recursive: let another rule derive what must be known first"
                )
    for clause, invention in endless(members, linear):
        reader = next(each for each in feeds[clause] if each in inside)
        values = (
            invention.sort.value
            if invention.sort is ComputedSort.NODE
            else f"?{invention.variable}"
        )
        way = (
            "keep the nodes that rules make out of the body, e.g. with FILTER(!isBlank(?x))"
            if invention.sort is ComputedSort.NODE
            else "compute the value in a rule that is not recursive"
        )
        raise ProgramError(
            f"rule {clause.rule.name} computes {values} and feeds itself: "
            f"{_circle(reader, clause, feeds)}; it might never end: {way}"
        )


def _circle(reader: RuleClause, writer: RuleClause, feeds: Feeds) -> str:
    """The rules on a shortest path from a reader to the writer that feeds it, and back."""
    came = {reader: reader}
    for clause in (queue := [reader]):
        for fed in feeds[clause]:
            if fed not in came:
                came[fed] = clause
                queue.append(fed)
    names = [reader.rule.name]
    at = writer
    while at is not reader:
        names.append(at.rule.name)
        at = came[at]
    return " → ".join((*names, reader.rule.name)[::-1])
