"""Settings: one table of names, kinds, defaults and a sentence each.

Read from ``sensorstream.toml``; an environment variable ``SENSORSTREAM_<SECTION>_<NAME>``
wins over the file. Relative paths are read from the file's folder. A variable that sets nothing is
an error.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from sensorstream.endpoints import (
    INPUT_TYPES,
    OUTPUT_TYPES,
    Input,
    InputSettings,
    Output,
    OutputSettings,
)
from sensorstream.endpoints import setting as _setting
from sensorstream.errors import Position, SettingsError
from sensorstream.logs import FORMATS, LEVELS
from sensorstream.model.timeline import Timeline

Network: TypeAlias = IPv4Network | IPv6Network

PREFIX: Final = "SENSORSTREAM_"
CLIENT_VARIABLES: Final = frozenset({"SENSORSTREAM_KEY", "SENSORSTREAM_CA"})
"""Variables of the commands that are no settings."""
_LINK: Final = re.compile(r"SENSORSTREAM_(SERVICE_(HOST|PORT)(_.*)?|PORT(_\d+_(TCP|UDP).*)?)")
"""What Kubernetes gives to every container beside a service with the name sensorstream."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
DATA_FOLDER: Final = Path("data")
ARCHIVE_FOLDER: Final = DATA_FOLDER / "archive"


@dataclass(frozen=True, slots=True)
class OntologySettings:
    """``[ontology]``."""

    files: tuple[Path, ...] = _setting((), "Ontology files: RDF/XML, Turtle, N-Triples or OWL/XML.")


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """``[rules]``."""

    files: tuple[Path, ...] = _setting((), "Rule files; also RML (.ttl) and stylesheets (.xsl).")
    max_rounds: int = _setting(16, "Rounds of semantic rules per message before it is a cycle.")
    base: str = _setting("", "The base IRI of RML files: completes the IRIs made from values.")


@dataclass(frozen=True, slots=True)
class FunctionSettings:
    """``[functions]``."""

    files: tuple[Path, ...] = _setting(
        (), "Python files whose functions rules may call; see docs/rule-language.md."
    )


@dataclass(frozen=True, slots=True)
class TimeSettings:
    """``[time]``."""

    line: str = _setting(
        "integer",
        "How messages write their times: integer or datetime (xsd:dateTime).",
        [line.value for line in Timeline],
    )

    lateness: str = _setting(
        "",
        "How far a source's messages may be out of order, in the time line's lengths (PT5S, or "
        "5); 0 for sources in order that wait for each other; empty takes messages as they come.",
    )
    idle: float = _setting(
        10.0, "Seconds without a message after which a source is not waited for."
    )
    max_held: int = _setting(100_000, "Messages that may wait for earlier ones at a time.")

    @property
    def timeline(self) -> Timeline:
        return Timeline(self.line)


@dataclass(frozen=True, slots=True)
class MessageSettings:
    """``[messages]``."""

    schema: Path | None = _setting(
        None, "An XML Schema that every message must conform to; empty takes them as they are."
    )


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """``[sources.NAME]``: one source of messages, by the name its messages carry."""

    lateness: str = _setting("", "How far this source may be out of order; as time.lateness.")
    schema: Path | None = _setting(
        None, "The XML Schema of this source's messages; empty takes messages.schema."
    )


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """``[filters.NAME]``: individuals of a class that do not enter the window."""

    class_: str = _setting(
        "", "The class of the individuals: a full IRI; its subclasses are included."
    )
    properties: tuple[str, ...] = _setting((), "The properties whose values are compared: IRIs.")
    below: str = _setting("", "Drop where a value is less than this number.")
    above: str = _setting("", "Drop where a value is more than this number.")
    equal: str = _setting("", "Drop where a value is this number, text or IRI.")
    unchanged: str = _setting(
        "", "Drop where all values differ from those in the window by no more than this; or 0."
    )
    within: str = _setting(
        "", "But let one pass if the last one is at least this old (a length of time)."
    )
    action: str = _setting(
        "drop",
        "drop those that meet the conditions, or keep only those of the class.",
        ["drop", "keep"],
    )
    store: bool = _setting(True, "Whether history gets what is dropped.")


