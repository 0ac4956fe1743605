"""From settings to the stages before the window: order, filters and load shedding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from fractions import Fraction
from typing import Final

from sensorstream.engine.filters import Condition, Filter
from sensorstream.engine.reorder import Disorder
from sensorstream.engine.shedding import First, Keep, Policy, Sample, Shedding
from sensorstream.errors import SettingsError, TermError
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import parse_duration
from sensorstream.settings import FilterSettings, Settings

_FAR: Final = "P3660D"
"""Ten years: no clock that is wrong by less makes a server refuse all, nor do simulated times."""
_SAMPLE: Final = re.compile(r"sample 1/([1-9][0-9]*)")


def disorder_spec(settings: Settings) -> Disorder | None:
    """How messages are put in order; None, if no lateness is set: in order of arrival.

    Raises:
        SettingsError: a lateness is not a length of the time line.
    """
    time, line = settings.time, settings.time.timeline

    def length(label: str, text: str) -> int:
        try:
            return line.span(text)
        except TermError as error:
            raise SettingsError(f"{label}: {error}") from None

    by_source = {
        name: length(f"sources.{name}.lateness", source.lateness)
        for name, source in settings.sources.items()
        if source.lateness
    }
    if not time.lateness and not by_source:
        return None
    common = length("time.lateness", time.lateness) if time.lateness else 0
    if time.max_held == 0:
        raise SettingsError("time.max_held: expected a whole number above zero, not 0")
    return Disorder(
        common,
        {name: by_source.get(name, common) for name in settings.sources},
        idle=line.of_wall_time(time.idle),
        max_held=time.max_held,
    )


def ahead_of(settings: Settings) -> int | None:
    """How far a message's time may be ahead of its arrival; None: by the spacing of those before.

    Raises:
        SettingsError: ``time.ahead`` is not a length of the time line.
    """
    time = settings.time
    if not time.ahead:
        # Integers need not be seconds since 1970, which the time of arrival is.
        return None if time.timeline is Timeline.INTEGER else time.timeline.span(_FAR)
    try:
        return time.timeline.span(time.ahead)
    except TermError as error:
        raise SettingsError(f"time.ahead: {error}") from None


def kept_for(settings: Settings) -> tuple[int | None, timedelta | None]:
    """How long statements stay after their end, and messages after their arrival; None: for ever.

    Raises:
        SettingsError: not a length of the time line, or no duration.
    """
    history, line = settings.history, settings.time.timeline
    try:
        length = line.duration(history.keep) if history.keep else None
    except TermError as error:
        raise SettingsError(f"history.keep: {error}") from None
    try:
        messages = parse_duration(history.keep_messages) if history.keep_messages else None
    except TermError as error:
        raise SettingsError(f"history.keep_messages: {error}") from None
    if messages is not None and messages <= timedelta():
        raise SettingsError("history.keep_messages: expected a duration of more than zero")
    return length, messages


def filters_of(settings: Settings, schema: Schema) -> tuple[Filter, ...]:
    """The filters, in the order of the settings file.

    Raises:
        SettingsError: a class or a property is not in the ontology, a value is not a number or
            length, or there is a condition without a property, or a property without a condition.
    """
    return tuple(
        Filter(
            name,
            _classes(f"filters.{name}.class", each.class_, schema),
            _condition(f"filters.{name}", each, settings, schema),
            inverse=each.action == "keep",
            store=each.store,
        )
        for name, each in settings.filters.items()
    )


def shedding_of(settings: Settings, schema: Schema) -> Shedding | None:
    """How load is shed; None if no budget is set.

    Raises:
        SettingsError: a class is not in the ontology, a policy cannot be read, or the period is not
            a length of the time line.
    """
    spec, line = settings.shedding, settings.time.timeline
    if spec.budget == 0:
        return None
    try:
        period = line.duration(spec.period or ("60" if line is line.INTEGER else "PT1M"))
    except TermError as error:
        raise SettingsError(f"shedding.period: {error}") from None
    policies = tuple(
        Policy(
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
        return Sample(int(text == "all"))
    if text == "first":
        return First()
    match = _SAMPLE.fullmatch(text)
    if match is None:
        raise SettingsError(
            f"{label}: expected all, none, first or a sample such as 'sample 1/10', not '{text}'"
        )
    return Sample(int(match[1]))


def _condition(
    label: str, filter_: FilterSettings, settings: Settings, schema: Schema
) -> Condition | None:
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
    try:
        within = settings.time.timeline.duration(filter_.within) if filter_.within else None
    except TermError as error:
        raise SettingsError(f"{label}.within: {error}") from None
    band = _number(f"{label}.unchanged", filter_.unchanged)
    if band is not None and band < 0:
        raise SettingsError(f"{label}.unchanged: expected a number, zero or more")
    known = schema.object_properties | schema.datatype_properties
    return Condition(
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
    """A class and its subclasses."""
    (found,) = _known(label, [name], schema.classes, "class")
    return schema.subclasses(found) | {found}


def _known(label: str, names: Iterable[str], known: frozenset[IRI], what: str) -> list[IRI]:
    found = [IRI(name) for name in names]
    for each in found:
        if each not in known:
            raise SettingsError(f"{label}: <{each}> is not a {what} of the ontology")
    return found
