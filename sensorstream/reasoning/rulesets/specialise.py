"""What a known schema makes of rules: rules about streamed triples alone.

``?p rdfs:domain ?c . ?x ?p ?y`` becomes ``?x ex:equips ?y`` for each property with a domain. As the
schema is solved once, at run time only streamed triples join.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import BlankNode
from sensorstream.network.recursion.reads import reads
from sensorstream.network.recursion.rule import Clause, DerivationRule, clauses
from sensorstream.reasoning.rulesets.conjunction import changed, triples_of
from sensorstream.reasoning.rulesets.lists import unrolled
from sensorstream.reasoning.rulesets.renaming import renamed
from sensorstream.reasoning.rulesets.schema_vocabulary import is_schema
from sensorstream.reasoning.rulesets.solving import Binding, solutions
from sensorstream.reasoning.rulesets.substitution import Substitution, can_be_substituted
from sensorstream.sparql.algebra import TriplePattern
from sensorstream.sparql.scope import names_in


class Division:
    """A clause of a rule, taken apart into what the static graph answers and what streams.

    The rule has no lists; see :func:`.lists.unrolled`. ``schema`` are the patterns of the clause
    that the static graph answers, ``whole`` is the clause with these patterns.
    """

    __slots__ = ("_fits", "_substitution", "schema", "whole")

    def __init__(self, clause: Clause) -> None:
        body = clause.body.pattern
        asked = dict.fromkeys(filter(is_schema, triples_of(body)))
        self.schema: tuple[TriplePattern, ...] = tuple(asked)
        self.whole = DerivationRule(clause.rule.name, clause.head, body)
        rest = changed(body, lambda triple: None if triple in asked else triple)
        self._substitution = Substitution(replace(self.whole, body=rest), names_in(self.schema))
        # Whether terms may be substituted, by the variables that stand for blank nodes.
        self._fits: dict[frozenset[str], bool] = {}

    def instance(self, binding: Binding) -> DerivationRule | None:
        """The rule for one solution of the schema; None: it says nothing about what streams.

        Triples of the head that the body requires are left out.
        """
        blank = frozenset(name for name, term in binding.items() if isinstance(term, BlankNode))
        if blank not in self._fits:
            self._fits[blank] = can_be_substituted(self.whole.body, binding.keys(), blank)
        if not self._fits[blank]:
            return self.whole
        made = self._substitution(binding)
        if made is None:
            return None
        premises = frozenset(triples_of(made.body))
        head = tuple(triple for triple in made.head if triple not in premises)
        if not head or (not premises and next(reads(made.body), None) is None):
            return None
        return made if len(head) == len(made.head) else replace(made, head=head)


def divided(rule: DerivationRule) -> list[Division]:
    """The clauses of a rule, taken apart."""
    return [Division(clause) for clause in clauses(rule)]


def specialise(rules: Iterable[DerivationRule], index: TripleIndex) -> list[DerivationRule]:
    """The rules about what streams, for the schema in an index: the static graph and its closure.

    Together with what the index holds they conclude from streamed triples what the rules conclude,
    as long as no triple of :func:`.schema_vocabulary.schema_kinds` streams or is concluded anew.
    Equal rules are one. If several rules come from one, their names are numbered:
    :func:`standard_name` is the way back.

    Raises:
        ProgramError: a list does not fit; see :func:`.lists.unrolled`.
    """
    kept: dict[object, DerivationRule] = {}
    for rule in unrolled(rules, index):
        for division in divided(rule):
            for binding in solutions(division.schema, index):
                made = division.instance(binding)
                if made is not None:
                    kept.setdefault(renamed(made), made)
    return numbered(kept.values())


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
