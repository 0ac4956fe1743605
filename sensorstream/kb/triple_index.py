"""A set of triples, indexed by every access pattern, whose changes watchers see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Subject, Term, Triple

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Leaf: TypeAlias = tuple[C] | dict[C, None]
"""A set in order of arrival: a 1-tuple if it has one member, as most sets do, else a dict."""
Index: TypeAlias = dict[A, dict[B, Leaf[C]]]
_EMPTY: Final[Mapping[Any, Any]] = {}
_POS: Final[Any] = itemgetter(1, 2, 0)
_OSP: Final[Any] = itemgetter(2, 0, 1)


class _Shared(dict[A, B]):
    """A part of several indexes; one that changes it takes a copy first."""

    __slots__ = ()


class Watcher(Protocol):
    """Sees every change of an index, after triples were added and before triples are removed.

    Triples of one kind, a property (and class, of ``rdf:type``), come or go together, unless it
    joins several of them: they are there, all or none, when it looks for solutions with others.
    """

    @property
    def joined(self) -> Collection[Term | None]:
        """The properties (None: any) of which it joins several triples: these come one by one."""

    def changed(self, triples: Sequence[Triple], comes: bool) -> None:
        """See triples of one kind that have just become members, or are about to leave."""


class TripleIndex:
    """A set of triples; O(1) per change, O(answers) per look-up.

    Compiled queries read ``spo``, ``pos`` and ``osp`` directly; only this class changes them.
    """

    __slots__ = ("_osp", "_pos", "_size", "spo", "watchers")

    def __init__(self) -> None:
        self.spo: Index[Subject, IRI, Term] = {}
        self._pos: Index[IRI, Term, Subject] | None = None
        self._osp: Index[Term, Subject, IRI] | None = None
        self.watchers: list[Watcher] = []
        self._size = 0

    @property
    def pos(self) -> Index[IRI, Term, Subject]:
        """The index by predicate, built at the first use: windows mostly look up subjects only."""
        if self._pos is None:
            self._pos = {}
            _put(self._pos, map(_POS, self))
        return self._pos

    @property
    def osp(self) -> Index[Term, Subject, IRI]:
        """The index by object, built at the first use, as few look-ups need it."""
        if self._osp is None:
            self._osp = {}
            _put(self._osp, map(_OSP, self))
        return self._osp

    def copy(self) -> TripleIndex:
        """An index of the same triples, which shares all parts until one of the two changes them:
        it costs as much as there are subjects, predicates (and objects, if :attr:`osp` was used).
        """
        made = TripleIndex()
        made.spo, made._pos = _shared(self.spo), _shared(self.pos)
        made._osp = None if self._osp is None else _shared(self._osp)
        made._size = self._size
        return made

    def read(self, predicate: Term | None, object_: Term | None) -> None:
        """Do nothing: all triples are kept, whatever patterns read (None: any term)."""

    def unread(self, predicate: Term | None, object_: Term | None) -> None:
        """Do nothing, as :meth:`read`."""

    def __len__(self) -> int:
        return self._size

    def __contains__(self, triple: Triple) -> bool:
        s, p, o = triple
        return o in self.spo.get(s, _EMPTY).get(p, ())

    def __iter__(self) -> Iterator[Triple]:
        return ((s, p, o) for s, ps in self.spo.items() for p, os in ps.items() for o in os)

    def add(self, *triples: Triple) -> list[Triple]:
        """Add triples; returns those that were not in the set, by kind."""
        found: list[Triple] = []
        for kind in self._kinds(triples):
            new = _put(self.spo, kind)
            if self._pos is not None:
                _put(self._pos, map(_POS, new))
            if self._osp is not None:
                _put(self._osp, map(_OSP, new))
            self._size += len(new)
            if new:
                for watcher in self.watchers:
                    watcher.changed(new, True)
            found += new
        return found

    def discard(self, *triples: Triple) -> list[Triple]:
        """Remove triples, each named once; returns those that were in the set, by kind."""
        found: list[Triple] = []
        spo = self.spo
        for kind in self._kinds(triples):
            gone = [each for each in kind if each[2] in spo.get(each[0], _EMPTY).get(each[1], ())]
            if not gone:
                continue
            for watcher in self.watchers:
                watcher.changed(gone, False)
            _take_out(spo, gone)
            if self._pos is not None:
                _take_out(self._pos, map(_POS, gone))
            if self._osp is not None:
                _take_out(self._osp, map(_OSP, gone))
            self._size -= len(gone)
            found += gone
        return found

    def _kinds(self, triples: Sequence[Triple]) -> Iterable[Sequence[Triple]]:
        """Triples by kind, as watchers see them."""
        if len(triples) < 2 or not self.watchers:
            return (triples,)
        # The parts of a triple that tell its kind, by property.
        telling: dict[Term | None, slice] = {rdf.TYPE: slice(1, 3)}
        for watcher in self.watchers:
            telling |= dict.fromkeys(watcher.joined, slice(3))
        if None in telling:
            return zip(triples)
        usual = slice(1, 2)
        return parted((each[telling.get(each[1], usual)], each) for each in triples).values()

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The triples that fit a pattern (None: any term), to be read before the next change."""
        s, p, o = subject, predicate, object_
        if s is not None:
            of_subject = self.spo.get(s, _EMPTY)
            if p is not None:
                objects = of_subject.get(p, ())
                if o is None:
                    return ((s, p, each) for each in objects)
                return iter([(s, p, o)] if o in objects else [])
            if o is not None:
                return ((s, each, o) for each, values in of_subject.items() if o in values)
            return ((s, each, v) for each, values in of_subject.items() for v in values)
        if p is not None:
            if o is not None:
                return ((each, p, o) for each in self.pos.get(p, _EMPTY).get(o, ()))
            return ((each, p, v) for v, ss in self.pos.get(p, _EMPTY).items() for each in ss)
        if o is not None:
            return ((each, v, o) for each, vs in self.osp.get(o, _EMPTY).items() for v in vs)
        return iter(self)

    def most(self, subject: Any, predicate: Any, object_: Any) -> int:
        """An upper bound of the triples that fit a pattern, found without a look at each."""
        if subject is not None:
            return sum(len(each) for each in self.spo.get(subject, _EMPTY).values())
        if predicate is None:
            return self._size
        of_predicate = self.pos.get(predicate, _EMPTY)
        if object_ is not None:
            return len(of_predicate.get(object_, ()))
        return sum(len(each) for each in of_predicate.values())

    def count(self, predicate: IRI, object_: Term) -> int:
        """The number of subjects with this predicate and object; O(1)."""
        return len(self.pos.get(predicate, _EMPTY).get(object_, ()))


