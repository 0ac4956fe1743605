"""The rule files and the ontology in force: read, changed and tried while messages arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Literal, TypeAlias

from sensorstream.app.control.file_faults import faults
from sensorstream.app.control.file_texts import below, text_of
from sensorstream.app.control.rule_exchange import FROM_SETTINGS, ServedOntology
from sensorstream.app.control.rule_files import (
    check_key,
    check_named,
    check_rule_sets,
    checked_name,
    mapping_paths,
    read_texts,
    rule_sets_of,
)
from sensorstream.app.control.versions import Match, ResourceVersions, check_match, digest_of
from sensorstream.app.control.wiring import Deployment
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.why.message_trials import DeploymentTrial, MessageTrial, Trials
from sensorstream.errors import (
    ChangedMeanwhile,
    LanguageError,
    RulesError,
    SensorStreamError,
    SettingsError,
    UnknownRules,
)
from sensorstream.history.views import check_views, install_views
from sensorstream.journal.notice import ReadFunctions
from sensorstream.journal.records import Store
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.settings.settings import Settings

OnDisk: TypeAlias = Literal["same", "differs", "absent"]


@frozen
class RuleFileInForce:
    """A rule file; ``on_disk`` is what the server's own file of this name has now."""

    name: str
    text: str
    digest: str
    on_disk: OnDisk


@frozen
class RuleFiles:
    """The rule files in force, in the order in which they are applied. ``origin`` is ``settings``,
    or the journal's id of the change that put them. ``tables`` are the paths of the files that they
    name (tables, and what RML joins messages with), each compared with the server's own file.
    """

    origin: str
    digest: str
    files: tuple[RuleFileInForce, ...]
    tables: Mapping[str, OnDisk]


