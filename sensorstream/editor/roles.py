"""What the next name would name: a class, a property, a datatype or an individual."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Final

from lark import Token


class Role(Enum):
    """What a name stands for at a place."""

    CLASS = "class"
    PROPERTY = "property"
    DATATYPE = "datatype"
    INDIVIDUAL = "individual"


_BEFORE_CLASSES: Final = frozenset(("_A", "EXISTS", "COUNT", "_OF"))
_OPEN: Final = frozenset(("OPEN", "OPEN_LIST"))
_CLOSE: Final = frozenset(("_CLOSE", "_CLOSE_LIST"))


def role_in_rules(tokens: Sequence[Token]) -> Role:
    """The role of a name behind some tokens of a rule."""
    depth = 0
    for index in range(len(tokens) - 1, -1, -1):
        kind = tokens[index].type
        before = tokens[index - 1].type if index else ""
        is_last = index == len(tokens) - 1
        if kind in _CLOSE:
            depth += 1
        elif kind in _OPEN and depth:
            depth -= 1
        elif depth:
            continue
        elif kind == "_DATATYPE" and is_last:
            return Role.DATATYPE
        elif kind in _BEFORE_CLASSES or (before == "_ON" and kind in ("INSERT", "EXPIRE")):
            return Role.CLASS
        elif before == "_ON" and kind == "UPDATE":
            return Role.PROPERTY
        elif kind == "KNOWN" or (is_last and kind == "_GRAPH"):
            return Role.INDIVIDUAL
        elif is_last and kind in ("_SEMICOLON", "_WITH", "OPEN"):
            return Role.PROPERTY
        elif kind in ("_SEMICOLON", "_INDIVIDUAL", "OPEN"):
            return Role.INDIVIDUAL
    return Role.INDIVIDUAL


def role_in_sparql(tokens: Sequence[Token], expected: Collection[str]) -> Role:
    """The role of a name behind some tokens of a query, which expects these kinds of token."""
    last = tokens[-1] if tokens else None
    if last is not None and (last.type == "_A" or last.value in ("rdf:type", "rdfs:subClassOf")):
        return Role.CLASS
    if last is not None and last.type == "_DATATYPE":
        return Role.DATATYPE
    return Role.PROPERTY if "_A" in expected else Role.INDIVIDUAL