@dataclass(frozen=True, slots=True)
class SheddingSettings:
    """``[shedding]``: what to do when more messages come than the deployment can process."""

    budget: int = _setting(0, "Messages a second that are taken in whole; 0 never sheds.")
    queue: int = _setting(
        0, "Messages above the budget that may come at one time; 0: those of one second."
    )
    period: str = _setting(
        "", "Length of time that a synopsis covers, and of 'first' (PT1M, or 60)."
    )
    keep: str = _setting("all", "What is kept of a class without a policy; as policies.NAME.keep.")


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """``[policies.NAME]``: what load shedding keeps of a class."""

    class_: str = _setting("", "The class: a full IRI; its subclasses are included.")
    keep: str = _setting(
        "all",
        "all, none, first (of each individual one a period), or a sample such as 'sample 1/10'.",
    )


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """``[window]``; the words are the paper's (eq. 1-8 and 11); docs/windows.md has them all."""

    kind: str = _setting(
        "sliding",
        "sliding, tumbling (waits until full), filling (gradually filling tumbling) or landmark.",
        ["sliding", "tumbling", "filling", "landmark"],
    )
    unit: str = _setting(
        "individuals",
        "individuals or triples (physical window), or time (logical window).",
        ["individuals", "triples", "time"],
    )
    elements: str = _setting(
        "", "What a window by time consists of: individuals or triples; individuals."
    )
    size: str = _setting("1000", "A number of the unit, or a length of time (PT10M, or 600).")
    step: str = _setting("", "Progression step of a sliding window, in the unit of size; one.")
    start: str = _setting(
        "", "A window by time begins and steps from here; a landmark by count, from this number on."
    )
    partition: str = _setting(
        "", "A window for each value of a property (its IRI), or for each source (source)."
    )


@dataclass(frozen=True, slots=True)
class ReasoningSettings:
    """``[reasoning]``."""

    profile: str = _setting(
        "plain",
        "none, plain (subclass, subproperty, domain, range), hermit or pellet.",
        ["none", "plain", "hermit", "pellet"],
    )
    java: str = _setting("", "A Java 25+ home; empty uses the runtime that comes as a wheel.")
    timeout: float = _setting(10.0, "Seconds the reasoner may take for one question.")
    heap: int = _setting(1024, "Memory of the reasoner's Java in MiB; more makes it end.")
    explain: float = _setting(5.0, "Seconds to find out what contradicts what in a message.")
    audit: str = _setting(
        "", "How often all inferences are computed anew and compared (PT10M); empty: never."
    )


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """``[history]``: the persistent knowledge base."""

    url: str = _setting("", "postgresql://… of a server; empty starts an embedded PostgreSQL.")
    folder: Path = _setting(DATA_FOLDER, "Where the embedded PostgreSQL keeps its files.")
    port: int = _setting(0, "A port of 127.0.0.1 for readers of the embedded one; 0: none.")
    checkpoint_every: int = _setting(5_000, "Messages between two checkpoints of the window.")


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """``[archive]``: what was moved out of PostgreSQL, as Parquet files."""

    folder: Path = _setting(ARCHIVE_FOLDER, "Where the archive keeps its Parquet files.")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """``[server]``."""

    host: str = _setting("127.0.0.1", "The address to listen on.")
    port: int = _setting(8080, "The port to listen on; 0 takes a free one.")
    names: tuple[str, ...] = _setting(
        (), "Host names by which clients reach it; empty: on a loopback address its own, else all."
    )
    origins: tuple[str, ...] = _setting(
        (), "Web sites whose pages may use it, such as https://map.example.org."
    )
    max_message_bytes: int = _setting(1_048_576, "The largest message accepted, in bytes.")
    max_depth: int = _setting(64, "The deepest nesting of elements accepted.")


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """``[http]``: who may do what over HTTP; see docs/security.md."""

    keys: bool = _setting(
        False, "Whether requests need a key ('sensorstream keys') or a token of http.issuer."
    )
    certificate: Path | None = _setting(
        None, "The certificate chain (PEM) of HTTPS; empty serves HTTP without TLS."
    )
    private_key: Path | None = _setting(
        None, "The private key (PEM) of the certificate; empty: it is in the same file."
    )
    issuer: str = _setting(
        "", "The address of an OpenID provider, whose tokens are accepted beside keys."
    )
    audience: str = _setting("", "What the tokens' claim 'aud' must name: this server.")
    roles_claim: str = _setting(
        "roles", "The claim with the roles of a token; 'a.b' is the claim b within a."
    )
    roles: tuple[str, ...] = _setting(
        (), "The role of each value of the claim, as 'value = role'; empty: values are roles."
    )


