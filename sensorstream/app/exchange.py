"""Replacing the ontology, the rules, or a reasoner that failed, while messages arrive.

The slow part runs in the thread that requested the change; the engine pauses only while the new
reasoner processes the changes made meanwhile. All changes are entries of the journal: after a
crash, earlier messages are processed with the old ontology, rules and reasoner, later messages with
the new ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import Final, Protocol

from sensorstream.app.pipeline import Pipeline
from sensorstream.app.rule_texts import check_named, with_others
from sensorstream.app.wiring import Deployment, read_deployment, reasoner_of
from sensorstream.engine.arrival import Mapper
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import (
    Inconsistent,
    OntologyConflict,
    OntologyError,
    ReasonerError,
    SensorStreamError,
)
from sensorstream.journal.takeover import PutOntology, PutRules, ReadmitReasoner
from sensorstream.kb.graph import Origin
from sensorstream.mapping.functions import Definition
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.reasoning.aside import Aside
from sensorstream.reasoning.ontology import Ontology, parse_put
from sensorstream.reasoning.resilient import ResilientReasoner
from sensorstream.settings import Settings

_LOG = logging.getLogger(__name__)
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 60.0
_BUSY: Final = "another change of the ontology, the rules or the reasoner is in progress"
FROM_SETTINGS: Final = "settings"
"""Who has put the rules that were in force before the first were put."""


@dataclass(frozen=True, slots=True)
class OntologyText:
    """An ontology as it was put: ``entry`` is the journal's id of the change."""

    content: bytes
    media_type: str
    entry: str


def ontology_text(message: Message) -> OntologyText:
    """The ontology that an entry of the journal has put."""
    entry = PutOntology.decode(message.content, message.source)
    return OntologyText(entry.content, entry.media_type, message.id)


class ReadDeployment(Protocol):
    """Makes the deployment with another ontology, or with other texts of its rule files."""

    def __call__(
        self,
        settings: Settings,
        ontology: Ontology,
        *,
        texts: Mapping[str, str],
        put: str,
        tables: Mapping[str, str] | None,
        functions: Mapping[str, Definition] | None,
    ) -> Deployment:
        """See :func:`.read_deployment`."""


