"""The errors that SensorStream raises on purpose: a tree, with a class for each kind of fault.

``code`` is stable: clients may switch on it. It names the problem type in REST answers, the fault
code in SOAP and the line a command prints; docs/operate/reference.md lists all codes, and the page
of each that says more. A class without a ``code`` or ``page`` of its own has that of its parent.

Ten kinds of exception are not in the tree, because they are not errors for a user to read:
``alerts.poster.ConnectError`` (the next address of a receiver is tried),
``processes.fork_once._HungError`` (the work of a fork is done once more),
``mapping.term_maps.SkipIndividual`` (a rule leaves an individual out),
``network.recursion.evaluated_stratum.BrokenRules`` (takes failed derivation rules out of force),
``reasoning.dl.bounds.clauses.Untreated`` (a bound leaves an axiom out),
``reasoning.dl.reasoner_process.Unanswered`` (a question failed, but the process did not end),
``reasoning.dl.gap.window_entailments._Equal`` (twins are reported by their own names),
``server.soap.Fault`` (carries a problem to the SOAP endpoint), ``server.http_connection._Refused``
(ends the parsing of a request), and the exceptions of ``click`` in the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar, Final

LONGEST: Final = 10_000
"""The most characters of a text in an error."""
MOST: Final = 100
"""The most texts of a list in an error."""
LONGEST_PATH: Final = 500
"""The most characters of the path of a request that are kept."""
_END: Final = 1_000
"""Characters kept of the end of a long text: it often says what was expected."""
_DIGITS: Final = 16


def shortened(text: str) -> str:
    """The text; of a longer one than :data:`LONGEST` the beginning and the end."""
    if len(text) <= LONGEST:
        return text
    told = f"… ({len(text)} characters) …"
    return text[: LONGEST - _END - len(told)] + told + text[-_END:]


def shortened_key(text: str, most: int = LONGEST) -> str:
    """Shorten a name as :func:`shortened`; two that differ stay different."""
    if len(text) <= most:
        return text
    told = sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{text[: most - _DIGITS - 1]}…{told}"


def few(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts, shortened; of more than :data:`MOST` the first, and how many more there are."""
    told = tuple(map(shortened, texts))
    if len(told) <= MOST:
        return told
    return (*told[: MOST - 1], f"and {len(told) - MOST + 1} more")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text file; ``line`` and ``column`` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SensorStreamError(Exception):
    """An error without a code of its own; the root of the tree.

    ``message`` says what is wrong, where, and what was expected. ``message_id`` names the
    journalled message that could not be taken in, where there is one; ``rule`` the semantic rule
    that failed on it. ``problem`` is the problem document (RFC 9457) of a server's error.
    """

    code: ClassVar[str] = "error"
    of_system: ClassVar[bool] = False
    """Whether the system has failed, and not the input of a user."""
    page: ClassVar[str] = "operate/reference#errors"
    """The document that says more, below ``docs/``, and its section."""

    def __init_subclass__(cls, *, code: str = "", page: str = "", of_system: bool = False) -> None:
        # A class without a code or page of its own has its parent's.
        if code:
            cls.code = code
        cls.page = page or cls.page
        cls.of_system = of_system or cls.of_system

    def __init__(self, message: str, *, position: Position | None = None) -> None:
        # The message may quote a value of any length.
        message = shortened(message)
        super().__init__(message)
        self.message = message
        self.position = position
        self.message_id: str | None = None
        self.rule = ""
        self.problem: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return self.message if self.position is None else f"{self.position}: {self.message}"

    def data(self) -> dict[str, Any]:
        """Code, message and position, ready for JSON; :func:`error_of_data` reads it."""
        place = None if self.position is None else asdict(self.position)
        return {"code": self.code, "message": self.message, "position": place}

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), position=self.position), (self.message,)


class SettingsError(SensorStreamError, code="settings", page="operate/reference#settings"):
    """A setting is missing, unknown or of the wrong kind, or names what the ontology lacks."""


class TermError(SensorStreamError, code="term", page="use/mapping-rules#values"):
    """A literal, IRI, time or duration is not valid for its datatype."""


class LanguageError(SensorStreamError, code="language", page="use/mapping-rules#grammar"):
    """A rule file or file of functions cannot be read, or a rule does not fit the ontology."""


class RulesError(SensorStreamError, code="rules", page="use/http-api#the-rules"):
    """A rule file of a server cannot have this name, or is not text."""