class Rulebook:
    """The rule files of a running deployment: reads, changes and trials. Thread-safe.

    A method that names a rule file raises :class:`.UnknownRules` if there is none, a change
    :class:`.ChangedMeanwhile` if ``match`` says no, and what :meth:`.Exchange.change_rules` raises;
    a trial what :meth:`.Trials.alone` and :meth:`.Trials.compare` do.
    """

    def __init__(self, app: Handle, trials: Trials) -> None:
        self._app = app
        self._trials = trials
        # Of a file that is there, none until rules are first put.
        self.versions = ResourceVersions(
            lambda: app.url, (PutRules.kind,), str, without=self._check_there
        )

    def files(self) -> RuleFiles:
        texts, disk = self._texts(), self._on_disk()
        return RuleFiles(
            self._origin(),
            digest_of_set(texts),
            tuple(
                RuleFileInForce(name, text, digest_of(text), _compared(text, disk.get(name)))
                for name, text in texts.items()
            ),
            {name: self._table(name, text) for name, text in self._tables().items()},
        )

    def file(self, name: str) -> RuleFileInForce:
        """A rule file in force."""
        for each in self.files().files:
            if each.name == name:
                return each
        raise _unknown(name, self._texts())

    def put(self, name: str, text: str, by: str, match: Match = None) -> str:
        """Put one rule file in force, new or instead of the present one; returns the id of the
        entry. Its ``name`` says its language; a new one is applied after all others. ``match`` is
        whether the change is wanted, told the digest of the present text, or None.

        Raises:
            RulesError: no rule file can have this name, or a rule set has no reasoner.
        """

        def change(now: Mapping[str, str]) -> Mapping[str, str]:
            check_match(match, now.get(name), name)
            if name not in now:
                checked_name(name)
            return {**now, name: text}

        return self._change(change, by)

    def remove(self, name: str, by: str, match: Match = None) -> str:
        """Put all rule files but one in force; see :meth:`put`.

        Raises:
            RulesError: the reasoner would have no rule set any more.
        """

        def change(now: Mapping[str, str]) -> Mapping[str, str]:
            if name not in now:
                raise _unknown(name, now)
            check_match(match, now[name], name)
            return {each: text for each, text in now.items() if each != name}

        return self._change(change, by)

    def put_all(self, files: Mapping[str, str], by: str, match: Match = None) -> str:
        """Put a whole set of rule files in force, whole or not at all; see :meth:`put`. ``match``
        is told the digest of the present set.
        """

        def change(now: Mapping[str, str]) -> Mapping[str, str]:
            if match is not None and not match(digest_of_set(now)):
                raise ChangedMeanwhile(
                    "the rule files are not those of If-Match any more: read them"
                )
            return _checked(files, now)

        return self._change(change, by)

    def try_put(self, name: str, text: str) -> DeploymentTrial:
        """Try :meth:`put` on recent messages and return the differences; nothing is put.

        Raises:
            RulesError: no rule file can have this name.
        """
        texts = self._texts()
        if name not in texts:
            checked_name(name)
        return self._try({**texts, name: text})

    def try_all(self, files: Mapping[str, str]) -> DeploymentTrial:
        """Try :meth:`put_all` on recent messages; see :meth:`try_put`."""
        return self._try(_checked(files, self._texts()))

    def try_message(
        self, content: bytes, source: str, files: Mapping[str, str], after: int = 0
    ) -> MessageTrial:
        """Try a message on the rules, with other texts of some files; see :meth:`try_put`. The last
        ``after`` messages are taken in first.

        Raises:
            RulesError: no rule file can have this name.
        """
        now = self._app.deployment
        texts = {**now.texts, **_checked(files, now.texts)}
        with self._trials.alone():
            found = tuple(_faults(now, texts)) if texts != now.texts else ()
            if found:
                return MessageTrial(found)
            # Always compiled anew, so that the trial has its own processes of stylesheets and
            # schemas, for which no messages wait.
            new = self._app.exchange.deployment_with(texts)
            arrival = new.timeline.of(self._app.clock.now())
            return self._trials.message(new, content, source, arrival, after)

    def _try(self, texts: Mapping[str, str]) -> DeploymentTrial:
        with self._trials.alone():
            now = self._app.deployment
            found = tuple(_faults(now, texts))
            if found:
                return DeploymentTrial(found)
            return self._trials.compare(now, self._app.exchange.deployment_with(texts))

    def _change(self, change: Callable[[Mapping[str, str]], Mapping[str, str]], by: str) -> str:
        def checked(now: Mapping[str, str]) -> Mapping[str, str]:
            files = change(now)
            check_key(self._app.settings, now, files)
            return files

        outcome = self._app.exchange.change_rules(self._app.pipeline, checked, by)
        return self._origin() if outcome is None else outcome.message.id

    def _check_there(self, name: str) -> None:
        if name not in self._texts():
            raise _unknown(name, self._texts())

    def _texts(self) -> Mapping[str, str]:
        return self._app.deployment.texts

    def _tables(self) -> Mapping[str, str]:
        return self._app.deployment.tables

    def _table(self, name: str, text: str) -> OnDisk:
        path = self._app.deployment.settings.folder / name
        try:
            return _compared(text, text_of(path))
        except SettingsError:
            return "absent"

    def _origin(self) -> str:
        return self._app.deployment.put or FROM_SETTINGS

    def _on_disk(self) -> Mapping[str, str]:
        try:
            return read_texts(self._app.deployment.settings)
        except SettingsError:
            # An editor may have removed the file for a moment.
            return {}


def _checked(files: Mapping[str, str], now: Mapping[str, str]) -> Mapping[str, str]:
    for name in files.keys() - now.keys():
        checked_name(name)
    for name, text in files.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            # JSON can name halves of characters.
            raise RulesError(f"{name} is not text: {error}") from None
    return files


def _faults(now: Deployment, texts: Mapping[str, str]) -> Iterator[SensorStreamError]:
    """The faults of rule files that are not in force yet."""
    settings = now.settings
    changed = {name: text for name, text in texts.items() if now.texts.get(name) != text}
    try:
        check_rule_sets(settings, texts)
        check_named(settings, changed, now.reference.library_of(""))
    except (LanguageError, RulesError) as error:
        # No further: any file of this machine would be read, and its text shown.
        yield error
        return
    unsaved = mapping_paths(settings, texts)
    tried = replace(settings, rules=replace(settings.rules, files=tuple(unsaved)))
    sets = rule_sets_of(texts)
    yield from faults(tried, unsaved, lambda _: now.ontology, now.reference.functions, sets)


def digest_of_set(texts: Mapping[str, str]) -> str:
    """The digest of a whole set of rule files, names and order included."""
    return digest_of("\n".join(f"{name} {digest_of(text)}" for name, text in texts.items()))


def _compared(text: str, disk: str | None) -> OnDisk:
    if disk is None:
        return "absent"
    return "same" if disk == text else "differs"


