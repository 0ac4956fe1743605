"""The plan of a draft: the individuals in messages of a shape, their names, times and properties.

An individual is a root, any element that occurs several times and holds others, and any with an
identifier. Its key is found, or guessed and then reported as a guess. Elements that only wrap
others are skipped: their content belongs to the individual around them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sensorstream.cli.draft.datatype_guesses import pictures_of, range_of
from sensorstream.cli.draft.draft_names import DraftNames, class_name, property_name, rule_name
from sensorstream.cli.draft.message_shape import ElementKind, Tag, ValuesAtPlace
from sensorstream.model import xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Timeline

PART_OF: Final = "partOf"
_ID: Final = re.compile(r"(?:|.*[-_.])(?:id|identifier|uuid|guid)|.*[a-z](?:Id|ID|Identifier)")
_LIKE_AN_ID: Final = re.compile(
    r"(?i:(?:.*[-_.])?(?:ref|code|number|no|nr|key|name|index|urn))|.*Ref"
)
_CODE: Final = re.compile(rf"{_ID.pattern}|(?i:ref|code)|.*[a-z](?:Ref|Code)")
_THING: Final = re.compile(
    r"(?i).*(?:station|sensor|device|vehicle|node|site|source|sender|meter|machine|gateway|probe)"
)
_TIME: Final = re.compile(r"(?i)time|date|stamp|sent|when|instant")
_OF_A_READING: Final = re.compile(
    r"(?i)sent|creat|record|observ|measur|sampl|stamp|result|phenomenon|effective"
)
_OF_ANOTHER: Final = re.compile(r"(?i)birth|dob$|death|deceas|expir|install|manufactur|calibrat")
_COUNTED_TIME: Final = re.compile(r"(?i)(?:.*[a-z])?(?:time|timestamp|stamp)")
_LONGEST_ID: Final = 200


@frozen
class ValueSpot:
    """The place of values below their individual: ``steps`` down, then an attribute or text."""

    steps: tuple[ElementKind, ...]
    attribute: Tag | None
    values: ValuesAtPlace
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

    kind: ElementKind
    around: Drafted | None
    steps: tuple[ElementKind, ...]
    """The elements from the individual around it down to this one."""
    rule: str
    variable: str
    class_name: str
    places: list[ValueSpot] = field(default_factory=list)
    properties: list[tuple[str, ValueSpot]] = field(default_factory=list)
    identifier: tuple[ValueSpot, ...] = ()
    alone: bool = False
    """Whether the identifier tells all of them apart in each message."""
    guess: str = ""
    """The reason why the identifier may be another one; "": its name says that it is one."""
    time: tuple[Drafted, ValueSpot] | None = None
    other_times: tuple[ValueSpot, ...] = ()

    def outward(self) -> Iterator[Drafted]:
        """Yield this individual and those around it, up to the root."""
        yield self
        if self.around is not None:
            yield from self.around.outward()


@frozen
class RulesDraft:
    """The plan for messages; ``ranges`` are those of the datatype properties, by name."""

    individuals: tuple[Drafted, ...]
    ranges: Mapping[str, str]
    timeline: Timeline
    part_of: str


def plan_of(roots: Iterable[ElementKind]) -> RulesDraft:
    """The individuals of messages, and their names."""
    rules, variables = DraftNames(), DraftNames()
    individuals = [each for root in roots for each in _individuals(root, rules, variables)]
    timeline = _timeline(individuals)
    for each in individuals:
        _set_time(each, timeline)
        _set_identifier(each)
    terms = DraftNames()
    part_of = terms.of("link", PART_OF, PART_OF)
    for each in individuals:
        each.class_name = terms.of("class", each.kind.tag, class_name(each.kind.tag[1]))
    seen: dict[str, list[str]] = {}
    codes: dict[str, bool] = {}
    for each in individuals:
        for wanted, place in _wanted(each):
            name = terms.of("property", wanted, wanted)
            each.properties.append((name, place))
            seen.setdefault(name, []).extend(place.values.seen)
            codes[name] = codes.get(name, True) and bool(_CODE.fullmatch(place.local))
    # Identifiers are texts, even if all of them are numbers today: nobody calculates with them.
    ranges = {
        name: xsd.STRING if codes[name] else range_of(values) for name, values in seen.items()
    }
    return RulesDraft(tuple(individuals), ranges, timeline, part_of)


def _individuals(
    kind: ElementKind,
    rules: DraftNames,
    variables: DraftNames,
    around: Drafted | None = None,
    steps: tuple[ElementKind, ...] = (),
) -> Iterator[Drafted]:
    """The individual that a kind is, and those below it."""
    local = kind.tag[1]
    variable = variables.new(property_name(local))
    drafted = Drafted(kind, around, steps, rules.new(rule_name(local)), variable, "")
    below = list(_collected(drafted, kind, (), always=True))
    yield drafted
    for path in below:
        yield from _individuals(path[-1], rules, variables, drafted, path)


def _collected(
    drafted: Drafted, kind: ElementKind, steps: tuple[ElementKind, ...], *, always: bool
) -> Iterator[tuple[ElementKind, ...]]:
    """Collect the places of an individual; yields the paths to the individuals directly below."""
    for tag, values in (*kind.attributes.items(), (None, kind.text)):
        if values.seen:
            drafted.places.append(ValueSpot(steps, tag, values, always and values.always))
    further = []
    for child in kind.children.values():
        if _is_individual(child):
            yield *steps, child
        else:
            further.append(child)
    for child in further:
        yield from _collected(drafted, child, (*steps, child), always=always and child.always)


def _is_individual(kind: ElementKind) -> bool:
    if kind.is_value:
        return False
    if kind.most > 1:
        return True
    return any(_ID.fullmatch(tag[1]) and values.always for tag, values in kind.attributes.items())


def _set_identifier(drafted: Drafted) -> None:
    """Find what identifies the individuals of a kind, and whether it does in a whole message."""
    found: list[tuple[tuple[bool, bool, int, bool], int, ValueSpot, bool]] = []
    for number, place in enumerate(drafted.places):
        strong = _is_id(place)
        if not _may_name(place) or not (strong or _LIKE_AN_ID.fullmatch(place.local)):
            continue
        alone = _tells_apart(drafted, (place,), each_message=True)
        if alone or strong:
            # In a VehicleActivity, VehicleRef is preferred to LineRef.
            akin = _first_word(place.local) == _first_word(drafted.kind.tag[1])
            rank = (not strong, not akin, len(place.steps), place.attribute is None)
            found.append((rank, number, place, alone))
    # There is one root in each message, so any value of it would be unique there.
    if found and not (drafted.around is None and min(found)[0][0]):
        _, _, place, drafted.alone = min(found, key=lambda each: each[:2])
        drafted.identifier = (place,)
    else:
        _guess_identifier(drafted)


def _guess_identifier(drafted: Drafted) -> None:
    """Name an individual without an identifier by what it belongs to, and its time."""
    likely = sorted(
        (each for each in drafted.places if _may_name(each) and _likeness(each) < 2), key=_likeness
    )[:1]
    own = [drafted.time[1]] if drafted.time is not None and drafted.time[0] is drafted else []
    chosen = (*likely, *own)
    samples = drafted.kind.count
    if drafted.around is not None:
        if likely and _tells_apart(drafted, chosen):
            drafted.identifier, drafted.alone = chosen, True
            drafted.guess = f"it tells the {samples} of the sample apart"
        return
    if samples > 1 and not _tells_apart(drafted, chosen):
        others = [each for each in drafted.places if _may_name(each) and each not in chosen]
        wider = ((*(each for each in chosen if each not in own), each, *own) for each in others)
        chosen = next((each for each in wider if _tells_apart(drafted, each)), chosen)
    drafted.identifier = chosen
    if not chosen:
        return
    if samples == 1:
        drafted.guess = "one message does not show what tells messages apart: give several"
    elif _tells_apart(drafted, chosen):
        drafted.guess = f"it tells the {samples} messages apart"
    else:
        different = len(set(zip(*(each.values.seen for each in chosen), strict=True)))
        drafted.guess = f"it gives {samples} messages {different} names: some would be one"


def _is_id(place: ValueSpot) -> bool:
    if _ID.fullmatch(place.local):
        return True
    within = place.steps and _ID.fullmatch(place.steps[-1].tag[1])
    return bool(within) and place.local in ("extension", "value")


def _may_name(place: ValueSpot) -> bool:
    """Whether its values may be names: measured values and times are none."""
    seen = place.values.seen
    measured = (xsd.DECIMAL, xsd.BOOLEAN, xsd.DATE_TIME, xsd.DATE)
    return place.always and max(map(len, seen)) <= _LONGEST_ID and range_of(seen) not in measured


def _likeness(place: ValueSpot) -> int:
    if _THING.fullmatch(place.local):
        return 0
    return 1 if _LIKE_AN_ID.fullmatch(place.local) else 2


def _tells_apart(
    drafted: Drafted, places: Sequence[ValueSpot], *, each_message: bool = False
) -> bool:
    """Whether no two individuals of a kind have the same values, in a message or in all."""
    if not places:
        return False
    keys = [each.values.seen for each in places]
    if each_message:
        keys.append([str(each) for each in places[0].values.messages])
    return len(set(zip(*keys, strict=True))) == drafted.kind.count


def _first_word(local: str) -> str:
    return rule_name(local).split("-")[0]


def _timeline(individuals: list[Drafted]) -> Timeline:
    places = [place for each in individuals for place in each.places if place.always]
    for timeline in (Timeline.DATETIME, Timeline.INTEGER):
        if any(_is_time(place, timeline) for place in places):
            return timeline
    return Timeline.DATETIME


def _is_time(place: ValueSpot, timeline: Timeline) -> bool:
    """Whether each of its values is a time of a line, and one of the message itself."""
    names = _near_names(place)
    if not place.always or any(_OF_ANOTHER.search(name) for name in names):
        return False
    counted = any(_COUNTED_TIME.fullmatch(name) for name in names)
    range_ = range_of(place.values.seen)
    if timeline is Timeline.DATETIME:
        return range_ == xsd.DATE_TIME or (counted and bool(pictures_of(place.values.seen)))
    return counted and range_ == xsd.INTEGER


def _near_names(place: ValueSpot) -> list[str]:
    return [place.local, *(step.tag[1] for step in place.steps[-1:])]


def _set_time(drafted: Drafted, timeline: Timeline) -> None:
    """Find the time of an individual: its own, or one of the individuals around it."""
    for at in drafted.outward():
        fits = sorted((each for each in at.places if _is_time(each, timeline)), key=_time_rank)
        if fits:
            drafted.time, drafted.other_times = (at, fits[0]), tuple(fits[1:])
            return


def _time_rank(place: ValueSpot) -> int:
    names = _near_names(place)
    if any(_OF_A_READING.search(name) for name in names):
        return 0
    return 1 if any(_TIME.search(name) for name in names) else 2


def _wanted(drafted: Drafted) -> list[tuple[str, ValueSpot]]:
    """The places of an individual with names that tell them apart."""
    own = "text" if drafted.kind.children else "value"
    short = [property_name(place.local or own) for place in drafted.places]
    counts = Counter(short)
    names = DraftNames()
    found = []
    for name, place in zip(short, drafted.places, strict=True):
        wanted = name
        if counts[name] > 1 and place.steps:
            inner = place.steps if place.attribute is not None else place.steps[:-1]
            wanted = property_name(*(step.tag[1] for step in inner[-1:]), place.local)
        found.append((names.new(wanted), place))
    return found
