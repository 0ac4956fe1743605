"""Compares graphs: what a story writes in Turtle with what the knowledge base holds.

A blank node of the story stands for any node, as in SPARQL; where all triples must be the same
the two graphs are isomorphic (RDF 1.1 Concepts, section 3.6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import pyoxigraph as ox

from sensorstream.errors import Position, StoryError, TermError
from sensorstream.kb.graph_text import GraphReader
from sensorstream.kb.oxigraph import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple


def turtle_triples(
    text: str, prefixes: Mapping[str, str], where: Position, blank: str = "s"
) -> tuple[Triple, ...]:
    """The triples of a Turtle text; the last full stop may be missing.

    Raises:
        StoryError: the text is not Turtle.
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
        store.extend(map(_quad, there))
        for part in patterns:
            body = " ".join(f"{s.n3} {p.n3} {o.n3} ." for s, p, o in part)
            if not store.query(f"ASK {{ {body} }}"):
                missing += part
    return missing


def difference(
    wanted: Collection[Triple], got: Collection[Triple]
) -> tuple[list[Triple], list[Triple]]:
    """What is missing of the wanted triples, and what was got besides; none if isomorphic."""
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
    dataset = ox.Dataset(map(_quad, held))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    found: set[Triple] = set()
    for quad in dataset:
        subject = from_oxigraph(quad.subject)
        assert not isinstance(subject, Literal)
        found.add((subject, IRI(quad.predicate.value), from_oxigraph(quad.object)))
    return found


def _quad(triple: Triple) -> ox.Quad:
    subject, predicate, value = triple
    return ox.Quad(subject_to_oxigraph(subject), ox.NamedNode(predicate), to_oxigraph(value))