class Exchange:
    """The deployment in force, and the ways to change it between two messages."""

    def __init__(
        self,
        engine: Engine,
        mapper: Mapper,
        deployment: Deployment,
        put: OntologyText | None = None,
        read: ReadDeployment = read_deployment,
    ) -> None:
        """``put`` is the ontology in force; None: the ontology of the settings' files.

        ``read`` makes the deployment with another ontology, or with other rules.
        """
        self._read = read
        self._engine = engine
        self.mapper = mapper
        self.deployment = deployment
        self.put = put
        self._busy = Lock()

    def with_ontology(self, content: bytes, media_type: str) -> NewOntology:
        """A reasoner for another ontology, and all that has to be compiled for it.

        Raises:
            OntologyError: it cannot be read, contradicts itself, or cannot be used by the reasoner.
            LanguageError: a mapping or semantic rule does not fit it.
            SettingsError: it does not declare a name in the settings, such as the class of a
                filter.
            ReasonerError: the new reasoner failed.
        """
        now = self.deployment
        ontology = parse_put(now.settings.ontology, content, media_type)
        deployment = self._read(
            now.settings,
            ontology,
            texts=now.texts,
            put=now.put,
            tables=now.tables,
            functions=now.reference.functions,
        )
        return NewOntology(self._engine, _aside(deployment), self, deployment)

    def with_rules(
        self, files: Mapping[str, str], tables: Mapping[str, str] | None, whole: bool
    ) -> NewRules:
        """The rules that an entry of the journal puts in force; see :class:`.PutRules`.

        Raises:
            LanguageError: a rule cannot be read or compiled.
            SettingsError: a file cannot be read.
        """
        texts = files if whole else with_others(self.deployment.settings, files)
        return self.with_texts(texts, tables)

    def with_texts(
        self, files: Mapping[str, str], tables: Mapping[str, str] | None = None
    ) -> NewRules:
        """The mapping and the semantic rules of other texts, compiled for the ontology in force.

        ``tables`` are the texts of the files that they name, by path; None: those on disk.

        Raises:
            LanguageError: a rule cannot be read or compiled.
            SettingsError: a file that they name cannot be read.
        """
        now = self.deployment
        deployment = self._read(
            now.settings,
            now.ontology,
            texts=files,
            put=now.put,
            tables=tables,
            functions=now.reference.functions,
        )
        return NewRules(self._engine, self, deployment)

    def with_reasoner(self) -> NewReasoner:
        """A new reasoner for the ontology in force.

        Raises:
            OntologyError, ReasonerError: the reasoner does not start.
        """
        return NewReasoner(self._engine, _aside(self.deployment))

    def change_ontology(
        self,
        pipeline: Pipeline,
        content: bytes,
        media_type: str,
        check: Callable[[Schema], None],
        by: str = "",
    ) -> Outcome:
        """Put a new ontology in force; returns when it is in force and on disk.

        Messages are processed meanwhile. Call it in any thread except the pipeline's. ``check``
        raises what speaks against the change, told the new schema, before anything is journalled.
        ``by`` is who puts it.

        Raises:
            OntologyError: it cannot be read, has no class and no property, contradicts itself, or
                cannot be used by the reasoner.
            OntologyConflict: the window contradicts it, or another change is in progress.
            LanguageError: a mapping or semantic rule does not fit it.
            SettingsError: it does not declare a name in the settings, such as the class of a
                filter.
            ReasonerError: the new reasoner failed.
        """
        if not self._busy.acquire(blocking=False):
            raise OntologyConflict(_BUSY)
        try:
            successor = self._checked_ontology(pipeline, content, media_type, check)
            try:
                entry = PutOntology(content, media_type, by, successor=successor)
                return pipeline.change(entry).result()
            except Inconsistent as error:
                successor.close()
                raise _conflict(error) from None
            except BaseException:
                successor.close()
                raise
        finally:
            self._busy.release()

    def try_ontology(
        self,
        pipeline: Pipeline,
        content: bytes,
        media_type: str,
        check: Callable[[Schema], None],
    ) -> Deployment:
        """The deployment with another ontology, which could be put; see :meth:`change_ontology`."""
        successor = self._checked_ontology(pipeline, content, media_type, check)
        successor.close()
        return successor.deployment

    def _checked_ontology(
        self,
        pipeline: Pipeline,
        content: bytes,
        media_type: str,
        check: Callable[[Schema], None],
    ) -> NewOntology:
        successor = self.with_ontology(content, media_type)
        for remark in successor.deployment.ontology.remarks:
            _LOG.warning("the ontology that is put: %s", remark.text)
        try:
            schema = successor.deployment.ontology.schema
            if not schema.classes | schema.object_properties | schema.datatype_properties:
                raise OntologyError(
                    "it has no class and no property, so nothing could be said of the messages "
                    "any more: expected an ontology with owl:Class or a kind of rdf:Property"
                )
            check(schema)
            successor.aside.follow(self._window(pipeline))
        except Inconsistent as error:
            successor.close()
            raise _conflict(error) from None
        except BaseException:
            successor.close()
            raise
        return successor

    def change_rules(
        self,
        pipeline: Pipeline,
        change: Callable[[Mapping[str, str]], Mapping[str, str]],
        by: str,
    ) -> Outcome | None:
        """Put other rule files in force; returns when they are in force and on disk.

        ``change`` makes the new texts from those in force, both by name; it may raise what speaks
        against it. The files that they name are read anew. The first change also puts what was in
        force before into the journal.

        Returns:
            The outcome; None: the texts and the tables are the same.

        Raises:
            LanguageError: a rule cannot be read or compiled.
            OntologyConflict: another change is in progress.
        """
        if not self._busy.acquire(blocking=False):
            raise OntologyConflict(_BUSY)
        try:
            now = self.deployment
            files = change(now.texts)
            changed = {name: text for name, text in files.items() if now.texts.get(name) != text}
            check_named(now.settings, changed, now.reference.library_of(""))
            successor = self.with_texts(files)
            tables = successor.deployment.tables
            if list(files.items()) == list(now.texts.items()) and tables == now.tables:
                return None
            if not now.put:
                present = NewRules(self._engine, self, now)
                before = PutRules(now.texts, FROM_SETTINGS, now.tables, successor=present)
                pipeline.change(before).result()
            return pipeline.change(PutRules(files, by, tables, successor=successor)).result()
        finally:
            self._busy.release()

    def revive(self, pipeline: Pipeline) -> Outcome | None:
        """Replace a reasoner that failed by a new reasoner that has processed the whole window.

        Returns:
            The outcome; None if a change of the ontology is in progress, which also replaces it.

        Raises:
            OntologyError: the new reasoner does not start.
            ReasonerError: the new reasoner failed as well.
        """
        if not self._busy.acquire(blocking=False):
            return None
        try:
            successor = self.with_reasoner()
            try:
                try:
                    successor.aside.follow(self._window(pipeline))
                except Inconsistent:
                    _LOG.warning(
                        "the window contradicts the ontology: its individuals are checked in order"
                    )
                return pipeline.change(ReadmitReasoner(successor=successor)).result()
            except BaseException:
                successor.close()
                raise
        finally:
            self._busy.release()

    def _window(self, pipeline: Pipeline) -> list[Triple]:
        with pipeline.lock:
            return list(self._engine.kb.triples(Origin.WINDOW))


