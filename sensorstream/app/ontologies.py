"""The ontology in force: read, changed and tried while messages arrive, with its versions."""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.app.exchange import FROM_SETTINGS
from sensorstream.app.handle import Handle
from sensorstream.app.trials import DeploymentTrial, Trials
from sensorstream.app.versions import Match, Told, Versions, check_match, digest_of
from sensorstream.errors import SensorStreamError
from sensorstream.history.views import check_views, install_views
from sensorstream.journal.entry import Entry
from sensorstream.journal.takeover import PutOntology
from sensorstream.model.schema import Schema


@dataclass(frozen=True, slots=True)
class ServedOntology:
    """An ontology's text; ``origin`` is ``settings``, or the journal's id of the change."""

    content: bytes
    media_type: str
    origin: str

    @property
    def digest(self) -> str:
        """The ETag of the text."""
        return digest_of(self.content)


class Ontologies:
    """Reads and changes the ontology of a running deployment. Thread-safe."""

    def __init__(self, app: Handle, trials: Trials) -> None:
        self._app = app
        self._trials = trials
        # None while that of the settings has always been in force.
        self.versions = Versions(
            lambda: app.url, (PutOntology.kind,), _told, lambda _: "the ontology"
        )

    def in_force(self) -> ServedOntology:
        """The ontology in force, and its origin."""
        put = self._app.exchange.put
        if put is not None:
            return ServedOntology(put.content, put.media_type, put.entry)
        content = self._app.deployment.ontology.ntriples()
        return ServedOntology(content, "application/n-triples", FROM_SETTINGS)

    def put(self, content: bytes, media_type: str, by: str = "", match: Match = None) -> str:
        """Put another ontology in force between two messages; its entry in the journal.

        Args:
            content: its text.
            media_type: one of :data:`.MEDIA_TYPES`.
            by: who puts it.
            match: whether the change is wanted, told the digest of the present text.

        Raises:
            OntologyError: it cannot be used; the old one stays.
            ChangedMeanwhile: ``match`` says no.
            OntologyConflict: the window contradicts it, somebody's view depends on a view that
                would change, or another change is in progress.
            LanguageError: a mapping or semantic rule does not fit it.
            ReasonerError: the new reasoner failed.
            RunsOnSpark: the engines are not here.
        """
        self._app.check_here(
            "another ontology",
            "put it into the settings, and start the server and the pipeline again",
        )

        def check(schema: Schema) -> None:
            self._check_match(match)
            self._check_views(schema)

        outcome = self._app.exchange.change_ontology(
            self._app.pipeline, content, media_type, check, by
        )
        install_views(self._app.database, self._app.deployment.ontology.schema, self._app.timeline)
        return outcome.message.id

    def try_put(self, content: bytes, media_type: str) -> DeploymentTrial:
        """What :meth:`put` would change, told by recent messages; nothing is put.

        Raises:
            Busy: another trial is in progress.
            HistoryError: the journal cannot be read.
            RunsOnSpark: the engines are not here.
        """
        with self._trials.alone("another ontology"):
            now = self._app.deployment
            try:
                new = self._app.exchange.try_ontology(
                    self._app.pipeline, content, media_type, self._check_views
                )
            except SensorStreamError as error:
                return DeploymentTrial((error,))
            return self._trials.compare(now, new)

    def _check_match(self, match: Match) -> None:
        if match is not None:
            check_match(match, self.in_force().content, "the ontology")

    def _check_views(self, schema: Schema) -> None:
        check_views(self._app.database, schema, self._app.timeline)


def _told(_: str, entry: Entry) -> Told:
    assert isinstance(entry, PutOntology)
    return Told(entry.content, entry.by, entry.media_type)
