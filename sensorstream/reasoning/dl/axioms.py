"""Axioms by subject, their names as text, and the effects that they can have.

They equate individuals, join them, derive links, or cannot be told. *Without a link* individuals
affect each other by few axioms: ``owl:topObjectProperty``, keys of datatype properties alone, SWRL
rules whose body does not connect their individuals by object properties or that name one, and
axioms that name individuals, unless all of these are in one part. By all others the disjoint union
of models of unconnected parts is a model: class axioms and cardinalities concern an element and its
neighbours, which are in the same part; no link of a hierarchy, an inverse, a chain or a transitive
property crosses from part to part; values are no elements, and two parts may share them.

So the reasoner need not be asked about individuals that no axiom without rules concerns. The axioms
with rules have a model of them whose facts are all in the upper bound. None of them has there what
an axiom without rules needs, so that axiom is true of them. No link of that model leads to the
others, and no name is shared: with a model of the others it is a model of everything.

Hierarchies, equivalences, inverses and symmetry of properties are *linear*: a triple implies
triples, one at a time. If no axiom can make individuals equal, all other implied property values
come from transitivity, chains, reflexivity and self restrictions: a model can be unravelled into
trees that hang on the named individuals, without any other link between those. If individuals can
be equal, all properties that link are asked about; if axioms name individuals or bound neighbours
by two or more, all object properties.

Source: OWL 2 Direct Semantics, section 2.3; OWL 2 Structural Specification, section 9.5 (keys);
SWRL, section 3 (rules) and 5.1 (RDF).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from sensorstream.errors import OntologyError
from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import transitive
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import OWL, RDFS

COUNTS: Final = {
    f"{OWL}minCardinality": (True, False),
    f"{OWL}maxCardinality": (False, True),
    f"{OWL}cardinality": (True, True),
    f"{OWL}minQualifiedCardinality": (True, False),
    f"{OWL}maxQualifiedCardinality": (False, True),
    f"{OWL}qualifiedCardinality": (True, True),
}
"""Whether the number is a lower limit, and whether it is an upper one."""
EQUALITY: Final = frozenset({owl.SAME_AS, owl.DIFFERENT_FROM})
HAS_KEY: Final = IRI(f"{OWL}hasKey")
AT_MOST: Final = frozenset(name for name, (_, most) in COUNTS.items() if most)

ANNOTATIONS: Final = frozenset(
    {
        *(f"{RDFS}{word}" for word in ("label", "comment", "seeAlso", "isDefinedBy")),
        *(f"{OWL}{word}" for word in ("versionInfo", "deprecated", "versionIRI", "imports")),
        *(f"{OWL}{word}" for word in ("priorVersion", "incompatibleWith")),
        f"{OWL}backwardCompatibleWith",
    }
)
"""OWL 2's own annotation properties, and what else says nothing of individuals."""


def name_of(axiom: Triple) -> str:
    """An axiom as text, which names the rules made of it."""
    return " ".join(each.n3 for each in axiom)


def line_of(triple: Triple) -> str:
    """A triple as a line of N-Triples."""
    return f"{name_of(triple)} ."


