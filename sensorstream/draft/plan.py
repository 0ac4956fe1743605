"""From the shape of a message to individuals: what is one, its name, its time, its properties.

An individual is the root, whatever occurs several times with something inside, and whatever has an
identifier. Elements that only wrap others are seen through: what they hold belongs to
the individual around them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sensorstream.draft.naming import Names, Terms, class_name, property_name, rule_name
from sensorstream.draft.ranges import range_of
from sensorstream.draft.shape import Kind, Tag, Values
from sensorstream.model.datatypes import XSD_DATE_TIME, XSD_INTEGER, XSD_STRING
from sensorstream.model.timeline import Timeline

PART_OF: Final = "partOf"
_ID: Final = re.compile(r"(?:|.*[-_.])(?:id|identifier|uuid|guid)|.*[a-z](?:Id|ID|Identifier)")
_LIKE_AN_ID: Final = re.compile(
    r"(?i:(?:.*[-_.])?(?:ref|code|number|no|nr|key|name|index|urn))|.*Ref"
)
_CODE: Final = re.compile(rf"{_ID.pattern}|(?i:ref|code)|.*[a-z](?:Ref|Code)")
_TIME: Final = re.compile(r"(?i)time|date|stamp|sent|when|instant")
_COUNTED_TIME: Final = re.compile(r"(?i)(?:.*[a-z])?(?:time|timestamp|stamp)")
_LONGEST_ID: Final = 200


@dataclass(frozen=True, slots=True)
class Place:
    """Where values stand, seen from their individual: ``steps`` down, then an attribute or text."""

    steps: tuple[Kind, ...]
    attribute: Tag | None
    values: Values
    always: bool
    """Whether each individual of the kind has exactly one."""

    @property
    def local(self) -> str:
        """The last name of the path; "" for the text of the individual itself."""
        if self.attribute is not None:
            return self.attribute[1]
        return self.steps[-1].tag[1] if self.steps else ""


@dataclass(slots=True, eq=False)
class Drafted:
    """A kind of individual, and the mapping rule that makes it."""

    kind: Kind
    around: Drafted | None
    steps: tuple[Kind, ...]
    """The elements from the individual around it down to this one."""
    rule: str
    variable: str
    class_name: str
    places: list[Place] = field(default_factory=list)
    properties: list[tuple[str, Place]] = field(default_factory=list)
    identifier: Place | None = None
    alone: bool = False
    """Whether the identifier tells all of them apart in the message."""
    time: tuple[Drafted, Place] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drafted for a message; ``ranges`` are those of the datatype properties, by name."""

    individuals: tuple[Drafted, ...]
    ranges: Mapping[str, str]
    timeline: Timeline
    part_of: str


def plan_of(root: Kind) -> Plan:
    """The individuals of a message, and their names."""
    individuals = list(_individuals(root))
    timeline = _timeline(individuals)
    for each in individuals:
        each.identifier, each.alone = _identifier(each)
        each.time = _time(each, timeline)
    terms = Terms()
    part_of = terms.name("link", PART_OF, PART_OF)
    for each in individuals:
        each.class_name = terms.name("class", each.kind.tag, class_name(each.kind.tag[1]))
    seen: dict[str, list[str]] = {}
    codes: dict[str, bool] = {}
    for each in individuals:
        for wanted, place in _wanted(each):
            name = terms.name("property", wanted, wanted)
            each.properties.append((name, place))
            seen.setdefault(name, []).extend(place.values.seen)
            codes[name] = codes.get(name, True) and bool(_CODE.fullmatch(place.local))
    # Nobody calculates with identifiers, even if they are numbers today.
    ranges = {
        name: XSD_STRING if codes[name] else range_of(values) for name, values in seen.items()
    }
    if individuals[0].identifier is None and individuals[0].time is not None:
        individuals[0].identifier = individuals[0].time[1]
    return Plan(tuple(individuals), ranges, timeline, part_of)


def _individuals(root: Kind) -> Iterator[Drafted]:
    rules, variables = Names(), Names()
    waiting: list[tuple[Kind, Drafted | None, tuple[Kind, ...]]] = [(root, None, ())]
    while waiting:
        kind, around, steps = waiting.pop()
        local = kind.tag[1]
        variable = variables.new(property_name(local))
        drafted = Drafted(kind, around, steps, rules.new(rule_name(local)), variable, "")
        below: list[tuple[Kind, Drafted | None, tuple[Kind, ...]]] = []
        _collect(drafted, below)
        waiting.extend(reversed(below))
        yield drafted


