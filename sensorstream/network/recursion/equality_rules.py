"""Recognition of the rules that say that terms are equal (``owl:sameAs``), by their content.

:class:`~sensorstream.network.recursion.equality.Equality` maintains their conclusions instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final

from sensorstream.model import owl
from sensorstream.model.frozen import frozen
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.linear_rules import LinearRule
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, TriplePattern, Variable

_S, _P, _O, _T = map(Variable, "spot")
_SAME: Final = TriplePattern(_S, owl.SAME_AS, _T)


def _rule(name: str, head: TriplePattern, *body: TriplePattern) -> DerivationRule:
    return DerivationRule(name, (head,), algebra.BGP(body))


_STATED: Final = TriplePattern(_S, _P, _O)
_SYMMETRY: Final = _rule("eq-sym", TriplePattern(_T, owl.SAME_AS, _S), _SAME)
_TRANSITIVITY: Final = _rule(
    "eq-trans", TriplePattern(_S, owl.SAME_AS, _O), _SAME, TriplePattern(_T, owl.SAME_AS, _O)
)
_SUBJECTS: Final = _rule("eq-rep-s", TriplePattern(_T, _P, _O), _SAME, _STATED)
_PROPERTIES: Final = _rule(
    "eq-rep-p", TriplePattern(_S, _T, _O), TriplePattern(_P, owl.SAME_AS, _T), _STATED
)
_OBJECTS: Final = _rule(
    "eq-rep-o", TriplePattern(_S, _P, _T), TriplePattern(_O, owl.SAME_AS, _T), _STATED
)
EQUALITY: Final = (_SYMMETRY, _TRANSITIVITY, _SUBJECTS, _PROPERTIES, _OBJECTS)
"""``owl:sameAs`` is symmetric and transitive, and what is the same has the same triples (OWL 2
Profiles, Table 4, without eq-ref). Where no properties are the same, the fourth may be left out."""
_ENDS: Final = _rule(
    "rdfp11",
    TriplePattern(_T, _P, Variable("u")),
    _STATED,
    _SAME,
    TriplePattern(_O, owl.SAME_AS, Variable("u")),
)
_ITSELF: Final = (
    _rule("rdfp5a", TriplePattern(_S, owl.SAME_AS, _S), _STATED),
    _rule("rdfp5b", TriplePattern(_O, owl.SAME_AS, _O), _STATED),
)
"""The rules that pD* needs beside rdfp11 for what eq-rep-s and eq-rep-o do: each end that is no
literal is the same as itself (ter Horst, 2005, Table 7)."""
_UNEQUAL: Final[Mapping[str, tuple[Variable, Variable]]] = {
    _SYMMETRY.name: (_S, _T),
    _SUBJECTS.name: (_S, _T),
    _PROPERTIES.name: (_P, _T),
    _OBJECTS.name: (_O, _T),
}
"""Variables that a rule may demand to be different: otherwise its conclusion is its premise."""


@frozen
class EqualityRules:
    """The rules that :class:`~sensorstream.network.recursion.equality.Equality` replaces.

    ``name`` is that of the rule for transitivity. ``properties`` tells whether equal properties are
    among what has the same triples, ``literals`` whether triples with literals are.
    """

    rules: tuple[DerivationRule, ...]
    name: str
    properties: bool
    literals: bool


def equality_among(
    rules: Iterable[DerivationRule], linear: Iterable[LinearRule] = ()
) -> EqualityRules | None:
    """The rules that say what equality is; None if any but eq-rep-p is missing.

    The conclusions of ``linear`` rules hold beside them.
    """
    found: dict[str, list[DerivationRule]] = {}
    for rule in rules:
        if _mentions_equality(rule.head) or _mentions_equality(_patterns(rule.body)[0]):
            for standard in (*EQUALITY, _ENDS, *_ITSELF):
                if _says(rule, standard):
                    found.setdefault(standard.name, []).append(rule)
    for each in linear:
        if not each.conditions and _mentions_equality(each.head):
            for standard in _ITSELF:
                if _says(
                    DerivationRule(each.name, each.head, algebra.BGP((each.premise,))), standard
                ):
                    found.setdefault(standard.name, [])
    literals = {_SUBJECTS.name, _OBJECTS.name} <= found.keys()
    properties = _PROPERTIES.name in found
    ends = (_SUBJECTS, _OBJECTS) if literals else (_ENDS, *_ITSELF)
    if not found.keys() >= {each.name for each in (_SYMMETRY, _TRANSITIVITY, *ends)}:
        return None
    if properties and not literals:
        return None
    kept = {each.name for each in _ITSELF}
    return EqualityRules(
        tuple(rule for name, same in found.items() if name not in kept for rule in same),
        found[_TRANSITIVITY.name][0].name,
        properties,
        literals,
    )


def apart(
    rules: Iterable[DerivationRule],
) -> tuple[tuple[DerivationRule, ...], list[DerivationRule]]:
    """The rules that say what equality is, and all others."""
    given = tuple(rules)
    equality = equality_among(given)
    together = () if equality is None else equality.rules
    return together, [rule for rule in given if rule not in together]


def _mentions_equality(triples: Iterable[TriplePattern]) -> bool:
    return any(each.predicate == owl.SAME_AS for each in triples)


def _patterns(body: Pattern) -> tuple[tuple[TriplePattern, ...], list[Expression]]:
    """The triples and conditions of a body that has nothing else; else neither."""
    conditions = []
    while isinstance(body, algebra.Filter):
        conditions.append(body.condition)
        body = body.pattern
    return (body.patterns, conditions) if isinstance(body, algebra.BGP) else ((), [])


def _says(rule: DerivationRule, standard: DerivationRule) -> bool:
    """Whether two rules are equal but for names, order and conditions that change nothing."""
    patterns, conditions = _patterns(rule.body)
    expected = _patterns(standard.body)[0]
    if len(rule.head) != 1 or len(patterns) != len(expected):
        return False
    return any(
        _are_idle(conditions, _UNEQUAL.get(standard.name), names)
        for order in permutations(patterns)
        for names in _names((*standard.head, *expected), (*rule.head, *order))
    )


def _names(
    expected: Sequence[TriplePattern], given: Sequence[TriplePattern]
) -> Iterator[dict[object, object]]:
    """The parts of triples with their names in other triples, if both say the same."""
    names: dict[object, object] = {}
    for one, other in zip(expected, given, strict=True):
        for part, called in zip(one.parts, other.parts, strict=True):
            if isinstance(part, Variable) != isinstance(called, Variable):
                return
            if names.setdefault(part, called) != called:
                return
    variables = [called for part, called in names.items() if isinstance(part, Variable)]
    if len(set(variables)) == len(variables) and names[owl.SAME_AS] == owl.SAME_AS:
        yield names


def _are_idle(
    conditions: Iterable[Expression],
    pair: tuple[Variable, Variable] | None,
    names: Mapping[object, object],
) -> bool:
    """Whether each condition demands that a pair of variables be different, and no more."""
    expected = None if pair is None else {names[each] for each in pair}
    for condition in conditions:
        match condition:
            case algebra.Not(algebra.Call("SAMETERM", (left, right))) | algebra.Comparison(
                "!=", left, right
            ):
                if {left, right} != expected:
                    return False
            case _:
                return False
    return True
