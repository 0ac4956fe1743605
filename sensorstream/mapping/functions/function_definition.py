"""The definition of a value function: its name, its parameters, and the compiled form of a call.

A call becomes a function over all values of an XPath; most are given for one value. Each function
has an IRI, ``FUNCTION`` and its name, so that RML (FnO) can name it. The value that goes through
the function is the parameter ``PARAMETER`` and ``value``; ``Definition.parameters`` names the
others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from typing import Final, Literal, TypeAlias

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.language.syntax import Argument, ValueCall
from sensorstream.model.frozen import field, frozen

FUNCTION: Final = "urn:sensorstream:function#"
PARAMETER: Final = "urn:sensorstream:parameter#"
VALUE: Final = "value"
"""The name of every function's first parameter: the value before it."""

_OPERATORS: Final = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}

Tables: TypeAlias = Mapping[str, Mapping[str, str]]
"""The lookup tables of a rule file, by name."""

Values: TypeAlias = Callable[[list[str]], list[str]]
"""From the values before to the values after; ``TermError`` for one that is invalid."""

EachText: TypeAlias = Callable[[str], tuple[str, ...]]
EachNumber: TypeAlias = Callable[[Decimal], Decimal]


class ValueKind(Enum):
    """The kind of a value, known when the rules are compiled."""

    ANY = "a text"
    NUMBER = "a number"
    TIME = "a time"
    DAY = "a date"
    DURATION = "a duration"
    BOOLEAN = "a boolean"
    WKT = "a geometry"


@frozen
class Function:
    """A compiled call: the kinds it takes, the kind it returns, and the function. A ``separate``
    one makes the same of each value, whatever other values there are.
    """

    takes: frozenset[ValueKind]
    gives: ValueKind
    run: Values
    separate: bool = False

    def run_valid(self, values: list[str]) -> list[str]:
        """The results for the values that are valid."""
        made = []
        for each in [[value] for value in values] if self.separate else [values]:
            with suppress(TermError):
                made += self.run(each)
        return made

    @classmethod
    def on_all(
        cls,
        call: ValueCall,
        takes: Iterable[ValueKind],
        gives: ValueKind,
        run: Values,
        *,
        separate: bool = False,
    ) -> Function:
        """A function over all values at a time; an error names it."""

        def named(values: list[str]) -> list[str]:
            try:
                # An empty text counts as missing, as in the result of an XPath.
                return [made for made in run(values) if made.strip()]
            except TermError as error:
                raise TermError(f"{call.function}: {_shortened(error.message)}") from None

        return cls(frozenset(takes), gives, named, separate)

    @classmethod
    def on_each(
        cls,
        call: ValueCall,
        takes: Iterable[ValueKind],
        gives: ValueKind,
        one: Callable[[str], str],
    ) -> Function:
        """A function from one value to one value."""
        return cls.on_all(
            call, takes, gives, lambda values: [one(value) for value in values], separate=True
        )

    @classmethod
    def on_texts(cls, call: ValueCall, one: EachText) -> Function:
        """A function from one text to any number of texts."""
        return cls.on_all(
            call,
            ValueKind,
            ValueKind.ANY,
            lambda values: [m for value in values for m in one(value)],
            separate=True,
        )

    @classmethod
    def on_numbers(cls, call: ValueCall, one: EachNumber) -> Function:
        """A function from one number to one number."""

        def written(text: str) -> str:
            return write_number(one(read_number(text)))

        return cls.on_each(call, READS_NUMBERS, ValueKind.NUMBER, written)


@frozen
class Parameter:
    """A parameter besides the value.

    In a rule its argument is a ``"text"``, a number or a word; the texts in ``words`` are always
    words. ``before`` is the word that stands before it, ``between`` the word between several
    arguments for it (empty: there is one only).
    """

    name: str
    kind: Literal["text", "number", "word"]
    before: str = ""
    between: str = ""
    words: frozenset[str] = frozenset()
    required: bool = True

    @property
    def iri(self) -> str:
        """The name in FnO."""
        return f"{PARAMETER}{self.name}"


@frozen
class Definition:
    """A function that rules may call.

    ``usage`` shows a call, ``meaning`` says in some words what it gives. ``form`` is the regular
    expression of the arguments' shapes, parted by spaces: ``"`` is a text, ``0`` a number, and
    words are as written. ``position`` is the place of a function of the user's own.
    """

    name: str
    usage: str
    meaning: str
    form: str
    parameters: tuple[Parameter, ...]
    compiled: Callable[[ValueCall, Library], Function]
    position: Position | None = None

    @property
    def iri(self) -> str:
        """The name in FnO, such as ``urn:sensorstream:function#upper``; ``+`` is ``add``."""
        return f"{FUNCTION}{_OPERATORS.get(self.name, self.name)}"


@frozen
class Library:
    """The names that calls of a rule file may use: its tables, and the user's own functions."""

    tables: Tables = field(default_factory=dict)
    own: Mapping[str, Definition] = field(default_factory=dict)


NO_LIBRARY: Final = Library()

READS_NUMBERS: Final = frozenset((ValueKind.ANY, ValueKind.NUMBER))
_LONGEST: Final = 400
NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
"""XSD's decimals and doubles; the limit on the exponent limits the digits of the result."""


# Definitions


def needs(name: str, kind: Literal["text", "number", "word"], before: str = "") -> Parameter:
    """A parameter that every call must give."""
    return Parameter(name, kind, before)


def may(name: str, kind: Literal["text", "number", "word"], before: str = "") -> Parameter:
    """A parameter that a call may leave out."""
    return Parameter(name, kind, before, required=False)


def any_of(words: Iterable[str]) -> str:
    """A form that any of some arguments has."""
    return f"(?:{'|'.join(words)})"


# Numbers


def read_number(text: str) -> Decimal:
    """The number of a text in XSD's format.

    Raises:
        TermError: the text is not a number.
    """
    if not NUMBER.fullmatch(text):
        raise TermError(f"'{text}' is not a number: expected e.g. 7.4")
    return Decimal(text)


def write_number(number: Decimal) -> str:
    """A number without exponent and without unnecessary zeros: ``72``, not ``72.0``."""
    written = format(number, "f")
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if written == "-0" else written


def whole(argument: Argument, *, zero: bool) -> int:
    """The whole number of an argument.

    Raises:
        LanguageError: not a whole number, or a 0 that is not allowed.
    """
    if "." in argument.text or (int(argument.text) == 0 and not zero):
        kind = "a whole number" if zero else "a whole number that is not 0"
        raise LanguageError(f"'{argument.text}': expected {kind}", position=argument.position)
    return int(argument.text)


def _shortened(message: str) -> str:
    """Cut the value in a message, possibly a whole document; the end says what is wrong."""
    return message if len(message) <= _LONGEST else f"{message[:100]} … {message[-200:]}"
