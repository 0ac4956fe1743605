"""The SPARQL that finds the entities of a path, an option or a link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from sensorstream.errors import Position, QueryError
from sensorstream.model.frozen import frozen
from sensorstream.server.sensorthings.entity_sets import (
    IDS,
    SEPARATOR,
    EntityLink,
    EntitySet,
    entity_model,
    renamed,
)
from sensorstream.server.sensorthings.query_options import (
    Calculation,
    Constant,
    Expression,
    Member,
    QueryOptions,
    parts_of,
)

_LONGEST: Final = 20_000
"""Characters of an expression in SPARQL, which may repeat its arguments."""
Key: TypeAlias = tuple[str, ...]
"""The IRIs of an entity's parts."""


@frozen
class FoundEntities:
    """A pattern, and the names of the variables that have the parts of an entity."""

    kind: EntitySet
    parts: tuple[str, ...]
    pattern: str = ""

    def among(self, keys: Iterable[Key]) -> str:
        """The clause by which the entity is one of some."""
        rows = " ".join("(" + " ".join(f"<{each}>" for each in key) + ")" for key in keys)
        return f"VALUES ({_listed(self.parts)}) {{ {rows} }}"

    def value(self, name: str, variable: str, keys: str = "") -> str:
        """The pattern that binds a variable to a property's value."""
        names = dict(zip(("this", "that"), self.parts, strict=False))
        told = self.kind.properties[name].pattern
        return renamed(told, {**names, "value": variable}, variable, keys)

    def id_text(self) -> str:
        """The id in SPARQL."""
        texts = [f"STR(?{each})" for each in self.parts]
        between = f', "{SEPARATOR}", '
        return f"CONCAT({between.join(texts)})" if texts[1:] else texts[0]


def in_set(kind: EntitySet, keys: str = "") -> FoundEntities:
    """The entities of a set; ``keys`` is a clause about their parts."""
    return FoundEntities(kind, kind.parts, _either(kind.find, keys, kind.parts))


def by_link(source: FoundEntities, link: EntityLink, prefix: str, keys: str = "") -> FoundEntities:
    """The entities that a link leads to; ``keys`` is a clause about both ends."""
    kind = entity_model().sets[link.target]
    names = dict(zip(("this", "that"), source.parts, strict=False))
    names |= {"target": prefix, "target2": f"{prefix}2"}
    parts = tuple(names[each] for each in link.parts)
    find = [renamed(each, names, prefix) for each in link.find]
    return FoundEntities(kind, parts, _either(find, keys, dict.fromkeys((*source.parts, *parts))))


def _either(find: Sequence[str], keys: str, parts: Iterable[str]) -> str:
    if len(find) < 2:
        return " ".join((keys, *find))
    union = " UNION ".join(f"{{ {keys} {each} }}" for each in find)
    return f"{{ SELECT DISTINCT {_listed(parts)} {{ {union} }} }}"


def _listed(parts: Iterable[str]) -> str:
    return " ".join(f"?{each}" for each in parts)


def values_of(found: FoundEntities, names: Sequence[str], keys: Sequence[Key]) -> str:
    """The question for the values of some properties: their entity, place in ``names``, value."""
    clause = found.among(keys)
    branches = (
        f"{{ {clause} {found.value(name, f'v{n}', clause)} BIND({n} AS ?n) BIND(?v{n} AS ?v) }}"
        for n, name in enumerate(names)
    )
    return f"SELECT {_listed(found.parts)} ?n ?v {{ {' UNION '.join(branches)} }}"


