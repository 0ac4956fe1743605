"""Pellet, resident: the axioms are classified once; each island is tested in a new copy.

Pellet never removes an individual from a knowledge base, so each question gets a copy with only the
individuals that axioms name. ``getTypes`` would realise everything: instead, classes are tested one
by one, from the top of the hierarchy down, and never below a class that does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sensorstream.reasoning.dl.reasoner_messages import IslandFacts, Types

_SLOT = "urn:sensorstream:slot:"


class Pellet:
    """Pellet over one ontology; needs a running JVM."""

    def __init__(self, axioms: bytes) -> None:
        import jpype

        java = jpype.JClass
        # Jena's readers are registered by this call, not by loading their classes.
        java("org.apache.jena.riot.RIOT").init()
        options = java("org.mindswap.pellet.PelletOptions")
        options.USE_CLASSIFICATION_MONITOR = java(
            "org.mindswap.pellet.PelletOptions$MonitorType"
        ).NONE
        # Without a GUI undeclared names are left out silently.
        factory = java("com.hp.hpl.jena.rdf.model.ModelFactory")
        raw = factory.createDefaultModel()
        stream = jpype.JObject(java("java.io.ByteArrayInputStream")(axioms), "java.io.InputStream")
        raw.read(stream, None, "N-TRIPLE")
        specification = java("org.mindswap.pellet.jena.PelletReasonerFactory").THE_SPEC
        graph = factory.createOntologyModel(specification, raw).getGraph()
        graph.prepare()
        self._base = graph.getKB()
        self._terms = java("org.mindswap.pellet.utils.ATermUtils")
        self._known: dict[str, Any] = {}
        self._consistent = bool(self._base.isConsistent())
        # Axioms about an individual (member of an enumeration, different from another) are among
        # the assertions, which an empty copy does not have.
        self._names_nobody = bool(self._base.getIndividuals().isEmpty())
        self._top: list[_Class] = []
        if self._consistent:
            self._base.classify()
            self._top = self._hierarchy()

    def is_consistent(self) -> bool:
        """Whether the axioms have a model."""
        return self._consistent

    def types(self, island: IslandFacts) -> Types | None:
        """The named classes of each member; None if there is no model."""
        kb = self._base.copy(self._names_nobody)
        members = [self._term(name or f"{_SLOT}{n}") for n, name in enumerate(island.names)]
        for member in members:
            kb.addIndividual(member)
        for number, name in island.types:
            kb.addType(members[number], self._term(name))
        for one, name, other in island.links:
            kb.addPropertyValue(self._term(name), members[one], members[other])
        for number, name, lexical, datatype, language in island.values:
            value = self._literal(lexical, datatype, language)
            kb.addPropertyValue(self._term(name), members[number], value)
        for one, other in island.same:
            if self._names_nobody:
                kb.addSame(members[one], members[other])
            else:
                # A full copy shares its list of equalities with the base.
                kb.addType(members[one], self._terms.makeValue(members[other]))
        for one, other in island.different:
            kb.addDifferent(members[one], members[other])
        if not kb.isConsistent():
            return None
        if island.asked is not None:
            terms = {name: self._term(name) for name in island.asked}
            return [[n for n, each in terms.items() if kb.isType(m, each)] for m in members]
        return [self._types_of(kb, member) for member in members]

    def _types_of(self, kb: Any, member: Any) -> list[str]:
        found: dict[int, _Class] = {}
        tested: set[int] = set()
        ahead = list(self._top)
        while ahead:
            each = ahead.pop()
            if id(each) not in tested:
                tested.add(id(each))
                if each.is_top or kb.isType(member, each.term):
                    found[id(each)] = each
                    ahead.extend(each.below)
        return [name for each in found.values() for name in each.names]

    def _hierarchy(self) -> list[_Class]:
        """The classified hierarchy, equivalent classes as one, from the top down."""
        terms = self._terms
        made: dict[str, _Class] = {}

        def node(equivalent: list[Any]) -> _Class | None:
            if any(each.equals(terms.BOTTOM) for each in equivalent):
                return None
            names = sorted(str(each.getName()) for each in equivalent if not each.equals(terms.TOP))
            is_top = len(names) < len(equivalent)
            key = "" if is_top else names[0]
            if key not in made:
                made[key] = fresh = _Class(equivalent[0], names, is_top)
                below = self._base.getSubClasses(equivalent[0], True)
                fresh.below = [n for each in below if (n := node(list(each))) is not None]
            return made[key]

        top = node(list(self._base.getAllEquivalentClasses(terms.TOP)))
        return [] if top is None else [top]

    def _term(self, name: str) -> Any:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._terms.makeTermAppl(name)
        return found

    def _literal(self, lexical: str, datatype: str, language: str | None) -> Any:
        if language is not None:
            return self._terms.makePlainLiteral(lexical, language)
        return self._terms.makeTypedLiteral(lexical, datatype)


@dataclass(slots=True, eq=False)
class _Class:
    """Equivalent classes and those directly below them."""

    term: Any
    names: list[str]
    is_top: bool
    below: list[_Class] = field(default_factory=list)
