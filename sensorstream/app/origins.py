"""Where statements come from: kept messages are mapped again, with the rules of their time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sensorstream.apart import run_apart
from sensorstream.app.exchange import FROM_SETTINGS
from sensorstream.app.handle import Handle
from sensorstream.app.rule_texts import parse_texts, path_of, with_others
from sensorstream.app.wiring import Deployment
from sensorstream.errors import SensorStreamError
from sensorstream.history.journal_rows import change_at, numbered_rows, record_of
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Record, message_id, number_of_message
from sensorstream.journal.takeover import PutRules
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.document import parse_document
from sensorstream.mapping.places import Place, places
from sensorstream.model.terms import Subject, Triple

MOST_MESSAGES: Final = 20
"""So many messages are mapped again for one question, the newest."""
_MOST_BYTES: Final = 16 * 1024 * 1024
_UNLIKELY_DEPTH: Final = 10_000
"""The depth was looked at when the message came, perhaps with another limit."""


@dataclass(frozen=True, slots=True)
class RulesThen:
    """The rule files that were in force: ``version`` is the change that had put them, or
    ``settings``; ``paths`` are those of ``files`` by their names.
    """

    version: str
    deployment: Deployment
    files: tuple[RuleFile, ...]
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Origin:
    """A message, and the places in it where statements come from.

    ``trouble`` says why no places are known: the message is gone, or is none. ``rules`` are those
    that mapped it.
    """

    source: str = ""
    received_at: str = ""
    rules: RulesThen | None = None
    places: Mapping[Triple, Sequence[Place]] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Sought:
    """What is sought in a message: some statements, and all about some individuals."""

    statements: Collection[Triple]
    about: Collection[Subject]


class Origins:
    """Reads the journal of one question; it remembers the rules that it has compiled."""

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._rules: dict[str, RulesThen] = {}

    def rules_at(self, message: str) -> RulesThen:
        """The rules that were in force for a message, compiled for the ontology of now.

        Before the first change they are those that it replaced; while there was none, those of now.

        Raises:
            LanguageError: they do not fit the ontology of now.
            HistoryError: the journal cannot be read.
        """
        row = change_at(self._app.url, PutRules.kind, number_of_message(message))
        entry = None
        version = FROM_SETTINGS
        if row is not None:
            entry = PutRules.decode(row[5], row[2])
            if row[0] <= number_of_message(message):
                version = row[1]
            elif entry.by != FROM_SETTINGS:
                entry = None
        if version not in self._rules:
            deployment = self._app.exchange.deployment
            if entry is not None and version != deployment.put:
                texts = with_others(deployment.settings, entry.files, whole=entry.whole)
                deployment = self._app.exchange.deployment_with(texts, entry.tables)
            settings = deployment.settings
            self._rules[version] = RulesThen(
                version,
                deployment,
                tuple(parse_texts(settings, deployment.texts)),
                {str(path_of(settings, name)): name for name in deployment.texts},
            )
        return self._rules[version]

    def of(self, sought: Mapping[str, Sought]) -> Mapping[str, Origin]:
        """The origins in some messages, by their ids.

        Raises:
            Overrun: to map them again takes too long.
            HistoryError: the journal cannot be read.
        """
        wanted = sorted(map(number_of_message, sought))[-MOST_MESSAGES:]
        rows = {row[1]: row for row in numbered_rows(self._app.url, wanted, _MOST_BYTES)}
        found: dict[str, Origin] = {}
        work: list[tuple[Record, RulesThen]] = []
        for name in sought:
            number = number_of_message(name)
            row = rows.get(message_id(number))
            if row is None:
                known = number in wanted
                found[name] = Origin(trouble=_GONE if known else _TOO_MANY)
                continue
            record = record_of(row)
            try:
                if record.kind != TakeMessage.kind:
                    found[name] = Origin(trouble=f"an entry '{record.kind}', not a message")
                    continue
                work.append((record, self.rules_at(name)))
            except SensorStreamError as error:
                told = f"the rules of that time cannot be applied any more: {error}"
                found[name] = Origin(trouble=told)
        if work:
            found |= run_apart(
                lambda: {
                    name: _origin(record, rules, sought[name])
                    for record, rules in work
                    for name in sought
                    if number_of_message(name) == record.seq
                },
                self._app.seconds,
                what="mapping messages again",
                setting="limits.question_seconds",
            )
        # The rules hold functions, which no pipe takes.
        by_id = {record.message.id: rules for record, rules in work}
        return {
            name: Origin(
                each.source,
                each.received_at,
                by_id.get(message_id(number_of_message(name))),
                each.places,
                each.trouble,
            )
            for name, each in found.items()
        }


_GONE: Final = "the message is not kept any more, or is too large to be mapped again"
_TOO_MANY: Final = f"only the newest {MOST_MESSAGES} messages are mapped again"


def _origin(record: Record, rules: RulesThen, sought: Sought) -> Origin:
    """In the fork."""
    message, deployment = record.message, rules.deployment
    ours = {rule.name for file in rules.files for rule in file.mapping_rules}
    others = [rule for rule in deployment.mapping.rules if rule.name not in ours]
    found: Mapping[Triple, Sequence[Place]] = {}
    trouble = ""
    try:
        found = places(
            sought.statements,
            sought.about,
            rules.files,
            deployment.ontology.schema,
            deployment.timeline,
            parse_document(message.content, max_depth=_UNLIKELY_DEPTH),
            message,
            deployment.reference,
            others,
        )
    except SensorStreamError as error:
        trouble = f"the message cannot be mapped any more: {error}"
    return Origin(message.source, record.received_at.isoformat(), None, found, trouble)