def selection(found: FoundEntities, options: QueryOptions, most: int) -> tuple[str, str]:
    """The questions for the entities that options choose, at most so many, and for their number."""
    scope = _Scope(found)
    conditions = [f"FILTER(isIRI(?{each}))" for each in found.parts]
    if options.filter is not None:
        strict = not any(
            each == Constant("") or (isinstance(each, Calculation) and each.name in ("or", "not"))
            for each in parts_of(options.filter)
        )
        conditions.append(f"FILTER({scope.text(options.filter, strict=strict)})")
    chosen = _listed(found.parts)

    def where() -> str:
        return "{ " + "\n".join((found.pattern, *scope.patterns, *conditions)) + " }"

    number = f"SELECT (COUNT(*) AS ?n) {{ SELECT DISTINCT {chosen} {where()} }}"
    limits = f"LIMIT {most} OFFSET {options.skip}"
    if not options.order:
        return f"SELECT DISTINCT {chosen} {where()} ORDER BY {chosen} {limits}", number
    heads = [
        f"({scope.text(expression, strict=False)} AS ?o{n})"
        for n, (expression, _) in enumerate(options.order)
    ]
    # What is equal is ordered by its id. An entity with several values comes for each: to find the
    # least of them is slow.
    order = enumerate(options.order)
    by = " ".join(f"{'DESC' if last else 'ASC'}(?o{n})" for n, (_, last) in order)
    text = f"SELECT DISTINCT {chosen} {' '.join(heads)} {where()}"
    return f"{text} ORDER BY {by} {chosen} {limits}", number


class _Scope:
    """The patterns that bind what an expression mentions; a link that is named twice is one."""

    def __init__(self, found: FoundEntities) -> None:
        self._links: dict[tuple[str, ...], FoundEntities] = {(): found}
        self._values: dict[tuple[str, ...], str] = {}
        self.patterns: dict[str, None] = {}

    def text(self, expression: Expression, *, strict: bool) -> str:
        """An expression in SPARQL; ``strict``: it is not true without the values it mentions."""
        match expression:
            case Constant(text):
                return text
            case Member():
                return self._member(expression, strict)[0]
            case Calculation(name, template, arguments):
                return self._calculation(name, template, arguments, strict)

    def _calculation(
        self, name: str, template: str, arguments: Sequence[Expression], strict: bool
    ) -> str:
        if Constant("") not in arguments:
            text = template.format(*(self.text(each, strict=strict) for each in arguments))
            if len(text) > _LONGEST:
                raise QueryError(f"{name}: its arguments are too large")
            return text
        of = [each for each in arguments if isinstance(each, Member)]
        if name not in ("eq", "ne") or len(of) != 1:
            raise QueryError("$filter: null is compared by eq and ne, with a property")
        variable = self._member(of[0], strict)[1]
        return f"({'!' if name == 'eq' else ''}BOUND(?{variable}))"

    def _member(self, member: Member, strict: bool) -> tuple[str, str]:
        """A property in SPARQL, and the variable that is bound if it is there."""
        path, source, last = member.path, self._links[()], 0
        patterns: list[str] = []
        while last < len(path) - 1 and path[last] in source.kind.links:
            last += 1
            source = self._linked(path[:last], source)
            patterns.append(source.pattern)
        rest = "/".join(path[last:])
        if rest in IDS:
            value, variable, total = source.id_text(), source.parts[0], False
        else:
            told = source.kind.properties.get(rest)
            if told is None:
                raise unknown(source.kind, rest, source.kind.properties, member.place)
            variable = self._values.setdefault(path, f"k{len(self._values)}")
            value = f"?{variable}" if told.kind in ("value", "place") else f"STR(?{variable})"
            patterns.append(source.value(rest, variable))
            total = told.kind == "always" and not last
        if strict or total:
            self.patterns.update(dict.fromkeys(patterns))
        elif patterns:
            # Together: from a link that leads nowhere, any entity would have the property.
            self.patterns[f"OPTIONAL {{ {' '.join(patterns)} }}"] = None
        return value, variable

    def _linked(self, path: tuple[str, ...], source: FoundEntities) -> FoundEntities:
        if path not in self._links:
            link = source.kind.links[path[-1]]
            self._links[path] = by_link(source, link, f"l{len(self._links)}")
        return self._links[path]


def unknown(
    kind: EntitySet, name: str, known: Iterable[str], place: Position | None = None
) -> QueryError:
    """The error for a name that an entity set does not have."""
    told = f"{kind.name} have no '{name[:60]}': expected one of {', '.join(known)}"
    return QueryError(told, position=place)
