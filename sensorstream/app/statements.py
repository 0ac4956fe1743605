"""A statement as people write it: three terms, with the prefixes that the server knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from sensorstream.errors import Position, QueryError
from sensorstream.language.syntax import RuleFile
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import XSD
from sensorstream.sparql.algebra import BGP, Ask
from sensorstream.sparql.parser import read_query

MOST_CHARACTERS: Final = 100_000
_STANDARD: Final = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
_EXPECTED: Final = "expected one statement, such as <http://example.org/s1> a :Sensor"


def known_prefixes(files: Iterable[RuleFile]) -> dict[str, str]:
    """The prefixes of rule files, and those of RDF, RDFS, OWL and XSD.

    A prefix that two files have for different namespaces is not known.
    """
    found: dict[str, str] = dict(_STANDARD)
    meant: dict[str, set[str]] = {}
    for file in files:
        for prefix, namespace in file.prefix_map.items():
            meant.setdefault(prefix, set()).add(namespace)
    for prefix, namespaces in meant.items():
        found.pop(prefix, None)
        if len(namespaces) == 1:
            found[prefix] = min(namespaces)
    return found


def read_statement(text: str, prefixes: Mapping[str, str]) -> Triple:
    """The triple of a statement in the syntax of SPARQL; a full stop at its end may be left out.

    Raises:
        QueryError: it is no statement, or not one alone.
    """
    start = Position("statement", 0, 1)
    if len(text) > MOST_CHARACTERS:
        raise QueryError(
            f"a statement of {len(text):,} characters: expected at most {MOST_CHARACTERS:,}",
            position=Position("statement", 1, 1),
        )
    try:
        # The statement begins in line 1.
        form = read_query(f"ASK {{\n{text}\n}}", start=start, prefixes=prefixes).meaning.form
    except QueryError as error:
        if error.position is None or error.position.line <= 1 + text.count("\n"):
            raise
        # It ends too early, or has closed the brace.
        raise QueryError(_EXPECTED, position=Position("statement", 1, 1)) from None
    if isinstance(form, Ask) and isinstance(form.pattern, BGP) and len(form.pattern.patterns) == 1:
        [found] = form.pattern.patterns
        s, p, o = found.subject, found.predicate, found.object
        if (
            isinstance(s, IRI | BlankNode)
            and isinstance(p, IRI)
            and isinstance(o, IRI | BlankNode | Literal)
        ):
            return s, p, o
    raise QueryError(_EXPECTED, position=Position("statement", 1, 1))
