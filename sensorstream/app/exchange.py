"""Exchanging the ontology, or a reasoner that failed, while messages come in.

What takes long happens aside, in the thread that asks for the change; the engine stands still
only while the new knowledge catches up with what came in meanwhile. Both changes are entries of
the journal: after a crash the messages before them meet the old knowledge, those after them the
new.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Final

from sensorstream.app.pipeline import Pipeline
from sensorstream.app.wiring import Deployment, read_deployment, reasoner_of
from sensorstream.engine.arrival import Mapper
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.errors import (
    Inconsistent,
    OntologyConflict,
    OntologyError,
    ReasonerError,
    SensorStreamError,
)
from sensorstream.history.records import EntryKind, JournalEntry
from sensorstream.kb.graph import Origin
from sensorstream.model.events import Message
from sensorstream.model.terms import Triple
from sensorstream.reasoning.aside import Aside
from sensorstream.reasoning.ontology import parse_ontology
from sensorstream.reasoning.resilient import ResilientReasoner

_LOG = logging.getLogger(__name__)
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 60.0


@dataclass(frozen=True, slots=True)
class OntologyText:
    """An ontology as it was put: ``entry`` is the journal's id of the change."""

    content: bytes
    media_type: str
    entry: str


class Exchange:
    """The deployment in force, and the ways to change it between two messages."""

    def __init__(
        self,
        engine: Engine,
        mapper: Mapper,
        deployment: Deployment,
        put: OntologyText | None = None,
    ) -> None:
        """``put`` is the ontology in force, unless that is the one of the settings' files."""
        self._engine = engine
        self._mapper = mapper
        self.deployment = deployment
        self.put = put
        self._busy = Lock()

    def replay(self, entry: JournalEntry) -> Outcome:
        """Make a change of the journal again; what was refused then changes nothing.

        Raises:
            OntologyError: a change that was accepted cannot be made any more: rules or mapping
                files were changed since and do not fit.
            ReasonerError: the reasoner failed.
        """
        message = entry.message
        if entry.status is Status.REJECTED:
            return Outcome(message, Status.REJECTED)
        if entry.kind is EntryKind.REASONER:
            aside = self._aside(self.deployment)
            try:
                return self._engine.readmit(message, aside)
            except BaseException:
                aside.reasoner.close()
                raise
        deployment, aside = self._prepare(message.content, message.source)
        try:
            return self._adopt(message, deployment, aside)
        except Inconsistent as error:
            aside.reasoner.close()
            _LOG.error("the ontology of %s does not fit the window: %s", message.id, error)
            return self._engine.reject(message, error)
        except BaseException:
            aside.reasoner.close()
            raise

    def change_ontology(self, pipeline: Pipeline, content: bytes, media_type: str) -> Outcome:
        """Put a new ontology in force; returns when it is, and on disk.

        Messages come in meanwhile. Called in any thread but the pipeline's.

        Raises:
            OntologyError: it cannot be read, contradicts itself, or does not suit a reasoner.
            OntologyConflict: the window contradicts it, or another change is under way.
            LanguageError: a mapping or semantic rule does not fit it.
            SettingsError: it lacks what the settings name, such as the class of a filter.
            ReasonerError: the new reasoner failed.
        """
        if not self._busy.acquire(blocking=False):
            raise OntologyConflict("another change of the ontology or the reasoner is under way")
        try:
            deployment, aside = self._prepare(content, media_type)
            try:
                aside.follow(self._window(pipeline))
                changed: Future[Outcome] = pipeline.change(
                    EntryKind.ONTOLOGY,
                    lambda: self._check(aside),
                    lambda message: self._adopt(message, deployment, aside),
                    content=content,
                    source=media_type,
                )
                return changed.result()
            except Inconsistent as error:
                aside.reasoner.close()
                raise _conflict(error) from None
            except BaseException:
                aside.reasoner.close()
                raise
        finally:
            self._busy.release()

    def revive(self, pipeline: Pipeline) -> Outcome | None:
        """Replace a reasoner that failed by a new one that has caught up with the window.

        Returns:
            What it came to; None if a change of the ontology is under way, which does the same.

        Raises:
            OntologyError: the new reasoner does not start.
            ReasonerError: the new reasoner failed, too.
        """
        if not self._busy.acquire(blocking=False):
            return None
        try:
            aside = self._aside(self.deployment)
            try:
                try:
                    aside.follow(self._window(pipeline))
                except Inconsistent:
                    _LOG.warning("the window contradicts the ontology: it is gone through in order")
                return pipeline.change(
                    EntryKind.REASONER,
                    lambda: _check_works(aside),
                    lambda message: self._engine.readmit(message, aside),
                ).result()
            except BaseException:
                aside.reasoner.close()
                raise
        finally:
            self._busy.release()

    def _prepare(self, content: bytes, media_type: str) -> tuple[Deployment, Aside]:
        deployment = read_deployment(self.deployment.settings, parse_ontology(content, media_type))
        return deployment, self._aside(deployment)

    def _aside(self, deployment: Deployment) -> Aside:
        reasoner = reasoner_of(deployment)
        try:
            return Aside(deployment.ontology.triples, reasoner)
        except BaseException:
            reasoner.close()
            raise

    def _window(self, pipeline: Pipeline) -> list[Triple]:
        with pipeline.lock:
            return list(self._engine.kb.triples(Origin.WINDOW))

    def _check(self, aside: Aside) -> None:
        aside.follow(self._engine.kb.triples(Origin.WINDOW))
        _check_works(aside)

    def _adopt(self, message: Message, deployment: Deployment, aside: Aside) -> Outcome:
        self._engine.adopt(aside, deployment.rules, deployment.filters, deployment.shedding)
        self._mapper.plan = deployment.mapping
        self.deployment = deployment
        self.put = OntologyText(message.content, message.source, message.id)
        return Outcome(message, Status.ACCEPTED)


class Revival:
    """A thread that replaces the reasoner whenever it has failed, again and again, ever slower."""

    def __init__(self, engine: Engine, exchange: Exchange, pipeline: Pipeline) -> None:
        self._engine = engine
        self._exchange = exchange
        self._pipeline = pipeline
        self._halt = Event()
        self._thread = Thread(target=self._run, name="revival", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, once an attempt under way has ended."""
        self._halt.set()
        self._thread.join()

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._halt.wait(wait):
            if not self._engine.degraded:
                wait = _FIRST_WAIT
                continue
            wait = min(2 * wait, _LONGEST_WAIT)
            try:
                self._exchange.revive(self._pipeline)
            except SensorStreamError as error:
                _LOG.warning("the reasoner does not come back, next try in %g s: %s", wait, error)
            except Exception:
                _LOG.exception("a fault of our own: the reasoner cannot be replaced")


def _check_works(aside: Aside) -> None:
    reasoner = aside.reasoner
    if isinstance(reasoner, ResilientReasoner) and reasoner.degraded:
        raise ReasonerError(f"the new reasoner failed: {reasoner.degraded}")


def _conflict(error: Inconsistent) -> OntologyError:
    told = error.message.removeprefix("the message contradicts the ontology: ")
    return OntologyConflict(
        f"the window contradicts the new ontology, the old one stays: {told}",
        contradiction=error.contradiction,
    )
