"""Settings: one table of names, kinds, defaults and a sentence each."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Final, TypeAlias

from sensorstream.errors import Position
from sensorstream.logs import FORMATS, LEVELS
from sensorstream.model.frozen import field, fields, frozen, is_dataclass, replace, settle
from sensorstream.model.rdf_formats import RDF_ENDINGS
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import SilentSource
from sensorstream.settings.endpoints import (
    INPUT_TYPES,
    OUTPUT_TYPES,
    Input,
    InputSettings,
    OutputSetting,
    OutputSettings,
)
from sensorstream.settings.endpoints import setting as _setting

Network: TypeAlias = IPv4Network | IPv6Network

DATA_FOLDER: Final = Path("data")
ARCHIVE_FOLDER: Final = DATA_FOLDER / "archive"


@frozen
class OntologySettings:
    """``[ontology]``."""

    files: tuple[Path, ...] = _setting(
        (), "Ontology files: RDF/XML, OWL/XML, functional syntax, Turtle, N-Triples or JSON-LD."
    )
    leave_out: tuple[str, ...] = _setting(
        (), "The imports to do without, by their IRIs; others must be among the files."
    )
    undeclared: str = _setting(
        "refuse",
        "A restriction on a property that is not declared: refuse it, or infer from their use what "
        "undeclared names are.",
        ["refuse", "infer"],
    )


@frozen
class RuleSettings:
    """``[rules]``."""

    files: tuple[Path, ...] = _setting((), "Rule files; also RML (.ttl) and stylesheets (.xsl).")
    max_rounds: int = _setting(16, "Rounds of semantic rules per message before it is a cycle.")
    base: str = _setting("", "The base IRI of RML files: completes the IRIs made from values.")


DOOR_POLICIES: Final = ["reject", "quarantine", "note"]


@frozen
class ShapeSettings:
    """``[shapes]``: what data must look like; see docs/use/shapes.md."""

    files: tuple[Path, ...] = _setting((), f"Files of shapes (SHACL): {RDF_ENDINGS}.")
    at_the_door: str = _setting(
        "note",
        "A message that violates a shape: reject it for good, keep it in quarantine with the whole "
        "report, or note it in its outcome.",
        DOOR_POLICIES,
    )
    live: bool = _setting(True, "Whether a violation in the window is an alert while it lasts.")


@frozen
class FunctionSettings:
    """``[functions]``."""

    files: tuple[Path, ...] = _setting(
        (), "Python files whose functions rules may call; see docs/use/mapping-rules.md."
    )


@frozen
class TimeSettings:
    """``[time]``."""

    line: str = _setting(
        "integer",
        "How messages write their times: integer or datetime (xsd:dateTime).",
        [Timeline.INTEGER.value, Timeline.DATETIME.value],
    )

    lateness: str = _setting(
        "",
        "How far a source's messages may be out of order (PT5S, or 5); 0: each is in order; "
        "empty takes messages as they come.",
    )
    idle: float = _setting(
        10.0, "Seconds without a message after which a source is not waited for."
    )
    max_held: int = _setting(100_000, "Messages that may wait for earlier ones at a time.")
    ahead: str = _setting(
        "",
        "How far a message's time may be ahead of its arrival (P1D); empty: ten years, on the "
        "line of integers a thousand million times the mean step so far.",
    )
    silence: str = _setting(
        "rules",
        "Whose time goes on with the clock while no message comes: queries, also rules, or also "
        "the window.",
        [silence.value for silence in SilentSource],
    )

    @property
    def timeline(self) -> Timeline:
        return Timeline(self.line)


@frozen
class MessageSettings:
    """``[messages]``."""

    schema: Path | None = _setting(
        None, "An XML Schema that every message must conform to; empty takes them as they are."
    )


@frozen
class SourceSettings:
    """``[sources.NAME]``: one source of messages, by the name its messages carry."""

    lateness: str = _setting("", "How far this source may be out of order; as time.lateness.")
    schema: Path | None = _setting(
        None, "The XML Schema of this source's messages; empty takes messages.schema."
    )


@frozen
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


@frozen
class SheddingSettings:
    """``[shedding]``: the handling of more messages than the deployment can process."""

    budget: int = _setting(0, "Messages a second that are taken in whole; 0 never sheds.")
    queue: int = _setting(
        0, "Messages above the budget that may come at one time; 0: those of one second."
    )
    period: str = _setting(
        "", "Length of time that a synopsis covers, and of 'first' (PT1M, or 60)."
    )
    keep: str = _setting("all", "What is kept of a class without a policy; as policies.NAME.keep.")


@frozen
class PolicySettings:
    """``[policies.NAME]``: the individuals of a class that load shedding keeps."""

    class_: str = _setting("", "The class: a full IRI; its subclasses are included.")
    keep: str = _setting(
        "all",
        "all, none, first (of each individual one a period), or a sample such as 'sample 1/10'.",
    )


@frozen
class WindowSettings:
    """``[window]``; the words are the paper's (eq. 1-8, 11); all: docs/use/windows.md."""

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


