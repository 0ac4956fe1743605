"""The origins of statements: kept messages are mapped again, with the rules of their time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from sensorstream.alerts.alert_records import RaisedAlert
from sensorstream.app.control.rule_exchange import FROM_SETTINGS
from sensorstream.app.control.rule_files import parse_texts, path_of, with_rule_sets
from sensorstream.app.control.wiring import Deployment
from sensorstream.app.deployment_handle import Handle
from sensorstream.errors import LanguageError, Overrun, Position, SensorStreamError
from sensorstream.history.journal_rows import change_at, numbered_rows, record_of
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Record, message_id, number_of_message
from sensorstream.journal.takeover import PutRules
from sensorstream.language import syntax
from sensorstream.language.rule_printer import print_node
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.statement_places import Sought, StatementPlace, places
from sensorstream.mapping.xml_document import parse_document
from sensorstream.model import rdf
from sensorstream.model.events import Basis, Evidence, Matched
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.processes.fork_once import ForkTurns, run_apart
from sensorstream.rules.rule_compiler import digest_of
from sensorstream.rules.rule_notes import makers
from sensorstream.rules.triggers import conditions_of

MOST_MESSAGES: Final = 20
"""Messages, the newest, that are mapped again for one question."""
_MOST_BYTES: Final = 16 * 1024 * 1024
_UNLIKELY_DEPTH: Final = 10_000
"""The depth was checked when the message came, perhaps with another limit."""


@frozen
class RulesThen:
    """The rule files that were in force: ``version`` is the change that had put them, or
    ``settings``; ``names`` are those of ``files`` by their paths.
    """

    version: str
    deployment: Deployment
    files: tuple[RuleFile, ...]
    names: Mapping[str, str]


@frozen
class Saying:
    """A message, and the places in it where statements come from. ``trouble`` says why no places
    are known: the message is gone, or is none. ``rules`` are those that mapped it.
    """

    source: str = ""
    received_at: str = ""
    rules: RulesThen | None = None
    places: Mapping[Triple, Sequence[StatementPlace]] = field(default_factory=dict)
    trouble: str = ""


class Origins:
    """The origins of statements for one question; it remembers the rules that it has compiled."""

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._rules: dict[str, RulesThen] = {}

    def rules_at(self, message: str) -> RulesThen:
        """The rules that were in force for a message, compiled for the ontology of now. Before the
        first change they are those that it replaced; while there was none, those of now.

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
                texts = with_rule_sets(deployment.settings, entry.files)
                deployment = self._app.exchange.deployment_with(texts, entry.tables)
            settings = deployment.settings
            self._rules[version] = RulesThen(
                version,
                deployment,
                tuple(parse_texts(settings, deployment.texts)),
                {str(path_of(settings, name)): name for name in deployment.texts},
            )
        return self._rules[version]

    def of(self, sought: Mapping[str, Sought]) -> Mapping[str, Saying]:
        """The origins in some messages, by their ids.

        Raises:
            Overrun: to map them again takes too long.
            HistoryError: the journal cannot be read.
        """
        wanted = sorted(map(number_of_message, sought))[-MOST_MESSAGES:]
        rows = {row[1]: row for row in numbered_rows(self._app.url, wanted, _MOST_BYTES)}
        found: dict[str, Saying] = {}
        work: list[tuple[Record, RulesThen]] = []
        for name in sought:
            number = number_of_message(name)
            row = rows.get(message_id(number))
            if row is None:
                known = number in wanted
                found[name] = Saying(trouble=_GONE if known else _TOO_MANY)
                continue
            record = record_of(row)
            try:
                if record.kind != TakeMessage.kind:
                    found[name] = Saying(trouble=f"an entry '{record.kind}', not a message")
                    continue
                work.append((record, self.rules_at(name)))
            except SensorStreamError as error:
                told = f"the rules of that time cannot be applied any more: {error}"
                found[name] = Saying(trouble=told)
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
            name: replace(each, rules=by_id.get(message_id(number_of_message(name))))
            for name, each in found.items()
        }


_GONE: Final = "the message is not kept any more, or is too large to be mapped again"
_TOO_MANY: Final = f"only the newest {MOST_MESSAGES} messages are mapped again"