def _unknown(name: str, texts: Mapping[str, str]) -> RulesError:
    there = ", ".join(texts) or "none"
    return UnknownRules(f"no rule file named '{name[:60]}' is in force: there are {there}")


def changed_rules(files: Deployment | str, store: Store) -> PutRules | None:
    """The entry of a start that finds other rules than the last one in ``files``, see
    :func:`.read_files`; None: the same, or others put.

    The rule sets of the reasoner decide what is inferred from each message, so a start writes them,
    with the other rule files, into the journal: messages from before an edit meet the rules of
    then. Without rule sets nothing is written before something is put.

    Raises:
        HistoryError: the journal cannot be read.
    """
    if isinstance(files, str):
        return None
    last = store.last_accepted(PutRules.kind, store.last_seq())
    if last is None:
        if not rule_sets_of(files.texts):
            return None
    else:
        before = PutRules.decode(last.content, last.source)
        same = list(before.files.items()) == list(files.texts.items())
        if not before.found or (same and before.tables == files.tables):
            return None
    return PutRules(files.texts, FROM_SETTINGS, files.tables, found=True)


def changed_functions(settings: Settings, store: Store) -> ReadFunctions | None:
    """The entry of a start that reads other files of functions than the last one; None: the same.
    Rules call them, so the same message may give something else after an edit. The journal records
    which files they were, but not their code: code from the journal is never run.

    Raises:
        HistoryError: the journal cannot be read.
    """
    now = {}
    for path in settings.functions.files:
        # One that cannot be read is as if it were gone.
        with suppress(OSError):
            now[below(settings.folder, path)] = digest_of(path.read_bytes())
    last = store.last_accepted(ReadFunctions.kind, store.last_seq())
    before = {} if last is None else ReadFunctions.decode(last.content, last.source).digests
    if now == before:
        return None
    if last is None:
        return ReadFunctions(now, "")
    told = ", ".join(_differences(before, now))
    return ReadFunctions(
        now,
        f"files of functions are others than at the start before: {told}. Messages from here on "
        "are mapped with them, and so are those that are processed again",
    )


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {'edited' if name in now and name in before else 'new' if name in now else 'gone'}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]


class OntologyControl:
    """The ontology of a running deployment: reads, changes and trials. Thread-safe.

    A change raises what :meth:`.Exchange.change_ontology` does, and :class:`.OntologyConflict` if
    somebody's view depends on a view that would change; a trial what :meth:`.Trials.alone` and
    :meth:`.Trials.compare` do.
    """

    def __init__(self, app: Handle, trials: Trials) -> None:
        self._app = app
        self._trials = trials
        # None while that of the settings has always been in force.
        self.versions = ResourceVersions(
            lambda: app.url, (PutOntology.kind,), lambda _: "the ontology"
        )

    def in_force(self) -> ServedOntology:
        """The ontology in force, and its origin."""
        put = self._app.exchange.put
        if put is not None:
            return put
        content = self._app.deployment.ontology.ntriples()
        return ServedOntology(content, "application/n-triples", FROM_SETTINGS)

    def put(self, content: bytes, media_type: str, by: str = "", match: Match = None) -> str:
        """Put another ontology in force between two messages; returns the id of its entry.
        ``match`` is whether the change is wanted, told the digest of the present text.

        Raises:
            ChangedMeanwhile: ``match`` says no.
        """

        def check(schema: Schema) -> None:
            self._check_match(match)
            self._check_views(schema)

        outcome = self._app.exchange.change_ontology(
            self._app.pipeline, content, media_type, check, by
        )
        install_views(self._app.database, self._app.deployment.ontology.schema, self._app.timeline)
        return outcome.message.id

    def try_put(self, content: bytes, media_type: str) -> DeploymentTrial:
        """Try :meth:`put` on recent messages and return the differences; nothing is put."""
        with self._trials.alone():
            now = self._app.deployment
            try:
                new = self._app.exchange.checked_ontology(
                    self._app.pipeline, content, media_type, self._check_views
                )
            except SensorStreamError as error:
                return DeploymentTrial((error,))
            new.close()
            assert new.deployment is not None
            return self._trials.compare(now, new.deployment)

    def _check_match(self, match: Match) -> None:
        if match is not None:
            check_match(match, self.in_force().content, "the ontology")

    def _check_views(self, schema: Schema) -> None:
        check_views(self._app.database, schema, self._app.timeline)
