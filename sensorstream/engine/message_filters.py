"""Filters before the window, which keep out what does not concern a deployment.

A filter looks at one individual of a message at a time, as the window would get it: at its classes,
those asserted in the message and those known of it already, and at the values in the message. It
compares them with the window itself, so it has no memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from sensorstream.errors import TermError
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Literal, Subject, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.model.xsd import NUMERIC_TYPES
from sensorstream.window.window import Window


@frozen
class FilterCondition:
    """A condition on the values of ``properties``; all parts of it must hold.

    ``below`` and ``above`` hold where a value lies outside of them, on either side; ``equal`` where
    a value is that text, or that number. ``band`` holds where every value differs from the one in
    the window by no more than that, if the individual appeared there less than ``within`` ago
    (None: whenever that was).
    """

    properties: frozenset[IRI]
    below: Fraction | None = None
    above: Fraction | None = None
    equal: str | None = None
    band: Fraction | None = None
    within: int | None = None

    def holds(self, name: Subject, said: Sequence[Triple], time: Instant, window: Window) -> bool:
        """Whether the condition holds for the statements of a message about an individual."""
        values = [t for t in said if t[0] == name and t[1] in self.properties]
        if not values:
            return False
        if (self.below, self.above) != (None, None) and not any(
            self._outside(value) for _, _, value in values
        ):
            return False
        if self.equal is not None and not any(same(value, self.equal) for _, _, value in values):
            return False
        return self.band is None or self._unchanged(name, values, time, window)

    def _outside(self, value: Term) -> bool:
        number = number_of(value)
        return number is not None and (
            (self.below is not None and number < self.below)
            or (self.above is not None and number > self.above)
        )

    def _unchanged(
        self, name: Subject, values: Sequence[Triple], time: Instant, window: Window
    ) -> bool:
        known = window.get(name)
        if known is None or (self.within is not None and time - known.time >= self.within):
            return False
        return all(
            any(
                self._near(value, before[2])
                for before in known.statements
                if before[0] == name and before[1] == predicate
            )
            for _, predicate, value in values
        )

    def _near(self, one: Term, other: Term) -> bool:
        if one == other:
            return True
        numbers = number_of(one), number_of(other)
        if numbers[0] is None or numbers[1] is None or self.band is None:
            return False
        return abs(numbers[0] - numbers[1]) <= self.band


@frozen
class EntryFilter:
    """A filter that keeps individuals of ``classes`` out of the window: those that meet the
    condition, or with ``inverse`` those that do not; without a condition all. ``store`` says
    whether history gets them.
    """

    name: str
    classes: frozenset[IRI]
    condition: FilterCondition | None
    inverse: bool
    store: bool

    def drops(
        self,
        name: Subject,
        kinds: frozenset[Term],
        said: Sequence[Triple],
        time: Instant,
        window: Window,
    ) -> bool:
        """Whether an individual stays out, by what a message says of it."""
        if not kinds & self.classes:
            return False
        if self.condition is None:
            return True
        return self.condition.holds(name, said, time, window) != self.inverse


def kinds_of(name: Subject, said: Iterable[Triple], kb: KnowledgeBase) -> frozenset[Term]:
    """The classes of an individual: those a message gives it, and those that are known."""
    return frozenset(
        value
        for triples in (said, kb.match(name, rdf.TYPE, None))
        for subject, predicate, value in triples
        if subject == name and predicate == rdf.TYPE
    )


def number_of(value: Term) -> Fraction | None:
    """The number of a numeric literal, exactly; None for any other term."""
    if not isinstance(value, Literal) or value.datatype not in NUMERIC_TYPES:
        return None
    try:
        number = value.value
        # The decimal text of a float is meant, not the dyadic fraction next to it.
        return Fraction(Decimal(repr(number)) if isinstance(number, float) else number)  # type: ignore[arg-type]
    except (TermError, ValueError, OverflowError):
        return None


def same(value: Term, text: str) -> bool:
    """Whether a term is the number, lexical form or IRI of a text."""
    number = number_of(value)
    if number is not None:
        try:
            return number == Fraction(text)
        except ValueError:
            return False
    return (value.lexical if isinstance(value, Literal) else str(value)) == text
