"""The entity sets of SensorThings, as ``entities.toml`` says of which SOSA data they are made."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from sensorstream.model.frozen import frozen

SEPARATOR: Final = "|"
"""A character of no IRI, between the parts of an id."""
IDS: Final = ("@iot.id", "id")
_VARIABLE: Final = re.compile(r"\?(\w+)")
_PATH: Final = re.compile(r"\b[A-Z]+\b")


@frozen
class EntityProperty:
    """A property: its pattern, and its kind, a word of ``entities.toml``."""

    kind: str
    pattern: str


@frozen
class EntityLink:
    """A link to entities of a set: one of ``find`` holds; ``parts`` are the target's variables."""

    target: str
    find: tuple[str, ...]
    one: bool
    parts: tuple[str, ...]


@frozen
class EntitySet:
    """An entity set: an entity is what one of ``find`` gives; ``parts`` are its variables."""

    name: str
    find: tuple[str, ...]
    parts: tuple[str, ...]
    properties: Mapping[str, EntityProperty]
    links: Mapping[str, EntityLink]


@frozen
class EntityModel:
    """All of ``entities.toml``: the sets, prefixes of SPARQL, functions, and what conforms."""

    sets: Mapping[str, EntitySet]
    prefixes: str
    functions: Mapping[str, Sequence[str]]
    conformance: Sequence[str]


def renamed(pattern: str, names: Mapping[str, str], others: str, keys: str = "") -> str:
    """A pattern with other names of its variables; ``others`` begins those without a new name."""
    text = _VARIABLE.sub(lambda found: f"?{names.get(found[1], others + found[1])}", pattern)
    return text.replace("KEYS", keys)


@cache
def entity_model() -> EntityModel:
    """The content of ``entities.toml``."""
    told = tomllib.loads((resources.files(__package__) / "entities.toml").read_text("utf-8"))
    paths, shared = told.pop("paths"), told.pop("properties")
    prefixes = "\n".join(f"PREFIX {e}: <{iri}>" for e, iri in told.pop("prefixes").items())
    functions = {e: [t] if isinstance(t, str) else t for e, t in told.pop("functions").items()}
    conformance = told.pop("conformance")

    def whole(pattern: str) -> str:
        return _PATH.sub(lambda found: paths.get(found[0], found[0]), pattern)

    def read(told: str | Mapping[str, str]) -> EntityProperty:
        ((kind, pattern),) = (shared[told] if isinstance(told, str) else told).items()
        return EntityProperty(kind, whole(pattern))

    arity = {name: 1 + ("?that" in each["find"][0]) for name, each in told.items()}

    def link(each: Mapping[str, Any]) -> EntityLink:
        parts = each.get("as", ("target", "target2")[: arity[each["to"]]])
        find = tuple(map(whole, each.get("find", ())))
        return EntityLink(each["to"], find, each.get("one", False), tuple(parts))

    sets = {
        name: EntitySet(
            name,
            tuple(map(whole, each["find"])),
            ("this", "that")[: arity[name]],
            {e: read(t) for e, t in each["properties"].items()},
            {e: link(t) for e, t in each["links"].items()},
        )
        for name, each in told.items()
    }
    return EntityModel(sets, prefixes, functions, conformance)
