"""What is known of individuals that were shed: how many, when, and how their numbers lay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from sensorstream.engine.filters import number_of
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.model.xsd import XSD_DECIMAL, XSD_INTEGER

VOCABULARY: Final = "urn:sensorstream:vocabulary#"
SYNOPSIS: Final = IRI(f"{VOCABULARY}Synopsis")
_OF: Final = IRI(f"{VOCABULARY}of")
_COUNT: Final = IRI(f"{VOCABULARY}count")
_FROM: Final = IRI(f"{VOCABULARY}from")
_TO: Final = IRI(f"{VOCABULARY}to")
_SUMMARY: Final = IRI(f"{VOCABULARY}summary")
_PROPERTY: Final = IRI(f"{VOCABULARY}property")
_LEAST: Final = IRI(f"{VOCABULARY}min")
_GREATEST: Final = IRI(f"{VOCABULARY}max")
_MEAN: Final = IRI(f"{VOCABULARY}mean")
_SUM: Final = IRI(f"{VOCABULARY}sum")
_MEAN_DIGITS: Final = Context(prec=15)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Some numbers: how many, the least, the greatest and their sum, exactly."""

    count: int
    least: Fraction
    greatest: Fraction
    total: Fraction

    @classmethod
    def of(cls, number: Fraction) -> Numbers:
        """One number."""
        return cls(1, number, number, number)

    def with_(self, other: Numbers) -> Numbers:
        """These and others."""
        return Numbers(
            self.count + other.count,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            self.total + other.total,
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """Individuals of one class: how many, the span of their times, their numbers by property."""

    count: int
    start: Instant
    end: Instant
    numbers: Mapping[IRI, Numbers] = field(default_factory=dict)

    @classmethod
    def of(cls, name: Subject, said: Iterable[Triple], time: Instant) -> Summary:
        """What one message says of one individual."""
        numbers: dict[IRI, Numbers] = {}
        for subject, predicate, value in said:
            number = number_of(value) if subject == name else None
            if number is not None:
                _add(numbers, predicate, Numbers.of(number))
        return cls(1, time, time, numbers)

    def with_(self, other: Summary) -> Summary:
        """These and others."""
        numbers = dict(self.numbers)
        for predicate, more in other.numbers.items():
            _add(numbers, predicate, more)
        return Summary(
            self.count + other.count,
            min(self.start, other.start),
            max(self.end, other.end),
            numbers,
        )

    def event(self, about: IRI, message: str, number: int, line: Timeline) -> Event:
        """The individual that stands for them in the window, by the message that closes it."""
        name = IRI(f"urn:sensorstream:synopsis:{message}-{number}")
        triples: list[Triple] = [
            (name, RDF_TYPE, SYNOPSIS),
            (name, _OF, about),
            (name, _COUNT, _whole(self.count)),
            (name, _FROM, line.literal(self.start)),
            (name, _TO, line.literal(self.end)),
        ]
        for place, (predicate, numbers) in enumerate(self.numbers.items(), 1):
            node = BlankNode(f"_:{message}s{number}-{place}")
            mean = numbers.total / numbers.count
            triples += [
                (name, _SUMMARY, node),
                (node, _PROPERTY, predicate),
                (node, _COUNT, _whole(numbers.count)),
                (node, _LEAST, _decimal(numbers.least)),
                (node, _GREATEST, _decimal(numbers.greatest)),
                (node, _SUM, _decimal(numbers.total)),
                (node, _MEAN, _rounded(mean)),
            ]
        return Event(tuple(triples), self.end, message)


def _add(numbers: dict[IRI, Numbers], predicate: IRI, more: Numbers) -> None:
    known = numbers.get(predicate)
    numbers[predicate] = more if known is None else known.with_(more)


def _whole(number: int) -> Literal:
    return Literal(str(number), XSD_INTEGER)


def _decimal(number: Fraction) -> Literal:
    # Sums of decimals are decimals: the denominator has no factors but 2 and 5.
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    whole = str(abs(int(number * 10**digits))).rjust(digits + 1, "0")
    text = f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
    return Literal(f"-{text}" if number < 0 else text, XSD_DECIMAL)


def _rounded(number: Fraction) -> Literal:
    mean = _MEAN_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Literal(f"{mean:f}", XSD_DECIMAL)
