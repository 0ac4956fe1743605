"""Twins: individuals with the same assertions, told to the bounds as two of them.

Parts of a window are *twins* if the assertions about them, and about them and the others, are the
same but for the names: a thousand observations of one sensor, say, each with its result. The bounds
know two *samples* of each *kind* of twins, under names of their own; what follows about these
follows about all. So another observation of a known kind changes nothing in the bounds.

Why: let f exchange each further twin for the second, and leave all other individuals alone. Its
result is a part of the assertions A, f(A) ⊆ A, so what follows from f(A) follows from A. Names need
not differ in OWL: a model of f(A) becomes one of A where each further twin is the same element as
the second, so what follows from A about those who are kept follows from f(A). For the same reason a
second sample may stay as long as there is one twin. And A is the same if twins are exchanged for
each other, so they have the same types, the same links to all others, and each pair of them is as
the samples. Values are compared by their class (:mod:`..value_classes`): an element that has one
value of a class may have all of them. The same holds if axioms compare values by keys only and
nobody else has them: samples then have values that nobody has.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model import owl, rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Literal, Subject, Term, Triple
from sensorstream.reasoning.dl.axioms import EQUALITY
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.dl.value_classes import ValueClasses

FEW: Final = {True: 4, False: 1}
"""An individual with more neighbours by one property is a hub; True: it is the triples' subject."""
_LARGEST: Final = 8
"""The members of a part that may have twins."""
_SAMPLES: Final = 2
_NAME: Final = "urn:sensorstream:twin|"
"""What no IRI of a message may hold, so that nobody can be taken for a sample."""
_MOST_APART: Final = 4096
_NOTHING: Final = object()
_Undo: TypeAlias = tuple[dict[Any, Any], Any, Any]
_Degree: TypeAlias = tuple[Subject, IRI, bool]