def _origin(record: Record, rules: RulesThen, sought: Sought) -> Saying:
    """Map a message again and find the places of statements; called in the fork."""
    message, deployment = record.message, rules.deployment
    ours = {rule.name for file in rules.files for rule in file.mapping_rules}
    others = [rule for rule in deployment.mapping.rules if rule.name not in ours]
    found: Mapping[Triple, Sequence[StatementPlace]] = {}
    trouble = ""
    try:
        found = places(
            sought,
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
    return Saying(message.source, record.received_at.isoformat(), None, found, trouble)


_AT_ONCE: Final = 2
_MOST_PREMISES: Final = 10
"""Statements that are given as possible premises of another one."""


@frozen
class RuleText:
    """The rule of an alert, as it is written in its file.

    ``version`` is the change that had put its file in force, or ``settings``.
    """

    name: str
    file: str
    position: Position
    text: str
    version: str = field(metadata={"description": "the change that had put it, or `settings`"})


@frozen
class Reason:
    """A statement, where it comes from, and what it follows from, as a tree.

    Below it stands the firing of the rule that inserted it (``because``), or, if it holds now, the
    rule of the reasoner that derives it (``by``) or what entails it. ``source`` and ``received_at``
    are those of its message; "": not known. ``rules`` are the semantic rules that may have inserted
    it. For an inferred statement, and one that a rule inserted when an earlier message came,
    ``premises`` are those that this message said of the same individuals. ``note`` is what is not
    known of it. ``above``: its derivation is given above. ``entailed`` is there where HermiT or
    Pellet infers. ``caused_by`` is the message that caused it to be inferred; "": none did, or it
    is not known.
    """

    matched: Matched
    source: str = ""
    received_at: str = ""
    places: tuple[StatementPlace, ...] = ()
    rules: tuple[str, ...] = ()
    premises: tuple[Reason, ...] = ()
    because: Because | None = None
    note: str = ""
    by: Applied | None = None
    above: bool = False
    caused_by: str = ""
    entailed: Entailment | None = None

    @property
    def triple(self) -> Triple:
        return self.matched.triple


@frozen
class Because:
    """The firing of a rule: its values, and its statements with their reasons."""

    evidence: Evidence
    reasons: tuple[Reason, ...]


@frozen
class Applied:
    """A rule that derives a statement, with the values of its variables. ``position`` is where it
    stands, ``comment`` that of its rule set, ``text`` the rule. ``paths`` are those that its body
    matched by a path that repeats.
    """

    rule: str
    position: Position
    comment: str
    text: str
    bindings: tuple[tuple[str, Term], ...]
    premises: tuple[Reason, ...]
    paths: tuple[str, ...]


@frozen
class Entailment:
    """Statements and axioms (in Manchester syntax) that entail a statement; together minimal."""

    premises: tuple[Reason, ...]
    axioms: tuple[str, ...]


@frozen
class Why:
    """The reason why an alert was raised. ``rule`` is None if its text is not known any more,
    ``because`` if the system raised it, or a version that kept no evidence. ``profile`` is what
    infers. ``notes`` say what else there is to know.
    """

    raised: RaisedAlert
    rule: RuleText | None
    because: Because | None
    profile: str
    notes: tuple[str, ...]


class Reasons:
    """The search for reasons why alerts were raised. Thread-safe."""

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._turns = ForkTurns(_AT_ONCE, app.seconds, "finding out why an alert was raised")

    def of_alert(self, id_: str) -> Why:
        """Explain why an alert was raised. Its evidence was kept with it; the places in the
        messages are found now.

        Raises:
            UnknownAlert: there is no alert with this id.
            HistoryError: history cannot be read.
            Busy: too many ask at once.
        """
        raised, evidence = self._app.reader.evidence_of_alert(id_)
        profile = self._app.settings.reasoning.profile
        if raised.alert.kind != "rule":
            note = "the system raised this alert, no rule: its text says why"
            if raised.alert.kind == "query":
                name = raised.alert.rule
                note = f"a solution of the query '{name}' raised this alert: its text says which"
            return Why(raised, None, None, profile, (note,))
        origins = Origins(self._app)
        rule, notes = _rule(origins, raised, evidence)
        if evidence is None:
            note = "a version of SensorStream raised this alert that did not keep why"
            return Why(raised, rule, None, profile, (*notes, note))
        found: dict[str, Saying] = {}
        try:
            with self._turns.turn():
                found |= origins.of(sought(_matches(evidence), origins))
        except Overrun as error:
            notes.append(f"where in the messages the values stand is not known: {error.message}")
        if evidence.left_out:
            notes.append(f"{evidence.left_out} more values and statements were not kept")
        return Why(raised, rule, _because(evidence, found), profile, tuple(notes))


def _rule(
    origins: Origins, raised: RaisedAlert, evidence: Evidence | None
) -> tuple[RuleText | None, list[str]]:
    """The rule that fired, and notes on it."""
    alert = raised.alert
    try:
        then = origins.rules_at(alert.message)
    except SensorStreamError as error:
        return None, [f"the rules of that time cannot be read any more: {error}"]
    for file in then.files:
        for rule in file.semantic_rules:
            if rule.name == alert.rule:
                if evidence is not None and digest_of(rule, file) != evidence.digest:
                    return None, [
                        f"the text with which rule {alert.rule} fired is not kept: "
                        "its file was changed without the server"
                    ]
                return _text(rule, file, then), list(_absences(rule))
    return None, [f"there is no rule {alert.rule} any more: its file was changed by hand"]


def _text(rule: syntax.SemanticRule, file: syntax.RuleFile, then: RulesThen) -> RuleText:
    name = then.names.get(file.file, file.file)
    position = Position(name, rule.position.line, rule.position.column)
    return RuleText(rule.name, name, position, print_node(rule), then.version)


def _absences(rule: syntax.SemanticRule) -> Iterator[str]:
    """Notes on what no statement can show: conditions, and answers of the history."""
    if isinstance(rule.trigger, syntax.Every) and rule.trigger.question is not None:
        yield "the history has answered with these values: what it had found is not kept"
    for condition in conditions_of(rule):
        if condition.negated:
            yield f"nothing was there for: {print_node(condition)}"


def _matches(evidence: Evidence) -> Iterator[Matched]:
    for each in evidence.statements:
        yield each
        if each.because is not None:
            yield from _matches(each.because)


def sought(matched: Iterable[Matched], origins: Origins) -> dict[str, Sought]:
    """The statements to find in each message, to tell where they come from."""
    found: dict[str, tuple[set[Triple], set[Subject]]] = {}
    files: dict[str, Sequence[syntax.RuleFile]] = {}
    for each in matched:
        if each.message and each.basis is not Basis.RULE:
            statements, about = found.setdefault(each.message, (set(), set()))
            statements.add(each.triple)
            if each.message not in files:
                files[each.message] = _files(origins, each.message)
            # For a statement that only a message can say, its place is enough.
            if each.basis is Basis.INFERRED or makers(files[each.message], each.triple):
                about |= _individuals(each.triple)
    return {message: Sought(*sets) for message, sets in found.items()}


def _files(origins: Origins, message: str) -> Sequence[syntax.RuleFile]:
    try:
        return origins.rules_at(message).files
    except LanguageError:
        # The message's trouble says that they cannot be applied any more.
        return ()


def _individuals(triple: Triple) -> set[Subject]:
    subject, predicate, value = triple
    others = {value} if isinstance(value, IRI) and predicate != rdf.TYPE else set()
    return {subject, *others}


def _because(evidence: Evidence, found: Mapping[str, Saying]) -> Because:
    return Because(evidence, tuple(reason_of(each, found) for each in evidence.statements))


def reason_of(matched: Matched, found: Mapping[str, Saying]) -> Reason:
    """Build the reason of a statement from the findings in the messages."""
    because = None if matched.because is None else _because(matched.because, found)
    origin = found.get(matched.message, Saying())
    told = tuple(origin.places.get(matched.triple, ()))
    rules: tuple[str, ...] = ()
    premises: tuple[Reason, ...] = ()
    note = origin.trouble
    if matched.basis is Basis.RULE:
        rules = (matched.rule,)
    elif matched.basis is Basis.INFERRED:
        premises = _premises(matched.triple, origin)
    elif not told and origin.rules is not None and not note:
        rules = makers(origin.rules.files, matched.triple)
        note = (
            "not said by the message itself: a rule has inserted it when the message came"
            if rules
            else "the rules and the ontology of now do not find it in the message"
        )
        if rules:
            premises = _premises(matched.triple, origin)
    return Reason(matched, origin.source, origin.received_at, told, rules, premises, because, note)


def _premises(statement: Triple, origin: Saying) -> tuple[Reason, ...]:
    """The statements of a message about the individuals of a statement that it caused."""
    about = _individuals(statement)
    found = (
        Reason(Matched(triple, Basis.SAID), places=tuple(places))
        for triple, places in origin.places.items()
        if triple[0] in about and triple != statement
    )
    return tuple(islice(found, _MOST_PREMISES))