class Axioms:
    """Axioms by subject, as lists and expressions are read."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self.triples = triples
        self._about: dict[Term, list[Triple]] = {}
        for triple in triples:
            self._about.setdefault(triple[0], []).append(triple)

    def about(self, node: Term) -> list[Triple]:
        """The triples with one subject."""
        return self._about.get(node, [])

    def value(self, node: Term, predicate: str) -> Term | None:
        """The first object of a subject and predicate."""
        return next((o for _, p, o in self.about(node) if p == predicate), None)

    def members(self, head: Term) -> list[Term]:
        """The members of an RDF list."""
        found: list[Term] = []
        for cell in self.cells(head):
            member = self.value(cell, rdf.FIRST)
            if member is not None:
                found.append(member)
        return found

    def cells(self, head: Term) -> Iterator[Term]:
        """The nodes of an RDF list without its end; a cyclic list ends where it repeats."""
        seen: set[Term] = set()
        cell: Term | None = head
        while cell is not None and cell not in seen and self.value(cell, rdf.FIRST) is not None:
            seen.add(cell)
            yield cell
            cell = self.value(cell, rdf.REST)

    def typed(self, kind: str) -> list[Subject]:
        """The subjects of a type."""
        return [s for s, p, o in self.triples if p == rdf.TYPE and o == kind]


SWRL: Final = "http://www.w3.org/2003/11/swrl#"
RULE: Final = f"{SWRL}Imp"
_OF_VALUE: Final = "DatavaluedPropertyAtom"
_CONNECTING: Final = frozenset({"IndividualPropertyAtom", "SameIndividualAtom"})
_OF: Final = {
    "ClassAtom": "classPredicate",
    "IndividualPropertyAtom": "propertyPredicate",
    _OF_VALUE: "propertyPredicate",
    "BuiltinAtom": "builtin",
}
"""What links an atom to its class, its property or its built-in."""


@frozen
class Atom:
    """An atom of a SWRL rule: its class, property or built-in, and two arguments, maybe None."""

    node: Term
    kind: str
    of: Term | None
    arguments: tuple[Term | None, Term | None]
    _axioms: Axioms

    def is_variable(self, term: Term) -> bool:
        """Whether an argument is a variable."""
        return any(p == rdf.TYPE and o == f"{SWRL}Variable" for _, p, o in self._axioms.about(term))

    @property
    def individuals(self) -> list[Term]:
        """The arguments that stand for individuals."""
        if self.kind in ("BuiltinAtom", "DataRangeAtom"):
            return []
        ends = self.arguments[:1] if self.kind in ("ClassAtom", _OF_VALUE) else self.arguments
        return [end for end in ends if end is not None]


def atoms_of(axioms: Axioms, rule: Term, part: str) -> Iterator[Atom]:
    """The atoms of ``body`` or ``head``."""
    head = axioms.value(rule, f"{SWRL}{part}")
    for node in [] if head is None else axioms.members(head):
        told = axioms.value(node, rdf.TYPE)
        kind = "atom without a type" if told is None else str(told).removeprefix(SWRL)
        of = axioms.value(node, f"{SWRL}{_OF[kind]}") if kind in _OF else None
        one, other = (axioms.value(node, f"{SWRL}argument{number}") for number in (1, 2))
        yield Atom(node, kind, of, (one, other), axioms)


def _atoms(axioms: Axioms, *parts: str) -> Iterator[tuple[Subject, Atom]]:
    """The atoms of all rules, each with its rule."""
    for rule in axioms.typed(RULE):
        for part in parts:
            for atom in atoms_of(axioms, rule, part):
                yield rule, atom


def has_rules(axioms: Axioms) -> bool:
    """Whether there are SWRL rules."""
    return bool(axioms.typed(RULE))


def values_of_rules(axioms: Axioms) -> Iterator[tuple[IRI, Literal]]:
    """The values that the heads of rules give a datatype property."""
    for _, atom in _atoms(axioms, "head"):
        value = atom.arguments[1]
        if atom.kind == _OF_VALUE and isinstance(atom.of, IRI) and isinstance(value, Literal):
            yield atom.of, value


def check_rules(axioms: Axioms) -> None:
    """Refuse rules whose conclusions HermiT and Pellet do not report.

    Raises:
        OntologyError: the head of a rule gives a property the value of a variable.
    """
    for rule, atom in _atoms(axioms, "head"):
        prop, value = atom.of, atom.arguments[1]
        if atom.kind != _OF_VALUE or prop is None or value is None or isinstance(value, Literal):
            continue
        raise OntologyError(
            f"a SWRL rule ({rule}) derives values of <{prop}> from its variable {value}, "
            "which HermiT and Pellet do not report: expected a value in its head; "
            "rdfs:subPropertyOf, or a semantic rule, copies values"
        )


def built_ins(axioms: Axioms) -> set[Term]:
    """The built-ins that rules call."""
    atoms = (atom for _, atom in _atoms(axioms, "body", "head") if atom.kind == "BuiltinAtom")
    return {atom.of or atom.node for atom in atoms}


def _joins_strangers(axioms: Axioms, rule: Subject) -> bool:
    """Whether a rule may fire for individuals of different islands, or names one."""
    groups: list[set[Term]] = []
    everyone: set[Term] = set()
    for part in ("body", "head"):
        for atom in atoms_of(axioms, rule, part):
            about = set(atom.individuals)
            if not all(map(atom.is_variable, about)):
                return True
            everyone |= about
            if part == "body" and atom.kind in _CONNECTING:
                touching = [group for group in groups if group & about]
                groups = [group for group in groups if not group & about]
                groups.append(about.union(*touching))
    return len(everyone) != 1 and not any(group >= everyone for group in groups)


_SYMMETRIC: Final = IRI(f"{OWL}SymmetricProperty")
_CHAIN: Final = IRI(f"{OWL}propertyChainAxiom")
_COMPLEX_KINDS: Final = frozenset({f"{OWL}TransitiveProperty", f"{OWL}ReflexiveProperty"})
_EQUATING_KINDS: Final = frozenset({f"{OWL}FunctionalProperty", f"{OWL}InverseFunctionalProperty"})
# A signed name, as one string so that hierarchies are computed by the usual function.
_Signed: TypeAlias = IRI
_BACKWARD: Final = "^"


class Roles:
    """The stated hierarchy of properties, inverses included."""

    __slots__ = ("_above",)

    def __init__(self, axioms: Axioms) -> None:
        edges: dict[_Signed, set[_Signed]] = {}

        def tell(lower: _Signed, upper: _Signed) -> None:
            edges.setdefault(lower, set()).add(upper)
            edges.setdefault(_converse(lower), set()).add(_converse(upper))

        for s, p, o in axioms.triples:
            if p == rdf.TYPE and o == _SYMMETRIC and isinstance(s, IRI):
                tell(s, _converse(s))
                continue
            one, other = _signed(axioms, s), _signed(axioms, o)
            if one is None or other is None:
                continue
            if p == rdfs.SUBPROPERTY_OF:
                tell(one, other)
            elif p == owl.EQUIVALENT_PROPERTY:
                tell(one, other)
                tell(other, one)
            elif p == owl.INVERSE_OF and isinstance(s, IRI):
                tell(one, _converse(other))
                tell(_converse(other), one)
        self._above = transitive(edges)

    def above(self, names: set[IRI]) -> set[IRI]:
        """The properties and all superproperties of them or of their inverses."""
        found = set(names)
        for name in names:
            for signed in (name, _converse(name)):
                found.update(_name(each) for each in self._above.get(IRI(signed), ()))
        return found


def complex_roles(axioms: Axioms) -> set[IRI]:
    """The properties with an axiom that derives triples from several, or from none."""
    found: set[IRI] = set()
    for s, p, o in axioms.triples:
        role: Term | None = None
        if (p == rdf.TYPE and o in _COMPLEX_KINDS) or p == _CHAIN:
            role = s
        elif p == f"{OWL}hasSelf":
            role = axioms.value(s, owl.ON_PROPERTY)
        signed = None if role is None else _signed(axioms, role)
        if signed is not None:
            found.add(_name(signed))
    return found


def counts_individuals(axioms: Axioms, values: frozenset[IRI]) -> bool:
    """Whether some axiom limits the number of neighbours of an individual; a limit on values of the
    datatype properties ``values`` does not count, as it makes no individuals equal.
    """
    for s, p, o in axioms.triples:
        if p in AT_MOST and axioms.value(s, owl.ON_PROPERTY) not in values:
            return True
        if p == rdf.TYPE and o in _EQUATING_KINDS and s not in values:
            return True
    return False


def leaves_a_choice(axioms: Axioms, values: frozenset[IRI]) -> bool:
    """Whether some limit above one lets models differ in which neighbours are equal."""
    return any(
        p in AT_MOST
        and isinstance(o, Literal)
        and o.lexical.strip() not in {"0", "1"}
        and axioms.value(s, owl.ON_PROPERTY) not in values
        for s, p, o in axioms.triples
    )


def _converse(name: str) -> IRI:
    return IRI(name[1:] if name.startswith(_BACKWARD) else _BACKWARD + name)


def _name(signed: str) -> IRI:
    return IRI(signed.removeprefix(_BACKWARD))


def _signed(axioms: Axioms, term: Term) -> _Signed | None:
    if isinstance(term, BlankNode):
        inverse = axioms.value(term, owl.INVERSE_OF)
        inner = None if inverse is None else _signed(axioms, inverse)
        return None if inner is None else _converse(inner)
    return term if isinstance(term, IRI) else None


_UNIVERSAL: Final = IRI(f"{OWL}topObjectProperty")
_ALL_DIFFERENT: Final = IRI(f"{OWL}AllDifferent")
_ENDS_OF_NEGATIVE: Final = frozenset({f"{OWL}sourceIndividual", f"{OWL}targetIndividual"})
_MEMBERS: Final = frozenset({f"{OWL}distinctMembers", f"{OWL}members"})


def named_individuals(axioms: Axioms) -> set[Subject]:
    """The individuals that axioms name."""
    named: set[Subject] = {
        end
        for _, atom in _atoms(axioms, "body", "head")
        for end in atom.individuals
        if isinstance(end, IRI | BlankNode) and not atom.is_variable(end)
    }
    for s, p, o in axioms.triples:
        if (p == owl.HAS_VALUE or p in _ENDS_OF_NEGATIVE) and not isinstance(o, Literal):
            named.add(o)
        elif p == rdf.TYPE and isinstance(o, BlankNode):  # of a class without a name, as denials
            named.add(s)
        elif p == owl.ONE_OF:
            named.update(m for m in axioms.members(o) if not isinstance(m, Literal))
    for node in axioms.typed(_ALL_DIFFERENT):
        for _, p, o in axioms.about(node):
            if p in _MEMBERS:
                named.update(m for m in axioms.members(o) if not isinstance(m, Literal))
    return named


def why_whole(axioms: Axioms, objects: frozenset[IRI]) -> tuple[str, ...]:
    """The reasons why every question must be about the whole window; empty if islands are sound.
    ``objects`` are the object properties.
    """
    reasons: dict[str, None] = {}
    for triple in axioms.triples:
        if _UNIVERSAL in triple:
            reasons["the universal role (owl:topObjectProperty)"] = None
        elif triple[1] == HAS_KEY and objects.isdisjoint(axioms.members(triple[2])):
            reasons["a key of nothing but values (owl:hasKey)"] = None
    if any(_joins_strangers(axioms, rule) for rule in axioms.typed(RULE)):
        reasons["a SWRL rule about individuals that no link of its body connects"] = None
    return tuple(reasons)


def has_keys(axioms: Axioms) -> bool:
    """Whether there are keys."""
    return any(p == HAS_KEY for _, p, _ in axioms.triples)
