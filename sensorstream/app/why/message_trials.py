"""Trials of other rules, another ontology or a new query on recent messages.

They run on engines of their own with empty windows, so that the running one is not touched. They
reason by the profile that runs; see :class:`TrialReasoners`. On Spark each key has its own, as in
the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Final

from sensorstream.app.control.file_texts import FileTexts
from sensorstream.app.control.mapping_files import MappingFiles
from sensorstream.app.control.rule_files import key_prefixes, mapping_paths, parse_texts
from sensorstream.app.control.wiring import Deployment, Machine, build_machine, message_limits
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.why.engine_trial import EngineTrial
from sensorstream.clock import thread_seconds
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.engine.message_reading import Arrived
from sensorstream.errors import Busy, MessageError, SensorStreamError
from sensorstream.history.journal_rows import last_messages, record_of
from sensorstream.journal.entry_effects import in_order, reports_of
from sensorstream.journal.key_routing import KeyOf, key_reader
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Record
from sensorstream.mapping.rule_report import Explanation, explain
from sensorstream.mapping.xml_document import parse_document
from sensorstream.model.events import Alert, Message, Status
from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.terms import Triple, statement_text
from sensorstream.processes.fork_once import held
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC, told_to
from sensorstream.reasoning.reasoner import Reasoner

MOST_MESSAGES: Final = 100
MOST_BYTES: Final = 16 * 1024 * 1024
"""The part of the journal that a trial may hold."""
_MOST_KEYS: Final = 10
"""Keys of the last messages that are tried, the newest; each takes an engine, or two."""
_SECONDS: Final = 10.0
"""The client waits for the answer, and the engine gets less of the processor meanwhile."""
_MOST_DIFFERENCES: Final = 20
_MOST_STATEMENTS: Final = 50
_MOST_REPORTS: Final = 20
_NOT_TAKEN_IN: Final = frozenset((Status.REJECTED.value, Status.UNMATCHED.value))


@mutable
class Effect:
    """The fate of a message: ``reason`` is why it was not taken in, ``matched`` mapping rules.

    ``statements`` are what the mapping rules made of it, as N-Triples without the full stop;
    ``alerts`` those that it led to, as "severity rule: text".
    """

    status: str = "held"
    reason: str = ""
    matched: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    alerts: list[str] = field(default_factory=list)


@frozen
class Difference:
    """A message that the rules that were tried treat in another way.

    Of the statements only those of one side are kept, and of those the first 50.
    """

    message: str
    before: Effect
    after: Effect


@frozen
class DeploymentTrial:
    """A trial of a deployment: ``messages`` were tried, ``different`` of them had another effect.

    ``differences`` are the first ones. ``lost_before`` and ``lost_after`` are how many of them were
    not taken in: rejected, or without a rule that matches. If something is at fault, ``faults`` has
    all of it, and nothing was tried.
    """

    faults: tuple[SensorStreamError, ...] = ()
    messages: int = 0
    different: int = 0
    lost_before: int = 0
    lost_after: int = 0
    differences: tuple[Difference, ...] = ()


@frozen
class QueryTrial:
    """A trial of a query: ``messages`` were tried; ``reports`` are the first of ``count``. If the
    query is at fault, ``faults`` has it, and nothing was tried. ``stopped``: why it was stopped
    while it was tried; "" if it was not.
    """

    faults: tuple[SensorStreamError, ...] = ()
    messages: int = 0
    count: int = 0
    reports: tuple[EngineReport, ...] = ()
    stopped: str = ""


class Trials:
    """Trials on the last messages of a journal, one at a time. Thread-safe."""

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._counter = app.clock.counter
        self._busy = Lock()
        self._reasoners = TrialReasoners(self._counter)

    def close(self) -> None:
        """End the process of the reasoner; a trial in progress fails."""
        self._reasoners.close()

    def alone(self) -> AbstractContextManager[None]:
        """A block for a trial.

        Raises:
            Busy: another trial is in progress.
        """
        return held(self._busy, 0, Busy("another trial is in progress: ask again later"))

    def compare(self, now: Deployment, new: Deployment) -> DeploymentTrial:
        """Try two deployments, in :meth:`alone`.

        Raises:
            ReasonerError: a reasoner does not start.
            HistoryError: the journal cannot be read.
        """
        with self._reasoners.machines() as made:
            before, after = _Side(made(now), lambda: made(now)), _Side(made(new), lambda: made(new))
            done = self._taken(before, after)
        told, others = before.effects, after.effects
        different = [each for each in told if told[each] != others.get(each)]
        shown = different[:_MOST_DIFFERENCES]
        return DeploymentTrial(
            messages=done,
            different=len(different),
            lost_before=_lost(told),
            lost_after=_lost(others),
            differences=tuple(_difference(each, told[each], others[each]) for each in shown),
        )

    def message(
        self, deployment: Deployment, content: bytes, source: str, now: int, after: int
    ) -> MessageTrial:
        """Try a message after so many of the last ones, in :meth:`alone`; see :func:`.try_message`.
        On Spark those of its key count.

        Raises:
            HistoryError: the journal cannot be read.
        """
        before: Sequence[Message] = ()
        if after:
            key_of = self._key_of(deployment)
            own = key_of(TakeMessage.kind, source, content)
            records = self._records(after if self._app.here else MOST_MESSAGES)
            before = [each.message for each in records if _key(key_of, each) == own][-after:]
        with self._reasoners.machines() as made:
            machine = made(deployment)
            return try_message(deployment, machine, content, source, now, self._counter, before)

    def query(self, deployment: Deployment, name: str, text: str) -> QueryTrial:
        """Try a query, in :meth:`alone`; see :meth:`compare`."""
        with self._reasoners.machines() as made:
            first = made(deployment)
            try:
                first.engine.queries.check(name, text)
                first.engine.queries.register(name, text)
            except SensorStreamError as error:
                return QueryTrial((error,))

            def more() -> Machine:
                machine = made(deployment)
                machine.engine.queries.register(name, text)
                return machine

            side = _Side(first, more)
            done = self._taken(side)
            ends = (each.engine.queries.stopped.get(name) for each in side.machines.values())
            return QueryTrial(
                messages=done,
                count=side.count,
                reports=tuple(side.reports),
                stopped=next((each.reason for each in ends if each is not None), ""),
            )

    def _taken(self, *sides: _Side) -> int:
        """Let engines take the last messages in, as far as there is time; returns their number."""
        end, done = self._counter() + _SECONDS, 0
        key_of = self._key_of(self._app.deployment)
        records = [(_key(key_of, each), each) for each in self._records()]
        tried = list(dict.fromkeys(key for key, _ in reversed(records)))[:_MOST_KEYS]
        for key, record in records:
            if self._counter() > end:
                break
            if key in tried:
                for side in sides:
                    side.take(record, key)
                done += 1
        return done

    def _key_of(self, deployment: Deployment) -> KeyOf:
        """The function that tells which engine an entry goes to."""
        if self._app.here:
            return lambda _kind, _source, _content: ""
        settings = deployment.settings
        prefixes = key_prefixes(settings, deployment.texts)
        return key_reader(settings.pipeline.key, prefixes, settings.server.max_depth)

    def _records(self, most: int = MOST_MESSAGES) -> Sequence[Record]:
        return [record_of(each) for each in last_messages(self._app.url, most, MOST_BYTES)]


def _lost(effects: dict[str, Effect]) -> int:
    return sum(each.status in _NOT_TAKEN_IN for each in effects.values())


def _key(key_of: KeyOf, record: Record) -> str:
    message = record.message
    return key_of(record.kind, message.source, message.content)


class _Side:
    """The engines of a deployment by key, and the effects of the messages that they have taken, by
    their ids.
    """

    def __init__(self, first: Machine, more: Callable[[], Machine]) -> None:
        self._more = more
        self._first: Machine | None = first
        self.machines: dict[str, Machine] = {}
        self.effects: dict[str, Effect] = {}
        self.reports: list[EngineReport] = []
        self.count = 0

    def take(self, record: Record, key: str) -> None:
        machine = self.machines.get(key)
        if machine is None:
            machine = self.machines[key] = self._first or self._more()
            self._first = None
        arrived = machine.mapper.map(record.message)
        effect = self.effects[record.message.id] = Effect()
        if isinstance(arrived, Arrived):
            events = arrived.mapped.events
            said = {statement_text(triple) for event in events for triple in event.triples}
            effect.statements = tuple(sorted(said))
        came = machine.engine.take(arrived)
        reports = reports_of([came])
        self.count += len(reports)
        self.reports += reports[: max(0, _MOST_REPORTS - len(self.reports))]
        for outcome in in_order(came):
            # Messages that waited are reported when they are released.
            told = self.effects.get(outcome.message.id, effect)
            told.status = outcome.status.value
            told.reason = "" if outcome.rejection is None else str(outcome.rejection)
            told.matched = outcome.matched or told.matched
            told.alerts += (f"{each.severity} {each.rule}: {each.text}" for each in outcome.alerts)


def _difference(message: str, before: Effect, after: Effect) -> Difference:
    common = set(before.statements) & set(after.statements)
    return Difference(message, _without(before, common), _without(after, common))


def _without(effect: Effect, common: set[str]) -> Effect:
    own = [each for each in effect.statements if each not in common]
    return replace(effect, statements=tuple(own[:_MOST_STATEMENTS]))


_NICE: Final = 5
"""Messages that come in meanwhile are more urgent."""


class TrialReasoners:
    """The reasoners of engines for trials; for one trial at a time."""

    def __init__(self, counter: Callable[[], float]) -> None:
        """``counter`` is :meth:`.Clock.counter`."""
        self._counter = counter
        self._workers: dict[tuple[str, bytes], Worker] = {}

    @contextmanager
    def machines(self) -> Iterator[Callable[[Deployment], Machine]]:
        """The maker of the engines of one trial, the first one for the deployment in force."""
        used: dict[tuple[str, bytes], None] = {}
        own: list[Machine] = []

        def made(deployment: Deployment) -> Machine:
            reasoner, key = self._reasoner(deployment)
            machine = build_machine(deployment, self._counter, reasoner)
            if key is None:
                own.append(machine)
            else:
                used[key] = None
            return machine

        try:
            yield made
        finally:
            for machine in own:
                machine.engine.close()
            # One process stays: that of the ontology in force.
            for key in self._workers.keys() - list(used)[:1]:
                self._workers.pop(key).close()

    def close(self) -> None:
        while self._workers:
            self._workers.popitem()[1].close()

    def _reasoner(self, deployment: Deployment) -> tuple[Reasoner | None, tuple[str, bytes] | None]:
        """A reasoner over a process that stays; None: the profile has no process."""
        reasoning = deployment.settings.reasoning
        if reasoning.profile not in DESCRIPTION_LOGIC:
            return None, None
        terminology = told_to(reasoning.profile, deployment.ontology)
        key = reasoning.profile, terminology.document(reasoning.profile)
        if key not in self._workers:
            self._workers[key] = Worker(
                *key,
                java=reasoning.java,
                timeout=reasoning.timeout,
                heap=reasoning.heap,
                nice=_NICE,
            )
        limits = message_limits(deployment.settings.limits, thread_seconds)
        made = DlReasoner(terminology, self._workers[key], limits=limits)
        # Undecided questions refuse no message, as in the engine that runs.
        made.questions.leaves_open = True
        return made, key


MOST_STATEMENTS: Final = 1000
"""Statements of each sort in an answer."""
_ID: Final = "trial"
_PRECEDING_SECONDS: Final = 10.0
"""The time for the messages before it: the client waits for the answer."""
_EXPLAINED_BYTES: Final = 256 * 1024
_EXPLAINED_SECONDS: Final = 1.0
"""Explaining takes a few times as long as mapping, and has no limit of its own."""


@frozen
class MessageTrial:
    """A trial of a message.

    If something is at fault with the rules, ``faults`` has all of it, and nothing was tried.
    ``statements`` are those that the mapping rules made of it, ``added`` those that semantic rules
    inserted, ``inferred`` those that follow by the profile ``reasoner``. ``unexplained`` is why
    there are no ``explanations``, if that is so. ``preceding`` messages were taken in first.
    """

    faults: tuple[SensorStreamError, ...] = ()
    status: str = ""
    reason: str = ""
    matched: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    unexplained: str = ""
    statements: tuple[Triple, ...] = ()
    added: tuple[Triple, ...] = ()
    inferred: tuple[Triple, ...] = ()
    reasoner: str = ""
    alerts: tuple[Alert, ...] = ()
    preceding: int = 0


def try_message(
    deployment: Deployment,
    machine: Machine,
    content: bytes,
    source: str,
    now: int,
    counter: Callable[[], float],
    before: Sequence[Message] = (),
) -> MessageTrial:
    """Take a message in by ``machine``, which is new; ``now`` is when it arrives.

    The messages ``before`` are taken in first. If the message is one of them, these are those
    before it. Their own effects are not reported, but for those of a message that had to wait and
    is released with this one.
    """
    message = Message(_ID, content, now, source)
    first = set[Triple]()
    preceding = 0
    end = counter() + _PRECEDING_SECONDS
    for each in before:
        if (each.content, each.source) == (content, source) or counter() > end:
            break
        first.update(_take(machine, each))
        preceding += 1
    arrived = machine.mapper.map(message)
    trial = EngineTrial(machine.engine)
    # A message may have to wait for others; here none come.
    traces = [trial.take(arrived), trial.finish()]
    outcomes = [each for trace in traces for each in in_order(trace.outcome)]
    told = [each for each in outcomes if each.message.id == _ID and each.status != Status.HELD]
    outcome = told[-1] if told else traces[0].outcome
    made = dict.fromkeys(traces[0].made)
    came = dict.fromkeys(triple for trace in traces for triple in trace.asserted)
    inferred = dict.fromkeys(triple for trace in traces for triple in trace.inferred)
    explanations, unexplained = _explained(deployment, message, arrived.seconds)
    return MessageTrial(
        status=outcome.status.value,
        reason="" if outcome.rejection is None else str(outcome.rejection),
        matched=outcome.matched,
        warnings=arrived.mapped.warnings if isinstance(arrived, Arrived) else (),
        explanations=explanations,
        unexplained=unexplained,
        statements=tuple(made),
        added=tuple(each for each in came if each not in made and each not in first),
        inferred=tuple(each for each in inferred if each not in made),
        reasoner=deployment.settings.reasoning.profile,
        alerts=tuple(alert for each in outcomes for alert in each.alerts),
        preceding=preceding,
    )


def _take(machine: Machine, message: Message) -> Iterator[Triple]:
    """Take a message in; returns the statements that its mapping rules made of it."""
    arrived = machine.mapper.map(message)
    machine.engine.take(arrived)
    if isinstance(arrived, Arrived):
        for event in arrived.mapped.events:
            yield from event.triples


def _explained(
    deployment: Deployment, message: Message, seconds: float
) -> tuple[tuple[Explanation, ...], str]:
    """The findings of each expression, or why they cannot be given."""
    if len(message.content) > _EXPLAINED_BYTES or seconds > _EXPLAINED_SECONDS:
        return (), (
            f"what each expression found is told of messages of up to {_EXPLAINED_BYTES} bytes "
            f"that are mapped within {_EXPLAINED_SECONDS:g} s"
        )
    settings, schema = deployment.settings, deployment.ontology.schema
    timeline, reference = deployment.timeline, deployment.reference
    files = parse_texts(settings, deployment.texts)
    paths = mapping_paths(settings, deployment.texts)
    try:
        document = parse_document(message.content, max_depth=settings.server.max_depth)
    except MessageError:
        return (), "the message cannot be read"
    try:
        library = reference.library_of("")
        texts = FileTexts(paths)
        base = settings.rules.base
        others = MappingFiles(tuple(paths), schema, timeline, base, library, texts).single_maps()
        return explain(files, schema, timeline, document, message, reference, others), ""
    except SensorStreamError as error:
        return (), error.message
