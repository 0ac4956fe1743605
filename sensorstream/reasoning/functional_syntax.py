"""The reader of OWL functional syntax into the tree that the same ontology has as OWL/XML.

Both notations have the same names. If only a class or a property of one kind is allowed, a name
becomes an element of that kind; elsewhere its declaration says what it is.

Source: OWL 2 Structural Specification, sections 2.4 and 3.7, and the grammar of each axiom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lxml import etree

from sensorstream.errors import OntologyError, Position
from sensorstream.model.frozen import frozen
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import XSD

_SPACE: Final = f"{{{OWL}}}"
_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_TOKEN: Final = re.compile(
    r"(?P<space>\s+|#[^\n]*)|<(?P<iri>[^<>\s]*)>|\"(?P<text>(?:[^\"\\]|\\.)*)\""
    r"|(?P<sign>\^\^|[()=])|@(?P<language>[A-Za-z0-9-]+)|(?P<word>[^\s()<>\"=^@#]+)",
    re.S,
)
_ESCAPED: Final = re.compile(r"\\([\"\\])")
_PREFIXES: Final = {"owl:": OWL, "rdf:": RDF, "rdfs:": RDFS, "xsd:": XSD}
_NAMING: Final = frozenset(
    f"{_SPACE}{name}"
    for name in (
        *("Class", "Datatype", "ObjectProperty", "DataProperty", "AnnotationProperty"),
        *("NamedIndividual", "Variable", "BuiltInAtom"),
    )
)
_ABOUT_PROPERTY: Final = re.compile(
    r"[A-Z]?[A-Za-z]*?(Object|Data)(?:Propert|SomeValues|AllValues|HasValue|HasSelf|InverseOf"
    r"|(?:Min|Max|Exact)Cardinality)"
)
_OF_CLASSES: Final = frozenset(
    {
        *("SubClassOf", "EquivalentClasses", "DisjointClasses", "DisjointUnion"),
        *("ObjectIntersectionOf", "ObjectUnionOf", "ObjectComplementOf"),
    }
)
_OF_PROPERTIES: Final = re.compile(r"Sub|\w*Properties|ObjectPropertyChain")
_DEEPEST: Final = 256
"""As deep as an XML document may be."""


@frozen
class _Token:
    kind: str
    text: str
    at: int


def read_functional(file: Path, text: str) -> etree._Element:
    """The tree of a document; ``file`` names it in errors.

    Raises:
        OntologyError: it is not functional syntax, with its line.
    """
    return _Reader(file, text).tree()


class _Reader:
    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        self._text = text
        self._tokens = list(self._split())
        self._next = 0
        self._prefixes = dict(_PREFIXES)
        self._line, self._seen = 1, 0

    def tree(self) -> etree._Element:
        """The ontology; prefixes come before it."""
        while (word := self._take("word")).text == "Prefix":
            self._take("sign", "(")
            name = "" if self._is("=") else self._take("word").text
            self._take("sign", "=")
            self._prefixes[name] = self._take("iri").text
            self._take("sign", ")")
        if word.text != "Ontology":
            raise self._error(word.at, f"expected 'Ontology', not '{word.text}'")
        self._take("sign", "(")
        root = etree.Element(f"{_SPACE}Ontology")
        self._fill(root)
        if self._next < len(self._tokens):
            raise self._error(self._tokens[self._next].at, "nothing may follow the ontology")
        return root

    def _fill(self, root: etree._Element) -> None:
        """Read up to the parenthesis that closes the root."""
        around = [root]
        while around:
            token = self._take()
            inside = around[-1]
            if token.text == ")" and token.kind == "sign":
                around.pop()
            elif token.text == "(" and token.kind == "sign":
                around.append(inside)  # a group, as of the properties of a key
            elif token.kind == "word" and self._is("("):
                self._next += 1
                made = etree.SubElement(inside, _SPACE + token.text)
                self._place(made, token)
                around.append(made)
                if len(around) > _DEEPEST:
                    raise self._error(token.at, f"nested deeper than {_DEEPEST}")
            else:
                self._add(inside, token)

    def _add(self, inside: etree._Element, token: _Token) -> None:
        """Add an atom: a name, a number or a literal."""
        name = inside.tag.removeprefix(_SPACE)
        if token.kind == "text":
            made = self._literal(inside, token)
            facet = made.getprevious()
            if name == "DatatypeRestriction" and facet is not None:
                inside.remove(facet)
                held = etree.SubElement(inside, f"{_SPACE}FacetRestriction")
                held.set("facet", facet.text or "")
                held.append(made)
        elif token.kind == "word" and token.text.isdigit() and name.endswith("Cardinality"):
            inside.set("cardinality", token.text)
        elif token.text.startswith("_:"):
            etree.SubElement(inside, f"{_SPACE}AnonymousIndividual").set("nodeID", token.text)
        else:
            self._name(inside, name, self._iri(token))

    def _name(self, inside: etree._Element, name: str, iri: str) -> None:
        if inside.tag in _NAMING and inside.get("IRI") is None:
            inside.set("IRI", iri)
        elif name == "Import":
            inside.text = iri
        elif name == "Ontology" and not len(inside) and inside.get("versionIRI") is None:
            inside.set("ontologyIRI" if inside.get("ontologyIRI") is None else "versionIRI", iri)
        else:
            about = _ABOUT_PROPERTY.match(name)
            first = not any(each.tag != f"{_SPACE}Annotation" for each in inside)
            if name in _OF_CLASSES:
                etree.SubElement(inside, f"{_SPACE}Class").set("IRI", iri)
            elif about is not None and (first or _OF_PROPERTIES.match(name)):
                etree.SubElement(inside, f"{_SPACE}{about[1]}Property").set("IRI", iri)
            else:
                etree.SubElement(inside, f"{_SPACE}IRI").text = iri

    def _literal(self, inside: etree._Element, token: _Token) -> etree._Element:
        made = etree.SubElement(inside, f"{_SPACE}Literal")
        self._place(made, token)
        try:
            made.text = _ESCAPED.sub(r"\1", token.text)
        except ValueError:
            raise self._error(token.at, "a text has a character that XML does not allow") from None
        if self._is("^^"):
            self._next += 1
            made.set("datatypeIRI", self._iri(self._take()))
        elif self._next < len(self._tokens) and self._tokens[self._next].kind == "language":
            made.set(_LANG, self._take().text)
        return made

    def _iri(self, token: _Token) -> str:
        if token.kind == "iri":
            return token.text
        prefix, colon, rest = token.text.partition(":")
        if token.kind != "word" or not colon or f"{prefix}:" not in self._prefixes:
            raise self._error(token.at, f"'{token.text}' is no name: expected <IRI> or prefix:name")
        return self._prefixes[f"{prefix}:"] + rest

    def _is(self, sign: str) -> bool:
        if self._next >= len(self._tokens):
            return False
        token = self._tokens[self._next]
        return token.kind == "sign" and token.text == sign

    def _take(self, kind: str = "", text: str = "") -> _Token:
        if self._next >= len(self._tokens):
            raise self._error(len(self._text), "it ends too early: a parenthesis is open")
        token = self._tokens[self._next]
        if (kind and token.kind != kind) or (text and token.text != text):
            raise self._error(token.at, f"expected {text or kind}, not '{token.text}'")
        self._next += 1
        return token

    def _split(self) -> Iterator[_Token]:
        at = 0
        while at < len(self._text):
            found = _TOKEN.match(self._text, at)
            if found is None or found.lastgroup is None:
                raise self._error(at, f"unexpected {self._text[at]!r}")
            if found.lastgroup != "space":
                yield _Token(found.lastgroup, found[found.lastgroup], at)
            at = found.end()

    def _place(self, made: etree._Element, token: _Token) -> None:
        """Note the line of an element; elements are made in the order of the text."""
        self._line += self._text.count("\n", self._seen, token.at)
        self._seen = token.at
        made.sourceline = self._line  # type: ignore[assignment]  # lxml-stubs: read only

    def _error(self, at: int, told: str) -> OntologyError:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return OntologyError(told, position=Position(str(self._file), line, column))