@dataclass(slots=True, eq=False)
class TwinKind:
    """A kind of twins, with its parts and two samples. For each sample: its names by the place in a
    part, what is told of it, and by place the numbers of its literals.
    """

    key: Hashable
    names: Sequence[Sequence[IRI]]
    told: Sequence[Sequence[Triple]]
    literals: Sequence[Sequence[dict[Literal, int]]]
    parts: dict[ConnectedPart, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ConnectedPart:
    """Individuals, each in its place, that are connected with each other and with hubs only."""

    kind: TwinKind
    members: Sequence[Subject]
    literals: Sequence[Sequence[Literal]]


class _Place(NamedTuple):
    """The place of a sample: its kind, whether it is the first one, and its place in the part."""

    kind: TwinKind
    number: int
    place: int


@frozen
class Shift:
    """The change of what the bounds are told, and of the parts."""

    come: dict[Triple, None] = field(default_factory=dict)
    left: dict[Triple, None] = field(default_factory=dict)
    gone: dict[ConnectedPart, None] = field(default_factory=dict)
    new: dict[ConnectedPart, None] = field(default_factory=dict)


class Twins:
    """The twins among all individuals with assertions; a change costs the parts it touches."""

    def __init__(self, terminology: Terminology, values: ValueClasses, scope: str) -> None:
        """Begin without assertions; ``scope`` makes the names of samples differ from others'."""
        self._scope = scope
        self._terminology = terminology
        self._values = values
        self._links = terminology.schema.object_properties | EQUALITY
        self._about: dict[Subject, dict[Triple, None]] = {}
        self._degrees: dict[_Degree, int] = {}
        # The ways in which somebody has many neighbours, and the number of such ways.
        self._ways: dict[_Degree, None] = {}
        self._hubs: dict[Subject, int] = {}
        # The owners of values that keys compare, with counts.
        self._owners: dict[Literal, dict[Subject, int]] = {}
        self._parts: dict[Subject, ConnectedPart] = {}
        self._kinds: dict[Hashable, TwinKind] = {}
        # The number of samples that are told.
        self._told: dict[TwinKind, int] = {}
        # The assertions that are told as they are.
        self._plain: dict[Triple, None] = {}
        self._samples: dict[Term, _Place] = {}
        self._apart: dict[Hashable, None] = {}
        self._split: list[TwinKind] = []
        self._empty: dict[TwinKind, None] = {}
        self._made = self._made_before = 0
        self._log: list[_Undo] = []

    def update(self, added: Iterable[Triple], removed: Iterable[Triple]) -> Shift:
        """Take in assertions that come and go."""
        self._log.clear()
        self._made_before = self._made
        self._forget_empty()
        shift = Shift()
        touched: dict[Subject, None] = {}
        stale: dict[Triple, None] = {}
        for triples, by in ((removed, -1), (added, 1)):
            for triple in triples:
                stale[triple] = None
                self._count(triple, by, touched, stale)
        for part in (part for kind in self._split for part in kind.parts):
            touched.update(dict.fromkeys(part.members))
        self._split.clear()
        for one in (ahead := list(touched)):  # grows while it is read
            if (old := self._parts.get(one)) is not None:
                shift.gone[old] = None
                self._drop(old.kind.parts, old)
                for member in old.members:
                    self._drop(self._parts, member)
                ahead += old.members
        for one in dict.fromkeys(ahead):
            if one in self._about and one not in self._parts and not self._is_hub(one):
                stale.update(self._about[one])
                if (found := self._part(one)) is not None:
                    shift.new[found] = None
                    for member in found.members:
                        stale.update(self._about[member])
        for triple in stale:
            self._tell(triple, shift)
        for kind in {part.kind: None for part in (*shift.gone, *shift.new)}:
            self._tell_samples(kind, shift)
        return shift

    def undo(self) -> None:
        """Take back the last update."""
        for held, key, value in reversed(self._log):
            if value is _NOTHING:
                del held[key]
            else:
                held[key] = value
        self._log.clear()
        self._empty.clear()
        self._made = self._made_before

    def set_apart(self, kinds: Iterable[TwinKind]) -> None:
        """Tell all individuals of these kinds by their own names, from the next time on. If an
        update has made the kinds, it must be undone before.
        """
        if len(self._apart) > _MOST_APART:
            self._apart.clear()
        self._split = list(kinds)
        self._apart.update((kind.key, None) for kind in self._split)

    def kinds_of(self, fact: Triple) -> Iterator[TwinKind]:
        """The kinds whose samples a fact is about."""
        for end in (fact[0], fact[2]):
            if end in self._samples:
                yield self._samples[end].kind

    def shown(self, one: Subject) -> Subject:
        """An individual that a sample represents, the oldest or newest; others are themselves."""
        found = self._samples.get(one)
        if found is None or not found.kind.parts:
            return one
        parts = found.kind.parts
        part = next(reversed(parts) if found.number else iter(parts))
        return part.members[found.place]

    def sampled(self, fact: Triple) -> Triple | None:
        """The question about samples that decides if a fact follows; None: it does not."""
        s, p, o = fact
        one, other = self._parts.get(s), None
        if p != rdf.TYPE and not isinstance(o, Literal):
            other = self._parts.get(o)
        if one is not None:
            place = one.members.index(s)
            s = one.kind.names[0][place]
            if isinstance(o, Literal):
                numbers = one.kind.literals[0][place]
                if o in one.literals[place]:
                    (o,) = (e for e, n in numbers.items() if one.literals[place][n] == o)
                elif o in numbers:
                    return None
        if other is not None:
            second = one is not None and other is not one and other.kind is one.kind
            o = other.kind.names[second][other.members.index(o)]
        return s, p, o

    def all_of(
        self, fact: Triple, part: ConnectedPart | None = None, gone: Iterable[ConnectedPart] = ()
    ) -> Iterator[Triple]:
        """The facts that one about samples represents; only those about a part, if it is given. A
        fact about the second sample alone represents none. Parts that are ``gone`` are included.
        """
        s, p, o = fact
        a, b = self._samples.get(s), self._samples.get(o)
        if a is None and b is None:
            yield fact
        elif a is None or b is None or a.kind is not b.kind:
            if (a is None or not a.number) and (b is None or not b.number):
                for one in _those(a, part, gone):
                    for other in _those(b, part, gone):
                        yield _end(s, a, one), p, _end(o, b, other) if b else _value(o, a, one)
        elif not a.number:
            pairs = [(one, one) for one in _those(a, part, gone)] if not b.number else []
            for one, other in pairs or product(_those(a, part, gone), _those(a, None, gone)):
                if (one is other) is not bool(b.number):
                    yield _end(s, a, one), p, _end(o, b, other)
                    if part is not None and b.number:
                        yield _end(s, a, other), p, _end(o, b, one)

    def _count(
        self, triple: Triple, by: int, touched: dict[Subject, None], stale: dict[Triple, None]
    ) -> None:
        """Enter or remove an assertion, and note the individuals it touches."""
        s, p, o = triple
        links = p in self._links and not isinstance(o, Literal)
        for one in (s, o) if links else (s,):
            assert not isinstance(one, Literal)
            touched[one] = None
            if one not in self._about:
                self._set(self._about, one, {})
            if by > 0:
                self._set(self._about[one], triple, None)
            elif triple in self._about[one]:
                self._drop(self._about[one], triple)
                if not self._about[one]:
                    self._drop(self._about, one)
        if links:
            self._degree((s, p, True), by, touched, stale)
            self._degree((o, p, False), by, touched, stale)  # type: ignore[arg-type]
        elif isinstance(o, Literal) and self._values.is_key(p, o):
            owners = self._owners.get(o)
            if owners is None:
                owners = {}
                self._set(self._owners, o, owners)
            before = list(owners)
            self._add(owners, s, by)
            if len(before) != len(owners):
                touched.update(dict.fromkeys((*before, *owners)))
            if not owners:
                self._drop(self._owners, o)

    def _degree(
        self, key: _Degree, by: int, touched: dict[Subject, None], stale: dict[Triple, None]
    ) -> None:
        one = key[0]
        before = self._add(self._degrees, key, by)
        if key in self._ways:
            # It counts as a way until it has none: otherwise it would often change.
            if before + by:
                return
            self._drop(self._ways, key)
        elif before + by > FEW[key[2]]:
            self._set(self._ways, key, None)
        else:
            return
        self._add(self._hubs, one, by)
        for triple in self._about.get(one, ()):
            stale[triple] = None
            s, p, o = triple
            touched[s] = None
            if p in self._links and not isinstance(o, Literal):
                touched[o] = None

    def _is_hub(self, one: Subject) -> bool:
        return one in self._hubs or one in self._terminology.named

    def _neighbours(self, one: Subject) -> Iterator[Subject]:
        for s, p, o in self._about[one]:
            if p in self._links and not isinstance(o, Literal):
                other = o if s == one else s
                if not self._is_hub(other):
                    yield other

    def _part(self, one: Subject) -> ConnectedPart | None:
        """The individuals connected with one; None: they are too many, or unlike all others."""
        members: dict[Subject, None] = {one: None}
        for each in (ahead := [one]):  # grows while it is read
            for other in self._neighbours(each):
                if other not in members:
                    members[other] = None
                    ahead.append(other)
            if len(members) > _LARGEST:
                return None
        try:
            looks = {each: self._look(each, members) for each in members}
        except TermError:
            return None
        if len(members) > 1:
            members = dict.fromkeys(sorted(members, key=lambda each: looks[each][0]))
        place = {each: str(number) for number, each in enumerate(members)}
        inner: dict[Triple, str] = {
            triple: f"{place[s]} {p} {place[o]}"  # type: ignore[index]
            for each in members
            for triple in self._about[each]
            if (s := triple[0]) in members
            and (o := triple[2]) in members
            and (p := triple[1]) in self._links
        }
        key = tuple(looks[each][0] for each in members), tuple(sorted(inner.values()))
        equal = any(p == owl.SAME_AS for each in members for _, p, _ in self._about[each])
        if equal or key in self._apart:
            return None
        literals = [looks[each][1] for each in members]
        if key not in self._kinds:
            self._set(self._kinds, key, self._kind(key, list(members), literals))
        kind = self._kinds[key]
        found = ConnectedPart(kind, tuple(members), literals)
        self._set(kind.parts, found, None)
        for each in members:
            self._set(self._parts, each, found)
        return found

    def _look(
        self, one: Subject, members: dict[Subject, None]
    ) -> tuple[tuple[str, ...], list[Literal]]:
        """The description by which others are like an individual; its literals in that order.

        Raises:
            TermError: a literal is not valid.
        """
        told: dict[str, None] = {}
        values: dict[Literal, list[str]] = {}
        for s, p, o in self._about[one]:
            if isinstance(o, Literal):
                values.setdefault(o, []).append(p)
            elif p == rdf.TYPE:
                told[f"a {o}"] = None
            elif p not in self._links:
                told[p] = None
            else:
                for end, other, way in ((s, o, ">"), (o, s, "<")):
                    if end == one:
                        told[f"{way} {p}" if other in members else f"{way} {p} {other}"] = None
        classes: dict[str, list[Literal]] = {}
        for value, props in values.items():
            class_: Hashable = None
            if not self._terminology.data.isdisjoint(props):
                alone = len(self._owners.get(value, ())) == 1
                class_ = self._values.class_of(value, props, alone=alone)
            classes.setdefault(f"{' '.join(sorted(props))} {class_!r}", []).append(value)
        found = []
        for look, alike in classes.items():
            for value in alike:
                # With several it is not known which one it would be.
                found.append((look if len(alike) == 1 else f"{look} {value}", value))
        found.sort()
        return (*sorted(told), *(look for look, _ in found)), [value for _, value in found]

    def _kind(
        self, key: Hashable, members: Sequence[Subject], literals: Sequence[Sequence[Literal]]
    ) -> TwinKind:
        """A kind whose first part is known."""
        self._made += 1
        samples = [
            {
                one: IRI(f"{_NAME}{self._scope}:{self._made}:{number}:{n}")
                for n, one in enumerate(members)
            }
            for number in range(_SAMPLES)
        ]
        told: list[Sequence[Triple]] = []
        own: list[Sequence[dict[Literal, int]]] = []
        for names in samples:
            values: dict[Literal, Literal] = {
                each: Literal(f"{name} {n}")
                for name, some in zip(names.values(), literals, strict=True)
                for n, each in enumerate(some)
                if len(self._owners.get(each, ())) == 1
            }
            own.append([{values.get(e, e): n for n, e in enumerate(some)} for some in literals])
            renamed: dict[Any, Term] = {**names, **values}
            told.append(
                [
                    (names.get(s, s), p, o if p == rdf.TYPE else renamed.get(o, o))
                    for one in members
                    for s, p, o in self._about[one]
                ]
            )
        kind = TwinKind(key, [list(each.values()) for each in samples], told, own)
        for number, some in enumerate(kind.names):
            for n, name in enumerate(some):
                self._set(self._samples, name, _Place(kind, number, n))
        return kind

    def _tell(self, triple: Triple, shift: Shift) -> None:
        """Tell or withdraw an assertion: it is told as it is unless samples represent it."""
        s, _, o = triple
        folded = s in self._parts or (triple[1] in self._links and o in self._parts)
        if triple in self._about.get(s, ()) and not folded:
            if triple not in self._plain:
                self._set(self._plain, triple, None)
                shift.come[triple] = None
        elif triple in self._plain:
            self._drop(self._plain, triple)
            shift.left[triple] = None

    def _tell_samples(self, kind: TwinKind, shift: Shift) -> None:
        told, parts = self._told.get(kind, 0), len(kind.parts)
        if not parts:
            self._empty[kind] = None
            for some in kind.told[:told]:
                shift.left.update(dict.fromkeys(some))
            if told:
                self._drop(self._told, kind)
        elif told < min(parts, _SAMPLES):
            for some in kind.told[told:parts]:
                shift.come.update(dict.fromkeys(some))
            self._set(self._told, kind, min(parts, _SAMPLES))

    def _forget_empty(self) -> None:
        for kind in self._empty:
            if not kind.parts:
                self._kinds.pop(kind.key, None)
                for name in (each for names in kind.names for each in names):
                    self._samples.pop(name, None)
        self._empty.clear()

    def _add(self, held: dict[Any, int], key: Any, by: int) -> int:
        """Change a count; return the old one."""
        before = held.get(key, 0)
        if before + by:
            self._set(held, key, before + by)
        elif before:
            self._drop(held, key)
        return before

    def _set(self, held: dict[Any, Any], key: Any, value: Any) -> None:
        self._log.append((held, key, held.get(key, _NOTHING)))
        held[key] = value

    def _drop(self, held: dict[Any, Any], key: Any) -> None:
        self._log.append((held, key, held.pop(key)))


def _those(
    place: _Place | None, part: ConnectedPart | None, gone: Iterable[ConnectedPart]
) -> Iterable[ConnectedPart | None]:
    """The parts that a sample represents."""
    if place is None:
        return (None,)
    if part is not None and part.kind is place.kind:
        return (part,)
    return (*place.kind.parts, *(each for each in gone if each.kind is place.kind))


def _end(end: Any, place: _Place | None, part: ConnectedPart | None) -> Any:
    return end if place is None or part is None else part.members[place.place]


def _value(value: Term, place: _Place | None, part: ConnectedPart | None) -> Term:
    """The represented individual's own value for one of the sample's."""
    if place is None or part is None or not isinstance(value, Literal):
        return value
    number = place.kind.literals[place.number][place.place].get(value)
    return value if number is None else part.literals[place.place][number]
