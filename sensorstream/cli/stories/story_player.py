"""Plays stories on the real engine, one after the other, each on an engine of its own.

Statements that have left the window are kept in memory, and Oxigraph answers from them as
PostgreSQL does on a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from sensorstream.app.control.file_texts import based, placed
from sensorstream.app.control.wiring import (
    Deployment,
    Machine,
    Substitutes,
    build_machine,
    read_deployment,
    read_rules,
    reasoner_of,
)
from sensorstream.app.questions.one_time_questions import present
from sensorstream.app.why.engine_trial import EngineTrial, TrialTrace
from sensorstream.cli.stories.story_comparison import Copy, Scene, StorySpan, status_text
from sensorstream.cli.stories.story_reader import (
    Advance,
    Amount,
    BegunQuery,
    Expectation,
    Story,
    StoryDifference,
    StoryInput,
    Verdict,
)
from sensorstream.cli.stories.story_wording import turtle_triples
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Position, SensorStreamError, StoryError, TermError
from sensorstream.history.asking.checked_question import (
    AtInstant,
    CheckedQuestion,
    Interval,
    question_before,
)
from sensorstream.journal.entry_effects import in_order
from sensorstream.kb.graph_changes import quads_of
from sensorstream.kb.graph_index import Origin
from sensorstream.kb.oxigraph_terms import term_of
from sensorstream.language.rule_parser import parse
from sensorstream.language.syntax import RuleFile
from sensorstream.model.events import Ended, Event, Message, Status
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import (
    GRAPH_INFERRED,
    GRAPH_PERSISTENT,
    GRAPH_STATIC,
    GRAPH_WINDOW,
)
from sensorstream.network.exact_values import repeated
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.rules.history_rules import HistoryQuery
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.rule_memory import Answer, HistoryQuestion, SolutionKey
from sensorstream.settings.settings import Settings, TimeSettings, WindowSettings
from sensorstream.shapes.shape_compiler import ShapeQuery
from sensorstream.sparql.query_parser import read_query

_STANDING: Final = (
    (int(Origin.STATIC), GRAPH_STATIC),
    (int(Origin.WINDOW), GRAPH_WINDOW),
    (int(Origin.INFERRED | Origin.STATIC_INFERRED), GRAPH_INFERRED),
)
_MOST_ANSWERS: Final = 10_000
"""Answers after one step: an answer may let another moment come, but not for ever."""


@dataclass(slots=True)
class PlayedHistory:
    """The history of an engine; ``rules`` are those that may ask it."""

    engine: Engine
    rules: Iterable[CompiledRule]
    line: Timeline
    ended: list[Ended] = field(default_factory=list)

    def keep(self, outcome: Outcome) -> None:
        """Keep what has ended; O(that)."""
        for each in in_order(outcome):
            self.ended += each.ended
            for departure in (*each.departures, *each.archived):
                self.ended += departure.ended()
            for wrong in each.revoked:
                if wrong in self.ended:
                    self.ended.remove(wrong)

    def answers(self, entry: Message) -> Iterator[Outcome]:
        """Answer the questions of rules that came with ``entry``, until nothing waits."""
        queries = {rule.name: rule.question for rule in self.rules}
        for number in range(1, _MOST_ANSWERS + 1):
            asked = next(iter(self.engine.asked()), None)
            query = None if asked is None else queries[asked.rule]
            if asked is None or query is None:
                return
            told = Message(f"{entry.id}-a{number}", b"", entry.received)
            outcome = self.engine.answer(told, self._answer(asked, query))
            self.keep(outcome)
            yield outcome
        raise StoryError(f"rules have asked the history {_MOST_ANSWERS:,} times after one step")

    def _answer(self, asked: HistoryQuestion, query: HistoryQuery) -> Answer:
        try:
            question = question_before(query.at(asked.moment), self.line, asked.now)
            return Answer(asked.rule, asked.digest, asked.moment, self._solutions(question))
        except SensorStreamError as error:
            failure = f"the history does not answer: {error}"
            return Answer(asked.rule, asked.digest, asked.moment, failure=failure)

    def _solutions(self, question: CheckedQuestion) -> tuple[SolutionKey, ...]:
        store = ox.Store()
        for triple, graph in self._statements(question.time):
            store.extend(quads_of([(triple, graph), (triple, None)]))
        asked = repeated(replace(question.query, valid_time=None))(store)
        found = asked.answer(store)
        assert isinstance(found, ox.QuerySolutions)
        names = [each.value for each in found.variables]
        rows = tuple(
            tuple((name, term_of(row[name])) for name in names if row[name] is not None)
            for row in found
        )
        asked.check()
        return rows

    def _statements(self, time: AtInstant | Interval | None) -> Iterator[tuple[Triple, IRI]]:
        """The statements that a question sees, with the graph of each."""
        for each in self.ended:
            if _is_seen(each.valid_from, each.valid_to, time):
                yield each.triple, GRAPH_PERSISTENT
                if each.inferred:
                    yield each.triple, GRAPH_INFERRED
        for one in present(self.engine).statements:
            if _is_seen(one.since, None, time):
                for marks, graph in _STANDING:
                    if one.marks & marks:
                        yield one.triple, graph


def _is_seen(start: Instant, end: Instant | None, time: AtInstant | Interval | None) -> bool:
    match time:
        case AtInstant(at):
            return start <= at and (end is None or end > at)
        case Interval(first, last):
            return start < last and (end is None or end > first)
    return True


_QUIET: Final = (Status.ACCEPTED, Status.HELD)
"""The statuses of messages that a story need not mention."""


def standing_alone(folder: Path) -> Settings:
    """The settings of stories without a deployment, which bring their rules along: no ontology, the
    time line of dates and times, a window that keeps everything.
    """
    return Settings(
        (folder / "sensorstream.toml").absolute(),
        time=TimeSettings(line="datetime"),
        window=WindowSettings(kind="landmark", size=""),
    )


class StoryStage:
    """A deployment on which stories are played; its reasoner's process serves them all. Raises
    SensorStreamError if a file of the deployment cannot be read or used.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._deployment = read_deployment(settings)
        self._prefixes = _prefixes(read_rules(settings.rules.files))
        self._reasoner: Reasoner | None = None

    def play(self, story: Story) -> Verdict:
        """Run a story to its end; where it cannot go on, that is a difference, too."""
        try:
            deployment = self._deployment_of(story)
            if self._reasoner is None:
                self._reasoner = reasoner_of(deployment)
            machine = build_machine(deployment, lambda: 0.0, self._reasoner, spent=lambda: 0.0)
        except SensorStreamError as error:
            place = error.position or story.position
            return Verdict(story, (StoryDifference(place, error.message),))
        prefixes = {**({} if story.rules is not None else self._prefixes), **story.prefixes}
        folder = self._settings.folder
        played = _Played(machine, deployment, prefixes, folder)
        return Verdict(story, tuple(played.differences(story)))

    def close(self) -> None:
        """End the reasoner."""
        if self._reasoner is not None:
            self._reasoner.close()

    def _deployment_of(self, story: Story) -> Deployment:
        if story.rules is None:
            return self._deployment
        rules = [parse(story.rules, story.position.file)]
        return read_deployment(self._settings, self._deployment.ontology, Substitutes(rules=rules))


