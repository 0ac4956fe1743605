"""Terms, paths and triples to text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Path, PatternTerm, TriplePattern, Variable

INDENT = "  "


def node_text(node: PatternTerm) -> str:
    """A variable or term."""
    return str(node) if isinstance(node, Variable) else node.n3


def path_text(path: Path) -> str:
    """A path; parts that are paths themselves stand in brackets."""
    match path:
        case IRI():
            return path.n3
        case algebra.Inverse(inner):
            return f"^{_primary(inner)}"
        case algebra.Sequence(left, right):
            return f"{_primary(left)}/{_primary(right)}"
        case algebra.Alternative(left, right):
            return f"{_primary(left)}|{_primary(right)}"
        case algebra.ZeroOrMore(inner):
            return f"{_primary(inner)}*"
        case algebra.OneOrMore(inner):
            return f"{_primary(inner)}+"
        case algebra.ZeroOrOne(inner):
            return f"{_primary(inner)}?"
        case algebra.NegatedSet(forward, backward):
            members = [*(iri.n3 for iri in forward), *(f"^{iri.n3}" for iri in backward)]
            return f"!({'|'.join(members)})"


def _primary(path: Path) -> str:
    written = path_text(path)
    return written if isinstance(path, IRI | algebra.NegatedSet) else f"({written})"


def triple_text(triple: TriplePattern) -> str:
    """``subject verb object``, without a dot."""
    verb = triple.predicate
    written = str(verb) if isinstance(verb, Variable) else path_text(verb)
    return f"{node_text(triple.subject)} {written} {node_text(triple.object)}"


def triple_lines(triples: Iterable[TriplePattern]) -> Iterator[str]:
    """One line for each triple."""
    for triple in triples:
        yield f"{triple_text(triple)} ."


def braces(before: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines in braces, indented; ``before`` stands before the first brace."""
    inner = [f"{INDENT}{line}" for line in lines]
    opening = f"{before} {{" if before else "{"
    if inner:
        yield opening
        yield from inner
        yield "}"
    else:
        yield f"{opening} }}"
