"""The graphs and windows that a continuous query reads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.frozen import field, frozen
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.recursion.triple_kinds import Conclusions


@frozen
class TripleSource:
    """A graph or window that patterns match, as a value: a plan holds no triples.

    ``key`` is equal exactly for the same graph, ``text`` names it for people.
    """

    key: Hashable
    text: str = field(compare=False)
    parts: tuple[TripleSource, ...] = ()
    """The graphs of which this is the union; empty: it is a graph itself."""
    past: EarlierContent | None = None
    """The earlier content of a graph, if this is one."""

    @property
    def graphs(self) -> tuple[TripleSource, ...]:
        return self.parts or (self,)


@frozen
class EarlierContent:
    """The content that a graph had ``delay`` units of the time line ago."""

    source: TripleSource
    delay: int


DEFAULT = TripleSource("default", "")
"""The graph of patterns that name none."""
INSTANT = TripleSource("instant", "")
"""The content of one moment, for the selectors of rules over time."""


@frozen
class Sources:
    """Meanings of the names in a query: its default graph, those of GRAPH, those of WINDOW."""

    default: TripleSource = DEFAULT
    named: Mapping[IRI, TripleSource] = field(default_factory=dict)
    windows: Mapping[IRI, TripleSource] = field(default_factory=dict)


def merged(*parts: TripleSource) -> TripleSource:
    """The union of some graphs; of one graph, that graph."""
    if len(parts) == 1:
        return parts[0]
    return TripleSource(("merged", *parts), " and ".join(each.text for each in parts), parts)


@frozen
class Knowledge:
    """Background knowledge of patterns in time and rules over time, besides the streams.

    ``background`` has the triples that hold always, perhaps among others: ``holds`` tells them
    apart. ``conclusions`` gives the triples that follow from one triple.
    """

    background: TripleIndex
    holds: Callable[[Triple], bool]
    conclusions: Conclusions

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The triples that hold always and fit a pattern; None matches any term."""
        return filter(self.holds, self.background.match(subject, predicate, object_))
