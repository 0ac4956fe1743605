"""The reader of an ontology's documents into triples, and the finder of the documents they import.

A document may be in any syntax and encoding. The content decides the syntax, because suffixes
mislead: many ``.owl`` files are Turtle, and a download may be a web page. Imports are among given
files, or in catalogs beside them.

Source: RDF 1.1 XML Syntax; RDF 1.1 Turtle; JSON-LD 1.1; OWL 2 XML Serialization; OWL 2 Structural
Specification, section 3.4 (imports); OASIS XML Catalogs 1.1, sections 6 and 7, of which Protégé
writes ``catalog-v001.xml``.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

import pyoxigraph as ox
from lxml import etree

from sensorstream.errors import OntologyError, Position, TermError
from sensorstream.kb.graph_text import quads_in, syntax_of
from sensorstream.kb.oxigraph_terms import triple_from_oxigraph
from sensorstream.model.frozen import frozen
from sensorstream.model.rdf_formats import RDF_FORMATS, RDF_TYPES
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.vocabulary import OWL
from sensorstream.reasoning.functional_syntax import read_functional
from sensorstream.reasoning.owl_xml import read_owl_xml

_JSON_SUFFIXES: Final = frozenset(RDF_FORMATS["jsonld"][1])
_XML_SUFFIXES: Final = frozenset((*RDF_FORMATS["rdfxml"][1], ".owx"))
_FUNCTIONAL_SUFFIXES: Final = frozenset({".ofn", ".fss"})
_SUFFIXES: Final = RDF_TYPES.keys() | _XML_SUFFIXES | _FUNCTIONAL_SUFFIXES
MEDIA_TYPES: Final = {
    **{media_type: ends[0] for media_type, ends in RDF_FORMATS.values()},
    "application/owl+xml": ".owx",
    "text/owl-functional": ".ofn",
}
"""The formats of ontologies that come without a file name, and the suffix of each."""

# The longer mark first: that of UTF-32 begins with that of UTF-16.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNMARKED: Final = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
"""XML in UTF-16 may do without a mark, for its first character is known (XML 1.0, appendix F)."""
_HEAD: Final = 4096
# A name, then attributes: an IRI of N-Triples may have "xmlns" in it, but no space.
_XML: Final = re.compile(r"\s*<(?:\?xml\b|!|[^\s<>]+\s[^<>]*\bxmlns\b)")
_WEB_PAGE: Final = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!DOCTYPE\s+html|html)\b", re.I | re.S)
_JSON: Final = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\{\]])')
_FUNCTIONAL: Final = re.compile(r"(?:\s|#[^\n]*\n)*(?:Prefix|Ontology)\s*\(")
_ELSEWHERE: Final = (
    (re.compile(r"(?:\s|#[^\n]*\n)*(?:Prefix|Ontology):\s"), "OWL Manchester syntax"),
    (re.compile(r"\s*format-version:"), "the OBO format"),
)
_PACKED: Final = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"BZh", "bzip2"),
    (b"\xfd7z", "xz"),
)
_QUOTED: Final = re.compile(r"'([^']+)'")


def read_document(file: Path) -> Iterator[Triple]:
    """The triples of a file; see :func:`parse_document`.

    Raises:
        OntologyError: the file cannot be read or parsed.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise OntologyError(f"{file}: cannot be read: {error.strerror}") from None
    return parse_document(file, content)