@frozen
class ReasoningSettings:
    """``[reasoning]``."""

    profile: str = _setting(
        "plain",
        "none, plain (subclass, subproperty, domain, range), hermit, pellet, or rule sets: owl2rl",
    )
    java: str = _setting("", "A Java 25+ home; empty uses the runtime that comes as a wheel.")
    timeout: float = _setting(10.0, "Seconds the reasoner may take for one question.")
    heap: int = _setting(1024, "Memory of the reasoner's Java in MiB; more makes it end.")
    explain: float = _setting(5.0, "Seconds to find out what contradicts what in a message.")
    cross_check: str = _setting(
        "", "How often all inferences are computed anew and compared (PT10M); empty: never."
    )


@frozen
class HistorySettings:
    """``[history]``: the persistent knowledge base."""

    url: str = _setting("", "postgresql://… of a server; empty starts an embedded PostgreSQL.")
    folder: Path = _setting(DATA_FOLDER, "Where the embedded PostgreSQL keeps its files.")
    port: int = _setting(0, "A port of 127.0.0.1 for readers of the embedded one; 0: none.")
    checkpoint_every: int = _setting(5_000, "Messages between two checkpoints of the window.")
    keep: str = _setting(
        "",
        "How long a statement is kept after it ended, in the time line's lengths (P90D, 100000); "
        "empty: for ever.",
    )
    keep_messages: str = _setting(
        "", "How long messages and alerts are kept, as P30D or PT12H; empty: for ever."
    )


@frozen
class ArchiveSettings:
    """``[archive]``: the data that were moved out of PostgreSQL, as Parquet files."""

    folder: Path = _setting(ARCHIVE_FOLDER, "Where the archive keeps its Parquet files.")


@frozen
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
    read_origins: tuple[str, ...] = _setting(
        (), "Web sites whose pages may read and ask it, without more; * is every site."
    )
    map_tiles: str = _setting(
        "", "Pictures of the ground for maps, as https://tile.example.org/{z}/{x}/{y}.png."
    )
    map_credit: str = _setting("", "The credit that their licence asks for, which maps show.")
    max_message_bytes: int = _setting(1_048_576, "The largest message accepted, in bytes.")
    max_depth: int = _setting(64, "The deepest nesting of elements accepted.")


@frozen
class HttpSettings:
    """``[http]``: access over HTTP; see docs/operate/security.md."""

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
    proxies: tuple[Network, ...] = _setting(
        (), "Networks of proxies, whose X-Forwarded-For says who asks, as 10.1.0.0/16."
    )


@frozen
class LogSettings:
    """``[log]``: the server's lines on stderr; see docs/operate/operations.md."""

    format: str = _setting("text", "How a line is written: text, or a JSON object.", FORMATS)
    level: str = _setting("warning", "What is written: this, and what is worse.", LEVELS)


@frozen
class TraceSettings:
    """``[traces]``: traces of messages for OpenTelemetry; see docs/operate/operations.md."""

    endpoint: str = _setting(
        "", "Address of a collector (OTLP over HTTP), as http://127.0.0.1:4318; empty: no traces."
    )
    share: float = _setting(
        1.0, "The share of messages that are traced; a traceparent decides itself.", or_zero=True
    )


@frozen
class LimitSettings:
    """``[limits]``: the bounds of one client, one message or one query."""

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
        2_000_000, "Rows that an operator of a query may visit in one instant, or keep.", least=1
    )
    query_seconds: float = _setting(
        5.0, "Seconds an operator of a continuous query may take in one instant."
    )
    query_seconds_together: float = _setting(
        0.25,
        "Seconds that all continuous queries together may take for a message, on average; "
        "beyond that the costliest is stopped.",
    )
    message_rows: int = _setting(
        2_000_000, "Rows that semantic rules, or rule sets, may find for one message.", least=1
    )
    message_seconds: float = _setting(
        10.0, "Seconds that conditions of semantic rules, or rule sets, may take for one message."
    )
    evaluate_anew: bool = _setting(
        False,
        "Whether continuous queries may be evaluated anew at every change (with NOW, RAND, EXISTS "
        "deep within), which may cost a fork of the server each time.",
    )

    # The journal.
    entry_seconds: float = _setting(
        60.0,
        "Seconds one entry of the journal may take; then /healthz fails, and after twice as many "
        "the server ends.",
    )
    transform_seconds: float = _setting(5.0, "Seconds a stylesheet (XSLT) may take for a message.")
    mapping_seconds: float = _setting(
        5.0,
        "Seconds that mapping rules which are not linear may take for a large message, and a "
        "validation.",
    )

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
    waiting_entries: int = _setting(
        1_000_000, "Entries of the journal that may wait for the pipeline on Spark.", least=1
    )
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


@frozen
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


