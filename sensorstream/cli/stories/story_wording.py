"""Terms, graphs, alerts and reports as a story writes them, and whether two graphs are the same.

A blank node of the story stands for any node, as in SPARQL; where all triples must be the same the
two graphs are isomorphic (RDF 1.1 Concepts, section 3.6).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import pyoxigraph as ox

from sensorstream.errors import Position, StoryError, TermError
from sensorstream.kb.graph_changes import quads_of
from sensorstream.kb.graph_text import GraphReader
from sensorstream.kb.oxigraph_terms import stored_text, triple_from_oxigraph
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Alert
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.streams.query_report import Report

_LOCAL: Final = re.compile(r"\w[\w-]*\Z")
_PLAIN: Final = {
    xsd.BOOLEAN: re.compile("true|false"),
    xsd.INTEGER: re.compile("[+-]?[0-9]+"),
}
"""The literals that Turtle writes without quotes and whose datatype everybody guesses."""


def term_text(term: Term, prefixes: Mapping[str, str]) -> str:
    """A term in Turtle, as short as the prefixes allow."""
    if isinstance(term, IRI):
        for name, start in prefixes.items():
            if start and term.startswith(start) and _LOCAL.match(term[len(start) :]):
                return f"{name}:{term[len(start) :]}"
    if isinstance(term, Literal) and term.language is None:
        plain = _PLAIN.get(term.datatype)
        if plain is not None and plain.fullmatch(term.lexical):
            return term.lexical
        if "^^" in term:
            text, _, _ = term.n3.rpartition("^^")
            return f"{text}^^{term_text(IRI(term.datatype), prefixes)}"
    return term.n3


def triple_text(triple: Triple, prefixes: Mapping[str, str]) -> str:
    """A triple in Turtle, with its full stop."""
    subject, predicate, value = triple
    verb = "a" if predicate == rdf.TYPE else term_text(predicate, prefixes)
    return f"{term_text(subject, prefixes)} {verb} {term_text(value, prefixes)} ."


def triple_texts(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> tuple[str, ...]:
    """Triples in Turtle, sorted."""
    return tuple(sorted(triple_text(each, prefixes) for each in triples))


def alert_text(alert: Alert) -> str:
    """An alert of a rule as ``then alert`` takes it."""
    return written_alert(alert.severity, alert.text, alert.key)


def written_alert(severity: str, text: str, key: str) -> str:
    """The parts of an alert as ``then alert`` takes them."""
    written = f"{severity} {json.dumps(text, ensure_ascii=False)}"
    return written if key == text else f"{written} key {json.dumps(key, ensure_ascii=False)}"


def turtle_triples(
    text: str, prefixes: Mapping[str, str], where: Position, blank: str = "s"
) -> tuple[Triple, ...]:
    """The triples of a Turtle text, whose last full stop may be missing; raises StoryError if it is
    not Turtle.
    """
    head = " ".join(f"@prefix {name}: <{start}> ." for name, start in prefixes.items())
    stripped = text.rstrip()
    end = "" if stripped.endswith((".", "}")) or not stripped else " ."
    try:
        return GraphReader().read(f"{head} {stripped}{end}", blank)
    except (SyntaxError, TermError) as error:
        raise StoryError(f"not Turtle: {error}", position=where) from None


def absent(wanted: Iterable[Triple], there: Collection[Triple]) -> list[Triple]:
    """The wanted triples that are not there; with blank nodes, those of a pattern that fails."""
    missing: list[Triple] = []
    patterns: list[list[Triple]] = []
    for part in _parts(wanted):
        if any(isinstance(term, BlankNode) for triple in part for term in triple):
            patterns.append(part)
        elif part[0] not in there:
            missing += part
    if patterns:
        store = ox.Store()
        store.extend(quads_of((each, None) for each in there))
        for part in patterns:
            body = " ".join(f"{s.n3} {p.n3} {stored_text(o)} ." for s, p, o in part)
            if not store.query(f"ASK {{ {body} }}"):
                missing += part
    return missing


def difference(
    wanted: Collection[Triple], got: Collection[Triple]
) -> tuple[list[Triple], list[Triple]]:
    """The wanted triples that are missing, and triples got besides; none if isomorphic."""
    one, other = _canonical(wanted), _canonical(got)
    return sorted(one - other), sorted(other - one)


def _parts(triples: Iterable[Triple]) -> Iterator[list[Triple]]:
    """The triples in groups that share blank nodes; the others alone."""
    groups: list[tuple[set[Term], list[Triple]]] = []
    for triple in triples:
        nodes: set[Term] = {term for term in triple if isinstance(term, BlankNode)}
        joined = [triple]
        apart = []
        for group in groups:
            if nodes & group[0]:
                nodes |= group[0]
                joined = [*group[1], *joined]
            else:
                apart.append(group)
        groups = [*apart, (nodes, joined)]
    yield from (part for _, part in groups)


def _canonical(triples: Iterable[Triple]) -> set[Triple]:
    held = list(triples)
    if not any(isinstance(term, BlankNode) for triple in held for term in triple):
        return set(held)
    dataset = ox.Dataset(quads_of((each, None) for each in held))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(triple_from_oxigraph, dataset))


@frozen
class ReportedValues:
    """The values of a reported row, a reported graph, or a reported answer."""

    query: str
    sign: str
    values: Mapping[str, Term] | None = None
    graph: tuple[Triple, ...] = ()
    answer: bool | None = None

    def fits(self, other: ReportedValues) -> bool:
        """Whether a story expects this as ``other``, apart from variables that it leaves out."""
        if (self.query, self.sign, self.answer) != (other.query, other.sign, other.answer):
            return False
        if self.values is None or other.values is None:
            return self.values is other.values and difference(other.graph, self.graph) == ([], [])
        return all(self.values.get(name) == value for name, value in other.values.items())

    def text(self, prefixes: Mapping[str, str]) -> str:
        """The text that ``then report`` takes."""
        head = f"{self.query} {self.sign}"
        if self.answer is not None:
            return f"{head} {str(self.answer).lower()}"
        if self.values is None:
            return f"{head} {{ {' '.join(triple_texts(self.graph, prefixes))} }}"
        pairs = (f"?{name} {term_text(value, prefixes)}" for name, value in self.values.items())
        return " ".join((head, *pairs))


def rows_of(report: Report) -> Iterator[ReportedValues]:
    """The rows of a report, or its graph, or its answer."""
    sign = report.operation.value
    if report.answer is not None:
        yield ReportedValues(report.query, sign, answer=report.answer)
    elif report.triples is not None:
        yield ReportedValues(report.query, sign, graph=tuple(report.triples))
    else:
        for row in report.rows:
            pairs = zip(report.variables, row, strict=True)
            yield ReportedValues(
                report.query, sign, {name: v for name, v in pairs if v is not None}
            )
