"""Every error SensorStream raises on purpose.

::

    SensorStreamError
    ├── SettingsError            a setting is missing, unknown or of the wrong kind
    ├── TermError                a literal, IRI or time that is not what its datatype says
    ├── LanguageError            a rule file that cannot be read (has a position)
    ├── OntologyError            an ontology that cannot be loaded or used
    │   └── OntologyConflict     a new ontology that the window contradicts
    ├── MessageError             one message; the system goes on
    │   ├── MalformedMessage     not well-formed XML, or XML we refuse (DOCTYPE, depth)
    │   ├── MessageTooLarge      more bytes than the limit
    │   ├── InvalidMessage       not as its source's XML Schema says
    │   ├── MappingError         a rule matched, but a value is missing or invalid
    │   ├── Inconsistent         the message contradicts the ontology
    │   ├── RuleError            a semantic rule's action cannot be carried out
    │   └── RuleCycle            semantic rules kept changing the knowledge base
    ├── QueryError               a SPARQL or SQL text that cannot be run
    │   ├── QueryConflict        a continuous query whose name is taken, or one too many
    │   └── UnknownQuery         a continuous query that is not there
    ├── ReasonerError            the reasoner's process failed
    ├── HistoryError             the persistent knowledge base failed
    ├── InternalFault            a fault of SensorStream itself; the message is kept
    ├── Unavailable              the system is stopping, overloaded or broken: try again later
    ├── WebhookError             a webhook that cannot be registered
    ├── SparkError               Spark could not be started or used
    ├── SimulationError          recorded data that cannot be read
    ├── AddressUnavailable       an address that the server cannot listen on
    └── ServerUnreachable        a command's server that does not answer, or not as one

``code`` is stable: clients may switch on it. It names the problem type in REST answers,
the fault code in SOAP and the line a command prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text file; ``line`` and ``column`` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SensorStreamError(Exception):
    """Root of the tree. ``message`` says what, where, and what was expected.

    ``message_id`` names the journalled message that could not be taken in, where there is one.
    ``problem`` is the problem document (RFC 9457) of an error that a server has answered with.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, position: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.message_id: str | None = None
        self.problem: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return self.message if self.position is None else f"{self.position}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.position)


def _rebuild(
    kind: type[SensorStreamError], message: str, position: Position | None
) -> SensorStreamError:
    return kind(message, position=position)


class SettingsError(SensorStreamError):
    """A setting is missing, unknown or of the wrong kind."""

    code = "settings"


class TermError(SensorStreamError):
    """A literal, IRI, time or duration is not what its datatype says."""

    code = "term"


class LanguageError(SensorStreamError):
    """A rule file that cannot be read or compiled."""

    code = "language"


class OntologyError(SensorStreamError):
    """An ontology that cannot be loaded or used."""

    code = "ontology"


class OntologyConflict(OntologyError):
    """The window contradicts a new ontology, or another change is under way.

    ``contradiction`` names what clashes, where that is the reason.
    """

    code = "ontology-conflict"

    def __init__(
        self,
        message: str,
        *,
        position: Position | None = None,
        contradiction: Contradiction | None = None,
    ) -> None:
        super().__init__(message, position=position)
        self.contradiction = contradiction


class MessageError(SensorStreamError):
    """One message cannot be taken in; the knowledge base is as before."""

    code = "message"


class MalformedMessage(MessageError):
    """Not well-formed XML, or XML that is refused (DOCTYPE, depth)."""

    code = "malformed-message"


class MessageTooLarge(MessageError):
    """More bytes than the limit in the settings."""

    code = "message-too-large"


class InvalidMessage(MessageError):
    """The message does not conform to the XML Schema of its source."""

    code = "invalid-message"


class MappingError(MessageError):
    """A mapping rule matched, but a value it needs is missing or invalid."""

    code = "mapping"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What cannot be true together, for people: a minimal set unless ``limits`` says otherwise.

    ``triples`` are assertions in N-Triples, ``axioms`` the ontology's statements in Manchester
    syntax, with the names as in the ontology but for their namespaces. ``limits`` says what is
    left open and why, "" when nothing is.
    """

    triples: tuple[str, ...]
    axioms: tuple[str, ...] = ()
    limits: str = ""


class Inconsistent(MessageError):
    """The message contradicts the ontology.

    ``individuals`` are the members of the island that has no model, as N-Triples terms;
    ``contradiction`` names what clashes, once that has been found out.
    """

    code = "inconsistent"

    def __init__(
        self,
        message: str,
        *,
        position: Position | None = None,
        individuals: tuple[str, ...] = (),
        contradiction: Contradiction | None = None,
    ) -> None:
        super().__init__(message, position=position)
        self.individuals = individuals
        self.contradiction = contradiction

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_inconsistent, (self.message, self.individuals, self.contradiction)


def _rebuild_inconsistent(
    message: str, individuals: tuple[str, ...], contradiction: Contradiction | None
) -> Inconsistent:
    return Inconsistent(message, individuals=individuals, contradiction=contradiction)


class RuleError(MessageError):
    """An action of a semantic rule cannot be carried out with the values it met."""

    code = "rule"


class RuleCycle(MessageError):
    """Semantic rules kept changing the knowledge base beyond the bound of rounds."""

    code = "rule-cycle"


class QueryError(SensorStreamError):
    """A SPARQL or SQL text that cannot be run."""

    code = "query"


class QueryConflict(QueryError):
    """A continuous query whose name is taken, or one more than may run."""

    code = "query-conflict"


class UnknownQuery(QueryError):
    """No continuous query has this name."""

    code = "unknown-query"


class ReasonerError(SensorStreamError):
    """The reasoner's process failed."""

    code = "reasoner"


class HistoryError(SensorStreamError):
    """The persistent knowledge base failed."""

    code = "history"


class InternalFault(SensorStreamError):
    """A fault of SensorStream itself met this message; it is kept, the knowledge base as before."""

    code = "internal"


class Unavailable(SensorStreamError):
    """The system is stopping, overloaded or broken; the message may be sent again later."""

    code = "unavailable"


class WebhookError(SensorStreamError):
    """A webhook that cannot be registered."""

    code = "webhook"


class SparkError(SensorStreamError):
    """Spark could not be started or used."""

    code = "spark"


class SimulationError(SensorStreamError):
    """Recorded data to simulate with that cannot be read."""

    code = "simulation"


class AddressUnavailable(SensorStreamError):
    """The server cannot listen on the address it was given."""

    code = "address"


class ServerUnreachable(SensorStreamError):
    """A server that a command talks to does not answer, or not as SensorStream does."""

    code = "server-unreachable"
