"""Why an alert was raised: the rule, what it found, and where in which message that was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from sensorstream.alerts.records import RaisedAlert
from sensorstream.apart import Turns
from sensorstream.app.handle import Handle
from sensorstream.app.origins import Origin, Origins, RulesThen, Sought
from sensorstream.errors import LanguageError, Overrun, Position, SensorStreamError
from sensorstream.history.alerts import evidence_of_alert
from sensorstream.language import syntax
from sensorstream.language.printer import condition_text, print_rule
from sensorstream.mapping.places import Place
from sensorstream.model.evidence import Basis, Evidence, Matched
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.rules.makers import makers
from sensorstream.rules.rule_compiler import digest_of
from sensorstream.rules.triggers import conditions_of

_AT_ONCE: Final = 2
_MOST_PREMISES: Final = 10
"""Statements that are told as those from which another one may have come."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """The rule of an alert, as it is written in its file.

    ``version`` is the change that had put its file in force, or ``settings``.
    """

    name: str
    file: str
    position: Position
    text: str
    version: str = field(metadata={"description": "the change that had put it, or `settings`"})


@dataclass(frozen=True, slots=True)
class Premise:
    """A statement from which another one may have come, and where it was said."""

    triple: Triple
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """A statement that the rule matched, and where it comes from.

    ``source`` and ``received_at`` are those of its message; "": not known. ``rules`` are the
    semantic rules that may have inserted it. Of an inferred statement, and of one that a rule has
    inserted when an earlier message came, ``premises`` are those that this message said of the same
    individuals. ``note`` is what is not known of it.
    """

    matched: Matched
    source: str = ""
    received_at: str = ""
    places: tuple[Place, ...] = ()
    rules: tuple[str, ...] = ()
    premises: tuple[Premise, ...] = ()
    because: Because | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Because:
    """One firing of a rule: its values, and its statements with their reasons."""

    evidence: Evidence
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """Why an alert was raised.

    ``rule`` is None if its text is not known any more, ``because`` if the system raised it, or a
    version that kept no evidence. ``profile`` is what infers. ``notes`` say what else there is to
    know.
    """

    raised: RaisedAlert
    rule: RuleText | None
    because: Because | None
    profile: str
    notes: tuple[str, ...]


class Reasons:
    """Finds out why alerts were raised. Thread-safe."""

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._turns = Turns(_AT_ONCE, app.seconds, "finding out why an alert was raised")

    def of_alert(self, id_: str) -> Why:
        """Why an alert was raised.

        Its evidence was kept with it; the places in the messages are found now.

        Raises:
            UnknownAlert: there is no alert with this id.
            HistoryError: history cannot be read.
            Busy: too many ask at once.
        """
        raised, evidence = evidence_of_alert(self._app.database, id_)
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
        found: dict[str, Origin] = {}
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
    """The rule that fired, and what is to be said of it."""
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
    return RuleText(rule.name, name, position, print_rule(rule), then.version)


def _absences(rule: syntax.SemanticRule) -> Iterator[str]:
    """What no statement can show: conditions, and what the history has answered."""
    if isinstance(rule.trigger, syntax.Every) and rule.trigger.question is not None:
        yield "the history has answered with these values: what it had found is not kept"
    for condition in conditions_of(rule):
        if condition.negated:
            yield f"nothing was there for: {condition_text(condition)}"


def _matches(evidence: Evidence) -> Iterator[Matched]:
    for each in evidence.statements:
        yield each
        if each.because is not None:
            yield from _matches(each.because)


def sought(matched: Iterable[Matched], origins: Origins) -> dict[str, Sought]:
    """What is to be looked up in which message, to tell where statements come from."""
    found: dict[str, tuple[set[Triple], set[Subject]]] = {}
    files: dict[str, Sequence[syntax.RuleFile]] = {}
    for each in matched:
        if each.message and each.basis is not Basis.RULE:
            statements, about = found.setdefault(each.message, (set(), set()))
            statements.add(each.triple)
            if each.message not in files:
                files[each.message] = _files(origins, each.message)
            # Of what only a message can say, its place is enough.
            if each.basis is Basis.INFERRED or makers(files[each.message], each.triple):
                about |= _individuals(each.triple)
    return {message: Sought(*sets) for message, sets in found.items()}


def _files(origins: Origins, message: str) -> Sequence[syntax.RuleFile]:
    try:
        return origins.rules_at(message).files
    except LanguageError:
        # That they cannot be applied any more is told with the message.
        return ()


def _individuals(triple: Triple) -> set[Subject]:
    subject, predicate, value = triple
    others = {value} if isinstance(value, IRI) and predicate != RDF_TYPE else set()
    return {subject, *others}


def _because(evidence: Evidence, found: Mapping[str, Origin]) -> Because:
    return Because(evidence, tuple(reason_of(each, found) for each in evidence.statements))


def reason_of(matched: Matched, found: Mapping[str, Origin]) -> Reason:
    """Where a statement comes from, by what was found in the messages."""
    because = None if matched.because is None else _because(matched.because, found)
    origin = found.get(matched.message, Origin())
    told = tuple(origin.places.get(matched.triple, ()))
    rules: tuple[str, ...] = ()
    premises: tuple[Premise, ...] = ()
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


def _premises(statement: Triple, origin: Origin) -> tuple[Premise, ...]:
    """What a message said of the individuals of a statement that it caused."""
    about = _individuals(statement)
    found = (
        Premise(triple, tuple(places))
        for triple, places in origin.places.items()
        if triple[0] in about and triple != statement
    )
    return tuple(islice(found, _MOST_PREMISES))
