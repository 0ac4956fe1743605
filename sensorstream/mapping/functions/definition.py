"""What a value function is: its name, its parameters, and what a call of it becomes.

Each function has an IRI, so that RML (FnO) can name it as rules do: ``FUNCTION`` and its name. The
value that goes through the function is the parameter ``PARAMETER`` and ``value``; the others are
named in ``Definition.parameters``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, TypeAlias

from sensorstream.errors import Position, TermError
from sensorstream.language.syntax import Call

FUNCTION: Final = "urn:sensorstream:function#"
PARAMETER: Final = "urn:sensorstream:parameter#"
VALUE: Final = "value"
"""The name of every function's first parameter: the value before it."""

_OPERATORS: Final = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}

Tables: TypeAlias = Mapping[str, Mapping[str, str]]
"""The lookup tables of a rule file, by name."""

Values: TypeAlias = Callable[[list[str]], list[str]]
"""From the values before to the values after; ``TermError`` for one that is invalid."""


class ValueKind(Enum):
    """The kind of a value, known when the rules are compiled."""

    ANY = "a text"
    NUMBER = "a number"
    TIME = "a time"
    DAY = "a date"
    DURATION = "a duration"
    BOOLEAN = "a boolean"
    WKT = "a geometry"


@dataclass(frozen=True, slots=True)
class Function:
    """A compiled call: the kinds it takes, the kind it returns, and the function.

    One that is ``separate`` makes of each value the same, whatever values stand beside it.
    """

    takes: frozenset[ValueKind]
    gives: ValueKind
    run: Values
    separate: bool = False

    def run_valid(self, values: list[str]) -> list[str]:
        """What the function makes of the values that are valid."""
        made = []
        for each in [[value] for value in values] if self.separate else [values]:
            with suppress(TermError):
                made += self.run(each)
        return made


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    compiled: Callable[[Call, Library], Function]
    position: Position | None = None

    @property
    def iri(self) -> str:
        """The name in FnO, such as ``urn:sensorstream:function#upper``; ``+`` is ``add``."""
        return f"{FUNCTION}{_OPERATORS.get(self.name, self.name)}"


@dataclass(frozen=True, slots=True)
class Library:
    """What the calls of a rule file may name: its tables, and the user's own functions."""

    tables: Tables = field(default_factory=dict)
    own: Mapping[str, Definition] = field(default_factory=dict)


NO_LIBRARY: Final = Library()
