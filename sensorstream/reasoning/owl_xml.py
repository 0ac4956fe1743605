"""Reads OWL/XML into the triples that the same ontology has as RDF.

Annotations of axioms are left out, because they mean nothing to a reasoner. An element is of the
kind that its name says, so whatever is used is declared.

Source: OWL 2 XML Serialization, section 3; OWL 2 Mapping to RDF Graphs, section 2; SWRL, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urljoin

from lxml import etree

from sensorstream.errors import OntologyError, Position, TermError
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple, iri
from sensorstream.model.vocabulary import (
    OWL,
    OWL_IMPORTS,
    OWL_ONTOLOGY,
    OWL_VERSION_IRI,
    RDF,
    RDF_FIRST,
    RDF_NIL,
    RDF_REST,
    RDF_TYPE,
    RDFS,
    RDFS_SUBPROPERTY_OF,
)
from sensorstream.model.xsd import RDF_LANG_STRING, XSD, XSD_BOOLEAN, XSD_STRING
from sensorstream.reasoning.owl_words import (
    APART,
    ATOMS,
    CHARACTERISTICS,
    COUNTED,
    DATATYPE,
    ENTITIES,
    EQUAL,
    FILLED,
    NEGATIVE,
    OF_MANY,
    OF_ONE,
    OF_TWO,
    owl,
    swrl,
)

_T = TypeVar("_T")

_XML_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}"
_BASE: Final = f"{_XML_SPACE}base"
_BUILT_IN: Final = (OWL, RDF, RDFS, XSD)
_PREFIXES: Final = {
    "owl": OWL,
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "xml": "http://www.w3.org/XML/1998/namespace",
}


def read_owl_xml(file: Path, root: etree._Element) -> Iterator[Triple]:
    """The triples of an OWL/XML document; ``file`` names it in errors.

    Raises:
        OntologyError: an element is none of OWL/XML, or has not what it needs, with its line.
    """
    return _Reader(file, root).triples()


class _Reader:
    """One document; :attr:`_made` collects the triples of the element that is read."""

    def __init__(self, file: Path, root: etree._Element) -> None:
        self._file = file
        self._root = root
        self._made: list[Triple] = []
        self._blanks = 0
        self._declared: set[tuple[IRI, IRI]] = set()
        self._prefixes = dict(_PREFIXES)
        told = root.get("ontologyIRI")
        self._name: Subject = IRI(told) if told else self._blank()
        self._base = told or file.resolve().as_uri()

    def triples(self) -> Iterator[Triple]:
        for element in (self._root, *_children(self._root)):
            try:
                self._top(element)
            except TermError as error:
                raise self._error(element, error.message) from None
            yield from self._made
            self._made.clear()

    def _top(self, element: etree._Element) -> None:
        name = _name(element)
        if element is self._root:
            self._say(self._name, RDF_TYPE, OWL_ONTOLOGY)
            if version := element.get("versionIRI"):
                self._say(self._name, OWL_VERSION_IRI, self._iri(element, version))
        elif name == "Prefix":
            self._prefixes[element.get("name", "")] = element.get("IRI", "")
        elif name == "Import":
            self._say(self._name, OWL_IMPORTS, self._iri(element, (element.text or "").strip()))
        elif name == "Annotation":
            prop, value = self._terms(element, 2)
            self._say(self._name, prop, value)
        elif name == "Declaration":
            for entity in _parts(element):
                self._declare(entity, self._term(entity))
        elif name == "DLSafeRule":
            self._rule(element)
        else:
            self._axiom(name, element)

    def _axiom(self, name: str, element: etree._Element) -> None:
        if name in OF_TWO:
            first, second = self._terms(element, 2)
            self._say(first, OF_TWO[name], second)
        elif name in EQUAL:
            for one, other in pairwise(self._terms(element)):
                self._say(one, EQUAL[name], other)
        elif name in APART:
            link, kind = APART[name]
            members = self._terms(element)
            if len(members) == 2:
                self._say(members[0], link, members[1])
            else:
                self._say(self._typed(kind), owl("members"), members)
        elif name in CHARACTERISTICS:
            (prop,) = self._terms(element, 1)
            self._say(prop, RDF_TYPE, CHARACTERISTICS[name])
        elif name == "SubObjectPropertyOf":
            lower, above = self._expected(element, _parts(element), 2)
            if _name(lower) == "ObjectPropertyChain":
                self._say(self._term(above), owl("propertyChainAxiom"), self._terms(lower))
            else:
                self._say(self._term(lower), RDFS_SUBPROPERTY_OF, self._term(above))
        elif name in ("HasKey", "DisjointUnion"):
            whole, *members = self._terms(element)
            word = "hasKey" if name == "HasKey" else "disjointUnionOf"
            self._say(whole, owl(word), members)
        else:
            self._assertion(name, element)

    def _assertion(self, name: str, element: etree._Element) -> None:
        if name == "ClassAssertion":
            kind, who = self._terms(element, 2)
            self._say(who, RDF_TYPE, kind)
        elif name == "ObjectPropertyAssertion":
            of, *ends = self._expected(element, _parts(element), 3)
            turned = _name(of) == "ObjectInverseOf"
            prop = self._terms(of, 1)[0] if turned else self._term(of)
            one, other = map(self._term, ends)
            self._say(*((other, prop, one) if turned else (one, prop, other)))
        elif name in ("DataPropertyAssertion", "AnnotationAssertion"):
            prop, subject, value = self._terms(element, 3)
            self._say(subject, prop, value)
        elif name in NEGATIVE:
            prop, subject, value = self._terms(element, 3)
            node = self._typed(owl("NegativePropertyAssertion"))
            self._say(node, owl("sourceIndividual"), subject)
            self._say(node, owl("assertionProperty"), prop)
            self._say(node, NEGATIVE[name], value)
        else:
            raise self._error(element, f"'{name}' is not an axiom of OWL 2")

    def _term(self, element: etree._Element) -> Term:
        """What an element stands for; says what defines it."""
        name = _name(element)
        if name in ENTITIES:
            found = self._named(element)
            if name != "NamedIndividual":
                self._declare(element, found)
            return found
        if name in ("IRI", "AbbreviatedIRI"):
            text = (element.text or "").strip()
            return self._iri(element, text) if name == "IRI" else self._full(element, text)
        if name == "AnonymousIndividual":
            label = element.get("nodeID") or (element.text or "").strip()
            return BlankNode(f"_:named{label.removeprefix('_:').encode().hex()}")
        if name == "Literal":
            return self._literal(element)
        if name in OF_MANY:
            kind, link = OF_MANY[name]
            return self._with(kind, link, self._terms(element))
        if name in OF_ONE:
            kind, link = OF_ONE[name]
            (part,) = self._terms(element, 1)
            return self._with(kind, link, part)
        if name == "ObjectInverseOf":
            (prop,) = self._terms(element, 1)
            node = self._blank()
            self._say(node, owl("inverseOf"), prop)
            return node
        if name == "DatatypeRestriction":
            return self._facets(element)
        return self._restriction(name, element)

    def _restriction(self, name: str, element: etree._Element) -> Term:
        if name in FILLED:
            prop, filler = self._terms(element, 2)
            said: tuple[tuple[IRI, Term], ...] = ((FILLED[name], filler),)
        elif name == "ObjectHasSelf":
            (prop,) = self._terms(element, 1)
            said = ((owl("hasSelf"), Literal("true", XSD_BOOLEAN)),)
        elif name in COUNTED:
            plain, qualified, filler_link = COUNTED[name]
            number = Literal(element.get("cardinality", ""), f"{XSD}nonNegativeInteger")
            _ = number.value
            parts = self._terms(element)
            if len(parts) == 1:
                prop, said = parts[0], ((plain, number),)
            else:
                prop, filler = self._expected(element, parts, 2)
                said = ((qualified, number), (filler_link, filler))
        else:
            raise self._error(element, f"'{name}' is not an expression of OWL 2")
        node = self._typed(owl("Restriction"))
        self._say(node, owl("onProperty"), prop)
        for link, value in said:
            self._say(node, link, value)
        return node

    def _facets(self, element: etree._Element) -> Term:
        base, *facets = _parts(element)
        node = self._typed(DATATYPE)
        self._say(node, owl("onDatatype"), self._term(base))
        members: list[Term] = []
        for each in facets:
            (bound,) = self._terms(each, 1)
            member = self._blank()
            self._say(member, self._iri(each, each.get("facet", "")), bound)
            members.append(member)
        self._say(node, owl("withRestrictions"), members)
        return node

    def _rule(self, element: etree._Element) -> None:
        rule = self._typed(swrl("Imp"))
        for part in _parts(element):
            word = _name(part).lower()
            if word not in ("body", "head"):
                raise self._error(part, f"'{_name(part)}' is no part of a rule")
            self._say(rule, swrl(word), [self._atom(atom) for atom in _parts(part)])

    def _atom(self, element: etree._Element) -> Term:
        name = _name(element)
        arguments = _parts(element)
        if name == "BuiltInAtom":
            node = self._typed(swrl("BuiltinAtom"))
            self._say(node, swrl("builtin"), self._named(element))
            self._say(node, swrl("arguments"), [self._argument(each) for each in arguments])
            return node
        if name not in ATOMS:
            raise self._error(element, f"'{name}' is not an atom of a rule")
        kind, link = ATOMS[name]
        node = self._typed(kind)
        if link is not None and arguments:
            self._say(node, link, self._term(arguments.pop(0)))
        for number, each in enumerate(arguments, 1):
            self._say(node, swrl(f"argument{number}"), self._argument(each))
        return node

    def _argument(self, element: etree._Element) -> Term:
        if _name(element) != "Variable":
            return self._term(element)
        variable = self._named(element)
        self._say(variable, RDF_TYPE, swrl("Variable"))
        return variable

    def _named(self, element: etree._Element) -> IRI:
        short = element.get("abbreviatedIRI")
        if short is not None:
            return self._full(element, short)
        given = element.get("IRI")
        if given is None:
            raise self._error(element, f"'{_name(element)}' has no IRI")
        return self._iri(element, given)

    def _iri(self, element: etree._Element, given: str) -> IRI:
        # Nearer bases count; most documents have one at their root.
        around = (each.get(_BASE) for each in (element, *element.iterancestors()))
        base = next(filter(None, around), self._base)
        if given.startswith("#"):
            return iri(base.partition("#")[0] + given)
        return iri(urljoin(base, given) if given else base)

    def _full(self, element: etree._Element, short: str) -> IRI:
        prefix, colon, rest = short.partition(":")
        if not colon or prefix not in self._prefixes:
            raise self._error(element, f"'{short}' has a prefix that no Prefix element declares")
        return iri(self._prefixes[prefix] + rest)

    def _literal(self, element: etree._Element) -> Literal:
        text = element.text or ""
        language = element.get(f"{_XML_SPACE}lang")
        datatype = element.get("datatypeIRI")
        if language:
            return Literal(text, RDF_LANG_STRING, language=language)
        if datatype is None or datatype == f"{RDF}PlainLiteral":
            return Literal(text, XSD_STRING)
        return Literal(text, self._iri(element, datatype))

    def _declare(self, element: etree._Element, name: Term) -> None:
        kind = ENTITIES.get(_name(element))
        if kind is None or not isinstance(name, IRI):
            raise self._error(element, f"'{_name(element)}' cannot be declared")
        if not name.startswith(_BUILT_IN) and (name, kind) not in self._declared:
            self._declared.add((name, kind))
            self._made.append((name, RDF_TYPE, kind))

    def _terms(self, element: etree._Element, number: int | None = None) -> list[Term]:
        """What the parts of an element stand for; ``number`` of them."""
        found = [self._term(each) for each in _parts(element)]
        return found if number is None else self._expected(element, found, number)

    def _expected(self, element: etree._Element, found: list[_T], number: int) -> list[_T]:
        if len(found) != number:
            raise self._error(
                element, f"'{_name(element)}' has {len(found)} parts: expected {number}"
            )
        return found

    def _with(self, kind: IRI, link: IRI, value: Term | Sequence[Term]) -> Subject:
        node = self._typed(kind)
        self._say(node, link, value)
        return node

    def _typed(self, kind: IRI) -> Subject:
        node = self._blank()
        self._made.append((node, RDF_TYPE, kind))
        return node

    def _say(self, subject: Term, predicate: Term, value: Term | Sequence[Term]) -> None:
        """One triple, or those of a list."""
        assert not isinstance(subject, Literal)
        assert isinstance(predicate, IRI)
        if isinstance(value, list):
            value = self._list(value)
        self._made.append((subject, predicate, value))  # type: ignore[arg-type]

    def _list(self, members: Sequence[Term]) -> Term:
        cells = [self._blank() for _ in members]
        rests: list[Term] = [*cells[1:], RDF_NIL]
        for cell, member, rest in zip(cells, members, rests, strict=True):
            self._made.append((cell, RDF_FIRST, member))
            self._made.append((cell, RDF_REST, rest))
        return cells[0] if cells else RDF_NIL

    def _blank(self) -> BlankNode:
        self._blanks += 1
        return BlankNode(f"_:made{self._blanks}")

    def _error(self, element: etree._Element, told: str) -> OntologyError:
        line = element.sourceline
        position = Position(str(self._file), line if isinstance(line, int) else 1, 1)
        return OntologyError(told, position=position)


def _children(element: etree._Element) -> list[etree._Element]:
    """The elements in an element; comments and the like are none."""
    return [each for each in element if isinstance(each.tag, str)]


def _parts(element: etree._Element) -> list[etree._Element]:
    """The elements in an element without its annotations."""
    return [each for each in _children(element) if _name(each) != "Annotation"]


def _name(element: etree._Element) -> str:
    """The name of an element of OWL; others keep their namespace, and are known to nobody."""
    return element.tag.removeprefix(f"{{{OWL}}}")
