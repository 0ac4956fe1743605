"""The parts of an application in memory: lists with little in them."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow
import pyarrow.parquet

from sensorstream.access.api_keys import Key
from sensorstream.access.audit import AuditedChange
from sensorstream.alerts.alert_records import (
    AlertChange,
    Incident,
    LoggedDelivery,
    RaisedAlert,
    Silence,
    Webhook,
    WebhookState,
)
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.signing import check_secret, new_secret
from sensorstream.alerts.targets import read_url
from sensorstream.app.control.query_control import Queries, QueryView, ReportLog
from sensorstream.app.control.rule_exchange import ServedOntology
from sensorstream.app.control.rulebook import OntologyControl, Rulebook
from sensorstream.app.control.versions import Match, ResourceVersions, TextVersion
from sensorstream.app.control.webhook_control import Webhooks
from sensorstream.app.life.access_control import Access
from sensorstream.app.questions.individuals import (
    IndividualQuestions,
    KnownIndividual,
    KnownIndividuals,
)
from sensorstream.app.questions.jobs import Job, JobAnswer, Jobs
from sensorstream.app.questions.message_questions import Life, Messages
from sensorstream.app.why.message_trials import DeploymentTrial, MessageTrial, QueryTrial
from sensorstream.app.why.present_state import Unmet, WhyHeld, WhyHolds, read_statement
from sensorstream.app.why.reasons import Applied, Because, Reason, Reasons, RuleText, Why
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.errors import (
    AlertError,
    Contradiction,
    LanguageError,
    OntologyConflict,
    Position,
    QueryConflict,
    SensorStreamError,
    TooManyJobs,
    UnknownAlert,
    UnknownDelivery,
    UnknownIndividual,
    UnknownJob,
    UnknownMessage,
    UnknownQuery,
    UnknownRules,
    UnknownSilence,
    UnknownWebhook,
)
from sensorstream.history.access_store import PostgresAuditLog, PostgresKeys
from sensorstream.history.asked_records import KeptMessage, Latest, Left, QuarantineChoice
from sensorstream.history.asking.query_answer import Answer
from sensorstream.history.incidents import PostgresIncidents
from sensorstream.mapping.statement_places import Expression, StatementPlace, XmlNode
from sensorstream.model import rdf, rdfs
from sensorstream.model.events import Alert, Basis, Evidence, Matched, Provenance, RuleWait
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.webhook_definition import WebhookContent, WebhookDefinition
from sensorstream.rules.unmet_parts import TriedPart
from sensorstream.rules.why_not import WhyNot
from sensorstream.spark.jobs.spark_messages import JobText
from sensorstream.testing import ManualClock

EX = "http://example.org/"


@frozen
class MemoryVersions(ResourceVersions):
    """The versions that a function has of a name; it may raise."""

    found: Callable[[str], Iterable[TextVersion]] = lambda _: ()

    def all(self, name: str = "") -> Iterator[TextVersion]:
        yield from self.found(name)


def versions_of(found: Callable[[str], Iterable[TextVersion]]) -> MemoryVersions:
    return MemoryVersions(str, (), str, found=found)


class MemoryOntologies(OntologyControl):
    """Takes every text except one with "clash", and has no versions."""

    def __init__(self) -> None:
        self.text = ServedOntology(b"<urn:x:a> <urn:x:p> <urn:x:b> .", "text/turtle", "settings")
        self.versions = versions_of(lambda _: ())

    def in_force(self) -> ServedOntology:
        return self.text

    def put(self, content: bytes, media_type: str, by: str = "", match: Match = None) -> str:
        if b"clash" in content:
            found = Contradiction(("<urn:x:a> <urn:x:p> <urn:x:b> .",), ("A DisjointWith B",))
            raise OntologyConflict("the window contradicts it", contradiction=found)
        self._check_match(match)
        self.text = ServedOntology(content, media_type, "m9")
        return "m9"

    def try_put(self, content: bytes, media_type: str) -> DeploymentTrial:
        return DeploymentTrial(messages=2)


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class NoQueries(Queries):
    """No continuous query runs, and none can be registered."""

    def __init__(self) -> None:
        self.log = ReportLog()
        self.versions = versions_of(self._none)

    def register(self, text: str, name: str | None = None, by: str = "") -> QueryView:
        raise QueryConflict("no more queries may run")

    def views(self) -> list[QueryView]:
        return []

    def runs(self, entry: str) -> bool:
        return False

    def reports(self, query: QueryView, after: int | None) -> tuple[int, Sequence[EngineReport]]:
        return 0, ()

    def put(
        self, name: str, text: str, by: str = "", match: Match = None, *, found: bool = False
    ) -> QueryView:
        return self.register(text, name, by)

    def try_put(self, name: str, text: str) -> QueryTrial:
        return QueryTrial(messages=3)

    def _none(self, name: str) -> Iterator[TextVersion]:
        self.view(name)
        return iter(())

    def remove(self, name: str, by: str = "", match: Match = None) -> str:
        self.view(name)
        return "m9"

    def view(self, name: str) -> QueryView:
        raise UnknownQuery(f"there is no query '{name}'")

    def check_followed(self) -> None:
        """They would be followed here."""

    def results(self, name: str, key: str | None = None) -> Answer:
        raise UnknownQuery(f"there is no query '{name}'")

    def graph(self, name: str, key: str | None = None) -> dict[str, Any]:
        raise UnknownQuery(f"there is no query '{name}'")

    def steps(self, name: str, last: int, key: str | None = None) -> list[dict[str, Any]]:
        raise UnknownQuery(f"there is no query '{name}'")

    def end_record(self, name: str, key: str | None = None) -> None:
        self.view(name)


class MemoryKeys(PostgresKeys):
    """Keys in a list."""

    def __init__(self) -> None:
        self.kept: list[Key] = []
        self.uses: dict[str, datetime] = {}

    def all(self) -> list[Key]:
        return list(self.kept)

    def used(self, when: Mapping[str, datetime]) -> None:
        self.uses.update(when)


class MemoryAuditLog(PostgresAuditLog):
    """Changes in a list."""

    def __init__(self) -> None:
        self.kept: list[AuditedChange] = []

    def add(self, change: AuditedChange) -> None:
        self.kept.append(replace(change, seq=len(self.kept) + 1))

    def before(self, seq: int | None, limit: int) -> list[AuditedChange]:
        older = (each for each in reversed(self.kept) if seq is None or each.seq < seq)
        return list(itertools.islice(older, limit))

    def forget(self, before: datetime) -> None:
        self.kept = [each for each in self.kept if each.at >= before]


def open_to_all() -> Access:
    return Access(MemoryKeys(), MemoryAuditLog(), ManualClock(NOW), needed=False, audit_days=1)


class OneMessage(Messages):
    """The journal has one message, m42, which is not taken in yet; none is in quarantine."""

    def __init__(self) -> None:
        pass

    def life(self, name: str) -> Life:
        if name != "m42":
            raise UnknownMessage(f"there is no message '{name}'")
        message = KeptMessage(42, "m42", "rest", NOW, 7, 4, None, "", None, None)
        return Life(message, None, [], [], (0, 0), Left())

    def dismiss_all(self, chosen: QuarantineChoice) -> tuple[int, int]:
        return 0, 0


class MemoryRulebook(Rulebook):
    """Takes every text except one with "wrong"; there are no files, and one version of each."""

    def __init__(self) -> None:
        self.kept: Mapping[str, str] = {"tracking.rules": "# tracking\n"}
        self.by = ""
        self.versions = versions_of(self._kept_versions)

    def _texts(self) -> Mapping[str, str]:
        return self.kept

    def _on_disk(self) -> Mapping[str, str]:
        return {}

    def _tables(self) -> Mapping[str, str]:
        return {}

    def _origin(self) -> str:
        return "settings"

    def _kept_versions(self, name: str) -> Iterator[TextVersion]:
        text = self.file(name).text.encode()
        yield TextVersion("m9", NOW, "key me", "d1", text, "text/plain")
        yield TextVersion("m11", NOW, "", "", None, "text/plain")

    def _try(self, texts: Mapping[str, str]) -> DeploymentTrial:
        return DeploymentTrial(messages=2, different=0)

    def try_message(
        self, content: bytes, source: str, files: Mapping[str, str], after: int = 0
    ) -> MessageTrial:
        said = (IRI(f"{EX}ada"), rdf.TYPE, IRI(f"{EX}Person"))
        return MessageTrial(
            status="accepted", matched=("person",), statements=(said,), preceding=after
        )

    def _change(self, change: Callable[[Mapping[str, str]], Mapping[str, str]], by: str) -> str:
        files = change(self.kept)
        for name, text in files.items():
            if "wrong" in text:
                raise LanguageError("expected a rule", position=Position(name, 2, 3))
        self.kept, self.by = files, by
        return "m9"


class OneIndividual(IndividualQuestions):
    """Knows one individual, which has left the window, by any IRI."""

    def __init__(self) -> None:
        said = Latest(
            (IRI(f"{EX}ada"), IRI(f"{EX}name"), Literal("Ada")), Provenance("m1", 3), 7, False
        )
        inferred = Latest(
            (IRI(f"{EX}ada"), rdf.TYPE, IRI(f"{EX}Person")), Provenance("m1", 3), None, True
        )
        self.known = KnownIndividual(IRI(f"{EX}ada"), False, (said, inferred))

    def individual(self, name: str) -> KnownIndividual:
        if ":" not in name:
            raise UnknownIndividual(f"neither the window nor history has <{name}>")
        return self.known

    def latest(self, class_: str, limit: int, after: str = "") -> KnownIndividuals:
        return KnownIndividuals((self.known,), None)


class OneReason(Reasons):
    """Knows why one alert was raised."""

    def __init__(self) -> None:
        self.known = Alert("m42-1", "crowded", "rule", "warning", "text", "kitchen", 7, "m42")

    def of_alert(self, id_: str) -> Why:
        if id_ != self.known.id:
            raise UnknownAlert(f"there is no alert '{id_}'")
        ann, kitchen = IRI(f"{EX}ann"), IRI(f"{EX}kitchen")
        at = XmlNode("/t", 1, "")
        read = Expression("{@in}", (XmlNode("/t/@in", 1, "kitchen"),))
        place = StatementPlace("thing", at, (read,))
        said = Matched((ann, IRI(f"{EX}in"), kitchen), Basis.SAID, "m41")
        ruled = Matched((kitchen, IRI(f"{EX}is"), Literal("full")), Basis.RULE, "m42", "watch")
        inner = Because(Evidence("d", (("r", kitchen),)), ())
        reasons = (
            Reason(said, "door", NOW.isoformat(), (place,)),
            Reason(ruled, rules=("watch",), because=inner),
        )
        because = Because(Evidence("d", (("p", ann),), (), 3, RuleWait(5, "m40")), reasons)
        rule = RuleText("crowded", "r.rules", Position("r.rules", 3, 6), "rule crowded …", "m9")
        return Why(RaisedAlert(1, self.known, NOW), rule, because, "plain", ("a note",))


class OneHolding(WhyHolds):
    """Knows why one statement holds: that :ann is a :Person."""

    def __init__(self) -> None:
        """Nothing is asked of an engine."""

    def why(self, statement: str, key: str | None = None) -> WhyHeld:
        triple = read_statement(statement, {"": EX})
        ann, person, guest = IRI(f"{EX}ann"), IRI(f"{EX}Person"), IRI(f"{EX}Guest")
        if triple != (ann, rdf.TYPE, person):
            return WhyHeld(triple, None, "rdfs")
        below = (guest, rdfs.SUBCLASS_OF, person)
        said = Matched((ann, rdf.TYPE, guest), Basis.SAID, "m41")
        place = StatementPlace("thing", XmlNode("/t", 1, ""))
        by = Applied(
            "rdfs9",
            Position("rdfs", 58, 1),
            "RDF 1.1 Semantics, 9.2.1",
            "INSERT …",
            (("s", ann),),
            (
                Reason(Matched(below, Basis.ONTOLOGY)),
                Reason(said, "door", NOW.isoformat(), (place,)),
            ),
            (),
        )
        held = Reason(Matched(triple, Basis.INFERRED), by=by, caused_by="m41")
        return WhyHeld(triple, held, "rdfs", ("a note",))

    def rules_behind(self, statements: Collection[Triple]) -> Mapping[Triple, str]:
        return dict.fromkeys(statements, "rdfs9")


class OneUnmet(Unmet):
    """Knows what keeps one rule from firing."""

    def __init__(self) -> None:
        """Nothing is asked of an engine."""

    def why_not(
        self, name: str, individual: str, variable: str = "", key: str | None = None
    ) -> WhyNot:
        if name != "too-hot":
            raise UnknownRules(f"there is no semantic rule or query '{name}'")
        steps = (
            TriedPart("pattern", "?s :value ?v", True, 1, ("?v = 29",)),
            TriedPart("filter", "FILTER(?v > 30)", False, 0, (), "?v is 29"),
        )
        answer = "rule too-hot does not fire for :s1: FILTER(?v > 30): ?v is 29"
        return WhyNot(name, IRI(individual), variable or "s", False, answer, steps)


class OneJob(Jobs):
    """Each job is done, and has one row."""

    def __init__(self) -> None:
        self.one = Job("job_1", JobText("sql", "select 1 as n"), "spark", "done", NOW, NOW, NOW, 1)

    def submit(self, question: JobText, on: str = "spark") -> Job:
        if "one too many" in question.text:
            raise TooManyJobs("16 jobs wait already: ask again later")
        return replace(self.one, question=question, state="queued", ended_at=None, rows=None)

    def jobs(self) -> Sequence[Job]:
        return (self.one,)

    def job(self, job_id: str) -> Job:
        if not job_id.startswith("job_"):
            raise UnknownJob(f"there is no job '{job_id}'")
        return self.one

    def answer(self, job_id: str) -> JobAnswer:
        file = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table({"n": [1]}), file)
        file.seek(0)
        return JobAnswer(self.job(job_id).question, file)

    def delete(self, job_id: str) -> None:
        self.job(job_id)


class OneIncident(PostgresIncidents):
    """One alert that is open, m42-1, and silences in a list."""

    def __init__(self) -> None:
        self.incident = Incident(
            *("m42-1", 1, "crowded", "rule", "kitchen", "warning", "21 people", "open", 3),
            *(7, 9, NOW, NOW, "m44-1"),
        )
        self.changes = [self._change("raised", "", "21 people")]
        self.listed: dict[int, Silence] = {}

    def list(
        self, state: str | None, limit: int, before: int | None, now: datetime
    ) -> Sequence[Incident]:
        shown = state in (None, self.incident.state) and (before is None or before > 1)
        return [self.incident][:limit] if shown else []

    def one(self, alert: str, now: datetime = NOW) -> Incident:
        if alert not in ("m42-1", "m44-1"):
            raise UnknownAlert(f"there is no alert '{alert}'")
        return self.incident

    def history(self, alert: str, limit: int, after: int, now: datetime) -> Sequence[AlertChange]:
        self.one(alert)
        return [each for each in self.changes if each.seq > after][:limit]

    def acknowledge(self, alert: str, by: str, said: str, now: datetime) -> Incident:
        if self.one(alert).state == "cleared":
            raise AlertError("it is cleared")
        return self._done("acknowledged", by, said, state="acknowledged", acknowledged_by=by)

    def clear(self, alert: str, by: str, said: str, now: datetime) -> Incident:
        self.one(alert)
        return self._done("cleared", by, said, state="cleared", cleared_at=NOW)

    def comment(self, alert: str, by: str, said: str, now: datetime) -> Incident:
        self.one(alert)
        return self._done("commented", by, said)

    def assign(self, alert: str, by: str, to: str, now: datetime) -> Incident:
        self.one(alert)
        return self._done("assigned", by, to, assignee=to or None)

    def silences(self, now: datetime) -> Sequence[Silence]:
        return list(self.listed.values())

    def silence(self, wanted: Silence, now: datetime) -> Silence:
        made = replace(wanted, id=len(self.listed) + 1)
        self.listed[made.id] = made
        return made

    def changes_after(self, seq: int, limit: int) -> Sequence[AlertChange]:
        return [each for each in self.changes if each.seq > seq][:limit]

    def last_change(self) -> int:
        return self.changes[-1].seq

    def end_silence(self, silence: int, now: datetime) -> None:
        if self.listed.pop(silence, None) is None:
            raise UnknownSilence(f"there is no silence {silence}")

    def _done(self, change: str, by: str, said: str, **changed: Any) -> Incident:
        self.incident = replace(self.incident, **changed)
        self.changes.append(self._change(change, by, said))
        return self.incident

    def _change(self, change: str, by: str, said: str) -> AlertChange:
        one, seq = self.incident, len(getattr(self, "changes", ())) + 1
        return AlertChange(
            *(seq, one.id, change, NOW, 7 if change == "raised" else None, by, said),
            *(one.severity, one.count, one.rule, one.kind, one.key, one.first_at),
        )


class ListedWebhooks(Webhooks):
    """Webhooks in a list; each has one dead delivery, and answers a test with 204."""

    def __init__(self) -> None:
        self.listed: dict[str, WebhookState] = {}
        self.versions = versions_of(self._none)

    def register(
        self, definition: WebhookDefinition, secret: str | None = None, by: str = ""
    ) -> Webhook:
        made = self.put(f"wh_{len(self.listed) + 1}", definition)
        assert made is not None
        made = replace(made, secret=made.secret if secret is None else check_secret(secret))
        self.listed[made.id] = WebhookState(made)
        return made

    def put(
        self, webhook_id: str, definition: WebhookDefinition, by: str = "", match: Match = None
    ) -> Webhook | None:
        read_url(definition.url)
        told = {each.name: getattr(definition, each.name) for each in fields(WebhookContent)}
        webhook = Webhook(webhook_id, definition.url, new_secret(), NOW, definition.queries, **told)
        new = webhook_id not in self.listed
        self.listed[webhook_id] = WebhookState(webhook)
        return webhook if new else None

    def try_put(self, webhook_id: str, definition: WebhookDefinition) -> SensorStreamError | None:
        return None

    def _none(self, webhook_id: str) -> Iterator[TextVersion]:
        self.one(webhook_id)
        return iter(())

    def all(self) -> Sequence[WebhookState]:
        return list(self.listed.values())

    def one(self, webhook_id: str) -> WebhookState:
        if webhook_id not in self.listed:
            raise UnknownWebhook(f"there is no webhook '{webhook_id}'")
        return self.listed[webhook_id]

    def delete(self, webhook_id: str, by: str = "", match: Match = None) -> None:
        del self.listed[self.one(webhook_id).webhook.id]

    def enable(self, webhook_id: str) -> WebhookState:
        return self.one(webhook_id)

    def rotate(self, webhook_id: str, secret: str | None = None) -> tuple[str, datetime]:
        self.one(webhook_id)
        return new_secret() if secret is None else check_secret(secret), NOW

    def test(self, webhook_id: str) -> Future[Attempt]:
        self.one(webhook_id)
        answered: Future[Attempt] = Future()
        answered.set_result(Attempt(NOW, 0.25, None, 204, ""))
        return answered

    def log(
        self, webhook_id: str, state: str | None, limit: int, before: int | None = None
    ) -> Sequence[LoggedDelivery]:
        self.one(webhook_id)
        if state not in (None, "dead") or (before is not None and before <= 7):
            return []
        return [replace(DEAD, webhook_id=webhook_id)]

    def resend(self, delivery_id: int) -> LoggedDelivery:
        if delivery_id != DEAD.id:
            raise UnknownDelivery(f"there is no delivery {delivery_id}")
        return replace(DEAD, state="pending", attempts=0)

    def recover(self, webhook_id: str, since: datetime, until: datetime | None = None) -> int:
        return len([each for each in self.log(webhook_id, "dead", 1) if each.raised_at >= since])


DEAD = LoggedDelivery(
    id=7,
    webhook_id="wh_1",
    event_id="m3-1",
    query=None,
    raised_at=NOW,
    state="dead",
    attempts=8,
    next_attempt_at=None,
    attempted_at=NOW,
    seconds=0.5,
    status=500,
    answer="why",
    error="answered 500",
)
