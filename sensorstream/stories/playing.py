"""Plays stories on the real engine, one after the other, each on an engine of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

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
from sensorstream.app.why.trial import Trace, Trial
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.errors import Position, SensorStreamError, StoryError, TermError
from sensorstream.journal.effects import in_order
from sensorstream.language.parser import parse
from sensorstream.language.syntax import RuleFile
from sensorstream.model.events import Event, Message
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.settings import Settings, TimeSettings, WindowSettings
from sensorstream.sparql.parser import read_query
from sensorstream.stories.comparing import Scene, Since, status_text
from sensorstream.stories.graphs import turtle_triples
from sensorstream.stories.past import Past
from sensorstream.stories.story import Advance, Amount, Expectation, Given, Query, Story
from sensorstream.stories.verdict import Difference, Verdict

_QUIET: Final = (Status.ACCEPTED, Status.HELD)
"""What becomes of a message where a story says nothing of it."""


def standing_alone(folder: Path) -> Settings:
    """The settings of stories without a deployment: they bring their rules with them.

    No ontology, the time line of dates and times, a window that keeps everything.
    """
    return Settings(
        (folder / "sensorstream.toml").absolute(),
        time=TimeSettings(line="datetime"),
        window=WindowSettings(kind="landmark", size=""),
    )


class Stage:
    """A deployment on which stories are played; its reasoner's process serves them all.

    Raises:
        SensorStreamError: a file of the deployment cannot be read or used.
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
            return Verdict(story, (Difference(place, error.message),))
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
        rules = [parse(story.rules, str(story.file))]
        return read_deployment(self._settings, self._deployment.ontology, Substitutes(rules=rules))


@dataclass(slots=True)
class _Played:
    machine: Machine
    deployment: Deployment
    prefixes: Mapping[str, str]
    folder: Path
    now: Instant = 0
    count: int = 0
    since: Since = field(default_factory=Since)
    trial: Trial = field(init=False)
    past: Past = field(init=False)

    def __post_init__(self) -> None:
        engine, deployment = self.machine.engine, self.deployment
        self.trial = Trial(engine)
        self.past = Past(engine, deployment.rules, deployment.timeline)

    def differences(self, story: Story) -> Iterator[Difference]:
        steps = [*story.steps, None]
        told = False
        for number, step in enumerate(steps):
            if isinstance(step, Expectation):
                told = True
                scene = Scene(
                    self.machine.engine.kb, self.machine.snapshot, self.prefixes, self.since
                )
                try:
                    found = scene.differences(step)
                except SensorStreamError as error:
                    found = Difference(error.position or step.position, error.message)
                if found is not None:
                    yield found
                continue
            if told or step is None:
                self.since, told = Since(), False
            if step is None:
                return
            try:
                outcomes = self._take(step)
            except SensorStreamError as error:
                yield Difference(error.position or step.position, error.message)
                return
            expected = _statuses(steps[number + 1 :])
            for outcome in outcomes:
                if outcome.message.id and outcome.status not in (*_QUIET, *expected):
                    yield Difference(
                        step.position,
                        "the message was not accepted, and no step expects that",
                        unexpected=(status_text(outcome),),
                    )
                for alert in outcome.alerts:
                    if alert.kind == "query-stopped":
                        yield Difference(step.position, alert.text)

    def _take(self, step: Given | Query | Advance) -> list[Outcome]:
        """Let a step happen.

        Raises:
            SensorStreamError: it cannot be read.
        """
        if isinstance(step, Query):
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
        self.since.asserted |= dict.fromkeys(trace.asserted)
        self.since.inferred |= dict.fromkeys(trace.inferred)
        outcomes = list(in_order(trace.outcome))
        outcomes += self._answers(outcomes[-1].message)
        self.since.outcomes += outcomes
        times = [each.time for each in outcomes if each.time is not None]
        self.now = max([self.now, *times])
        return outcomes

    def _answers(self, entry: Message) -> Iterator[Outcome]:
        """What comes of it that the history answers what rules have asked."""
        for outcome in self.past.answers(entry):
            yield outcome
            trace = self.trial.seen(outcome)
            self.since.asserted |= dict.fromkeys(trace.asserted)
            self.since.inferred |= dict.fromkeys(trace.inferred)

    def _give(self, step: Given) -> Trace:
        self.count += 1
        id_ = f"m{self.count}"
        time = self._time(step.time, step) if step.time else self.now
        if step.kind == "event":
            triples = turtle_triples(step.text, self.prefixes, step.position, f"{id_}-")
            return self.trial.take(Event(triples, time, id_, source=step.source or "story"))
        # A message without a source comes by REST, as POST /messages has it.
        message = Message(id_, self._content(step), time, step.source or "rest")
        return self.trial.take(self.machine.mapper.map(message))

    def _content(self, step: Given) -> bytes:
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

    def _register(self, step: Query) -> None:
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

    def _time(self, text: str, step: Given | Advance) -> Instant:
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