@dataclass(slots=True)
class _Played:
    machine: Machine
    deployment: Deployment
    prefixes: Mapping[str, str]
    folder: Path
    now: Instant = 0
    count: int = 0
    since: StorySpan = field(default_factory=StorySpan)
    trial: EngineTrial = field(init=False)
    past: PlayedHistory = field(init=False)
    shapes: Mapping[str, ShapeQuery] = field(init=False)
    copy: Copy = field(default_factory=Copy)

    def __post_init__(self) -> None:
        engine, deployment = self.machine.engine, self.deployment
        self.trial = EngineTrial(engine)
        self.past = PlayedHistory(engine, deployment.rules, deployment.timeline)
        queries = () if deployment.shapes is None else deployment.shapes.queries
        self.shapes = {each.name: each for each in queries}
        for each in queries:
            engine.queries.register(each.name, each.text)

    def differences(self, story: Story) -> Iterator[StoryDifference]:
        steps = [*story.steps, None]
        told = False
        for number, step in enumerate(steps):
            if isinstance(step, Expectation):
                told = True
                kb = self.machine.engine.kb
                scene = Scene(kb, self.copy, self.prefixes, self.since, self.shapes)
                try:
                    found = scene.differences(step)
                except SensorStreamError as error:
                    found = StoryDifference(error.position or step.position, error.message)
                if found is not None:
                    yield found
                continue
            if told or step is None:
                self.since, told = StorySpan(), False
            if step is None:
                return
            try:
                outcomes = self._take(step)
            except SensorStreamError as error:
                yield StoryDifference(error.position or step.position, error.message)
                return
            expected = _statuses(steps[number + 1 :])
            for outcome in outcomes:
                if outcome.message.id and outcome.status not in (*_QUIET, *expected):
                    yield StoryDifference(
                        step.position,
                        "the message was not accepted, and no step expects that",
                        unexpected=(status_text(outcome),),
                    )
                for alert in outcome.alerts:
                    if alert.kind == "query-stopped":
                        yield StoryDifference(step.position, alert.text)

    def _take(self, step: StoryInput | BegunQuery | Advance) -> list[Outcome]:
        """Let a step happen; raises SensorStreamError if it cannot be read."""
        if isinstance(step, BegunQuery):
            self._register(step)
            return []
        if isinstance(step, Advance):
            if not step.time:
                trace = self.trial.finish()
            else:
                self.now = self._time(step.time, step)
                trace = self.trial.advance(self.now)
        else:
            trace = self._give(step)
        self.past.keep(trace.outcome)
        self.since.add(trace)
        outcomes = list(in_order(trace.outcome))
        for outcome in self.past.answers(outcomes[-1].message):
            # Answers of the history to questions of rules.
            outcomes.append(outcome)
            self.since.add(self.trial.seen(outcome))
        self.since.outcomes += outcomes
        times = [each.time for each in outcomes if each.time is not None]
        self.now = max([self.now, *times])
        return outcomes

    def _give(self, step: StoryInput) -> TrialTrace:
        self.count += 1
        id_ = f"m{self.count}"
        time = self._time(step.time, step) if step.time else self.now
        if step.kind == "event":
            triples = turtle_triples(step.text, self.prefixes, step.position, f"{id_}-")
            return self.trial.take(Event(triples, time, id_, source=step.source or "story"))
        # A message without a source comes by REST, as in POST /messages.
        message = Message(id_, self._content(step), time, step.source or "rest")
        return self.trial.take(self.machine.mapper.map(message))

    def _content(self, step: StoryInput) -> bytes:
        if step.text.startswith("<"):
            return step.text.encode()
        path = self.folder / step.text
        try:
            return path.read_bytes()
        except OSError as error:
            raise StoryError(
                f"message: cannot read {path}: {error.strerror}: expected a file, or XML",
                position=step.position,
            ) from None

    def _register(self, step: BegunQuery) -> None:
        path, text, start = self.folder / step.path, step.text, step.position
        if step.path:
            start = Position(str(path), 1, 1)
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise StoryError(
                    f"query: cannot read {path}: {error}", position=step.position
                ) from None
        base = path.absolute().as_uri()
        registration = read_query(text, start=start, base=base).meaning.registration
        unnamed = path.stem if step.path else "query"
        name = unnamed if registration is None else str(registration.name)
        with placed(start):
            self.machine.engine.register(name, based(text, path))

    def _time(self, text: str, step: StoryInput | Advance) -> Instant:
        try:
            return self.deployment.timeline.instant(text)
        except TermError as error:
            raise StoryError(error.message, position=step.position) from None


def _statuses(steps: Iterable[object]) -> set[Status]:
    """The statuses that the next expectations speak of."""
    found: set[Status] = set()
    begun = False
    for step in steps:
        if isinstance(step, Expectation):
            begun = True
            if step.amount is Amount.AT_LEAST:
                with suppress(ValueError):
                    found.add(Status(step.what))
        elif begun:
            break
    return found


def _prefixes(files: Iterable[RuleFile]) -> dict[str, str]:
    """The prefixes of rule files; one that means different things in two files is left out."""
    found: dict[str, str] = {}
    clash: set[str] = set()
    for file in files:
        for name, start in file.prefix_map.items():
            if found.setdefault(name, start) != start:
                clash.add(name)
    return {name: start for name, start in found.items() if name not in clash}
