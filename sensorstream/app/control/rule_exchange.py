"""Replacing the ontology, the rules, or a reasoner that failed, while messages arrive.

The slow part runs in the thread that requested the change; the engine pauses only while the new
reasoner processes the changes made meanwhile. All changes are entries of the journal: after a
crash, earlier messages are processed with the old ontology, rules and reasoner, later ones with the
new.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Final

from sensorstream.app.control.rule_files import (
    check_named,
    check_rule_sets,
    rule_sets_of,
    with_rule_sets,
)
from sensorstream.app.control.wiring import Deployment, Substitutes, read_deployment, reasoner_of
from sensorstream.app.life.pipeline import Pipeline
from sensorstream.engine.engine import Engine
from sensorstream.engine.message_reading import Mapper
from sensorstream.engine.outcome import Outcome, following
from sensorstream.errors import (
    Inconsistent,
    OntologyConflict,
    OntologyError,
    Overrun,
    ReasonerError,
)
from sensorstream.journal.entry import Entry
from sensorstream.journal.takeover import PutOntology, PutRules, ReadmitReasoner
from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Message
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.processes.fork_once import held
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.ontology import Ontology, parse_put
from sensorstream.reasoning.reasoner import Aside, NoReasoner
from sensorstream.settings.settings import Settings

FROM_SETTINGS: Final = "settings"
"""The origin of the rules and the ontology before the first change."""


@frozen
class ServedOntology:
    """An ontology's text; ``origin`` is ``settings``, or the journal's id of the change."""

    content: bytes
    media_type: str
    origin: str


def ontology_text(message: Message) -> ServedOntology:
    """The ontology that an entry of the journal has put."""
    entry = PutOntology.decode(message.content, message.source)
    return ServedOntology(entry.content, entry.media_type, message.id)


def with_put(deployment: Deployment, ontology: Message | None, rules: Message | None) -> Deployment:
    """A deployment with what entries of the journal have put; None: with its own.

    Raises:
        OntologyError, LanguageError, SettingsError: it cannot be compiled here.
    """
    settings, put = deployment.settings, deployment.substitutes
    known = deployment.ontology
    if ontology is not None:
        served = ontology_text(ontology)
        known = parse_put(settings.ontology, served.content, served.media_type)
    if rules is not None:
        entry = PutRules.decode(rules.content, rules.source)
        texts = with_rule_sets(settings, entry.files)
        put = replace(put, texts=texts, change=rules.id, tables=entry.tables)
    found = read_deployment(replace(settings, stages=()), known, put)
    stages = deployment.stages
    if ontology is not None:
        stages = tuple(replace(each, deployment=_over(each.deployment, known)) for each in stages)
    return replace(found, settings=settings, stages=stages, workers=deployment.workers)


def _over(deployment: Deployment, ontology: Ontology) -> Deployment:
    found = read_deployment(deployment.settings, ontology, deployment.substitutes)
    return replace(found, workers=deployment.workers)


class PreparedTakeover:
    """A takeover, prepared beside the engine until an entry of the journal puts it in force.

    ``aside`` is a new reasoner; rules whose rule sets are the same need none. ``deployment`` comes
    with it, with another ontology or other rules; None: nothing does. ``found``: a start has found
    them in the files of the settings, and nobody has put them.
    """

    def __init__(
        self,
        exchange: Exchange,
        aside: Aside | None,
        deployment: Deployment | None = None,
        *,
        ontology: bool = False,
        found: bool = False,
    ) -> None:
        self.deployment = deployment
        self._exchange = exchange
        self._engine = exchange.engine
        self._aside = aside
        self._ontology = ontology
        self._found = found

    def follow(self, window: Iterable[Triple]) -> None:
        """Let the new reasoner derive what follows from the window; rules conclude nothing from it.

        Raises:
            Inconsistent: the window contradicts the ontology, or the rule sets.
            Overrun: rule sets make nodes of nodes without end.
            ReasonerError: the reasoner failed.
        """
        if self._aside is not None:
            self._aside.follow(window)

    def check(self) -> None:
        """Check that it can take over now. A window that contradicts an ontology in force is no
        obstacle to a new reasoner alone: its individuals leave.

        Raises:
            Inconsistent, Overrun: as :meth:`follow`; or to begin with the rules takes more than the
                limits.
            ReasonerError: the reasoner failed.
        """
        if self.deployment is not None:
            self.follow(self._engine.kb.triples(Origin.WINDOW))
            if not self._ontology:
                self._engine.check_rules(self.deployment.rules)
        reasoner = None if self._aside is None else self._aside.reasoner
        if isinstance(reasoner, ResilientReasoner) and reasoner.degraded:
            raise ReasonerError(f"the new reasoner failed: {reasoner.degraded}")

    def take_over(self, message: Message, whose: str = "") -> Outcome:
        """Put it in force; see :meth:`.Engine.readmit`, ``adopt`` and ``adopt_rules``. With the
        name of the window, what contradicts the ontology leaves it (:meth:`.Engine.give_way`).
        """
        engine, exchange, new = self._engine, self._exchange, self.deployment
        before: Outcome | None = None
        if new is None:
            assert self._aside is not None, "a new reasoner, and nothing else"
            return engine.readmit(message, self._aside)
        if self._aside is not None:
            with_it = new if self._ontology else exchange.deployment
            adopted = with_it.rules, with_it.filters, with_it.shedding
            try:
                self.follow(engine.kb.triples(Origin.WINDOW))
            except (Inconsistent, Overrun):
                if not whose:
                    raise
                before = engine.give_way(message, self._aside, whose)
            left = () if before is None else [each.individual for each in before.departures]
            engine.adopt(self._aside, *adopted, message.id, left)
        if not self._ontology:
            new = replace(new, put="" if self._found else message.id)
            engine.adopt_rules(new.rules, message.received)
        exchange.mapper.plan = new.mapping
        exchange.mapper.door = None if new.shapes is None else new.shapes.door
        exchange.deployment = new
        outcome = following(before, engine.accepted(message))
        if self._ontology:
            exchange.put = ontology_text(message)
            # Since when it is in force: application time.
            outcome.time = engine.window.now
        return outcome

    def close(self) -> None:
        """Stop a reasoner that has not taken over."""
        if self._aside is not None:
            self._aside.reasoner.close()


def aside_of(deployment: Deployment) -> Aside:
    """A new reasoner of a deployment beside the running one, with an empty window.

    Raises:
        OntologyError: the ontology cannot be used by the reasoner.
        ReasonerError: it does not start.
    """
    reasoner = reasoner_of(deployment)
    # A whole window is more than the one message that the limits are for (decision 043).
    reasoner.lifted = True
    try:
        return Aside(deployment.ontology.triples, reasoner)
    except BaseException:
        reasoner.close()
        raise


_LOG = logging.getLogger(__name__)
_NTRIPLES: Final = "application/n-triples"
_BUSY: Final = "another change of the ontology, the rules or the reasoner is in progress"


class Exchange:
    """The deployment in force, and the ways to change it between two messages."""

    def __init__(
        self,
        engine: Engine,
        mapper: Mapper,
        deployment: Deployment,
        put: ServedOntology | None = None,
        read: Callable[[Settings, Ontology, Substitutes], Deployment] = read_deployment,
    ) -> None:
        """Begin with a deployment. ``put`` is the ontology in force; None: that of the settings'
        files. ``read`` makes the deployment with another ontology, or with other rules.
        """
        self._read = read
        self.engine = engine
        self.mapper = mapper
        self.deployment = deployment
        self.put = put
        self._busy = Lock()

    def successor_of(self, entry: Entry) -> PreparedTakeover:
        """Prepare anew what an entry of the journal has put in force, for a replay.

        Raises:
            SensorStreamError: see :meth:`with_ontology` and :meth:`with_texts`.
        """
        match entry:
            case PutOntology(content, media_type):
                return self.with_ontology(content, media_type)
            case PutRules(files, _, tables, found):
                texts = with_rule_sets(self.deployment.settings, files)
                return self.with_texts(texts, tables, found=found)
        return PreparedTakeover(self, aside_of(self.deployment))

    def with_ontology(self, content: bytes, media_type: str) -> PreparedTakeover:
        """Prepare a reasoner for another ontology, and all that has to be compiled for it.

        Raises:
            OntologyError: it cannot be read, contradicts itself, or cannot be used by the reasoner.
            LanguageError: a mapping or semantic rule does not fit it.
            SettingsError: it does not declare a name in the settings, such as the class of a
                filter.
            ReasonerError: the new reasoner failed.
        """
        now = self.deployment
        ontology = parse_put(now.settings.ontology, content, media_type)
        deployment = self._read(now.settings, ontology, now.substitutes)
        return self.prepared(deployment, ontology=True)

    def with_texts(
        self,
        files: Mapping[str, str],
        tables: Mapping[str, str] | None = None,
        *,
        found: bool = False,
    ) -> PreparedTakeover:
        """Compile the rules of other texts for the ontology in force; start a new reasoner if
        needed.

        ``tables`` are the texts of the files that they name, by path; None: those on disk.
        ``found``: nobody has put them; see :class:`.PutRules`.

        Raises:
            LanguageError: a rule cannot be read or compiled.
            SettingsError: a file that they name cannot be read.
            OntologyError: the ontology contradicts itself by the rule sets.
        """
        return self.prepared(self.deployment_with(files, tables), found=found)

    def prepared(
        self, deployment: Deployment, *, ontology: bool = False, found: bool = False
    ) -> PreparedTakeover:
        """Prepare a deployment that has been read, with another ontology or other rules; start a
        new reasoner if needed. An engine without a reasoner gets none that stays.

        Raises:
            OntologyError: the reasoner cannot use the ontology, or it contradicts itself.
            ReasonerError: the new reasoner failed.
        """
        aside = None
        if ontology or rule_sets_of(deployment.texts) != rule_sets_of(self.deployment.texts):
            aside = aside_of(deployment)
            if isinstance(self.engine.reasoner, NoReasoner):
                # The engines are elsewhere: it was only to be known that a reasoner takes it.
                aside.reasoner.close()
                aside = Aside(deployment.ontology.triples, NoReasoner())
        return PreparedTakeover(self, aside, deployment, ontology=ontology, found=found)

    def deployment_with(
        self, files: Mapping[str, str], tables: Mapping[str, str] | None = None
    ) -> Deployment:
        """The deployment with other texts; nothing is started. See :meth:`with_texts`."""
        now = self.deployment
        put = replace(now.substitutes, texts=files, tables=tables)
        return self._read(now.settings, now.ontology, put)

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
        gets the new schema before anything is journalled, and raises what speaks against it. ``by``
        is who puts it.

        Raises:
            OntologyConflict: the window contradicts it, or another change is in progress.
            OntologyError, LanguageError, SettingsError, ReasonerError: see :meth:`with_ontology`;
                or it has no class and no property.
        """
        with self._alone():
            now = self.deployment
            successor = self.checked_ontology(pipeline, content, media_type, check)
            with _closing_failed(successor):
                if self.put is None and not pipeline.applies:
                    # Engines elsewhere are rebuilt from the journal, whatever the files say then.
                    text = now.ontology.ntriples()
                    present = PreparedTakeover(self, None, now, ontology=True)
                    before = PutOntology(text, _NTRIPLES, FROM_SETTINGS, successor=present)
                    pipeline.change(before).result()
                entry = PutOntology(content, media_type, by, successor=successor)
                return pipeline.change(entry).result()

    def checked_ontology(
        self, pipeline: Pipeline, content: bytes, media_type: str, check: Callable[[Schema], None]
    ) -> PreparedTakeover:
        """Prepare another ontology, for the caller to close; raises as :meth:`change_ontology`."""
        successor = self.with_ontology(content, media_type)
        assert successor.deployment is not None
        ontology = successor.deployment.ontology
        for remark in ontology.remarks:
            _LOG.warning("the ontology that is put: %s", remark.text)
        with _closing_failed(successor):
            schema = ontology.schema
            if not schema.classes | schema.object_properties | schema.datatype_properties:
                raise OntologyError(
                    "it has no class and no property, so nothing could be said of the messages "
                    "any more: expected an ontology with owl:Class or a kind of rdf:Property"
                )
            check(schema)
            successor.follow(self._window(pipeline))
        return successor

    def change_rules(
        self, pipeline: Pipeline, change: Callable[[Mapping[str, str]], Mapping[str, str]], by: str
    ) -> Outcome | None:
        """Put other rule files in force; returns when they are in force and on disk: the outcome,
        or None if the texts and the tables are the same.

        ``change`` makes the new texts from those in force, both by name; it may raise what speaks
        against it. The files that they name are read anew. The first change also puts what was in
        force before into the journal.

        Raises:
            RulesError: there are rule sets without a reasoner of rule sets, or the opposite.
            LanguageError, SettingsError, OntologyError: see :meth:`with_texts`.
            OntologyConflict: the window contradicts them, or another change is in progress.
            Overrun: to begin with the rules takes more than the limits, or the new rule sets make
                nodes of nodes without end.
        """
        with self._alone():
            now = self.deployment
            files = change(now.texts)
            check_rule_sets(now.settings, files)
            changed = {name: text for name, text in files.items() if now.texts.get(name) != text}
            check_named(now.settings, changed, now.reference.library_of(""))
            successor = self.with_texts(files)
            with _closing_failed(successor, "the new rule sets"):
                assert successor.deployment is not None
                tables = successor.deployment.tables
                if list(files.items()) == list(now.texts.items()) and tables == now.tables:
                    return None
                successor.follow(self._window(pipeline))
                if not now.put:
                    present = PreparedTakeover(self, None, now)
                    before = PutRules(now.texts, FROM_SETTINGS, now.tables, successor=present)
                    pipeline.change(before).result()
                return pipeline.change(PutRules(files, by, tables, successor=successor)).result()

    def revive(self, pipeline: Pipeline) -> Outcome | None:
        """Replace a reasoner that failed by a new reasoner that has processed the whole window.
        Returns None if a change of the ontology is in progress, which also replaces it.

        Raises:
            OntologyError: the new reasoner does not start.
            ReasonerError: the new reasoner failed as well.
        """
        if self._busy.locked():
            return None
        with self._alone():
            successor = PreparedTakeover(self, aside_of(self.deployment))
            with _closing_failed(successor):
                try:
                    successor.follow(self._window(pipeline))
                except Inconsistent:
                    _LOG.warning(
                        "the window contradicts the ontology: its individuals are checked in order"
                    )
                return pipeline.change(ReadmitReasoner(successor=successor)).result()

    def _alone(self) -> AbstractContextManager[None]:
        return held(self._busy, 0, OntologyConflict(_BUSY))

    def _window(self, pipeline: Pipeline) -> list[Triple]:
        with pipeline.lock:
            return list(self.engine.kb.triples(Origin.WINDOW))


@contextmanager
def _closing_failed(successor: PreparedTakeover, new: str = "the new ontology") -> Iterator[None]:
    """Close what is not put in force after all; that the window contradicts it is a conflict."""
    try:
        yield
    except Inconsistent as error:
        successor.close()
        told = error.message.removeprefix("the message contradicts the ontology: ")
        raise OntologyConflict(
            f"the window contradicts {new}, nothing was changed: {told}",
            contradiction=error.contradiction,
        ) from None
    except BaseException:
        successor.close()
        raise