@frozen
class AlertSettings:
    """``[alerts]``: the effects of the wall clock on open alerts."""

    clear_after: float = _setting(
        7.0, "Days without a repeat after which an alert is cleared; 0: never.", or_zero=True
    )
    most_open: int = _setting(10_000, "Open alerts at a time; those repeated longest ago end.")
    remind_every: float = _setting(
        0.0, "Minutes between reminders of an alert not acknowledged; 0: none.", or_zero=True
    )
    escalate_after: float = _setting(
        0.0, "Minutes after which an alert not acknowledged escalates; 0: never.", or_zero=True
    )
    flap_count: int = _setting(
        0, "Times that an alert may end within flap_span until it flaps; 0: it never does."
    )
    flap_span: float = _setting(
        10.0, "Minutes for flap_count, and without any change until such an alert has settled."
    )
    remind_info: float = _setting(
        0.0, "As remind_every, of alerts with the severity info; 0: as that.", or_zero=True
    )
    remind_warning: float = _setting(
        0.0, "As remind_every, of alerts with the severity warning; 0: as that.", or_zero=True
    )
    remind_critical: float = _setting(
        0.0, "As remind_every, of alerts with the severity critical; 0: as that.", or_zero=True
    )


SPARK_OWN: Final = frozenset(
    {
        *("spark.master", "spark.remote", "spark.app.name", "spark.python.daemon.module"),
        *("spark.sql.ansi.enabled", "spark.sql.session.timeZone"),
        *("spark.sql.redaction.options.regex", "spark.sql.streaming.stateStore.providerClass"),
    }
)
"""Settings of Spark that answers, secrets and engines depend on: SensorStream sets them itself."""


@frozen
class SparkSettings:
    """``[spark]``."""

    master: str = _setting("local[*]", "Spark's master: local[*], or spark://host:port.")
    conf: tuple[tuple[str, str], ...] = _setting(
        (), 'Settings of Spark, as { "spark.executor.memory" = "4g" }.'
    )
    results: tuple[str, ...] = _setting(
        (), "Folders and addresses below which jobs may write their answers; empty: nowhere."
    )


@frozen
class PipelineSettings:
    """``[pipeline]``: the runner of the engine."""

    runner: str = _setting(
        "engine",
        "engine: the server itself; spark: it journals, and 'sensorstream stream' does the rest.",
        ["engine", "spark"],
    )
    key: str = _setting(
        "source", "On Spark, an engine for each value of: source, or an XPath into the messages."
    )
    batch: int = _setting(20_000, "On Spark, the most messages of a batch.")
    folder: Path | str = _setting(
        DATA_FOLDER / "stream",
        "Where Spark keeps the engines' state: a folder, or an address such as s3a://bucket/state; "
        "on a cluster, a shared one.",
    )


@frozen
class StageSettings:
    """``[[pipeline.stages]]``: engines after the first ones, on Spark; see docs/use/spark.md."""

    name: str = _setting("", "The name of the stage.", required=True)
    from_: tuple[str, ...] = _setting(
        (),
        "The CONSTRUCT queries, of the first engines or of stages before, whose events it takes.",
        required=True,
    )
    key: str = _setting(
        "", "An engine for each value of this property (an IRI) in the events; empty: one engine."
    )
    rules: tuple[Path, ...] = _setting((), "The rule files of its engines: semantic rules.")
    queries: tuple[Path, ...] = _setting((), "The files of its continuous queries.")


@frozen
class PipelineStage:
    """A stage, and its place in the settings file."""

    head: StageSettings
    place: Position


@frozen
class Settings:
    """The settings of a deployment. ``path`` is the file they were read from."""

    path: Path
    ontology: OntologySettings = OntologySettings()
    rules: RuleSettings = RuleSettings()
    shapes: ShapeSettings = ShapeSettings()
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
    traces: TraceSettings = TraceSettings()
    limits: LimitSettings = LimitSettings()
    webhooks: WebhookSettings = WebhookSettings()
    alerts: AlertSettings = AlertSettings()
    spark: SparkSettings = SparkSettings()
    pipeline: PipelineSettings = PipelineSettings()
    shedding: SheddingSettings = SheddingSettings()
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    filters: Mapping[str, FilterSettings] = field(default_factory=dict)
    policies: Mapping[str, PolicySettings] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    outputs: tuple[OutputSetting, ...] = ()
    stages: tuple[PipelineStage, ...] = ()

    def __post_init__(self) -> None:
        # Also of settings that no file was read for: never below where a program happens to run.
        for name in ("history", "archive", "pipeline"):
            section = getattr(self, name)
            if isinstance(section.folder, Path):
                placed = replace(section, folder=self.folder / section.folder)
                settle(self, name, placed)
        results = (e if "://" in e else str(self.folder / e) for e in self.spark.results)
        settle(self, "spark", replace(self.spark, results=tuple(results)))

    @property
    def folder(self) -> Path:
        """The deployment's folder: relative paths start here."""
        return self.path.parent


SECTIONS: Final[Mapping[str, type[Any]]] = {
    each.name: type(each.default) for each in fields(Settings) if is_dataclass(each.default)
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
    "pipeline.stages": (StageSettings, {}),
}
"""Sections that may stand several times, ``[[inputs]]``, and the options of their types."""
