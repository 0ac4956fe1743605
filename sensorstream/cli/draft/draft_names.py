"""Names for rules, variables, classes, properties and prefixes, each given once."""

from __future__ import annotations

import re
from typing import Final

from sensorstream.cli.draft.message_shape import Tag

_WORD: Final = re.compile(r"[^\W_]+")
_STARTS_WELL: Final = re.compile(r"[^\W\d]")


def words(local: str) -> list[str]:
    """The words of an XML name; any character but letters and digits separates them."""
    found = _WORD.findall(local) or ["x"]
    return found if _STARTS_WELL.match(found[0]) else ["n", *found]


def class_name(local: str) -> str:
    """``vehicle-activity`` and ``vehicleActivity`` become ``VehicleActivity``."""
    return "".join(word[:1].upper() + word[1:] for word in words(local))


def property_name(*locals_: str) -> str:
    """``RecordedAtTime`` becomes ``recordedAtTime``; several names become one."""
    first, *rest = [word for local in locals_ for word in words(local)]
    first = first.lower() if first.isupper() else first[:1].lower() + first[1:]
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def rule_name(local: str) -> str:
    """``VehicleActivity`` becomes ``vehicle-activity``."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", "-".join(words(local)))
    return parted.lower()


class DraftNames:
    """A source of names, each given once: the second ``x`` is ``x2``."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)
        self._known: dict[tuple[str, object], str] = {}

    def new(self, wanted: str) -> str:
        """``wanted``, or the next that is free."""
        name, number = wanted, 2
        while name in self._taken:
            name, number = f"{wanted}{number}", number + 1
        self._taken.add(name)
        return name

    def of(self, sort: str, thing: str | Tag, wanted: str) -> str:
        """The name of a thing of a sort, the same each time."""
        known = self._known.get((sort, thing))
        if known is None:
            known = self._known[sort, thing] = self.new(wanted)
        return known
