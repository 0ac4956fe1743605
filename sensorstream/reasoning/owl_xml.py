"""The reader of OWL/XML into the triples that the same ontology has as RDF.

Annotations of axioms are left out, because they mean nothing to a reasoner. An element is of the
kind that its name says, so all used names are declared.

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
from sensorstream.model import owl, rdf, xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple, iri
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import RDF_LANG_STRING, XSD
from sensorstream.reasoning.dl.axioms import SWRL

_T = TypeVar("_T")

_XML_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}"
_BASE: Final = f"{_XML_SPACE}base"
_BUILT_IN: Final = (OWL, RDF, RDFS, XSD)
_WORDS: Final = {"owl": OWL, "rdfs": RDFS, "swrl": SWRL}
_PREFIXES: Final = {
    "owl": OWL,
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "xml": "http://www.w3.org/XML/1998/namespace",
}
_ENTITIES: Final = {
    "Class": owl.CLASS,
    "Datatype": IRI(f"{RDFS}Datatype"),
    "ObjectProperty": IRI(f"{OWL}ObjectProperty"),
    "DataProperty": IRI(f"{OWL}DatatypeProperty"),
    "AnnotationProperty": IRI(f"{OWL}AnnotationProperty"),
    "NamedIndividual": owl.NAMED_INDIVIDUAL,
}
"""The kind of a name, by the element that holds it."""

# The triples of elements. In a triple, 1 is the term of the element's first part, * the list of all
# parts, 2* that of those from the second on, _ a new node, which is the element's term, and # its
# cardinality. If there are several texts, the number of parts decides.
_CLASS: Final = "_ a owl:Class . _ owl:"
_RANGE: Final = "_ a rdfs:Datatype . _ owl:"
_ON_PROPERTY: Final = "_ a owl:Restriction . _ owl:onProperty 1 . _ owl:"
_DENIED: Final = (
    "_ a owl:NegativePropertyAssertion . _ owl:sourceIndividual 2 . _ owl:assertionProperty 1 . "
)
_EXPRESSIONS: Final[dict[str, tuple[str, ...]]] = {
    **{
        f"{kind}{word}": (f"{node}{word[0].lower()}{word[1:]} *",)
        for kind, node in (("Object", _CLASS), ("Data", _RANGE))
        for word in ("IntersectionOf", "UnionOf", "OneOf")
    },
    "ObjectComplementOf": (f"{_CLASS}complementOf 1",),
    "DataComplementOf": (f"{_RANGE}datatypeComplementOf 1",),
    "ObjectInverseOf": ("_ owl:inverseOf 1",),
    "ObjectHasSelf": (f"{_ON_PROPERTY}hasSelf true",),
    **{
        f"{kind}{word}": (f"{_ON_PROPERTY}{word[0].lower()}{word[1:]} 2",)
        for kind in ("Object", "Data")
        for word in ("SomeValuesFrom", "AllValuesFrom", "HasValue")
    },
    **{
        f"{kind}{word}Cardinality": (
            f"{_ON_PROPERTY}{plain} #",
            f"{_ON_PROPERTY}{qualified} # . _ owl:{filler} 2",
        )
        for kind, filler in (("Object", "onClass"), ("Data", "onDataRange"))
        for word, plain, qualified in (
            ("Min", "minCardinality", "minQualifiedCardinality"),
            ("Max", "maxCardinality", "maxQualifiedCardinality"),
            ("Exact", "cardinality", "qualifiedCardinality"),
        )
    },
}
_AXIOMS: Final[dict[str, tuple[str, ...]]] = {
    "SubClassOf": ("1 rdfs:subClassOf 2",),
    "SubDataPropertyOf": ("1 rdfs:subPropertyOf 2",),
    "SubAnnotationPropertyOf": ("1 rdfs:subPropertyOf 2",),
    **{
        f"{kind}Property{word}": (f"1 rdfs:{word.lower()} 2",)
        for kind in ("Object", "Data", "Annotation")
        for word in ("Domain", "Range")
    },
    "InverseObjectProperties": ("1 owl:inverseOf 2",),
    "DatatypeDefinition": ("1 owl:equivalentClass 2",),
    "DisjointClasses": ("1 owl:disjointWith 2", "_ a owl:AllDisjointClasses . _ owl:members *"),
    **{
        f"Disjoint{kind}Properties": (
            "1 owl:propertyDisjointWith 2",
            "_ a owl:AllDisjointProperties . _ owl:members *",
        )
        for kind in ("Object", "Data")
    },
    "DifferentIndividuals": ("1 owl:differentFrom 2", "_ a owl:AllDifferent . _ owl:members *"),
    **{
        f"{word}ObjectProperty": (f"1 a owl:{word}Property",)
        for word in (
            *("Functional", "InverseFunctional", "Reflexive", "Irreflexive"),
            *("Symmetric", "Asymmetric", "Transitive"),
        )
    },
    "FunctionalDataProperty": ("1 a owl:FunctionalProperty",),
    "HasKey": ("1 owl:hasKey 2*",),
    "DisjointUnion": ("1 owl:disjointUnionOf 2*",),
    "ClassAssertion": ("2 a 1",),
    "DataPropertyAssertion": ("2 1 3",),
    "AnnotationAssertion": ("2 1 3",),
    "NegativeObjectPropertyAssertion": (f"{_DENIED}_ owl:targetIndividual 3",),
    "NegativeDataPropertyAssertion": (f"{_DENIED}_ owl:targetValue 3",),
}
_EQUAL: Final = {
    "EquivalentClasses": "owl:equivalentClass",
    "EquivalentObjectProperties": "owl:equivalentProperty",
    "EquivalentDataProperties": "owl:equivalentProperty",
    "SameIndividual": "owl:sameAs",
}
"""Axioms of two or more equals: a triple for each two that follow each other."""
_ATOMS: Final = {
    "ClassAtom": ("ClassAtom", "classPredicate"),
    "DataRangeAtom": ("DataRangeAtom", "dataRange"),
    "ObjectPropertyAtom": ("IndividualPropertyAtom", "propertyPredicate"),
    "DataPropertyAtom": ("DatavaluedPropertyAtom", "propertyPredicate"),
    "SameIndividualAtom": ("SameIndividualAtom", ""),
    "DifferentIndividualsAtom": ("DifferentIndividualsAtom", ""),
}
"""Atoms of rules: the kind of node, and its link to class, data range or property."""


def read_owl_xml(file: Path, root: etree._Element) -> Iterator[Triple]:
    """The triples of an OWL/XML document; ``file`` names it in errors.

    Raises:
        OntologyError: an element is none of OWL/XML, or lacks a part that it needs, with its line.
    """
    return _Reader(file, root).triples()


class _Reader:
    """A reader of one document; :attr:`_made` collects the triples of the element that is read."""

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
            self._say(self._name, rdf.TYPE, owl.ONTOLOGY)
            if version := element.get("versionIRI"):
                self._say(self._name, owl.VERSION_IRI, self._iri(element, version))
        elif name == "Prefix":
            self._prefixes[element.get("name", "")] = element.get("IRI", "")
        elif name == "Import":
            self._say(self._name, owl.IMPORTS, self._iri(element, (element.text or "").strip()))
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
        parts = _parts(element)
        if name in _AXIOMS:
            self._mapped(element, _AXIOMS[name])
        elif name in _EQUAL:
            for one, other in pairwise(self._terms(element)):
                self._say(one, _word(_EQUAL[name]), other)
        elif name == "SubObjectPropertyOf":
            lower, above = self._expected(element, parts, 2)
            if _name(lower) == "ObjectPropertyChain":
                self._say(self._term(above), _word("owl:propertyChainAxiom"), self._terms(lower))
            else:
                self._say(self._term(lower), _word("rdfs:subPropertyOf"), self._term(above))
        elif name == "ObjectPropertyAssertion":
            of, *ends = self._expected(element, parts, 3)
            turned = _name(of) == "ObjectInverseOf"
            prop = self._terms(of, 1)[0] if turned else self._term(of)
            one, other = map(self._term, ends)
            self._say(*((other, prop, one) if turned else (one, prop, other)))
        else:
            raise self._error(element, f"'{name}' is not an axiom of OWL 2")

    def _mapped(self, element: etree._Element, texts: Sequence[str]) -> Term | None:
        """State the triples of an element of a table; return the node that it means, if any."""
        parts = self._terms(element)
        text = next((each for each in texts if _fits(each, len(parts))), None)
        if text is None:
            raise self._unexpected(element, len(parts), _parts_of(texts[-1]))
        made = self._blank() if text.startswith("_") else None

        def meant(word: str) -> Term | Sequence[Term]:
            match word:
                case "_":
                    assert made is not None
                    return made
                case "*" | "2*":
                    return parts[word == "2*" :]
                case "#":
                    return self._cardinality(element)
                case "true":
                    return Literal("true", xsd.BOOLEAN)
            return parts[int(word) - 1] if word.isdigit() else _word(word)

        for triple in text.split(" . "):
            s, p, o = map(meant, triple.split())
            self._say(s, p, o)  # type: ignore[arg-type]
        return made

    def _cardinality(self, element: etree._Element) -> Literal:
        number = Literal(element.get("cardinality", ""), f"{XSD}nonNegativeInteger")
        _ = number.value
        return number

    def _term(self, element: etree._Element) -> Term:
        """The term of an element; states the triples that define it."""
        name = _name(element)
        if name in _ENTITIES:
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
        if name in _EXPRESSIONS:
            made = self._mapped(element, _EXPRESSIONS[name])
            assert made is not None
            return made
        if name == "DatatypeRestriction":
            return self._facets(element)
        raise self._error(element, f"'{name}' is not an expression of OWL 2")

    def _facets(self, element: etree._Element) -> Term:
        base, *facets = _parts(element)
        node = self._typed(_ENTITIES["Datatype"])
        self._say(node, _word("owl:onDatatype"), self._term(base))
        members: list[Term] = []
        for each in facets:
            (bound,) = self._terms(each, 1)
            member = self._blank()
            self._say(member, self._iri(each, each.get("facet", "")), bound)
            members.append(member)
        self._say(node, _word("owl:withRestrictions"), members)
        return node

    def _rule(self, element: etree._Element) -> None:
        rule = self._typed(_word("swrl:Imp"))
        for part in _parts(element):
            word = _name(part).lower()
            if word not in ("body", "head"):
                raise self._error(part, f"'{_name(part)}' is no part of a rule")
            self._say(rule, _word(f"swrl:{word}"), [self._atom(atom) for atom in _parts(part)])

    def _atom(self, element: etree._Element) -> Term:
        name = _name(element)
        arguments = _parts(element)
        if name == "BuiltInAtom":
            node = self._typed(_word("swrl:BuiltinAtom"))
            self._say(node, _word("swrl:builtin"), self._named(element))
            self._say(node, _word("swrl:arguments"), [self._argument(each) for each in arguments])
            return node
        if name not in _ATOMS:
            raise self._error(element, f"'{name}' is not an atom of a rule")
        kind, link = _ATOMS[name]
        node = self._typed(_word(f"swrl:{kind}"))
        if link and arguments:
            self._say(node, _word(f"swrl:{link}"), self._term(arguments.pop(0)))
        for number, each in enumerate(arguments, 1):
            self._say(node, _word(f"swrl:argument{number}"), self._argument(each))
        return node

    def _argument(self, element: etree._Element) -> Term:
        if _name(element) != "Variable":
            return self._term(element)
        variable = self._named(element)
        self._say(variable, rdf.TYPE, _word("swrl:Variable"))
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
        # The nearest base counts; most documents have one at their root.
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
            return Literal(text, xsd.STRING)
        return Literal(text, self._iri(element, datatype))

    def _declare(self, element: etree._Element, name: Term) -> None:
        kind = _ENTITIES.get(_name(element))
        if kind is None or not isinstance(name, IRI):
            raise self._error(element, f"'{_name(element)}' cannot be declared")
        if not name.startswith(_BUILT_IN) and (name, kind) not in self._declared:
            self._declared.add((name, kind))
            self._made.append((name, rdf.TYPE, kind))

    def _terms(self, element: etree._Element, number: int | None = None) -> list[Term]:
        """The terms of the parts of an element; ``number`` of them."""
        found = [self._term(each) for each in _parts(element)]
        return found if number is None else self._expected(element, found, number)

    def _expected(self, element: etree._Element, found: list[_T], number: int) -> list[_T]:
        if len(found) != number:
            raise self._unexpected(element, len(found), number)
        return found

    def _unexpected(self, element: etree._Element, found: int, number: int) -> OntologyError:
        return self._error(element, f"'{_name(element)}' has {found} parts: expected {number}")

    def _typed(self, kind: IRI) -> Subject:
        node = self._blank()
        self._made.append((node, rdf.TYPE, kind))
        return node

    def _say(self, subject: Term, predicate: Term, value: Term | Sequence[Term]) -> None:
        """State a triple, or those of a list."""
        assert not isinstance(subject, Literal)
        assert isinstance(predicate, IRI)
        if isinstance(value, list):
            value = self._list(value)
        self._made.append((subject, predicate, value))  # type: ignore[arg-type]

    def _list(self, members: Sequence[Term]) -> Term:
        cells = [self._blank() for _ in members]
        rests: list[Term] = [*cells[1:], rdf.NIL]
        for cell, member, rest in zip(cells, members, rests, strict=True):
            self._made.append((cell, rdf.FIRST, member))
            self._made.append((cell, rdf.REST, rest))
        return cells[0] if cells else rdf.NIL

    def _blank(self) -> BlankNode:
        self._blanks += 1
        return BlankNode(f"_:made{self._blanks}")

    def _error(self, element: etree._Element, told: str) -> OntologyError:
        line = element.sourceline
        position = Position(str(self._file), line if isinstance(line, int) else 1, 1)
        return OntologyError(told, position=position)


def _children(element: etree._Element) -> list[etree._Element]:
    """The elements in an element, without comments and the like."""
    return [each for each in element if isinstance(each.tag, str)]


def _parts(element: etree._Element) -> list[etree._Element]:
    """The elements in an element without its annotations."""
    return [each for each in _children(element) if _name(each) != "Annotation"]


def _name(element: etree._Element) -> str:
    """The name of an element of OWL; others keep their namespace, and match no known name."""
    return element.tag.removeprefix(f"{{{OWL}}}")


def _word(short: str) -> IRI:
    """A name of a table."""
    prefix, _, rest = short.partition(":")
    return rdf.TYPE if short == "a" else IRI(_WORDS[prefix] + rest)


def _parts_of(text: str) -> int:
    """The number of parts that a text of a table names."""
    return max((int(word) for word in text.split() if word.isdigit()), default=0)


def _fits(text: str, number: int) -> bool:
    named = _parts_of(text)
    return named == number or ("*" in text and named < number)
