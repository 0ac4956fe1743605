"""The engine's part of the settings: its window, the stages before it, and schemas of messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

from lxml import etree

from sensorstream.app.control.file_texts import FileContents
from sensorstream.engine.message_filters import EntryFilter, FilterCondition
from sensorstream.engine.reorder import Disorder
from sensorstream.engine.shedding import First, Keep, NameSample, Shedding, SheddingPolicy
from sensorstream.errors import SettingsError, TermError
from sensorstream.mapping.xml_schema import MessageSchema, MessageSchemas, SchemaFiles
from sensorstream.model import rdf
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import parse_duration
from sensorstream.settings.settings import FilterSettings, Settings, WindowSettings
from sensorstream.window.window_partition import SOURCE, partition_of
from sensorstream.window.window_spec import (
    Elements,
    WindowMove,
    WindowPartitioning,
    WindowSpec,
    WindowUnitKind,
)

_FAR: Final = "P3660D"
"""Ten years: no clock that is wrong by less makes a server refuse all, nor do simulated times."""
_SAMPLE: Final = re.compile(r"sample 1/([1-9][0-9]*)")


def disorder_spec(settings: Settings) -> Disorder | None:
    """The lateness of sources; None, if none is set: messages count in order of arrival.

    Raises:
        SettingsError: a lateness is not a length of the time line.
    """
    time, line = settings.time, settings.time.timeline
    by_source = {
        name: _read(f"sources.{name}.lateness", source.lateness, line.span)
        for name, source in settings.sources.items()
        if source.lateness
    }
    if not time.lateness and not by_source:
        return None
    common = _read("time.lateness", time.lateness, line.span) if time.lateness else 0
    if time.max_held == 0:
        raise SettingsError("time.max_held: expected a whole number above zero, not 0")
    return Disorder(
        common,
        {name: by_source.get(name, common) for name in settings.sources},
        idle=line.of_wall_time(time.idle),
        max_held=time.max_held,
    )


def ahead_of(settings: Settings) -> int | None:
    """The bound of a message's time after its arrival; None: by the spacing of those before.

    Raises:
        SettingsError: ``time.ahead`` is not a length of the time line.
    """
    time = settings.time
    if not time.ahead:
        # The time of arrival is in seconds since 1970; integers need not be.
        return None if time.timeline is Timeline.INTEGER else time.timeline.span(_FAR)
    return _read("time.ahead", time.ahead, time.timeline.span)


def kept_for(settings: Settings) -> tuple[int | None, timedelta | None]:
    """The times that statements stay after their end, and messages after arrival; None: for ever.

    Raises:
        SettingsError: not a length of the time line, or no duration.
    """
    history, line = settings.history, settings.time.timeline
    length = _read("history.keep", history.keep, line.duration) if history.keep else None
    messages = None
    if history.keep_messages:
        messages = _read("history.keep_messages", history.keep_messages, parse_duration)
    if messages is not None and messages <= timedelta():
        raise SettingsError("history.keep_messages: expected a duration of more than zero")
    return length, messages


def filters_of(settings: Settings, schema: Schema) -> tuple[EntryFilter, ...]:
    """The filters, in the order of the settings file.

    Raises:
        SettingsError: a class or a property is not in the ontology, a value is not a number or
            length, or there is a condition without a property, or a property without a condition.
    """
    return tuple(
        EntryFilter(
            name,
            _classes(f"filters.{name}.class", each.class_, schema),
            _condition(f"filters.{name}", each, settings, schema),
            inverse=each.action == "keep",
            store=each.store,
        )
        for name, each in settings.filters.items()
    )


def shedding_of(settings: Settings, schema: Schema) -> Shedding | None:
    """The settings of load shedding; None if no budget is set.

    Raises:
        SettingsError: a class is not in the ontology, a policy cannot be read, or the period is not
            a length of the time line.
    """
    spec, line = settings.shedding, settings.time.timeline
    if spec.budget == 0:
        return None
    minute = "60" if line is line.INTEGER else "PT1M"
    period = _read("shedding.period", spec.period or minute, line.duration)
    policies = tuple(
        SheddingPolicy(
            _classes(f"policies.{name}.class", each.class_, schema),
            IRI(each.class_),
            _keep(f"policies.{name}.keep", each.keep),
        )
        for name, each in settings.policies.items()
    )
    return Shedding(
        budget=spec.budget,
        queue=spec.queue or spec.budget,
        second=line.of_wall_time(1),
        period=period,
        policies=policies,
        otherwise=_keep("shedding.keep", spec.keep),
    )


def _keep(label: str, text: str) -> Keep:
    if text in ("all", "none"):
        return NameSample(int(text == "all"))
    if text == "first":
        return First()
    match = _SAMPLE.fullmatch(text)
    if match is None:
        raise SettingsError(
            f"{label}: expected all, none, first or a sample such as 'sample 1/10', not '{text}'"
        )
    return NameSample(int(match[1]))


def _condition(
    label: str, filter_: FilterSettings, settings: Settings, schema: Schema
) -> FilterCondition | None:
    tests = (filter_.below, filter_.above, filter_.equal, filter_.unchanged)
    if not filter_.properties and not filter_.within and not any(tests):
        if filter_.action == "keep":
            raise SettingsError(f"{label}: 'keep' needs a condition, such as above")
        return None
    if not filter_.properties:
        raise SettingsError(f"{label}: a condition needs properties")
    if not any(tests):
        raise SettingsError(f"{label}: expected one of below, above, equal, unchanged")
    if filter_.within and not filter_.unchanged:
        raise SettingsError(
            f"{label}.within: allowed only together with 'unchanged', whose time limit it is"
        )
    within = None
    if filter_.within:
        within = _read(f"{label}.within", filter_.within, settings.time.timeline.duration)
    band = _number(f"{label}.unchanged", filter_.unchanged)
    if band is not None and band < 0:
        raise SettingsError(f"{label}.unchanged: expected a number, zero or more")
    known = schema.object_properties | schema.datatype_properties
    return FilterCondition(
        frozenset(_known(f"{label}.properties", filter_.properties, known, "property")),
        below=_number(f"{label}.below", filter_.below),
        above=_number(f"{label}.above", filter_.above),
        equal=filter_.equal or None,
        band=band,
        within=within,
    )


def _number(label: str, text: str) -> Fraction | None:
    if not text:
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise SettingsError(f"{label}: expected a number, not '{text}'") from None


def _classes(label: str, name: str, schema: Schema) -> frozenset[IRI]:
    (found,) = _known(label, [name], schema.classes, "class")
    return schema.subclasses(found) | {found}


def _known(label: str, names: Iterable[str], known: frozenset[IRI], what: str) -> list[IRI]:
    found = [IRI(name) for name in names]
    for each in found:
        if each not in known:
            raise SettingsError(f"{label}: <{each}> is not a {what} of the ontology")
    return found


Value = TypeVar("Value")


def window_spec(settings: WindowSettings, timeline: Timeline) -> WindowSpec:
    """The window described by the settings.

    Raises:
        SettingsError: size, step or start is not in the window's unit, or is not allowed for its
            kind.
    """
    unit, kind = WindowUnitKind(settings.unit), WindowMove(settings.kind)
    line = timeline if unit is WindowUnitKind.TIME else Timeline.INTEGER
    if settings.step and kind is not WindowMove.SLIDING:
        raise SettingsError(
            f"window.step: a {kind.value} window has no step setting: "
            "leave it out, or expected window.kind = sliding"
        )
    return WindowSpec(
        kind,
        unit,
        0 if kind is WindowMove.LANDMARK else _read("window.size", settings.size, line.duration),
        _read("window.step", settings.step, line.duration) if settings.step else 1,
        _read("window.start", settings.start, line.instant) if settings.start else None,
        _elements(settings.elements, unit),
    )


def window_partition(settings: WindowSettings, schema: Schema) -> WindowPartitioning | None:
    """The partitioning of the window; None: there is none.

    Raises:
        SettingsError: the property is not in the ontology.
    """
    partition = partition_of(settings.partition)
    if partition is None or partition.property in (None, rdf.TYPE):
        return partition
    if partition.property not in schema.object_properties | schema.datatype_properties:
        raise SettingsError(
            f"window.partition: expected {SOURCE}, or the IRI of a property of the ontology, "
            f"not '{settings.partition}'"
        )
    return partition


def _elements(text: str, unit: WindowUnitKind) -> Elements:
    if not text:
        return Elements.TRIPLES if unit is WindowUnitKind.TRIPLES else Elements.INDIVIDUALS
    known = [each.value for each in Elements]
    if text not in known:
        raise SettingsError(f"window.elements: expected one of {', '.join(known)}, not '{text}'")
    if unit is not WindowUnitKind.TIME and text != unit.value:
        raise SettingsError(
            f"window.elements: the elements of a window that counts {unit.value} are {unit.value}: "
            f"expected {unit.value}, or window.unit = time, not '{text}'"
        )
    return Elements(text)


def _read(label: str, text: str, reader: Callable[[str], Value]) -> Value:
    try:
        return reader(text)
    except TermError as error:
        raise SettingsError(f"{label}: {error}") from None


_XS: Final = "{http://www.w3.org/2001/XMLSchema}"
_REFERRING: Final = tuple(f"{_XS}{name}" for name in ("include", "import", "redefine"))


def read_schemas(
    settings: Settings, seconds: float | None = None, contents: FileContents | None = None
) -> MessageSchemas | None:
    """The schemas of the settings ``messages.schema`` and ``sources.NAME.schema``, if any.
    ``seconds`` is how long the validation of a message may take; see :class:`.MessageSchema`.

    Raises:
        SettingsError: a file cannot be read, is not an XML Schema 1.0, or refers to a file outside
            its folder.
    """
    common = settings.messages.schema
    contents = FileContents() if contents is None else contents
    read = partial(_read_schema, seconds=seconds, contents=contents)
    by_source = {
        name: read(f"sources.{name}.schema", source.schema)
        for name, source in settings.sources.items()
        if source.schema is not None
    }
    if common is None and not by_source:
        return None
    return MessageSchemas(None if common is None else read("messages.schema", common), by_source)


def _read_schema(
    label: str, path: Path, seconds: float | None, contents: FileContents
) -> MessageSchema:
    path = path.resolve()
    texts: dict[str, bytes] = {}
    _collect(label, path, texts, contents)
    try:
        return MessageSchema(SchemaFiles(str(path), texts), seconds)
    except etree.XMLSchemaParseError as error:
        raise SettingsError(f"{label}: {path} is not an XML Schema: {error}") from None


def _collect(label: str, path: Path, texts: dict[str, bytes], contents: FileContents) -> None:
    """The texts of a schema and of what it refers to, the schema's first."""
    try:
        content = texts[str(path)] = contents[path]
    except OSError as error:
        raise SettingsError(f"{label}: cannot read {path}: {error}") from None
    folder = Path(next(iter(texts))).parent
    for element in _parse(label, path, content).iter(*_REFERRING):
        location = element.get("schemaLocation")
        if location is None:
            continue
        where = f"{label}: {path}, line {element.sourceline}: '{location}'"
        parts = urlsplit(location)
        target = (path.parent / unquote(parts.path)).resolve()
        if parts.scheme or parts.netloc or not target.is_relative_to(folder):
            raise SettingsError(f"{where} is not a file of the folder {folder}")
        if str(target) not in texts:
            _collect(label, target, texts, contents)


def _parse(label: str, path: Path, content: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise SettingsError(f"{label}: {path} is not well-formed XML: {error}") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise SettingsError(f"{label}: {path} has a DOCTYPE: expected a plain XML Schema")
    return root
