"""What a known schema makes of rules: rules about streamed triples alone.

``?p rdfs:domain ?c . ?x ?p ?y`` becomes ``?x ex:equips ?y`` for each property with a domain. As the
schema is solved once, at run time only streamed triples join.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import BlankNode
from sensorstream.network.recursion.reads import reads
from sensorstream.network.recursion.rule import DerivationRule, clauses
from sensorstream.reasoning.rulesets.conjunction import changed, triples_of
from sensorstream.reasoning.rulesets.lists import unrolled
from sensorstream.reasoning.rulesets.renaming import renamed
from sensorstream.reasoning.rulesets.schema_vocabulary import is_schema
from sensorstream.reasoning.rulesets.solving import Binding, solutions
from sensorstream.reasoning.rulesets.substitution import can_be_substituted, substituted
from sensorstream.sparql.algebra import TriplePattern


@dataclass(frozen=True, slots=True)
class Division:
    """A clause of a rule, taken apart: ``schema`` is what the static graph answers.

    ``rule`` is the clause without these patterns, ``whole`` the clause with them.
    """

    schema: tuple[TriplePattern, ...]
    rule: DerivationRule
    whole: DerivationRule
    # Whether terms may be substituted, by the variables that stand for blank nodes.
    _fits: dict[frozenset[str], bool] = field(default_factory=dict, compare=False, repr=False)

    def instance(self, binding: Binding) -> DerivationRule | None:
        """The rule for one solution of the schema; None: it says nothing about what streams.

        Triples of the head that the body requires are left out.
        """
        blank = frozenset(name for name, term in binding.items() if isinstance(term, BlankNode))
        if blank not in self._fits:
            self._fits[blank] = can_be_substituted(self.whole.body, binding.keys(), blank)
        if not self._fits[blank]:
            return self.whole
        made = substituted(self.rule, binding)
        if made is None:
            return None
        premises = frozenset(triples_of(made.body))
        head = tuple(triple for triple in made.head if triple not in premises)
        if not head or next(reads(made.body), None) is None:
            return None
        return replace(made, head=head)


def divided(rule: DerivationRule) -> Iterator[Division]:
    """The clauses of a rule without lists; see :func:`.lists.unrolled`."""
    for clause in clauses(rule):
        body = clause.body.pattern
        schema = tuple(dict.fromkeys(filter(is_schema, triples_of(body))))
        asked = frozenset(schema)
        yield Division(
            schema,
            DerivationRule(
                rule.name,
                clause.head,
                changed(body, lambda triple, asked=asked: None if triple in asked else triple),  # type: ignore[misc]
            ),
            DerivationRule(rule.name, clause.head, body),
        )


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