class UnknownRules(RulesError, code="unknown-rules"):
    """No rule file in force has this name, or had it in this version."""


class ChangedMeanwhile(SensorStreamError, code="changed", page="use/http-api#versions"):
    """Rules, a query, a webhook or the ontology is not that of ``If-Match`` any more."""


class UnknownVersion(SensorStreamError, code="unknown-version", page="use/http-api#versions"):
    """A rule file, a query, a webhook or the ontology has never had this version."""


class OntologyError(SensorStreamError, code="ontology", page="use/reasoning#ontologies"):
    """An ontology that cannot be loaded or used."""


class OntologyConflict(
    OntologyError, code="ontology-conflict", page="use/reasoning#another-ontology-while-running"
):
    """The window contradicts a new ontology, or another change is under way.

    ``contradiction`` names what clashes, where that is the reason.
    """

    def __init__(
        self,
        message: str,
        *,
        position: Position | None = None,
        contradiction: Contradiction | None = None,
    ) -> None:
        super().__init__(message, position=position)
        self.contradiction = contradiction


class MessageError(SensorStreamError, code="message", page="use/http-api#messages"):
    """A message cannot be taken in; the knowledge base is as before."""


class MalformedMessage(MessageError, code="malformed-message"):
    """Not well-formed XML, or XML that is refused (DOCTYPE, depth)."""


class MessageTooLarge(MessageError, code="message-too-large", page="operate/limits"):
    """More bytes than the limit in the settings."""


class RepeatedMessage(
    MessageError, code="repeated-message", page="use/http-api#a-message-that-is-sent-again"
):
    """An input sent a message again that is in the journal, or one was replayed before."""


class ReusedKey(MessageError, code="reused-key", page="use/http-api#a-message-that-is-sent-again"):
    """The idempotency key of a message came with another message before."""


class InvalidMessage(MessageError, code="invalid-message", page="use/mapping-rules#schemas"):
    """The message violates the XML Schema of its source; each violation with its line."""


class ViolatedShapes(MessageError, code="violated-shapes", page="use/shapes#while-data-come"):
    """The message violates shapes (``shapes.files``) and is in quarantine, with the report."""


class RefusedByShapes(ViolatedShapes, code="refused-by-shapes"):
    """The message violates shapes (``shapes.files``) and is not in quarantine."""


class MappingError(
    MessageError, code="mapping", page="use/mapping-rules#missing-and-invalid-values"
):
    """A mapping rule matched, but a value it needs is missing or invalid."""


class InvalidValue(MappingError):
    """A value is there but is not valid; ``if valid`` treats it as a missing value."""


class InvalidTerm(MessageError, code="invalid-term", page="use/mapping-rules#names"):
    """A relative IRI, a forbidden character, a wrong language tag: no name or literal of RDF."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A conflict of statements, for people: a minimal set unless ``limits`` says otherwise.

    ``triples`` are assertions in N-Triples, ``axioms`` the ontology's statements in Manchester
    syntax, with the names of the ontology without their namespaces. ``limits`` names the parts that
    are not decided, with the reason; "" if all are decided.
    """

    triples: tuple[str, ...]
    axioms: tuple[str, ...] = ()
    limits: str = ""

    def __post_init__(self) -> None:
        # Literals may be of any length.
        object.__setattr__(self, "triples", tuple(map(shortened, self.triples)))
        object.__setattr__(self, "axioms", tuple(map(shortened, self.axioms)))


class Inconsistent(MessageError, code="inconsistent", page="use/reasoning#contradictions"):
    """The message contradicts the ontology.

    ``individuals`` are the members of the island that has no model, as N-Triples terms;
    ``contradiction`` names what clashes, once that is known.
    """

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
        told = self.individuals, self.contradiction
        return partial(Inconsistent, individuals=told[0], contradiction=told[1]), (self.message,)


class RuleError(MessageError, code="rule", page="use/semantic-rules#actions"):
    """An action of a semantic rule cannot be carried out with the values it met."""


class RuleCycle(MessageError, code="rule-cycle", page="use/semantic-rules#order-of-events"):
    """Semantic rules kept changing the knowledge base beyond the bound of rounds."""


class EventError(SensorStreamError, code="event", page="use/stream-sparql#without-a-server"):
    """A line of an event file is not a valid event (command line only)."""


class StoryError(SensorStreamError, code="story", page="use/explaining-and-testing#stories"):
    """A step of a story cannot be read (command line only)."""


