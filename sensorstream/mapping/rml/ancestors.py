"""Triples maps whose values stand in ancestors of their iteration, without ``..``.

Some processors find values below an iteration only. A property whose XPaths all lead to the same
ancestor moves to a triples map of its own, which iterates over the ancestors: its subjects are
those of all iterations below, and RML combines each with each value, so that the triples are the
same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeVar

from sensorstream.language.syntax import Hole
from sensorstream.language.walk import nodes
from sensorstream.mapping.recipe import TermMap
from sensorstream.mapping.rml.model import PredicateObjects, RmlMapping, TriplesMap
from sensorstream.sparql.walk import replaced

_Part = TypeVar("_Part")
_UP: Final = "../"
_STEP: Final = re.compile(r"[\w:.-]+")
_PATH: Final = re.compile(r"@?[\w:.-]+(?:/@?[\w:.-]+)*")


def without_ancestors(mapping: RmlMapping) -> RmlMapping:
    """The mapping with such properties in triples maps of their own, as far as that is possible.

    It says the same, for maps that :func:`.from_rules` makes. A property stays where it is if its
    XPaths lead to different ancestors, if there is a policy for missing values, or if the name of
    the individual has several values of the iteration: these must not be combined.
    """
    return replace(mapping, maps=tuple(made for each in mapping.maps for made in _split(each)))


def _split(triples_map: TriplesMap) -> Iterator[TriplesMap]:
    by_level: dict[int, list[PredicateObjects]] = {}
    above: dict[int, TriplesMap | None] = {}
    # A missing value that leaves out the individual leaves out what stands above it, too.
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
    """How many steps up all XPaths of a property lead; 0: not all the same, or a policy."""
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
