"""Translation of mapping rules to RML, as far as RML can express them.

A rule that RML cannot express is refused, with the reason. Annotations in SensorStream's namespace
hold what other RML processors may ignore: time, update, policies.

Some processors find values below an iteration only. A property whose XPaths all lead to the same
ancestor may move to a triples map of its own, which iterates over the ancestors: its subjects are
those of all iterations below, and RML combines each with each value, so the triples are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NoReturn, TypeVar

from sensorstream.errors import LanguageError, NotMovable, Position
from sensorstream.language import syntax
from sensorstream.language.syntax import Hole
from sensorstream.mapping.moved_paths import moved, steps_down
from sensorstream.mapping.rml.rml_model import (
    LogicalSource,
    PredicateObjects,
    RmlMapping,
    TriplesMap,
)
from sensorstream.mapping.term_recipe import (
    ConstantTerm,
    StringTemplate,
    TermMap,
    literal_map,
    name_map,
)
from sensorstream.model import rdf, xsd
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.vocabulary import RDF, RDFS
from sensorstream.sparql.walk import nodes, replaced

_BASE = "urn:sensorstream:rule:"


def from_rules(
    file: syntax.RuleFile, schema: Schema, source: str = ""
) -> tuple[RmlMapping, tuple[LanguageError, ...]]:
    """The mapping rules of a checked file as triples maps, one for each individual, and the reasons
    why some rules are left out. Datatypes that the ontology states are written out, since RML uses
    no ontology. ``source`` is the path of a file with messages.
    """
    maps: list[TriplesMap] = []
    refused: list[LanguageError] = []
    for rule in file.mapping_rules:
        try:
            if file.parts:
                _refuse("the messages of a document ('message each')", file.parts[0].xpath.position)
            for let in rule.lets:
                _refuse("'let'", let.position)
            maps += _Exporter(file, rule, schema, source).maps()
        except LanguageError as error:
            refused.append(
                LanguageError(
                    f"rule {rule.name}: {error.message}", position=error.position or rule.position
                )
            )
    prefixes = tuple((prefix.name, prefix.iri) for prefix in file.prefixes)
    return RmlMapping(tuple(maps), prefixes, file.file), tuple(refused)


def _refuse(what: str, position: Position) -> NoReturn:
    raise LanguageError(f"RML has no counterpart of {what}", position=position)


class _Exporter:
    """A translator of one rule into triples maps."""

    def __init__(
        self, file: syntax.RuleFile, rule: syntax.MappingRule, schema: Schema, source: str
    ) -> None:
        self._source = source
        self._file = file
        self._rule = rule
        self._schema = schema
        self._namespaces = file.namespace_map
        self._up = ""
        self._variables: dict[str, str] = {}

    def maps(self) -> list[TriplesMap]:
        iterator = self._iterator()
        used = {
            prefix: uri
            for prefix, uri in self._namespaces.items()
            if any(f"{prefix}:" in hole.text for hole in nodes(self._rule, syntax.Hole))
        }
        source = LogicalSource(
            self._source, iterator, tuple(used.items()), "mapping" if self._source else None
        )
        several = len(self._rule.actions) > 1
        return [
            self._map(f"{_BASE}{self._rule.name}{f'-{number}' if several else ''}", source, action)
            for number, action in enumerate(self._rule.actions, 1)
        ]

    # From loops and conditions to one iterator

    def _iterator(self) -> syntax.Hole:
        """The path of the innermost loop, with the rule's conditions as its predicate."""
        message = self._rule.message
        self._plain(message)
        path = message.text if message.text.startswith("/") else self._move("/*/", message)
        if "|" in path:
            path = f"({path})"
        depths: list[tuple[str, int]] = []
        for loop in self._rule.for_each:
            self._plain(loop.xpath)
            try:
                start, below, depth = steps_down(loop.xpath.text)
            except NotMovable as error:
                _refuse(f"this loop: {error}", loop.position)
            before = depths[-1][0] if depths else None
            if start != before:
                _refuse(
                    "loops side by side: expected each to start at the one before", loop.position
                )
            depths.append((loop.variable, depth))
            path += f"/{below}"
        rest = sum(depth for _, depth in depths)
        self._up = "../" * rest
        for variable, depth in depths:
            rest -= depth
            self._variables[variable] = "/".join([".."] * rest) or "."
        for guard in self._rule.guards:
            path += f"[boolean({self._expression(guard).text})]"
        return syntax.Hole(path, position=message.position)

    def _expression(self, hole: syntax.Hole) -> syntax.Hole:
        """An XPath, relative to the innermost node."""
        self._plain(hole)
        return syntax.Hole(self._move(self._up, hole), position=hole.position)

    def _move(self, prefix: str, hole: syntax.Hole) -> str:
        try:
            return moved(hole.text, prefix, self._variables)
        except NotMovable as error:
            _refuse(f"this XPath: {error}", hole.position)

    def _plain(self, hole: syntax.Hole) -> None:
        if hole.calls:
            _refuse(f"the value function {hole.calls[0].function}", hole.calls[0].position)

    # Individuals

    def _map(self, key: str, source: LogicalSource, action: syntax.IndividualAction) -> TriplesMap:
        assert not isinstance(action.name, syntax.RuleVariable)
        subject = self._named(action.name)
        if any(nodes(action.name, syntax.Hole)):
            # A rule does not ignore an individual without a name.
            subject = replace(subject, missing="reject")
        return TriplesMap(
            key=key,
            rule=self._rule.name,
            source=source,
            subject=subject,
            classes=tuple(self._file.resolve(each) for each in action.classes if each.is_constant),
            properties=(
                *(self._class(each) for each in action.classes if not each.is_constant),
                *(self._property(each) for each in action.properties),
            ),
            at=self._moved(action.at),
            update=action.kind == "update",
            graphs=() if action.graph is None else (self._named(action.graph),),
        )

    def _named(self, name: syntax.WrittenName | syntax.BlankName) -> TermMap:
        if self._file.base is not None and isinstance(name, syntax.WrittenName) and name.whole:
            _refuse("a whole IRI that may be relative to 'base'", name.position)
        return name_map(self._file, self._moved(name))

    def _moved(self, part: _Part) -> _Part:
        """A part of a rule with its XPaths moved."""
        return replaced(
            part, lambda node: self._expression(node) if isinstance(node, syntax.Hole) else None
        )

    # Values

    def _class(self, name: syntax.WrittenName) -> PredicateObjects:
        """A class that the message names: RML's own classes are constant."""
        return PredicateObjects((TermMap(ConstantTerm(rdf.TYPE), "IRI"),), (self._named(name),))

    def _property(self, values: syntax.PropertyValues) -> PredicateObjects:
        name = self._file.resolve(values.property)
        predicate = TermMap(ConstantTerm(name), "IRI")
        return PredicateObjects((predicate,), tuple(self._value(name, v) for v in values.values))

    def _value(self, name: IRI, value: syntax.Value) -> TermMap:
        match value:
            case syntax.XPathValue() | syntax.TextValue() | syntax.WrittenNumber():
                return self._literal(
                    literal_map(self._file, name, self._moved(value), self._schema)
                )
            case syntax.WrittenName() | syntax.BlankName():
                return self._named(value)
            case syntax.Fallback():
                return self._fallback(name, value)
            case syntax.BlankValue():
                _refuse("a node '[ … ]'", value.position)
            case syntax.ListValue():
                _refuse("a list", value.position)
            case syntax.KnownName() | syntax.KnownBy():
                _refuse("'known'", value.position)
            case syntax.RuleVariable():
                raise AssertionError("parse refuses ?variables in mapping rules")

    def _literal(self, made: TermMap) -> TermMap:
        kind = made.datatype and made.datatype.constant
        if made.language is not None or kind == xsd.STRING or (kind or "").startswith((RDF, RDFS)):
            # A literal without datatype is a string.
            kind, made = None, replace(made, datatype=None)
        if not isinstance(made.expression, ConstantTerm):
            return made
        text, language = made.expression.text, made.language and made.language.expression
        if language is None:
            return TermMap(ConstantTerm(Literal(text, kind or xsd.STRING)), "Literal")
        if isinstance(language, ConstantTerm):
            return TermMap(ConstantTerm(Literal(text, language=language.text)), "Literal")
        return replace(made, expression=StringTemplate((text,) if text else ()))

    def _fallback(self, name: IRI, value: syntax.Fallback) -> TermMap:
        made = replace(self._value(name, value.value), if_valid=value.if_valid)
        if isinstance(made.expression, ConstantTerm):  # it is never missing
            return replace(made, if_valid=False)
        match value.otherwise:
            case None:
                return made
            case syntax.MissingPolicy(kind=kind):
                return replace(made, missing=kind)
            case other:
                _refuse("a default", other.position)


