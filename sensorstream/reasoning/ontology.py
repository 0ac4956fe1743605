"""Loads and checks an ontology: several files, one set of triples, one schema.

Source: OWL 2 Mapping to RDF Graphs (W3C, 2012), sections 3.1 (imports) and 3.2.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyoxigraph as ox
from lxml import etree

from sensorstream.errors import OntologyError, Position, TermError
from sensorstream.kb.oxigraph import from_oxigraph
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_IMPORTS,
    OWL_INVERSE_OF,
    OWL_ON_PROPERTY,
    OWL_ONTOLOGY,
    OWL_VERSION_IRI,
    RDF,
    RDF_TYPE,
)

_TURTLE_SUFFIXES: Final = frozenset({".ttl", ".turtle", ".n3"})
_NTRIPLES_SUFFIXES: Final = frozenset({".nt", ".ntriples"})
_XML_SUFFIXES: Final = frozenset({".rdf", ".owl", ".owx", ".xml"})
MEDIA_TYPES: Final = {
    "text/turtle": ".ttl",
    "application/n-triples": ".nt",
    "application/rdf+xml": ".rdf",
    "application/owl+xml": ".owx",
}
"""The formats of ontologies that come without a file name, and the suffix of each."""


@dataclass(frozen=True, slots=True)
class Ontology:
    """The static knowledge of a deployment: axioms and individuals.

    ``triples`` hold no duplicates and keep the order of the files; blank nodes are labelled
    by that order, so that two loads of the same files are equal.
    """

    files: tuple[Path, ...]
    triples: tuple[Triple, ...] = field(repr=False)
    schema: Schema = field(repr=False)

    def ntriples(self) -> bytes:
        """All triples as N-Triples."""
        return to_ntriples(self.triples)


def load_ontology(files: Sequence[Path]) -> Ontology:
    """Read RDF/XML, OWL/XML, Turtle or N-Triples files as one ontology.

    ``owl:imports`` is resolved among the given files by ontology or version IRI; nothing is
    downloaded.

    Raises:
        OntologyError: a file cannot be read or parsed (with its line), imports a file that is not
            given, or is not valid OWL.
    """
    return _merged(files, [_parse(file) for file in files])


def parse_ontology(content: bytes, media_type: str) -> Ontology:
    """An ontology from a text instead of files; ``media_type`` is one of :data:`MEDIA_TYPES`.

    Raises:
        OntologyError: as for :func:`load_ontology`; places in the text are those of a file
            ``ontology``.
    """
    if media_type not in MEDIA_TYPES:
        raise OntologyError(
            f"'{media_type}' is not an ontology format: expected one of {', '.join(MEDIA_TYPES)}"
        )
    file = Path(f"ontology{MEDIA_TYPES[media_type]}")
    return _merged([file], [_parse_content(file, content)])


def _merged(files: Sequence[Path], parsed: Sequence[Iterator[Triple]]) -> Ontology:
    merged: dict[Triple, None] = {}
    labels: dict[str, BlankNode] = {}
    imports: dict[IRI, Path] = {}
    for number, (file, found) in enumerate(zip(files, parsed, strict=True)):
        for s, p, o in found:
            # A label identifies a node within one file only.
            triple = (_relabel(s, number, labels), p, _relabel(o, number, labels))
            merged[triple] = None  # type: ignore[index]  # a relabelled subject is a subject
            if p == OWL_IMPORTS and isinstance(o, IRI):
                imports.setdefault(o, file)
    triples = tuple(merged)
    given = {o for _, p, o in triples if p == OWL_VERSION_IRI}
    given |= {s for s, p, o in triples if p == RDF_TYPE and o == OWL_ONTOLOGY}
    for target, file in imports.items():
        if target not in given:
            raise OntologyError(
                f"{file}: imports <{target}>, which is not one of the given files: "
                "download it and list it beside this one"
            )
    schema = Schema.of(triples)
    _check(files, triples, schema)
    return Ontology(tuple(files), triples, schema)


def to_ntriples(triples: Iterable[Triple]) -> bytes:
    """The triples as an N-Triples document."""
    return "".join(f"{s.n3} {p.n3} {o.n3} .\n" for s, p, o in triples).encode()


def _relabel(term: Term, file: int, labels: dict[str, BlankNode]) -> Term:
    if not isinstance(term, BlankNode):
        return term
    return labels.setdefault(f"{file}{term}", BlankNode(f"_:ontology{len(labels)}"))


def _parse(file: Path) -> Iterator[Triple]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise OntologyError(f"{file}: cannot be read: {error.strerror}") from None
    return _parse_content(file, content)


def _parse_content(file: Path, content: bytes) -> Iterator[Triple]:
    suffix = file.suffix.lower()
    if suffix in _NTRIPLES_SUFFIXES:
        return _parse_rdf(file, content, ox.RdfFormat.N_TRIPLES)
    if suffix in _XML_SUFFIXES and content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        root = _parse_xml(file, content)
        if root.tag == f"{{{OWL}}}Ontology":
            return _parse_owl_xml(file, root)
        return _parse_rdf(file, content, ox.RdfFormat.RDF_XML)
    # Many ".owl" files on the web are Turtle.
    if suffix in _TURTLE_SUFFIXES | _XML_SUFFIXES:
        return _parse_rdf(file, content, ox.RdfFormat.TURTLE)
    known = ", ".join(sorted(_TURTLE_SUFFIXES | _NTRIPLES_SUFFIXES | _XML_SUFFIXES))
    raise OntologyError(f"{file}: unknown kind of file: expected one of {known}")


def _parse_rdf(file: Path, content: bytes, kind: ox.RdfFormat) -> Iterator[Triple]:
    base = file.resolve().as_uri()
    try:
        for quad in ox.parse(input=content, format=kind, base_iri=base):
            subject, predicate = from_oxigraph(quad.subject), from_oxigraph(quad.predicate)
            assert isinstance(subject, IRI | BlankNode)
            assert isinstance(predicate, IRI)
            yield subject, predicate, from_oxigraph(quad.object)
    except SyntaxError as error:
        position = Position(str(file), error.lineno or 1, error.offset or 1)
        raise OntologyError(str(error.msg), position=position) from None
    except TermError as error:
        raise OntologyError(f"{file}: {error.message}") from None


def _parse_xml(file: Path, content: bytes) -> etree._Element:
    parser = etree.XMLParser(
        # lxml resolves entities declared in the file itself, which are common in ontologies,
        # and bounds them; external ones it refuses.
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        position = Position(str(file), max(line, 1), max(column, 1))
        raise OntologyError(f"not well-formed XML: {error.msg}", position=position) from None


def _parse_owl_xml(file: Path, root: etree._Element) -> Iterator[Triple]:
    name = IRI(root.get("ontologyIRI") or file.resolve().as_uri())
    # owlready2 would fetch the imports; they are checked here like all others.
    for each in root.findall(f"{{{OWL}}}Import"):
        yield name, OWL_IMPORTS, IRI((each.text or "").strip())
        root.remove(each)
    content = _owlready(str(file), etree.tostring(root), to_triples=True)
    yield from _parse_rdf(file, content, ox.RdfFormat.N_TRIPLES)


def _owlready(what: str, content: bytes, *, to_triples: bool = False) -> bytes:
    """Load a document with owlready2 and read every class; returns its N-Triples if requested."""
    import owlready2  # heavy, and not needed to import this module

    world = owlready2.World()
    try:
        loaded = world.get_ontology("urn:sensorstream:ontology#").load(fileobj=io.BytesIO(content))
        for each in (*world.classes(), *world.properties()):
            # owlready2 reads class expressions at their first use.
            _ = each.is_a, each.equivalent_to
        written = io.BytesIO()
        if to_triples:
            loaded.save(written, format="ntriples")
        return written.getvalue()
    except OntologyError:
        raise
    except Exception as error:  # owlready2 has no common error class
        reason = " ".join(str(error).split()) or type(error).__name__
        raise OntologyError(f"{what}: owlready2 cannot load it: {reason}") from error
    finally:
        world.close()


def _check(files: Sequence[Path], triples: tuple[Triple, ...], schema: Schema) -> None:
    where = ", ".join(map(str, files)) or "no file"
    both = schema.object_properties & schema.datatype_properties
    if both:
        raise OntologyError(
            f"{where}: <{min(both)}> is both an object and a datatype property: expected one"
        )
    declared = {s for s, p, o in triples if p == RDF_TYPE}
    declared |= {s for s, p, _ in triples if p == OWL_INVERSE_OF}
    for _, p, o in triples:
        if p != OWL_ON_PROPERTY or o in declared:
            continue
        if isinstance(o, Literal):
            raise OntologyError(f"{where}: a restriction is on {o.n3}: expected a property")
        if not o.startswith(OWL):
            raise OntologyError(
                f"{where}: a restriction is on <{o}>, which is not declared: "
                "expected an owl:ObjectProperty or owl:DatatypeProperty"
            )
    # Annotations cannot be wrong as OWL, and imports are checked already.
    world = [t for t in triples if t[1] != OWL_IMPORTS]
    if any(isinstance(o, IRI) and o.startswith((OWL, RDF)) for _, _, o in world):
        _owlready(where, to_ntriples(world))
