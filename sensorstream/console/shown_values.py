"""Values as people read them: numbers with units, times in their own clock, labels of IRIs.

The value itself stands in the tooltip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from decimal import Context, Decimal, InvalidOperation
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

from nicegui import Client, ui

from sensorstream.console import page_addresses
from sensorstream.console.page_addresses import TYPE, local_name
from sensorstream.model.frozen import field, frozen, mutable

UNKNOWN: Final = "-"
"""The text of a number that is not known."""
_DIGITS: Final = 6
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS: Final = {
    f"{_XSD}{each}" for each in ("integer", "decimal", "double", "float", "int", "long")
}
_LONGEST: Final = 15
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_TIMES: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))


@frozen
class Piece:
    """A text on a page, with a tooltip, the address that it leads to, and a look: a class of
    ``style.css``.
    """

    text: str
    hover: str = ""
    address: str = ""
    look: str = ""


Text: TypeAlias = str | Piece
Value: TypeAlias = Text | Sequence[Text]
"""A text, or several that stand side by side."""


@mutable
class Viewer:
    """The clock of who looks at a page, and the labels that the ontology gives to its terms."""

    zone: tzinfo = UTC
    labels: Mapping[str, str] = field(default_factory=dict)

    def read_zone(self, name: object) -> None:
        """Take the name of a time zone from the browser; nothing changes if there is no such."""
        with suppress(OSError, ValueError, KeyError):
            self.zone = ZoneInfo(str(name))


VIEWERS: Final[WeakKeyDictionary[Client, Viewer]] = WeakKeyDictionary()
"""The viewers of the pages that are open."""


def viewer() -> Viewer:
    """The viewer of this page; outside of a page one in UTC."""
    with suppress(RuntimeError):
        return VIEWERS.setdefault(ui.context.client, Viewer())
    return Viewer()


def number(value: object, unit: str = "") -> str:
    """A number with at most six significant digits, and its unit; another value as its text.

    ``B`` (bytes) and ``s`` (seconds) become larger or smaller units; a whole number keeps its
    digits, up to 15.
    """
    if value is None:
        return UNKNOWN
    try:
        exact = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    if not exact.is_finite():
        return str(value)
    if unit == "B":
        power = 0
        while abs(exact) >= 1024 and power < len(_BINARY) - 1:
            exact, power = exact / 1024, power + 1
        return f"{_plain(exact, 3)}\u00a0{_BINARY[power]}"
    if unit == "s" and exact:
        fits = (each for each in _TIMES if abs(exact) >= Decimal(str(each[0])))
        size, unit = next(fits, _TIMES[-1])
        return f"{_plain(exact / Decimal(str(size)), 3)}\u00a0{unit}"
    text = _plain(exact, 3 if unit == "/s" else _DIGITS)
    return f"{text}\u00a0{unit}" if unit else text


def _plain(value: Decimal, digits: int) -> str:
    """A number with separators, and rounded to so many significant digits if it is not whole."""
    size = value.adjusted()
    if not value or (value == value.to_integral_value() and size < _LONGEST):
        return f"{value:,.0f}"
    if -4 <= size < _LONGEST:
        return f"{round(value, max(digits - 1 - size, 0)).normalize():,f}"
    return f"{Context(prec=digits).create_decimal(value).normalize():e}".replace("e+", "e")


def moment(at: str | None) -> str:
    """A moment of the HTTP interface, to the second in the viewer's clock; "" for none."""
    if not at:
        return ""
    return f"{datetime.fromisoformat(at).astimezone(viewer().zone):%Y-%m-%d %H:%M:%S}"


def when(at: object) -> Piece:
    """A moment of the time line or of the HTTP interface: a whole number, or a time in the viewer's
    clock with that of the server in its tooltip.
    """
    if at is None or isinstance(at, int | float):
        return Piece("" if at is None else number(at))
    return Piece(moment(str(at)), str(at), look="moment")


def label(iri: str) -> str:
    """The label of an IRI in the ontology, or else its local name."""
    return viewer().labels.get(iri) or local_name(iri)


def named(iri: str, address: str | None = None) -> Piece:
    """An IRI by its label, with a link to its page: that of an individual if none is given."""
    if ":" not in iri:
        return Piece(iri)
    leads = page_addresses.individual(iri) if address is None else address
    return Piece(label(iri), iri, leads, "label")


_TERM: Final = re.compile(
    r'<([^<>\s]*)>|("(?:[^"\\]|\\.)*")(?:\^\^<([^<>\s]*)>|@[\w-]+)?|[^\s<"]+|.'
)


def terms(statement: str) -> list[Piece]:
    """A statement or term in N-Triples: names with links to their pages, numbers and texts."""
    found = [each for each in _TERM.finditer(statement) if each[0].strip() not in ("", ".")]
    of_type = len(found) > 1 and found[1][1] == TYPE
    return [_term(each, place, of_type=of_type) for place, each in enumerate(found)]


def _term(found: re.Match[str], place: int, *, of_type: bool) -> Piece:
    iri, text, kind = found.groups()
    if text is not None:
        shown = number(text[1:-1]) if kind in _NUMBERS else text
        return Piece(shown, found[0], look="literal")
    if iri is None:
        return Piece(found[0])
    if place == 1:
        return Piece("a" if iri == TYPE else label(iri), iri)
    return named(iri, page_addresses.members(iri) if place == 2 and of_type else None)


def severity(name: str) -> Piece:
    """A severity in its colour."""
    return Piece(name, look=f"chip severity-{name}")


def state(name: str, look: str = "") -> Piece:
    """A state as a coloured mark; ``look``: ``good``, ``warned``, ``bad`` or "" (grey)."""
    return Piece(name, look=f"chip {look}")
