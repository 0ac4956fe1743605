"""Why a rule fired: what its conditions had found then, as it is kept with an alert."""

from __future__ import annotations

from enum import Enum

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Term, Triple
from sensorstream.model.timeline import Instant


class Basis(Enum):
    """What a statement rests on."""

    SAID = "said"
    """A message said it, or a semantic rule when that message came."""
    RULE = "rule"
    """A semantic rule has inserted it in an earlier round of the same message."""
    INFERRED = "inferred"
    ONTOLOGY = "ontology"
    LEFT = "left"
    """It was said of an individual that left the window at that moment."""


@frozen
class Matched:
    """A statement that the conditions of a rule matched.

    ``message`` is the id of the message that said it, or caused it to be inferred; empty if none
    did. Of a statement of a rule, ``rule`` is its name, and ``because`` why that rule fired.
    """

    triple: Triple
    basis: Basis
    message: str = ""
    rule: str = ""
    because: Evidence | None = None


@frozen
class Since:
    """From when on a rule had waited that fired because time passed.

    ``time`` is when the condition of a ``when … for`` began to hold, or the individual of ``on
    silence`` last said something: then ``message`` is that message; empty if it is not known.
    """

    time: Instant
    message: str = ""


@frozen
class Evidence:
    """One firing of a rule: the values of its variables by name, and what was matched with them.

    ``digest`` is that of the rule's text (:attr:`.CompiledRule.digest`). ``left_out`` counts the
    values and statements that are not here, because they are too many or too long. ``since`` is
    None if the rule fired at once.
    """

    digest: str
    bindings: tuple[tuple[str, Term], ...]
    statements: tuple[Matched, ...] = ()
    left_out: int = 0
    since: Since | None = None