_Part = TypeVar("_Part")
_UP: Final = "../"
_STEP: Final = re.compile(r"[\w:.-]+")
_PATH: Final = re.compile(r"@?[\w:.-]+(?:/@?[\w:.-]+)*")


def without_ancestors(mapping: RmlMapping) -> RmlMapping:
    """The mapping with such properties in triples maps of their own, as far as that is possible.

    The meaning is the same, for maps that :func:`.from_rules` makes. A property stays in its map if
    its XPaths lead to different ancestors, if there is a policy for missing values, or if the name
    of the individual has several values of the iteration: these must not be combined.
    """
    return replace(mapping, maps=tuple(made for each in mapping.maps for made in _split(each)))


def _split(triples_map: TriplesMap) -> Iterator[TriplesMap]:
    by_level: dict[int, list[PredicateObjects]] = {}
    above: dict[int, TriplesMap | None] = {}
    # If a missing value leaves out the individual, statements moved above it are left out, too.
    whole = any(each.missing == "skip individual" for each in nodes(triples_map, TermMap))
    for values in triples_map.properties:
        level = 0 if whole else _level(values)
        if level and level not in above:
            above[level] = _above(triples_map, level)
        if above.get(level) is None:
            level = 0
        by_level.setdefault(level, []).append(values)
    stays = tuple(by_level.pop(0, ()))
    if stays or triples_map.classes or not by_level:
        yield replace(triples_map, properties=stays)
    for level, properties in by_level.items():
        made = above[level]
        assert made is not None
        yield replace(made, properties=_from_above(tuple(properties), _UP * level))