def parse_document(file: Path, content: bytes) -> Iterator[Triple]:
    """The triples of a document; ``file`` names it in errors and is its base IRI.

    XML may have any encoding and entities of its own; other syntaxes are in UTF-8, or in UTF-16
    with its mark. Nothing is fetched: neither a DTD nor a context of JSON-LD.

    Raises:
        OntologyError: it cannot be parsed, with its place if that is known, or its syntax is not
            one that is read here.
    """
    suffix = file.suffix.lower()
    if suffix not in _SUFFIXES:
        raise OntologyError(
            f"{file}: unknown kind of file: expected one of {', '.join(sorted(_SUFFIXES))}"
        )
    for sign, name in _PACKED:
        if content.startswith(sign):
            raise OntologyError(f"{file}: packed with {name}: unpack it first")
    encoding = _encoding(content)
    head = content[:_HEAD].decode(encoding or "utf-8", "replace").lstrip("\ufeff")
    if _WEB_PAGE.match(head):
        raise OntologyError(
            f"{file}: a web page (HTML), not an ontology: download the ontology itself, e.g. with "
            "'curl -L -H \"Accept: text/turtle\"'"
        )
    if _XML.match(head):
        return _parse_xml_document(file, content)
    for pattern, name in _ELSEWHERE:
        if pattern.match(head):
            raise OntologyError(
                f"{file}: {name}, which is not read here: save it as Turtle, RDF/XML or OWL/XML "
                "(Protégé: File > Save as; ROBOT: robot convert --input FILE --output FILE.ttl)"
            )
    text = _as_utf8(file, content, encoding)
    if suffix in _FUNCTIONAL_SUFFIXES or _FUNCTIONAL.match(head):
        return read_owl_xml(file, read_functional(file, text.decode()))
    if suffix in _JSON_SUFFIXES or (suffix in _XML_SUFFIXES and _JSON.match(head)):
        return _parse_rdf(file, text, ox.RdfFormat.JSON_LD)
    kind = "text/turtle" if suffix in _XML_SUFFIXES else RDF_TYPES[suffix]
    return _parse_rdf(file, text, syntax_of(kind))


def _encoding(content: bytes) -> str | None:
    """The encoding that the first bytes show; None: no mark."""
    for sign, encoding in (*_MARKS, *_UNMARKED):
        if content.startswith(sign):
            return encoding
    return None


def _as_utf8(file: Path, content: bytes, encoding: str | None) -> bytes:
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        known = content[: error.start]
        line = known.count(b"\n") + 1
        column = error.start - known.rfind(b"\n")
        raise OntologyError(
            f"byte 0x{content[error.start]:02X} is not {(encoding or 'utf-8').upper()}: save the "
            "file as UTF-8 (if it is in Latin-1: iconv -f latin1 -t utf-8)",
            position=Position(str(file), line, column),
        ) from None
    return text.encode() if encoding else content


def _parse_xml_document(file: Path, content: bytes) -> Iterator[Triple]:
    root = parse_xml(file, content)
    if root.tag == f"{{{OWL}}}Ontology":
        return read_owl_xml(file, root)
    # The document is written again: in UTF-8, and with every entity resolved.
    return _parse_rdf(file, etree.tostring(root, encoding="utf-8"), ox.RdfFormat.RDF_XML)


