"""SWRL rules: which individuals and values they name, and what is refused.

Source: SWRL, section 3 (rules) and 5.1 (RDF).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sensorstream.errors import OntologyError
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.reasoning.dl.axioms import Axioms

_SWRL: Final = "http://www.w3.org/2003/11/swrl#"
_RULE: Final = f"{_SWRL}Imp"
_OF_VALUE: Final = f"{_SWRL}DatavaluedPropertyAtom"
_BUILT_IN: Final = f"{_SWRL}BuiltinAtom"
_ABOUT_VALUES: Final = frozenset({_BUILT_IN, f"{_SWRL}DataRangeAtom"})
_OF_ONE: Final = frozenset({f"{_SWRL}ClassAtom", _OF_VALUE})
_CONNECTING: Final = frozenset({f"{_SWRL}IndividualPropertyAtom", f"{_SWRL}SameIndividualAtom"})


def has_rules(axioms: Axioms) -> bool:
    """Whether there are SWRL rules."""
    return bool(axioms.typed(_RULE))


def individuals_of_rules(axioms: Axioms) -> set[Subject]:
    """The individuals that rules name."""
    found: set[Subject] = set()
    for rule in axioms.typed(_RULE):
        for atom in (*_atoms(axioms, rule, "body"), *_atoms(axioms, rule, "head")):
            for end in _individuals(axioms, atom):
                if isinstance(end, IRI | BlankNode) and not _is_variable(axioms, end):
                    found.add(end)
    return found


def values_of_rules(axioms: Axioms) -> Iterator[tuple[IRI, Literal]]:
    """The values that the heads of rules give a datatype property."""
    for rule in axioms.typed(_RULE):
        for atom in _atoms(axioms, rule, "head"):
            prop, value = _valued(axioms, atom)
            if isinstance(prop, IRI) and isinstance(value, Literal):
                yield prop, value


def check_rules(axioms: Axioms) -> None:
    """Refuse rules of which HermiT and Pellet do not report what follows.

    Raises:
        OntologyError: the head of a rule gives a property the value of a variable.
    """
    for rule in axioms.typed(_RULE):
        for atom in _atoms(axioms, rule, "head"):
            prop, value = _valued(axioms, atom)
            if prop is not None and value is not None and not isinstance(value, Literal):
                raise OntologyError(
                    f"a SWRL rule ({rule}) derives values of <{prop}> from its variable {value}, "
                    "which HermiT and Pellet do not report: expected a value in its head; "
                    "rdfs:subPropertyOf, or a semantic rule, copies values"
                )


def built_ins(axioms: Axioms) -> set[Term]:
    """The built-ins that rules call."""
    return {
        axioms.value(atom, f"{_SWRL}builtin") or atom
        for rule in axioms.typed(_RULE)
        for part in ("body", "head")
        for atom in _atoms(axioms, rule, part)
        if axioms.value(atom, RDF_TYPE) == _BUILT_IN
    }


def joins_strangers(axioms: Axioms) -> bool:
    """Whether a rule may fire for individuals of different islands, or names one."""
    return any(_joins_strangers(axioms, rule) for rule in axioms.typed(_RULE))


def _joins_strangers(axioms: Axioms, rule: Subject) -> bool:
    body = _atoms(axioms, rule, "body")
    groups: list[set[Term]] = []
    everyone: set[Term] = set()
    for atom in (*body, *_atoms(axioms, rule, "head")):
        about = set(_individuals(axioms, atom))
        if not all(_is_variable(axioms, end) for end in about):
            return True
        everyone |= about
        if atom in body and axioms.value(atom, RDF_TYPE) in _CONNECTING:
            touching = [group for group in groups if group & about]
            groups = [group for group in groups if not group & about]
            groups.append(about.union(*touching))
    return len(everyone) != 1 and not any(group >= everyone for group in groups)


def _individuals(axioms: Axioms, atom: Term) -> Iterator[Term]:
    """The arguments of an atom that stand for individuals."""
    kind = axioms.value(atom, RDF_TYPE)
    if kind in _ABOUT_VALUES:
        return
    for number in (1,) if kind in _OF_ONE else (1, 2):
        end = axioms.value(atom, f"{_SWRL}argument{number}")
        if end is not None:
            yield end


def _valued(axioms: Axioms, atom: Term) -> tuple[Term | None, Term | None]:
    """Property and value of an atom about a datatype property."""
    if axioms.value(atom, RDF_TYPE) != _OF_VALUE:
        return None, None
    prop = axioms.value(atom, f"{_SWRL}propertyPredicate")
    return prop, axioms.value(atom, f"{_SWRL}argument2")


def _atoms(axioms: Axioms, rule: Subject, part: str) -> list[Term]:
    head = axioms.value(rule, f"{_SWRL}{part}")
    return [] if head is None else axioms.members(head)


def _is_variable(axioms: Axioms, term: Term) -> bool:
    return any(p == RDF_TYPE and o == f"{_SWRL}Variable" for _, p, o in axioms.about(term))