class BackgroundError(SensorStreamError, code="background", page="use/stream-sparql"):
    """A file of background knowledge cannot be read, or is not given (command line only)."""


class ShapesError(SettingsError, code="shapes", page="use/shapes#files"):
    """A file of shapes cannot be read, or a shape is not well-formed or cannot be used."""


class QueryError(
    SensorStreamError, code="query", page="use/stream-sparql#errors-and-limits-of-a-text"
):
    """A SPARQL or SQL text that cannot be run.

    ``part`` is what of its meaning it is about: whoever has the places of the text finds its own.
    """

    def __init__(
        self, message: str, *, position: Position | None = None, part: object = None
    ) -> None:
        super().__init__(message, position=position)
        self.part = part


class QueryConflict(QueryError, code="query-conflict", page="use/stream-sparql#on-the-server"):
    """A continuous query whose name is taken, or one more than may run."""


class UnknownAlert(QueryError, code="unknown-alert", page="operate/alerts#seeing-to-alerts"):
    """No alert that is kept has this id."""


class AlertError(SensorStreamError, code="alert", page="operate/alerts#seeing-to-alerts"):
    """Not possible in the alert's state, as acknowledging a cleared one; a silence too many."""


class UnknownSilence(AlertError, code="unknown-silence", page="operate/alerts#silences"):
    """No silence has this id, or it has ended."""


class UnknownIndividual(QueryError, code="unknown-individual", page="use/http-api#individuals"):
    """Neither the window nor history has this individual."""


class UnknownMessage(
    QueryError, code="unknown-message", page="use/http-api#what-became-of-a-message"
):
    """The journal does not have this message, or not any more."""


class UnknownQuery(QueryError, code="unknown-query", page="use/stream-sparql#on-the-server"):
    """No continuous query has this name."""


class UnsupportedQuery(QueryError, code="unsupported-query", page="use/history#what-is-refused"):
    """No stream can answer the query, or PostgreSQL not with the same meaning."""


class NotIncremental(QueryError, code="not-incremental"):
    """A part of a query must be evaluated anew each time, where that is not possible."""


class NotMovable(SensorStreamError, code="not-movable"):
    """An XPath would mean something else at another node (shown as ``language``)."""


class ProgramError(SensorStreamError, code="program", page="use/rule-sets"):
    """Derivation rules that have no well-defined result, or might go on for ever."""


class ReasonerError(
    SensorStreamError, code="reasoner", page="use/reasoning#when-the-process-fails", of_system=True
):
    """The reasoner's process failed."""


class HistoryError(SensorStreamError, code="history", page="operate/storage", of_system=True):
    """The persistent knowledge base failed."""


class DamagedCheckpoint(
    HistoryError, code="checkpoint-damaged", page="operate/operations#the-start"
):
    """A checkpoint cannot be read; a start passes over it, so only the log names it."""


class Unstorable(HistoryError, code="unstorable", page="operate/storage#the-journal"):
    """PostgreSQL can never store a value of the message or of its effects; an alert names it."""


class JournalError(SensorStreamError, code="journal", page="operate/storage#the-journal"):
    """The journal has no such entry, or it cannot be skipped (any more)."""


class ArchiveError(
    SensorStreamError, code="archive", page="operate/storage#archive", of_system=True
):
    """A file of the archive, or of a backfill, cannot be read or written; nothing is lost."""


class InternalFault(SensorStreamError, code="internal", page="operate/operations#the-log"):
    """A defect of SensorStream; the log says more. What was sent is kept, but not processed."""


class Unavailable(
    SensorStreamError, code="unavailable", page="operate/operations#what-is-wrong", of_system=True
):
    """The server is stopping, overloaded or broken; ``Retry-After`` says when to try again."""


class Busy(Unavailable, code="busy", page="operate/limits"):
    """Too many questions or messages wait, in all or of one address; see ``Retry-After``."""

    def __init__(
        self, message: str, *, position: Position | None = None, retry_after: float = 1.0
    ) -> None:
        super().__init__(message, position=position)
        self.retry_after = retry_after


class TooFast(
    SensorStreamError, code="too-fast", page="operate/limits#messages-that-wait", of_system=True
):
    """The address sends more than ``limits.rate`` allows; see ``Retry-After``."""

    def __init__(
        self, message: str, *, position: Position | None = None, retry_after: float = 1.0
    ) -> None:
        super().__init__(message, position=position)
        self.retry_after = retry_after