def parted(found: Iterable[tuple[A, B]]) -> dict[A, list[B]]:
    """Things by the key beside each."""
    parts: dict[A, list[B]] = {}
    for key, each in found:
        if key in parts:
            parts[key].append(each)
        else:
            parts[key] = [each]
    return parts


def _put(index: Index[A, B, C], rows: Iterable[tuple[A, B, C]]) -> list[tuple[A, B, C]]:
    """Add rows; returns those that were not there."""
    new: list[tuple[A, B, C]] = []
    at, middle = None, None
    for row in rows:
        first, second, third = row
        if first is not at:
            at, middle = first, index.get(first)
        if middle is None:
            middle = index[first] = {second: (third,)}
            new.append(row)
            continue
        last = middle.get(second)
        if last is not None and third in last:
            continue
        if type(middle) is _Shared:
            middle = index[first] = dict(middle)
        if last is None:
            middle[second] = (third,)
        elif type(last) is dict:
            last[third] = None
        else:
            middle[second] = last = dict.fromkeys(last)
            last[third] = None
        new.append(row)
    return new


def _take_out(index: Index[A, B, C], rows: Iterable[tuple[A, B, C]]) -> None:
    """Remove rows that are there."""
    for first, second, third in rows:
        middle = index[first]
        if type(middle) is _Shared:
            middle = index[first] = dict(middle)
        last = middle[second]
        if type(last) is tuple:
            if len(middle) > 1:
                del middle[second]
            else:
                del index[first]
        elif len(last) > 2:
            if type(last) is _Shared:
                last = middle[second] = dict(last)
            del last[third]
        else:
            (left,) = [each for each in last if each != third]
            middle[second] = (left,)


def _shared(index: Index[A, B, C]) -> Index[A, B, C]:
    """A copy of an index; both know then that they share all parts."""
    for first, middle in index.items():
        if type(middle) is dict:
            index[first] = _Shared(
                (second, last if isinstance(last, tuple) else _Shared(last))
                for second, last in middle.items()
            )
    return index.copy()
