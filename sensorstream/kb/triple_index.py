"""A set of triples, indexed by every access pattern, whose changes watchers see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
_FEW: Final = 24
"""Triples that come one by one, as to sort them would take longer than it saves."""


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
            for s, p, o in self:
                _put(self._pos, p, o, s)
        return self._pos

    @property
    def osp(self) -> Index[Term, Subject, IRI]:
        """The index by object, built at the first use, as few look-ups need it."""
        if self._osp is None:
            self._osp = {}
            for s, p, o in self:
                _put(self._osp, o, s, p)
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
        spo, pos, osp = self.spo, self._pos, self._osp
        for kind in self._kinds(triples):
            new = []
            for triple in kind:
                s, p, o = triple
                if s not in spo:
                    spo[s] = {p: (o,)}
                elif not _put(spo, s, p, o):
                    continue
                if pos is not None:
                    _put(pos, p, o, s)
                if osp is not None:
                    _put(osp, o, s, p)
                new.append(triple)
            if new:
                self._size += len(new)
                for watcher in self.watchers:
                    watcher.changed(new, True)
                found += new
        return found

    def discard(self, *triples: Triple) -> list[Triple]:
        """Remove triples, each named once; returns those that were in the set, by kind."""
        found: list[Triple] = []
        spo, pos, osp = self.spo, self._pos, self._osp
        for kind in self._kinds(triples):
            gone = [each for each in kind if each[2] in spo.get(each[0], _EMPTY).get(each[1], ())]
            if not gone:
                continue
            for watcher in self.watchers:
                watcher.changed(gone, False)
            for s, p, o in gone:
                _take_out(spo, s, p, o)
                if pos is not None:
                    _take_out(pos, p, o, s)
                if osp is not None:
                    _take_out(osp, o, s, p)
            self._size -= len(gone)
            found += gone
        return found

    def _kinds(self, triples: Sequence[Triple]) -> Iterable[Sequence[Triple]]:
        """Triples by kind, as watchers see them."""
        if not self.watchers:
            return (triples,)
        if len(triples) < _FEW:
            return zip(triples)
        # The parts of a triple that tell its kind, by property.
        telling: dict[Term | None, slice] = {rdf.TYPE: slice(1, 3)}
        for watcher in self.watchers:
            telling |= dict.fromkeys(watcher.joined, slice(3))
        if None in telling:
            return zip(triples)
        usual = slice(1, 2)
        kinds: dict[Any, list[Triple]] = {}
        for each in triples:
            kinds.setdefault(each[telling.get(each[1], usual)], []).append(each)
        return kinds.values()

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


def _put(index: Index[A, B, C], first: A, second: B, third: C) -> bool:
    """Whether it was not there."""
    middle = index.get(first)
    if middle is None:
        index[first] = {second: (third,)}
        return True
    last = middle.get(second)
    if last is not None and third in last:
        return False
    if type(middle) is _Shared:
        middle = index[first] = dict(middle)
    if last is None:
        middle[second] = (third,)
    elif type(last) is dict:
        last[third] = None
    else:
        middle[second] = last = dict.fromkeys(last)
        last[third] = None
    return True


def _take_out(index: Index[A, B, C], first: A, second: B, third: C) -> None:
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