class NewReasoner:
    """A reasoner that is prepared in parallel, until an entry of the journal puts it in force."""

    def __init__(self, engine: Engine, aside: Aside) -> None:
        self.aside = aside
        self._engine = engine

    def check(self) -> None:
        """Check that it works; individuals that contradict the ontology leave the window.

        Raises:
            ReasonerError: it failed.
        """
        reasoner = self.aside.reasoner
        if isinstance(reasoner, ResilientReasoner) and reasoner.degraded:
            raise ReasonerError(f"the new reasoner failed: {reasoner.degraded}")

    def take_over(self, message: Message) -> Outcome:
        """Put it in force; see :meth:`.Engine.readmit`."""
        return self._engine.readmit(message, self.aside)

    def close(self) -> None:
        """Stop a reasoner that has not taken over."""
        self.aside.reasoner.close()


class NewOntology(NewReasoner):
    """A reasoner with another ontology, and the mapping and rules compiled for it."""

    def __init__(
        self, engine: Engine, aside: Aside, exchange: Exchange, deployment: Deployment
    ) -> None:
        super().__init__(engine, aside)
        self._exchange = exchange
        self.deployment = deployment

    def check(self) -> None:
        """Check that the window is consistent with the ontology, and that the reasoner works.

        Raises:
            Inconsistent: the window contradicts it.
            ReasonerError: the reasoner failed.
        """
        self.aside.follow(self._engine.kb.triples(Origin.WINDOW))
        super().check()

    def take_over(self, message: Message) -> Outcome:
        """Put it in force; see :meth:`.Engine.adopt`."""
        new = self.deployment
        self._engine.adopt(self.aside, new.rules, new.filters, new.shedding, message.id)
        self._exchange.mapper.plan = new.mapping
        self._exchange.deployment = new
        self._exchange.put = ontology_text(message)
        # Since when it is in force: application time.
        return replace(self._engine.accepted(message), time=self._engine.window.now)


class NewRules:
    """Mapping and semantic rules that are compiled, until an entry puts them in force."""

    def __init__(self, engine: Engine, exchange: Exchange, deployment: Deployment) -> None:
        self._engine = engine
        self._exchange = exchange
        self.deployment = deployment

    def check(self) -> None:
        """Check that their conditions can be answered; nothing in the window depends on them.

        Raises:
            Overrun: to begin with them takes more than the limits.
        """
        self._engine.check_rules(self.deployment.rules)

    def take_over(self, message: Message) -> Outcome:
        """Put them in force; see :meth:`.Engine.adopt_rules`."""
        new = replace(self.deployment, put=message.id)
        self._engine.adopt_rules(new.rules, message.received)
        self._exchange.mapper.plan = new.mapping
        self._exchange.deployment = new
        return self._engine.accepted(message)

    def close(self) -> None:
        """There is nothing to stop."""


def _aside(deployment: Deployment) -> Aside:
    reasoner = reasoner_of(deployment)
    try:
        return Aside(deployment.ontology.triples, reasoner)
    except BaseException:
        reasoner.close()
        raise


class Revival:
    """A thread that replaces a reasoner that failed; it waits longer after each failed attempt."""

    def __init__(self, engine: Engine, exchange: Exchange, pipeline: Pipeline) -> None:
        self._engine = engine
        self._exchange = exchange
        self._pipeline = pipeline
        self._halt = Event()
        self._thread = Thread(target=self._run, name="revival", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the present attempt."""
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
                _LOG.warning(
                    "the reasoner cannot be replaced yet, next attempt in %g s: %s", wait, error
                )
            except Exception:
                _LOG.exception("internal error: the reasoner cannot be replaced")


def _conflict(error: Inconsistent) -> OntologyError:
    told = error.message.removeprefix("the message contradicts the ontology: ")
    return OntologyConflict(
        f"the window contradicts the new ontology, the old one stays: {told}",
        contradiction=error.contradiction,
    )