def parse_xml(file: Path, content: bytes) -> etree._Element:
    """The root of an XML file. Entities that the file itself declares, as ontologies do for
    namespaces, are resolved; libxml2 bounds how much text they make. Nothing outside the file is
    read.

    Raises:
        OntologyError: it is not well-formed, with its place.
    """
    parser = etree.XMLParser(no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        position = Position(str(file), max(line, 1), max(column, 1))
        reason = "not well-formed XML: " + str(error.msg).partition(", line ")[0].strip()
        if reason.endswith("not defined"):
            reason += "; only entities that the file itself declares are known, others are not read"
        raise OntologyError(reason, position=position) from None


def _parse_rdf(file: Path, content: bytes, kind: ox.RdfFormat) -> Iterator[Triple]:
    base = file.resolve().as_uri()
    try:
        for quad in quads_in(content, kind, base):
            if quad.graph_name != ox.DefaultGraph():
                raise OntologyError(
                    f"{file}: has a graph with a name ({quad.graph_name}): expected one graph"
                )
            yield triple_from_oxigraph(quad)
    except SyntaxError as error:
        raise _syntax_error(file, content, error) from None
    except TermError as error:
        raise OntologyError(f"{file}: {error.message}") from None


def _syntax_error(file: Path, content: bytes, error: SyntaxError) -> OntologyError:
    told = str(error.msg)
    if "LoadDocumentCallback" in told:
        return OntologyError(
            f"{file}: has a context that is elsewhere, and nothing is fetched: write the context "
            'into the document ("@context": {…}), or save it as Turtle'
        )
    if error.lineno:
        position = Position(str(file), error.lineno, error.offset or 1)
        return OntologyError(told, position=position)
    # The reader of RDF/XML gives no place, but quotes the text at fault.
    quoted = _QUOTED.search(told)
    at = content.find(quoted[1].encode()) if quoted else -1
    if at < 0:
        return OntologyError(f"{file}: {told}")
    line = content.count(b"\n", 0, at) + 1
    return OntologyError(told, position=Position(str(file), line, 1))


CATALOG: Final = "catalog-v001.xml"
"""The file beside an ontology that maps the IRIs of imports to files."""

_SPACE: Final = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"
_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"


@frozen
class Missing:
    """An import that is not among the given files: ``target``, and the file that imports it."""

    target: IRI
    file: Path


class Catalogs:
    """The catalogs of some folders; each is read once. ``files`` are those that were read."""

    def __init__(self) -> None:
        self.files: dict[Path, None] = {}
        self._read: dict[Path, dict[str, str]] = {}

    def file_of(self, missing: Missing) -> Path | None:
        """The file that a catalog beside the importing file has for an import; None: there is none.

        Raises:
            OntologyError: the catalog cannot be read, or maps it to something that is no file.
        """
        catalog = missing.file.parent / CATALOG
        mapped = self.entries(catalog).get(missing.target)
        if mapped is None:
            return None
        file = _file(mapped)
        if file is None:
            raise OntologyError(
                f"{catalog}: maps <{missing.target}> to <{mapped}>, and nothing is fetched: "
                "expected a file"
            )
        if not file.is_file():
            raise OntologyError(f"{catalog}: maps <{missing.target}> to {file}, which is no file")
        return file

    def entries(self, catalog: Path) -> dict[str, str]:
        """The entries of a catalog, and of those it names as next; the first one for a name counts.

        Raises:
            OntologyError: a catalog is not well-formed XML.
        """
        if catalog not in self._read:
            found: dict[str, str] = {}
            ahead, seen = [catalog], set()
            while ahead:
                each = ahead.pop(0)
                if each in seen or not each.is_file():
                    continue
                seen.add(each)
                self.files[each] = None
                root = parse_xml(each, each.read_bytes())
                for name, target in _mapped(root, each.resolve().as_uri()):
                    found.setdefault(name, target)
                ahead += _next(root, each)
            self._read[catalog] = found
        return self._read[catalog]


def surroundings(files: Iterable[Path]) -> tuple[Path, ...]:
    """The catalogs beside files, and all files that they map, without unreadable ones. This is
    cheaper than loading the ontologies, to see whether one of their files has changed.
    """
    found: dict[Path, None] = {}
    seen: set[Path] = set()
    ahead = list(files)
    while ahead:
        catalog = ahead.pop().parent / CATALOG
        if catalog in seen:
            continue
        seen.add(catalog)
        catalogs = Catalogs()
        with suppress(OntologyError, OSError):
            mapped = [file for file in map(_file, catalogs.entries(catalog).values()) if file]
            found.update(dict.fromkeys(mapped))
            ahead += mapped
        found.update(catalogs.files)
    return tuple(found)


def unresolved(targets: Iterable[Missing]) -> OntologyError:
    """The error for imports that are nowhere, and the ways out."""
    by_file: dict[Path, list[str]] = {}
    for each in targets:
        by_file.setdefault(each.file, []).append(f"<{each.target}>")
    told = "; ".join(f"{file}: imports {', '.join(names)}" for file, names in by_file.items())
    several = sum(map(len, by_file.values())) > 1
    which, it = ("which are", "them") if several else ("which is", "it")
    return OntologyError(
        f"{told}, {which} not {'' if several else 'one '}of the given files: download {it} and "
        f"list {it} beside this one or in {CATALOG}, or name {it} in [ontology] leave_out"
    )


def _file(address: str) -> Path | None:
    """The file of an address; None: it is elsewhere."""
    parts = urlsplit(address)
    local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return Path(unquote(parts.path)) if local else None


def _mapped(root: etree._Element, base: str) -> Iterator[tuple[str, str]]:
    for element in root.iter(f"{_SPACE}uri", f"{_SPACE}system"):
        name = element.get("name") or element.get("systemId")
        target = element.get("uri")
        if name and target:
            yield name, urljoin(_base_of(element, base), target)


def _next(root: etree._Element, catalog: Path) -> Iterator[Path]:
    for element in root.iter(f"{_SPACE}nextCatalog"):
        yield catalog.parent / unquote(element.get("catalog", ""))


def _base_of(element: etree._Element, base: str) -> str:
    for each in [*reversed(list(element.iterancestors())), element]:
        base = urljoin(base, each.get(_BASE, ""))
    return base
