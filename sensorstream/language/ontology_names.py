"""The check of a rule file's names against the ontology: known, and used as their kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.model import rdf
from sensorstream.model.schema import Schema, shortened, similar
from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import DATATYPES, XSD
from sensorstream.sparql.walk import nodes

_BUILT_IN: Final = (RDF, RDFS, OWL)
# RDF 1.1 Concepts, section 5.1, and two newer datatypes of XSD 1.1.
XSD_TYPES: Final = tuple(
    each.removeprefix(XSD)
    for each in DATATYPES
    if each.startswith(XSD) and each.removeprefix(XSD) not in ("ID", "IDREF", "ENTITY")
)


def unknown_names(file: syntax.RuleFile, schema: Schema) -> Iterator[LanguageError]:
    """Classes and properties that the ontology lacks, and values of the wrong kind.

    The names of RDF, RDFS and OWL themselves are always known; an ontology without any name
    allows all classes and properties. The prefixes of ``file`` are declared (``parse`` checks
    that).
    """
    yield from _datatypes(file)
    properties = schema.object_properties | schema.datatype_properties
    if not schema.classes and not properties:
        return
    for node in nodes(file.rules, object):
        match node:
            case syntax.IndividualAction(classes=names) | syntax.BlankValue(classes=names):
                for name in names:
                    if name.is_constant:
                        yield from _unknown(file, "class", name, schema.classes)
            case syntax.OfClass(class_name=name):
                yield from _unknown(file, "class", name, schema.classes)
            case syntax.OnUpdate(name=name):
                known = schema.classes | properties
                yield from _unknown(file, "class or property", name, known)
            case syntax.KnownBy(class_name=name):
                yield from _unknown(file, "class", name, schema.classes)
                yield from _unknown(file, "property", node.property, properties)
                if (iri := file.resolve(node.property)) in schema.object_properties:
                    yield LanguageError(
                        f"{shown(file, iri)} is an object property: expected one that tells "
                        "individuals apart by a value",
                        position=node.property.position,
                    )
            case syntax.PropertyValues() if file.resolve(node.property) == rdf.TYPE:
                for value in alternatives(node.values):
                    if isinstance(value, syntax.WrittenName) and value.is_constant:
                        yield from _unknown(file, "class", value, schema.classes)
            case syntax.PropertyValues():
                yield from _unknown(file, "property", node.property, properties)
                yield from _wrong_kind(file, node, schema)


def _unknown(
    file: syntax.RuleFile, what: str, name: syntax.WrittenName, known: Iterable[IRI]
) -> Iterator[LanguageError]:
    if reason := why_unknown(file, what, file.resolve(name), known):
        yield LanguageError(reason, position=name.position)


def why_unknown(file: syntax.RuleFile, what: str, iri: IRI, known: Iterable[IRI]) -> str:
    """The reason why a class or property cannot be used, with a near name; "" if it can be."""
    if iri in known or iri.startswith(_BUILT_IN):
        return ""
    written = partial(shown, file)
    guess = similar(iri, known, written)
    hint = f"expected a {what} of the ontology" if guess is None else f"did you mean {guess}?"
    return f"unknown {what} {written(iri)}: {hint}"


def _datatypes(file: syntax.RuleFile) -> Iterator[LanguageError]:
    for node in nodes(file.rules, object):
        if not isinstance(node, syntax.XPathValue | syntax.TextValue) or node.datatype is None:
            continue
        iri = file.resolve(node.datatype)
        name = iri.removeprefix(XSD)
        if iri.startswith(XSD) and name not in XSD_TYPES:
            close = get_close_matches(name, XSD_TYPES, n=1)
            hint = (
                f"did you mean {shown(file, XSD + close[0])}?"
                if close
                else "expected one of XML Schema's that RDF has"
            )
            yield LanguageError(
                f"unknown datatype {shown(file, iri)}: {hint}", position=node.datatype.position
            )


def _wrong_kind(
    file: syntax.RuleFile, values: syntax.PropertyValues, schema: Schema
) -> Iterator[LanguageError]:
    iri = file.resolve(values.property)
    for value in alternatives(values.values):
        is_link = not isinstance(value, syntax.XPathValue | syntax.TextValue | syntax.WrittenNumber)
        if isinstance(value, syntax.RuleVariable):
            continue
        if iri in schema.object_properties and not is_link:
            yield LanguageError(
                f"{shown(file, iri)} is an object property: expected the name of an individual "
                "such as :room-{@id}",
                position=value.position,
            )
        if iri in schema.datatype_properties and is_link:
            yield LanguageError(
                f"{shown(file, iri)} is a datatype property: expected a value such as {{@id}}, "
                '"text" or 5',
                position=value.position,
            )


def alternatives(
    values: Iterable[syntax.Value | syntax.MissingPolicy | None],
) -> Iterator[syntax.Value]:
    """The values that may be stated, first those of each ``or``."""
    for value in values:
        if isinstance(value, syntax.Fallback):
            yield from alternatives((value.value, value.otherwise))
        elif value is not None and not isinstance(value, syntax.MissingPolicy):
            yield value


def shown(file: syntax.RuleFile, iri: str) -> str:
    """An IRI in the notation of the file: with the longest prefix that fits."""
    return shortened(iri, file.prefix_map)
