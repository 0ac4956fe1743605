"""Makes the definition of a window from the ``[window]`` settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sensorstream.errors import SettingsError, TermError
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.settings import WindowSettings
from sensorstream.window.partition import SOURCE, partition_of
from sensorstream.window.spec import Elements, Kind, Partition, Unit, WindowSpec

Value = TypeVar("Value")


def window_spec(settings: WindowSettings, timeline: Timeline) -> WindowSpec:
    """The window described by the settings.

    Raises:
        SettingsError: size, step or start is not in the window's unit, or is not allowed for its
            kind.
    """
    unit, kind = Unit(settings.unit), Kind(settings.kind)
    line = timeline if unit is Unit.TIME else Timeline.INTEGER
    if settings.step and kind is not Kind.SLIDING:
        raise SettingsError(
            f"window.step: a {kind.value} window has no step setting: "
            "leave it out, or expected window.kind = sliding"
        )
    return WindowSpec(
        kind,
        unit,
        0 if kind is Kind.LANDMARK else _read("size", settings.size, line.duration),
        _read("step", settings.step, line.duration) if settings.step else 1,
        _read("start", settings.start, line.instant) if settings.start else None,
        _elements(settings.elements, unit),
    )


def window_partition(settings: WindowSettings, schema: Schema) -> Partition | None:
    """How the settings split the window.

    Raises:
        SettingsError: the property is not in the ontology.
    """
    partition = partition_of(settings.partition)
    if partition is None or partition.property in (None, RDF_TYPE):
        return partition
    if partition.property not in schema.object_properties | schema.datatype_properties:
        raise SettingsError(
            f"window.partition: expected {SOURCE}, or the IRI of a property of the ontology, "
            f"not '{settings.partition}'"
        )
    return partition


def _elements(text: str, unit: Unit) -> Elements:
    if not text:
        return Elements.TRIPLES if unit is Unit.TRIPLES else Elements.INDIVIDUALS
    known = [each.value for each in Elements]
    if text not in known:
        raise SettingsError(f"window.elements: expected one of {', '.join(known)}, not '{text}'")
    if unit is not Unit.TIME and text != unit.value:
        raise SettingsError(
            f"window.elements: the elements of a window that counts {unit.value} are {unit.value}: "
            f"expected {unit.value}, or window.unit = time, not '{text}'"
        )
    return Elements(text)


def _read(name: str, text: str, reader: Callable[[str], Value]) -> Value:
    try:
        return reader(text)
    except TermError as error:
        raise SettingsError(f"window.{name}: {error}") from None
