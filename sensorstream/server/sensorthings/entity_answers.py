"""The answers of SensorThings: entities as JSON, of what history and the window say.

Source: OGC 18-088, sections 9.2 (paths) and 9.3 (options).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException

from sensorstream.errors import MissingExtra, Overrun, Position, QueryError, TermError
from sensorstream.history.asking.query_answer import Row
from sensorstream.model.geometry import CRS84, converted, read_geometry, text_of
from sensorstream.model.terms import Literal, Term, iri
from sensorstream.server.sensorthings.entity_patterns import (
    FoundEntities,
    Key,
    by_link,
    in_set,
    selection,
    unknown,
    values_of,
)
from sensorstream.server.sensorthings.entity_sets import IDS, SEPARATOR, EntitySet, entity_model
from sensorstream.server.sensorthings.query_options import MOST_ENTITIES, QueryOptions

_PAGE: Final = 100
_LONGEST: Final = 8
"""Parts of a path."""
_MOST_QUESTIONS: Final = 1_000
_SEGMENT: Final = re.compile(r"/?([\w$@.]+)(\((?:'((?:[^']|'')*)'|[^')]*)\))?(?=/|$)")
_SELF: Final = "@iot.selfLink"
_ID: Final = IDS[0]
_REF: Final = ("$ref",)
_VALUE: Final = "$value"
_SAFE: Final = "$(),':@/;="


@dataclass(slots=True)
class EntityPath:
    """A path, read: its last entities, one or many, those before them, and what follows."""

    text: str
    found: FoundEntities
    one: bool
    before: EntityPath | None = None
    key: Key | None = None
    rest: tuple[str, ...] = ()


def read_path(path: str) -> EntityPath:
    """Read a path such as ``Things('a')/Datastreams``.

    Raises:
        HTTPException: 404, no entity set has this name, or no entity such an id.
        QueryError: it is no path.
    """
    read: EntityPath | None = None
    sets, at, depth = entity_model().sets, 0, 0
    while at < len(path) or read is None:
        place = Position("path", 1, at + 1)
        segment = _SEGMENT.match(path, at)
        if segment is None or depth == _LONGEST:
            told = f"expected at most {_LONGEST} parts such as Things('id')"
            raise QueryError(f"'{path[at : at + 60]}': {told}", position=place)
        name, key = segment[1], segment[2] and segment[3]
        link = read.found.kind.links.get(name) if read and read.one and not read.rest else None
        if read is None and name in sets:
            kind = sets[name]
            read = EntityPath(path, in_set(kind), key is not None)
            if segment[2]:
                read.one, read.key = True, _key_of(key, kind)
                read.found = in_set(kind, read.found.among([read.key]))
        elif link and read:
            read = _linked(read, name, f"p{depth}", segment)
        elif read is None or segment[2]:
            raise HTTPException(
                404, f"there is no '{name[:60]}': expected one of {', '.join(sets)}"
            )
        else:
            read.rest += (name,)
        at, depth = segment.end(), depth + 1
    if read.rest not in ((), _REF) and not read.one:
        raise QueryError(f"'{'/'.join(read.rest)[:60]}' follows a collection in the path")
    return read


def _linked(before: EntityPath, name: str, prefix: str, segment: re.Match[str]) -> EntityPath:
    source, link = before.found, before.found.kind.links[name]
    # From what is not there no pattern leads on.
    known = link.find and before.key and before.before is None
    clause = source.among([before.key]) if known and before.key else source.pattern
    target = by_link(source, link, prefix)
    key = None
    if segment[2]:
        key = _key_of(segment[3], target.kind)
        clause += f" {target.among([key])}"
    found = by_link(source, link, prefix, clause)
    return EntityPath(before.text, found, link.one or key is not None, before, key)


def _key_of(text: str | None, kind: EntitySet) -> Key:
    told = (text or "").replace("''", "'").split(SEPARATOR)
    try:
        if len(told) == len(kind.parts):
            return tuple(map(iri, told))
    except TermError:
        pass
    raise HTTPException(404, f"there is no such entity in {kind.name}")


class EntityAnswers:
    """Answers of one request, on one snapshot.

    ``ask`` gives the rows of a SELECT, ``base`` is the URL of the service, ``most`` the most
    entities of an answer.
    """

    def __init__(self, ask: Callable[[str], list[Row]], base: str, most: int) -> None:
        self._ask_rows = ask
        self._base = base
        self._left = self._most = most
        self._questions = 0

    def answer(self, path: EntityPath, options: QueryOptions) -> Any:
        """The answer at a path: an entity, a collection, a property, the value of one, or None.

        Raises:
            HTTPException: 404, nothing is there.
            QueryError: an option cannot be answered.
            Overrun: the answer is too large.
        """
        kind, rest = path.found.kind, path.rest
        if path.one:
            key = self._only(path)
            if rest == _REF:
                return {_SELF: self._link_of(kind, key)}
            return (
                self._property(kind, key, rest) if rest else self._entities(kind, [key], options)[0]
            )
        told, keys = self._page(path.found, options, f"{self._base}/{quote(path.text, safe=_SAFE)}")
        if not keys and path.before is not None:
            self._only(path.before)
        links = [{_SELF: self._link_of(kind, each)} for each in keys]
        return {**told, "value": links if rest else self._entities(kind, keys, options)}

    def _ask(self, text: str) -> list[Row]:
        self._questions += 1
        if self._questions > _MOST_QUESTIONS:
            raise Overrun(
                f"the answer takes more than {_MOST_QUESTIONS} questions: ask for fewer entities "
                "($top), or expand less"
            )
        return self._ask_rows(f"{entity_model().prefixes}\n{text}")

    def _keys(self, found: FoundEntities, options: QueryOptions, most: int) -> list[Key]:
        rows = self._ask(selection(found, options, most)[0])
        return [tuple(str(each) for each in row[: len(found.parts)]) for row in rows]

    def _only(self, path: EntityPath) -> Key:
        for key in self._keys(path.found, QueryOptions(), 1):
            return key
        raise HTTPException(404, f"there is no such entity in {path.found.kind.name}")

    def _page(
        self, found: FoundEntities, options: QueryOptions, url: str
    ) -> tuple[dict[str, Any], list[Key]]:
        """The members beside a page, and its entities."""
        size = min(_PAGE if options.top is None else options.top, MOST_ENTITIES)
        keys = self._keys(found, options, size + 1) if size else []
        told: dict[str, Any] = {}
        if options.count:
            ((number, *_),) = self._ask(selection(found, options, 1)[1])
            told["@iot.count"] = _json(number, "value")
        if len(keys) > size:
            kept = [each for each in options.text if each[0] != "$skip"]
            asked = [*kept, ("$skip", str(options.skip + size))]
            told["@iot.nextLink"] = f"{url}?{urlencode(asked, safe=_SAFE, quote_via=quote)}"
        return told, keys[:size]

    def _entities(
        self, kind: EntitySet, keys: Sequence[Key], options: QueryOptions
    ) -> list[dict[str, Any]]:
        self._left -= len(keys)
        if self._left < 0:
            raise Overrun(
                f"the answer has more than {self._most} entities: ask for fewer ($top), or expand "
                "less (limits.question_rows)"
            )
        selected = _selected(kind, options)
        names = [each for each in kind.properties if each.partition("/")[0] in selected]
        told = []
        for key, values in self._values(kind, keys, names).items():
            own = self._link_of(kind, key)
            control = {_ID: SEPARATOR.join(key), _SELF: own}
            entity: dict[str, Any] = {e: v for e, v in control.items() if e in selected}
            entity |= values
            for name in kind.links:
                if name in selected and name not in options.expand:
                    entity[f"{name}@iot.navigationLink"] = f"{own}/{name}"
            told.append(entity)
        for name, inner in options.expand.items():
            if name not in kind.links:
                raise unknown(kind, name, kind.links, inner.place)
            if keys:
                self._expand(kind, dict(zip(keys, told, strict=True)), name, inner)
        return told

    def _expand(
        self, kind: EntitySet, told: Mapping[Key, dict[str, Any]], name: str, options: QueryOptions
    ) -> None:
        link, source = kind.links[name], FoundEntities(kind, kind.parts)
        if not link.one:
            for key, entity in told.items():
                found = by_link(source, link, "t", source.among([key]))
                page, of = self._page(found, options, f"{self._link_of(kind, key)}/{name}")
                entity.update({f"{name}{each}": value for each, value in page.items()})
                entity[name] = self._entities(found.kind, of, options)
            return
        found = by_link(source, link, "t", source.among(told))
        ends = tuple(dict.fromkeys((*source.parts, *found.parts)))
        both = FoundEntities(kind, ends, found.pattern)
        first: dict[Key, Key] = {}
        for row in self._keys(both, QueryOptions(), len(told) * MOST_ENTITIES):
            target = tuple(row[ends.index(each)] for each in found.parts)
            first.setdefault(row[: len(source.parts)], target)
        targets = list(dict.fromkeys(first.values()))
        entities = dict(zip(targets, self._entities(found.kind, targets, options), strict=True))
        for key, entity in told.items():
            entity[name] = entities.get(first.get(key, ()))

    def _values(
        self, kind: EntitySet, keys: Sequence[Key], names: Sequence[str]
    ) -> dict[Key, dict[str, Any]]:
        """The properties of entities; of several values, the one whose text comes first."""
        least: dict[tuple[Key, str], Term] = {}
        rows = (
            self._ask(values_of(FoundEntities(kind, kind.parts), names, keys))
            if keys and names
            else []
        )
        for *parts, number, value in rows:
            if value is not None:
                at = tuple(map(str, parts)), names[_json(number, "value")]
                least[at] = min(least.get(at, value), value)
        told: dict[Key, dict[str, Any]] = {key: {} for key in keys}
        for key, entity in told.items():
            for name in names:
                form = kind.properties[name].kind
                value, first = _json(least.get((key, name)), form), name.partition("/")[0]
                if form != "end":
                    _put(entity, name, value)
                elif value is not None:
                    entity[first] = f"{entity[first]}/{value}"
        return told

    def _property(self, kind: EntitySet, key: Key, rest: Sequence[str]) -> Any:
        plain = rest[-1] == _VALUE
        path = rest[:-1] if plain else rest
        name = "/".join(path)
        names = [each for each in kind.properties if f"{each}/".startswith(f"{name}/")]
        if not names and name not in IDS:
            raise unknown(kind, name, (*kind.properties, *kind.links))
        value: Any = (
            {name: SEPARATOR.join(key)} if not names else self._values(kind, [key], names)[key]
        )
        for each in path:
            value = value[each]
        if value is None:
            return None
        if plain:
            return value if isinstance(value, str) else json.dumps(value)
        return {path[-1]: value}

    def _link_of(self, kind: EntitySet, key: Key) -> str:
        text = SEPARATOR.join(key).replace("'", "''")
        return f"{self._base}/{kind.name}('{quote(text, safe='')}')"


def _put(entity: dict[str, Any], name: str, value: Any) -> None:
    first, _, rest = name.partition("/")
    if rest:
        _put(entity.setdefault(first, {}), rest, value)
    else:
        entity[first] = value


def _selected(kind: EntitySet, options: QueryOptions) -> set[str]:
    """The names of what an entity shows."""
    known = dict.fromkeys(
        (_ID, _SELF, *(e.partition("/")[0] for e in kind.properties), *kind.links)
    )
    chosen = {_ID if each.path[0] in IDS else each.path[0]: each.place for each in options.select}
    for name, place in chosen.items():
        if name not in known:
            raise unknown(kind, name, known, place)
    return set(chosen or known)


def _json(value: Term | None, form: str) -> Any:
    """A term as JSON: a number, a truth value, a geometry as GeoJSON, or its text."""
    if not isinstance(value, Literal):
        return value and str(value)
    if form == "place":
        return _place(value)
    known = value.known if form == "value" else None
    if isinstance(known, bool | int):
        return known
    if isinstance(known, float | Decimal) and math.isfinite(known):
        number = float(known)
        return int(number) if isinstance(known, Decimal) and number.is_integer() else number
    return value.lexical


def _place(value: Literal) -> Any:
    """A geometry as GeoJSON; its text, if it is none, or nothing here reads it."""
    try:
        read = read_geometry(value.lexical, is_json=value.datatype.endswith("geoJSONLiteral"))
        return json.loads(text_of(converted(read, CRS84, is_json=True)))
    except (MissingExtra, TermError):
        return value.lexical