@dataclass(frozen=True, slots=True)
class LogSettings:
    """``[log]``: what the server writes to stderr; see docs/operations.md."""

    format: str = _setting("text", "How a line is written: text, or a JSON object.", FORMATS)
    level: str = _setting("warning", "What is written: this, and what is worse.", LEVELS)


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """``[limits]``: what one client, one message or one query may take."""

    # Questions.
    question_seconds: float = _setting(30.0, "Seconds that a question of a client may take.")
    question_memory: int = _setting(
        1024, "Memory that a question to the cache or the archive may take, in MiB.", least=1
    )
    question_rows: int = _setting(
        100_000, "Rows of an answer; SQL over history as CSV or Arrow has no limit.", least=1
    )
    questions: int = _setting(
        4, "Questions to the cache that run at once; of those to history as many again.", least=1
    )

    # The engine.
    query_rows: int = _setting(
        2_000_000,
        "Rows an operator of a continuous query may visit in one instant, or keep.",
        least=1,
    )
    query_seconds: float = _setting(
        5.0, "Seconds an operator of a continuous query may take in one instant."
    )
    message_rows: int = _setting(
        2_000_000,
        "Rows that conditions of semantic rules may visit or find for one message.",
        least=1,
    )
    message_seconds: float = _setting(
        10.0, "Seconds that conditions of semantic rules may take for one message."
    )

    # The journal.
    entry_seconds: float = _setting(
        60.0,
        "Seconds one entry of the journal may take; then /healthz fails, and after twice as many "
        "the server ends, to be started again.",
    )
    transform_seconds: float = _setting(5.0, "Seconds a stylesheet (XSLT) may take for a message.")

    # Connections.
    connections: int = _setting(
        0, "Connections of clients at once; 0: as many as the open files allow, less a reserve."
    )
    header_seconds: float = _setting(10.0, "Seconds a client may take for a request's header.")
    body_seconds: float = _setting(
        60.0, "Seconds a client may take for a body; then it must have come at 10 KiB a second."
    )

    # Messages that wait.
    waiting_messages: int = _setting(10_000, "Messages that may wait for the engine.", least=1)
    waiting_bytes: int = _setting(
        268_435_456, "Bytes of all messages that wait for the engine.", least=1
    )
    rate: int = _setting(0, "Messages a second that an address may send; 0: no limit.")

    # A message's life.
    idempotency_hours: int = _setting(
        24, "Hours for which the idempotency key of a message is known."
    )

    # The audit log.
    audit_days: int = _setting(365, "Days that the audit log of changes is kept.")


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """``[webhooks]``."""

    allow: tuple[Network, ...] = _setting(
        (), "Networks that webhooks may reach though they are not public, as 10.1.0.0/16."
    )
    timeout: float = _setting(
        10.0, "Seconds an attempt may take in all: the name, the connection, the answer."
    )
    max_attempts: int = _setting(8, "Deliveries tried before an alert is set aside as dead.")
    disable_after: float = _setting(
        5.0, "Days of failures alone, after which a webhook is disabled."
    )


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """``[spark]``."""

    master: str = _setting("local[*]", "Spark's master: local[*], or spark://host:port.")


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """``[pipeline]``: what runs the engine."""

    runner: str = _setting(
        "engine",
        "engine: the server itself; spark: it journals, and 'sensorstream stream' does the rest.",
        ["engine", "spark"],
    )
    key: str = _setting(
        "source", "On Spark, an engine for each value of: source, or an XPath into the messages."
    )
    batch: int = _setting(20_000, "On Spark, the most messages of a batch.")
    folder: Path = _setting(
        DATA_FOLDER / "stream", "Where Spark keeps the engines' state; on a cluster, a shared one."
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All of one deployment. ``path`` is the file it was read from."""

    path: Path
    ontology: OntologySettings = OntologySettings()
    rules: RuleSettings = RuleSettings()
    functions: FunctionSettings = FunctionSettings()
    time: TimeSettings = TimeSettings()
    messages: MessageSettings = MessageSettings()
    window: WindowSettings = WindowSettings()
    reasoning: ReasoningSettings = ReasoningSettings()
    history: HistorySettings = HistorySettings()
    archive: ArchiveSettings = ArchiveSettings()
    server: ServerSettings = ServerSettings()
    http: HttpSettings = HttpSettings()
    log: LogSettings = LogSettings()
    limits: LimitSettings = LimitSettings()
    webhooks: WebhookSettings = WebhookSettings()
    spark: SparkSettings = SparkSettings()
    pipeline: PipelineSettings = PipelineSettings()
    shedding: SheddingSettings = SheddingSettings()
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    filters: Mapping[str, FilterSettings] = field(default_factory=dict)
    policies: Mapping[str, PolicySettings] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()

    @property
    def folder(self) -> Path:
        """The deployment's folder: relative paths start here."""
        return self.path.parent


SECTIONS: Final[Mapping[str, type[Any]]] = {
    "ontology": OntologySettings,
    "rules": RuleSettings,
    "functions": FunctionSettings,
    "time": TimeSettings,
    "messages": MessageSettings,
    "window": WindowSettings,
    "reasoning": ReasoningSettings,
    "history": HistorySettings,
    "archive": ArchiveSettings,
    "server": ServerSettings,
    "http": HttpSettings,
    "log": LogSettings,
    "limits": LimitSettings,
    "webhooks": WebhookSettings,
    "spark": SparkSettings,
    "pipeline": PipelineSettings,
    "shedding": SheddingSettings,
}

NAMED_SECTIONS: Final[Mapping[str, type[Any]]] = {
    "sources": SourceSettings,
    "filters": FilterSettings,
    "policies": PolicySettings,
}
"""Sections of sections, ``[sources.NAME]``: the user gives the names, the file alone sets them."""


LISTED_SECTIONS: Final[Mapping[str, tuple[type[Any], Mapping[str, type[Any]]]]] = {
    "inputs": (InputSettings, INPUT_TYPES),
    "outputs": (OutputSettings, OUTPUT_TYPES),
}
"""Sections that may stand several times, ``[[inputs]]``, and the options of their types."""


@dataclass(frozen=True, slots=True)
class Given:
    """A setting as it is read: where its value comes from, and whether that is the default."""

    name: str
    value: object
    origin: str
    """``FILE:LINE``, the name of an environment variable, or ``default``."""
    secret: bool = False


@dataclass(slots=True)
class _Reading:
    """A file that is read, and what has been read of it."""

    path: Path
    lines: Sequence[str]
    environment: Mapping[str, str]
    variables: set[str] = field(default_factory=set)
    """The variables that could set something."""
    given: list[Given] = field(default_factory=list)

    def find(self, name: str, section: str = "", lines: Sequence[str] = ()) -> Position | None:
        """Where the file, or the part of it that is given, writes a name."""
        return _find(self.path, lines or self.lines, name, section)


def load_settings(path: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Read a settings file.

    Raises:
        SettingsError: the file cannot be read, is not TOML, or a setting is unknown or of the
            wrong kind; or the environment has a variable ``SENSORSTREAM_…`` that sets nothing. The
            message names the setting and what was expected.
    """
    return read_settings(path, environment)[0]


def read_settings(
    path: Path, environment: Mapping[str, str] | None = None
) -> tuple[Settings, Sequence[Given]]:
    """As :func:`load_settings`, and where the value of each setting comes from."""
    path = path.absolute()
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the settings file {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not a TOML file: {error}") from None
    reading = _Reading(path, text.splitlines(), os.environ if environment is None else environment)
    known = {**SECTIONS, **NAMED_SECTIONS, **LISTED_SECTIONS}
    for name, value in table.items():
        if name not in known:
            raise _unknown("section", f"[{name}]", name, known, reading.find(name))
        if not isinstance(value, list if name in LISTED_SECTIONS else dict):
            told = f"[[{name}]]" if name in LISTED_SECTIONS else f"[{name}]"
            raise SettingsError(
                f"'{name}' is a section: expected {told}", position=reading.find(name)
            )
    sections = {
        name: _section(kind, name, table.get(name, {}), reading) for name, kind in SECTIONS.items()
    }
    named: dict[str, Any] = {
        name: _named(kind, name, table.get(name, {}), reading)
        for name, kind in NAMED_SECTIONS.items()
    }
    inputs = tuple(
        Input(head.name, head.source or head.name, options)
        for head, options in _listed("inputs", table, reading)
    )
    outputs = tuple(
        Output(head.name, head.queries, options)
        for head, options in _listed("outputs", table, reading)
    )
    _check_variables(reading)
    return Settings(path, inputs=inputs, outputs=outputs, **sections, **named), reading.given


def _check_variables(reading: _Reading) -> None:
    known = reading.variables | CLIENT_VARIABLES
    for name in sorted(reading.environment):
        if name.startswith(PREFIX) and name not in known and not _LINK.fullmatch(name):
            rest = [each.removeprefix(PREFIX) for each in known]
            near = difflib.get_close_matches(name.removeprefix(PREFIX), rest, n=1)
            hint = (
                f"did you mean {PREFIX}{near[0]}?"
                if near
                else f"expected {PREFIX}<SECTION>_<NAME>; 'sensorstream config show' lists them"
            )
            raise SettingsError(f"the environment variable {name} sets nothing: {hint}")


S = TypeVar("S")


def _named(
    kind: type[S], section: str, table: Mapping[str, object], reading: _Reading
) -> Mapping[str, S]:
    """The sections ``[section.NAME]``, by name, in the order of the file."""
    found: dict[str, S] = {}
    for name, values in table.items():
        label = f"{section}.{name}"
        if not isinstance(values, dict):
            where = reading.find(name, section)
            raise SettingsError(f"'{label}' is a section: expected [{label}]", position=where)
        found[name] = _section(kind, label, values, reading, variables=False)
    return found


def _listed(section: str, table: Mapping[str, Any], reading: _Reading) -> Iterator[tuple[Any, Any]]:
    """What the sections ``[[section]]`` say, each with its options, in the order of the file."""
    kind, types = LISTED_SECTIONS[section]
    lines = reading.lines
    starts = [n for n, line in enumerate(lines) if line.split("#")[0].strip() == f"[[{section}]]"]
    taken: set[str] = set()
    for number, values in enumerate(table.get(section, [])):
        # Positions are looked for in the lines of this one only; the others are left empty.
        begin = starts[number] if number < len(starts) else 0
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        own = [line if begin <= n < end else "" for n, line in enumerate(lines)]
        if not isinstance(values, dict):
            raise SettingsError(f"'{section}' is a section: expected [[{section}]]")
        options = values.get("options", {})
        told = {k: v for k, v in values.items() if k != "options"}
        head: Any = _section(kind, section, told, reading, lines=own, variables=False)
        where = reading.find("name", section, own)
        if not _NAME.fullmatch(head.name):
            fault = f"{section}.name: expected small letters, digits, - and _, not {head.name!r}"
            raise SettingsError(fault, position=where)
        variable = _variable(section, head.name)
        if variable in taken:
            fault = f"{section}.name: there are two with the name '{head.name}'"
            raise SettingsError(fault, position=where)
        taken.add(variable)
        if not isinstance(options, dict):
            fault = f"'{section}.options' is a section: expected [{section}.options]"
            raise SettingsError(fault, position=reading.find("options", section, own))
        label = f"{section}.{head.name}"
        inside = f"{section}.options"
        yield head, _section(types[head.type], label, options, reading, inside, own)


def _variable(*names: str) -> str:
    return PREFIX + "_".join(re.sub(r"[^A-Z0-9]", "_", each.upper()) for each in names)


def _section(
    kind: type[S],
    section: str,
    table: Mapping[str, object],
    reading: _Reading,
    inside: str = "",
    lines: Sequence[str] = (),
    *,
    variables: bool = True,
) -> S:
    """One section.

    ``inside`` is the heading under which the file has its settings, and ``lines`` the part of the
    file to look there; by default the section, and all. ``variables``: the environment may set it.
    """
    inside = inside or section
    path = reading.path
    # A setting may have the name of a Python keyword: class.
    known = {each.name.rstrip("_"): each for each in fields(kind)}  # type: ignore[arg-type]
    for name in table:
        if name not in known:
            where = reading.find(name, inside, lines)
            raise _unknown("setting", f"{section}.{name}", name, known, where)
    values: dict[str, object] = {}
    for name, each in known.items():
        where = None
        label, variable = f"{section}.{name}", _variable(section, name)
        if variables:
            reading.variables.add(variable)
        if variables and variable in reading.environment:
            given: object = reading.environment[variable]
            origin = label = variable
        elif name in table:
            given = table[name]
            where = reading.find(name, inside, lines)
            origin = f"{path}:{where.line}" if where is not None else str(path)
        else:
            default = each.default
            if each.metadata["required"]:
                where = reading.find(inside, "", lines) or reading.find(
                    inside.split(".")[0], "", lines
                )
                choices = each.metadata["choices"]
                expected = (
                    f"expected one of {', '.join(choices)}"
                    if choices
                    else each.metadata["sentence"]
                )
                raise SettingsError(f"{section}.{name} is not set: {expected}", position=where)
            value = path.parent / default if isinstance(default, Path) else default
            values[each.name] = value
            reading.given.append(Given(label, value, "default"))
            continue
        try:
            value = values[each.name] = _READERS[str(each.type)](given, path.parent)
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{label}: {error}, not {given!r}", position=where) from None
        choices = each.metadata["choices"]
        if choices and value not in choices:
            raise SettingsError(
                f"{label}: expected one of {', '.join(choices)}, not {given!r}", position=where
            )
        if isinstance(value, int) and value < each.metadata["least"]:
            raise SettingsError(
                f"{label}: expected a whole number, {each.metadata['least']} or more, not "
                f"{given!r}; leave it out for the default, {each.default:,}",
                position=where,
            )
        reading.given.append(Given(f"{section}.{name}", value, origin, not each.repr))
    return kind(**values)


def _paths(given: object, folder: Path) -> tuple[Path, ...]:
    patterns = given.split(os.pathsep) if isinstance(given, str) else given
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise TypeError("expected a list of file names")
    found: list[Path] = []
    for pattern in patterns:
        if any(sign in pattern for sign in "*?["):
            matches = sorted(folder.glob(pattern))
            if not matches:
                raise ValueError(f"no file matches '{pattern}' in {folder}")
            found.extend(matches)
        else:
            found.append(folder / pattern)
    return tuple(dict.fromkeys(found))


def _texts(given: object, _folder: Path) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise TypeError("expected a list of texts in quotes")
    return tuple(given)


def _networks(given: object, _folder: Path) -> tuple[Network, ...]:
    texts = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise TypeError("expected a list of networks in quotes")
    try:
        return tuple(map(ip_network, texts))
    except ValueError as error:
        raise ValueError(f"expected networks such as 10.1.0.0/16 or fd00::/8 ({error})") from None


def _path(given: object, folder: Path) -> Path:
    if not isinstance(given, str):
        raise TypeError("expected a path in quotes")
    return folder / given


def _text(given: object, _folder: Path) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise TypeError("expected a text in quotes")
    return str(given)


def _whole(given: object, _folder: Path) -> int:
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise TypeError("expected a whole number")
    number = int(given) if str(given).strip().isdigit() else -1
    if number < 0:
        raise ValueError("expected a whole number, zero or more")
    return number


def _number(given: object, _folder: Path) -> float:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise TypeError("expected a number")
    try:
        number = float(given)
    except ValueError:
        raise ValueError("expected a number") from None
    if not 0 < number < float("inf"):
        raise ValueError("expected a number above zero")
    return number


def _flag(given: object, _folder: Path) -> bool:
    if given in (True, "true", "1"):
        return True
    if given in (False, "false", "0"):
        return False
    raise TypeError("expected true or false")


_READERS: Final[Mapping[str, Callable[[object, Path], object]]] = {
    "tuple[Path, ...]": _paths,
    "tuple[str, ...]": _texts,
    "tuple[Network, ...]": _networks,
    "Path": _path,
    "Path | None": lambda given, folder: None if given == "" else _path(given, folder),
    "str": _text,
    "int": _whole,
    "float": _number,
    "bool": _flag,
}


def _unknown(
    what: str, label: str, name: str, known: Mapping[str, object], where: Position | None
) -> SettingsError:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    return SettingsError(f"unknown {what} {label}: {hint}", position=where)


def _find(path: Path, lines: Sequence[str], name: str, section: str = "") -> Position | None:
    """Where the file writes a name; tomllib gives no positions."""
    inside = not section
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("["):
            here = text.strip("[] ").replace('"', "").replace("'", "")
            if not section and here == name:
                return Position(str(path), number, line.index(name) + 1)
            inside = here == section
        elif inside and text.split("=")[0].strip() == name:
            return Position(str(path), number, line.index(name) + 1)
    return None