class Overrun(SensorStreamError, code="overrun", page="operate/limits"):
    """Stopped at a limit of the settings, which the text names."""


class TooCostly(Overrun):
    """Rules of an ontology find more than a change may visit.

    ``rules`` are the names of those that did, each with how much it found; of equality, of those
    that made it. It is empty where many have made what is too much.
    """

    def __init__(
        self,
        message: str,
        rules: Mapping[str, int] | None = None,
        *,
        position: Position | None = None,
    ) -> None:
        super().__init__(message, position=position)
        self.rules = dict(rules or {})


class MissingExtra(
    SensorStreamError,
    code="missing-extra",
    page="start/getting-started#optional-parts",
    of_system=True,
):
    """An optional part of the package is not installed; the message says how to install it."""


class AccessError(SensorStreamError, code="access", page="operate/security#roles"):
    """The caller may not do this."""


class Unauthenticated(AccessError, code="unauthenticated", page="operate/security#keys"):
    """No key or token was shown, or it is unknown, expired or revoked."""


class Forbidden(AccessError, code="forbidden"):
    """The key or token has no role that may do this, or may not send as this source."""


class UnknownKey(SensorStreamError, code="unknown-key", page="operate/security#keys"):
    """No key has this name or beginning (command line only)."""


class WebhookError(SensorStreamError, code="webhook", page="operate/alerts#webhooks"):
    """A webhook that cannot be registered."""


class UnknownWebhook(WebhookError, code="unknown-webhook"):
    """A webhook that does not exist."""


class UnknownDelivery(
    WebhookError, code="unknown-delivery", page="operate/alerts#what-became-of-a-delivery"
):
    """A delivery that is not kept."""


class SparkError(SensorStreamError, code="spark", page="use/spark", of_system=True):
    """Spark could not be started or used."""


class JobError(SensorStreamError, code="job", page="use/http-api#jobs"):
    """A job, a long question beside the requests, cannot go on."""


class UnknownJob(JobError, code="unknown-job"):
    """No job has this id; it was deleted, or dropped as one of the oldest."""


class TooManyJobs(JobError, code="too-many-jobs", of_system=True):
    """The queue of jobs is full: ask again later."""


class UnfinishedJob(JobError, code="unfinished-job"):
    """The result of a job was asked for before its end."""


class JobCancelled(JobError, code="job-cancelled"):
    """The job or question was ended before it had a result."""


class LostJob(JobError, code="lost-job", of_system=True):
    """The process that ran the job (killed, too little memory) or its server has ended."""


class RunsOnSpark(
    SensorStreamError, code="runs-on-spark", page="use/spark#questions-to-the-engines"
):
    """Engines run on Spark (``pipeline.runner``) and cannot be asked so; the text says how."""


class SimulationError(SensorStreamError, code="simulation", page="use/command-line"):
    """Recorded data cannot be read (command line only)."""


class AddressUnavailable(
    SensorStreamError, code="address", page="operate/reference#settings", of_system=True
):
    """The server cannot listen on the address it was given (command line only)."""


class RequestRefused(SensorStreamError, code="request", page="use/http-api#errors"):
    """A server cannot understand a client's request (clients only); ``problem`` says where."""


class ServerUnreachable(
    SensorStreamError,
    code="server-unreachable",
    page="use/command-line#a-running-server",
    of_system=True,
):
    """No server answers there, or it is not SensorStream (command line only)."""


def address_of(page: str) -> str:
    """The address of a document's section in the site that ``sensorstream docs`` serves."""
    name, _, place = page.partition("#")
    return f"docs/{name}.html{place and '#'}{place}"


def errors_by_code() -> dict[str, type[SensorStreamError]]:
    """The classes of the tree by their codes; one without a code of its own has its parent's."""
    found: dict[str, type[SensorStreamError]] = {}
    kinds = [SensorStreamError]
    while kinds:
        kind = kinds.pop()
        if kind.__module__ == __name__:
            found.setdefault(kind.code, kind)
            kinds += kind.__subclasses__()
    return found


def error_of_data(told: Mapping[str, Any]) -> SensorStreamError:
    """The error of :meth:`SensorStreamError.data`; raises LookupError for an unknown code."""
    place = told["position"]
    position = None if place is None else Position(**place)
    return errors_by_code()[told["code"]](told["message"], position=position)
