"""What a continuous query reads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.recursion.triple_kinds import Conclusions


@dataclass(frozen=True, slots=True)
class TripleSource:
    """A graph or window that patterns match, as a value: a plan holds no triples.

    ``key`` is equal exactly for the same graph, ``text`` says to people which one it is.
    """

    key: Hashable
    text: str = field(compare=False)
    parts: tuple[TripleSource, ...] = ()
    """The graphs whose triples it has, each triple once; without any it is a graph itself."""
    past: EarlierContent | None = None
    """What it is the past of, if there is such a graph."""

    @property
    def graphs(self) -> tuple[TripleSource, ...]:
        """The graphs that it reads."""
        return self.parts or (self,)


@dataclass(frozen=True, slots=True)
class EarlierContent:
    """What a graph held ``delay`` units of the time line ago, and holds no earlier."""

    source: TripleSource
    delay: int


DEFAULT = TripleSource("default", "")
"""The graph of patterns that name none."""
INSTANT = TripleSource("instant", "")
"""What holds at one moment, for the selectors of rules over time."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the names of a query mean: its default graph, those of GRAPH, those of WINDOW."""

    default: TripleSource = DEFAULT
    named: Mapping[IRI, TripleSource] = field(default_factory=dict)
    windows: Mapping[IRI, TripleSource] = field(default_factory=dict)


def merged(*parts: TripleSource) -> TripleSource:
    """All that some graphs say; of one graph, that graph."""
    if len(parts) == 1:
        return parts[0]
    return TripleSource(("merged", *parts), " and ".join(each.text for each in parts), parts)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What patterns in time and rules over time know besides the streams.

    ``background`` has the triples that hold always, perhaps among others: ``holds`` tells them
    apart. ``conclusions`` are the triples that follow from one triple.
    """

    background: TripleIndex
    holds: Callable[[Triple], bool]
    conclusions: Conclusions

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The triples that hold always and fit a pattern; None matches any term."""
        return filter(self.holds, self.background.match(subject, predicate, object_))
