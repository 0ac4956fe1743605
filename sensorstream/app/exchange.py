"""Replacing the ontology, the rules, or a reasoner that failed, while messages arrive.

The slow part runs in the thread that requested the change; the engine pauses only while the new
reasoner processes the changes made meanwhile. All changes are entries of the journal: after a
crash, earlier messages are processed with the old ontology, rules and reasoner, later messages with
the new ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Final, Protocol

from sensorstream.app.pipeline import Pipeline
from sensorstream.app.rule_sets import check_rule_sets, rule_sets_of
from sensorstream.app.rule_texts import check_named, with_others
from sensorstream.app.successors import (
    NewOntology,
    NewReasoner,
    NewRules,
    NewRuleSets,
    OntologyText,
    aside_of,
)
from sensorstream.app.wiring import Deployment, read_deployment
from sensorstream.engine.arrival import Mapper
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import (
    Inconsistent,
    OntologyConflict,
    OntologyError,
)
from sensorstream.journal.takeover import PutOntology, PutRules, ReadmitReasoner
from sensorstream.kb.graph import Origin
from sensorstream.mapping.functions import Definition
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.reasoning.ontology import Ontology, parse_put
from sensorstream.settings import Settings

_LOG = logging.getLogger(__name__)
_BUSY: Final = "another change of the ontology, the rules or the reasoner is in progress"
FROM_SETTINGS: Final = "settings"
"""Who has put the rules that were in force before the first were put."""


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
        return NewOntology(self._engine, aside_of(deployment), self, deployment)

    def with_rules(
        self,
        files: Mapping[str, str],
        tables: Mapping[str, str] | None,
        whole: bool,
        found: bool = False,
    ) -> NewRules:
        """The rules that an entry of the journal puts in force; see :class:`.PutRules`.

        Raises:
            SensorStreamError: see :meth:`with_texts`; or a file cannot be read.
        """
        texts = with_others(self.deployment.settings, files, whole=whole)
        return self.with_texts(texts, tables, found=found)

    def with_texts(
        self,
        files: Mapping[str, str],
        tables: Mapping[str, str] | None = None,
        *,
        found: bool = False,
    ) -> NewRules:
        """The rules of other texts, compiled for the ontology in force; and maybe a new reasoner.

        ``tables`` are the texts of the files that they name, by path; None: those on disk.
        ``found``: nobody has put them; see :class:`.PutRules`.

        Raises:
            LanguageError: a rule cannot be read or compiled.
            SettingsError: a file that they name cannot be read.
            OntologyError: the ontology contradicts itself by the rule sets.
        """
        deployment = self.deployment_with(files, tables)
        if rule_sets_of(files) == rule_sets_of(self.deployment.texts):
            return NewRules(self._engine, self, deployment, found=found)
        return NewRuleSets(self._engine, self, deployment, aside_of(deployment), found=found)

    def deployment_with(
        self, files: Mapping[str, str], tables: Mapping[str, str] | None = None
    ) -> Deployment:
        """The deployment with other texts; nothing is started. See :meth:`with_texts`."""
        now = self.deployment
        return self._read(
            now.settings,
            now.ontology,
            texts=files,
            put=now.put,
            tables=tables,
            functions=now.reference.functions,
        )

    def with_reasoner(self) -> NewReasoner:
        """A new reasoner for the ontology in force.

        Raises:
            OntologyError, ReasonerError: the reasoner does not start.
        """
        return NewReasoner(self._engine, aside_of(self.deployment))

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
        with self._alone():
            successor = self._checked_ontology(pipeline, content, media_type, check)
            with _closing_failed(successor):
                entry = PutOntology(content, media_type, by, successor=successor)
                return pipeline.change(entry).result()

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
        with _closing_failed(successor):
            schema = successor.deployment.ontology.schema
            if not schema.classes | schema.object_properties | schema.datatype_properties:
                raise OntologyError(
                    "it has no class and no property, so nothing could be said of the messages "
                    "any more: expected an ontology with owl:Class or a kind of rdf:Property"
                )
            check(schema)
            successor.aside.follow(self._window(pipeline))
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
            RulesError: there are rule sets without a reasoner of rule sets, or the opposite.
            OntologyError: the ontology contradicts itself by the new rule sets.
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
                tables = successor.deployment.tables
                if list(files.items()) == list(now.texts.items()) and tables == now.tables:
                    return None
                successor.follow(self._window(pipeline))
                if not now.put:
                    present = NewRules(self._engine, self, now)
                    before = PutRules(now.texts, FROM_SETTINGS, now.tables, successor=present)
                    pipeline.change(before).result()
                return pipeline.change(PutRules(files, by, tables, successor=successor)).result()

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
                    told = (
                        "the window contradicts the ontology: its individuals are checked in order"
                    )
                    _LOG.warning(told)
                return pipeline.change(ReadmitReasoner(successor=successor)).result()
            except BaseException:
                successor.close()
                raise
        finally:
            self._busy.release()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise OntologyConflict(_BUSY)
        try:
            yield
        finally:
            self._busy.release()

    def _window(self, pipeline: Pipeline) -> list[Triple]:
        with pipeline.lock:
            return list(self._engine.kb.triples(Origin.WINDOW))


@contextmanager
def _closing_failed(
    successor: NewReasoner | NewRules, new: str = "the new ontology"
) -> Iterator[None]:
    """Close what is not put in force after all; that the window contradicts it is a conflict."""
    try:
        yield
    except Inconsistent as error:
        successor.close()
        raise _conflict(error, new) from None
    except BaseException:
        successor.close()
        raise


def _conflict(error: Inconsistent, new: str) -> OntologyError:
    told = error.message.removeprefix("the message contradicts the ontology: ")
    return OntologyConflict(
        f"the window contradicts {new}, nothing was changed: {told}",
        contradiction=error.contradiction,
    )