def _level(values: PredicateObjects) -> int:
    """The steps up that all XPaths of a property lead; 0: they differ, or there is a policy."""
    holes = tuple(nodes(values, Hole))
    term_maps = nodes(values, TermMap)
    if not holes or any(each.missing != "skip" or each.if_valid for each in term_maps):
        return 0
    levels = {_steps_up(hole.text) for hole in holes}
    return levels.pop() if len(levels) == 1 else 0


def _steps_up(path: str) -> int:
    """The steps up that a path begins with; 0 if there are others inside it."""
    rest, count = path, 0
    while rest.startswith(_UP):
        rest, count = rest.removeprefix(_UP), count + 1
    return 0 if ".." in rest else count


def _above(triples_map: TriplesMap, level: int) -> TriplesMap | None:
    """The map over the ancestors, with the same subjects; None if they would be others."""
    head = triples_map.source.iterator.text
    steps: list[str] = []
    for _ in range(level):
        head, _, step = head.rpartition("/")
        if not head or head.endswith("/") or not _STEP.fullmatch(step):
            return None
        steps.insert(0, step)
    below = [hole for hole in nodes(triples_map.subject, Hole) if not _steps_up(hole.text)]
    others = [triples_map.at] if triples_map.at is not None else []
    others += [hole for hole in nodes(triples_map.subject, Hole) if hole not in below]
    if (
        len(below) > 1
        or not all(_PATH.fullmatch(hole.text) for hole in below)
        or any(_steps_up(hole.text) != level for hole in others)
    ):
        return None
    subject = _from_above(triples_map.subject, _UP * level, "/".join(steps) + "/")
    at = triples_map.at
    return replace(
        triples_map,
        key=f"{triples_map.key}-above-{level}",
        source=replace(triples_map.source, iterator=Hole(head)),
        # An ancestor without any of them below is no fault.
        subject=replace(subject, missing="skip"),
        classes=(),
        at=None if at is None else Hole(at.text.removeprefix(_UP * level)),
    )


def _from_above(part: _Part, up: str, down: str = "") -> _Part:
    """A part of a triples map, its XPaths as seen from the ancestor."""
    return replaced(part, lambda node: _hole(node, up, down) if isinstance(node, Hole) else None)


def _hole(hole: Hole, up: str, down: str) -> Hole:
    """An XPath as seen from the ancestor: one step up less, or one step down more."""
    if hole.text.startswith(up):
        return Hole(hole.text.removeprefix(up))
    return Hole(down + hole.text)