def _collect(drafted: Drafted, below: list[tuple[Kind, Drafted | None, tuple[Kind, ...]]]) -> None:
    """The places of an individual, and the individuals directly below it."""
    waiting: list[tuple[Kind, tuple[Kind, ...], bool]] = [(drafted.kind, (), True)]
    while waiting:
        kind, steps, always = waiting.pop()
        for tag, values in kind.attributes.items():
            if values.seen:
                drafted.places.append(Place(steps, tag, values, always and values.always))
        if kind.text.seen:
            drafted.places.append(Place(steps, None, kind.text, always and kind.text.always))
        further = []
        for child in kind.children.values():
            path = (*steps, child)
            if _is_individual(child):
                below.append((child, drafted, path))
            else:
                further.append((child, path, always and child.always))
        waiting.extend(reversed(further))


def _is_individual(kind: Kind) -> bool:
    if kind.is_value:
        return False
    if kind.most > 1:
        return True
    return any(_ID.fullmatch(tag[1]) and values.always for tag, values in kind.attributes.items())


def _identifier(drafted: Drafted) -> tuple[Place | None, bool]:
    """What tells the individuals of a kind apart, and whether it does so in the whole message."""
    count = drafted.kind.count
    found: list[tuple[tuple[bool, bool, int, bool], int, Place, bool]] = []
    for number, place in enumerate(drafted.places):
        strong = bool(_ID.fullmatch(place.local))
        if not place.always or not (strong or _LIKE_AN_ID.fullmatch(place.local)):
            continue
        if max(map(len, place.values.seen)) > _LONGEST_ID:
            continue
        alone = len(set(place.values.seen)) == count
        if alone or strong:
            # Of VehicleRef and LineRef, the first is that of a VehicleActivity.
            akin = _first_word(place.local) == _first_word(drafted.kind.tag[1])
            rank = (not strong, not akin, len(place.steps), place.attribute is None)
            found.append((rank, number, place, alone))
    if not found or (drafted.around is None and found and min(found)[0][0]):
        return None, False
    _, _, place, alone = min(found, key=lambda each: each[:2])
    return place, alone


def _first_word(local: str) -> str:
    return rule_name(local).split("-")[0]


def _timeline(individuals: list[Drafted]) -> Timeline:
    places = [place for each in individuals for place in each.places if place.always]
    if any(range_of(place.values.seen) == XSD_DATE_TIME for place in places):
        return Timeline.DATETIME
    if any(_is_counted_time(place) for place in places):
        return Timeline.INTEGER
    return Timeline.DATETIME


def _is_counted_time(place: Place) -> bool:
    names = [place.local, *(step.tag[1] for step in place.steps[-1:])]
    named = any(_COUNTED_TIME.fullmatch(name) for name in names)
    return named and range_of(place.values.seen) == XSD_INTEGER


def _time(drafted: Drafted, timeline: Timeline) -> tuple[Drafted, Place] | None:
    """Where the time of an individual stands: in itself, or in those around it."""
    at: Drafted | None = drafted
    while at is not None:
        fits = [
            place
            for place in at.places
            if place.always
            and (
                _is_counted_time(place)
                if timeline is Timeline.INTEGER
                else range_of(place.values.seen) == XSD_DATE_TIME
            )
        ]
        if fits:
            named = [place for place in fits if _TIME.search(place.local)]
            return at, (named or fits)[0]
        at = at.around
    return None


def _wanted(drafted: Drafted) -> list[tuple[str, Place]]:
    """The places of an individual with names that tell them apart."""
    own = "text" if drafted.kind.children else "value"
    short = [property_name(place.local or own) for place in drafted.places]
    counts = Counter(short)
    names = Names()
    found = []
    for name, place in zip(short, drafted.places, strict=True):
        wanted = name
        if counts[name] > 1 and place.steps:
            inner = place.steps if place.attribute is not None else place.steps[:-1]
            wanted = property_name(*(step.tag[1] for step in inner[-1:]), place.local)
        found.append((names.new(wanted), place))
    return found
