"""The last look at terms before the window: what is no RDF stays out, whatever made it.

A term that Oxigraph refuses would make every later query of the knowledge base fail. Rules and
mappings check their own terms; programs that build events, and functions of others, may not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.errors import InvalidTerm, TermError
from sensorstream.kb.oxigraph import to_oxigraph
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple

_MOST: Final = 65_536
"""So many valid IRIs and language tags are remembered, then all are forgotten."""


class Admission:
    """Refuses events with an invalid term. IRIs repeat, so each is examined once."""

    __slots__ = ("_iris", "_languages")

    def __init__(self) -> None:
        self._iris: set[str] = set()
        self._languages: set[str] = set()

    def check(self, events: Iterable[Event]) -> None:
        """Do nothing if all terms of the events are RDF.

        Raises:
            InvalidTerm: a name or literal is none that RDF has, or stands where it cannot.
        """
        iris = self._iris
        if len(iris) > _MOST:
            iris.clear()
            self._languages.clear()
        for event in events:
            if event.stream is not None and event.stream not in iris:
                self._iri(event.stream, "the stream")
            for _, graph in event.graphs:
                if graph is not None and graph not in iris:
                    self._iri(graph, "the name of a graph")
            for triple in event.triples:
                subject, predicate, value = triple
                if type(subject) is not IRI:
                    if type(subject) is not BlankNode:
                        raise _misplaced(triple, "subject", "an IRI or a blank node")
                    self._other(subject, triple)
                elif subject not in iris:
                    self._iri(subject, triple)
                if type(predicate) is not IRI:
                    raise _misplaced(triple, "predicate", "an IRI")
                if predicate not in iris:
                    self._iri(predicate, triple)
                if type(value) is IRI:
                    if value not in iris:
                        self._iri(value, triple)
                elif not (type(value) is Literal and self._is_plain(value)):
                    self._other(value, triple)

    def _is_plain(self, literal: Literal) -> bool:
        """Whether a literal is certainly valid."""
        known = (
            literal.datatype in self._iris
            if literal.language is None
            else literal.language in self._languages
        )
        return known and literal.isascii()

    def _iri(self, name: IRI, where: Triple | str) -> None:
        self._convert(name, where)
        self._iris.add(name)

    def _other(self, term: BlankNode | Literal | IRI, where: Triple) -> None:
        if not isinstance(term, Literal | BlankNode):
            raise _misplaced(where, "object", "an IRI, a blank node or a literal")
        self._convert(term, where)
        if isinstance(term, Literal):
            if term.language is None:
                self._iris.add(term.datatype)
            else:
                self._languages.add(term.language)

    def _convert(self, term: BlankNode | Literal | IRI, where: Triple | str) -> None:
        try:
            to_oxigraph(term)
        except TermError as error:
            raise _refused(error.message, where) from None


def _misplaced(triple: Triple, what: str, expected: str) -> InvalidTerm:
    return _refused(f"the {what} of a triple must be {expected}", triple)


def _refused(reason: str, where: Triple | str) -> InvalidTerm:
    place = where if isinstance(where, str) else " ".join(map(str, where))
    # The error is stored and sent: it must not hold half of a surrogate pair.
    text = f"{reason}, in {place}".encode("utf-8", "backslashreplace").decode()
    return InvalidTerm(text)
