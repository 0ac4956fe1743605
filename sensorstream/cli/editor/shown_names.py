"""The names of an ontology, as an editor shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from sensorstream.mapping.reference_data import reference_data
from sensorstream.model.frozen import field, frozen
from sensorstream.model.schema import Schema, local_name, shortened
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.terms import Literal as RdfLiteral
from sensorstream.model.vocabulary import RDFS

Kind: TypeAlias = Literal["class", "object property", "datatype property", "individual"]

_COMMENTS: Final = (
    IRI(f"{RDFS}comment"),
    IRI("http://www.w3.org/2004/02/skos/core#definition"),
)
_LONGEST: Final = 1000
"""Characters of a comment that are shown."""


@frozen
class Vocabulary:
    """The names of an ontology, and its statements about them."""

    names: Mapping[IRI, Kind] = field(default_factory=dict)
    schema: Schema = field(default_factory=Schema)
    comments: Mapping[IRI, str] = field(default_factory=dict)
    types: Mapping[IRI, frozenset[IRI]] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, triples: Iterable[Triple]) -> Vocabulary:
        """The names of an ontology with these triples."""
        listed = tuple(triples)
        types = reference_data({}, listed).types
        kinds: tuple[tuple[Kind, Iterable[IRI]], ...] = (
            ("individual", types),
            ("datatype property", schema.datatype_properties),
            ("object property", schema.object_properties),
            ("class", schema.classes),
        )
        names = {iri: kind for kind, iris in kinds for iri in iris}
        return cls(names, schema, _comments(listed), types)

    def of_kind(self, *kinds: Kind) -> list[tuple[IRI, Kind]]:
        """The names of some kinds, in the order of the alphabet, each with its kind."""
        return sorted((iri, kind) for iri, kind in self.names.items() if kind in kinds)

    def description(self, iri: IRI, prefixes: Mapping[str, str]) -> str | None:
        """The description of a name by the ontology, as Markdown; None if it does not know it."""
        kind = self.names.get(iri)
        if kind is None:
            return None
        lines = [f"**{shortened(iri, prefixes)}** ({kind})"]
        label = self.schema.labels_of.get(iri)
        if label and label != local_name(iri):
            lines.append(label)
        if comment := self.comments.get(iri):
            lines.append(comment)
        facts = (
            f"- {title}: {', '.join(shortened(each, prefixes) for each in sorted(iris))}"
            for title, iris in self._facts(iri, kind)
            if iris
        )
        if listed := "\n".join(facts):
            lines.append(listed)
        lines.append(f"<{iri}>")
        return "\n\n".join(lines)

    def _facts(self, iri: IRI, kind: Kind) -> Iterator[tuple[str, frozenset[IRI]]]:
        schema = self.schema
        match kind:
            case "class":
                yield "subclass of", schema.superclasses(iri)
                yield "has the properties", schema.properties_of(iri)
            case "individual":
                yield "is a", self.types[iri]
            case _:
                yield "subproperty of", schema.superproperties(iri)
                yield "domain", schema.domains(iri)
                yield "range", schema.ranges(iri)


def _comments(triples: Iterable[Triple]) -> dict[IRI, str]:
    """The comment of each name; English or without a language first."""
    best: dict[IRI, tuple[int, str]] = {}
    for subject, predicate, value in triples:
        if predicate in _COMMENTS and isinstance(subject, IRI) and isinstance(value, RdfLiteral):
            language = (value.language or "en").partition("-")[0]
            offer = (0 if language == "en" else 1, value.lexical[:_LONGEST])
            best[subject] = min(best.get(subject, offer), offer)
    return {iri: text for iri, (_, text) in best.items()}
