"""Compares what a story expects with what there is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import eq
from typing import Any, Final, TypeAlias, TypeVar

from lxml import etree

from sensorstream.app.why.engine_trial import TrialTrace
from sensorstream.cli.stories.story_reader import STATUSES, Amount, Expectation, StoryDifference
from sensorstream.cli.stories.story_wording import (
    ReportedValues,
    absent,
    alert_text,
    difference,
    rows_of,
    term_text,
    triple_text,
    triple_texts,
    turtle_triples,
)
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Position, SensorStreamError, StoryError
from sensorstream.kb.graph_changes import KnowledgeChanges, QuadStore, quads_of
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Alert, Status
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.terms import Term, Triple
from sensorstream.network.exact_values import repeated
from sensorstream.shapes.shape_compiler import ShapeQuery
from sensorstream.sparql.answerable import read_answerable

_Violated: TypeAlias = tuple[Any, ...]
"""A violation that begins (+) or ends (-): the sign, the focus node, maybe the message."""
_T = TypeVar("_T")
_U = TypeVar("_U")

_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_ALERT: Final = re.compile(
    rf"\s*(?:(info|warning|critical)\s+)?({_TEXT})(?:\s+key\s+({_TEXT}))?\s*(?=\n|\Z)"
)
_VIOLATION: Final = re.compile(rf"\s*([-+])\s+(<[^>\s]*>|\S+)(?:\s+({_TEXT}))?\s*(?=\n|\Z)")
_REPORT: Final = re.compile(r"\s*(\S+)[ \t]+([-+=])[ \t]*(.*)\Z", re.S)
_TOKEN: Final = re.compile(rf"{_TEXT}|'(?:[^'\\]|\\.)*'|<[^>\s]*>|\?(\w+)(?=\s)|\S", re.S)
_SHOWN: Final = 20
"""The most statements that are shown of those there instead."""


@mutable
class StorySpan:
    """The outcomes and statements since the last expectations."""

    outcomes: list[Outcome] = field(default_factory=list)
    asserted: dict[Triple, None] = field(default_factory=dict)
    inferred: dict[Triple, None] = field(default_factory=dict)

    def add(self, trace: TrialTrace) -> None:
        """Add the statements that a step has brought."""
        self.asserted |= dict.fromkeys(trace.asserted)
        self.inferred |= dict.fromkeys(trace.inferred)

    @property
    def alerts(self) -> list[Alert]:
        """The alerts of semantic rules and continuous queries."""
        found = (alert for each in self.outcomes for alert in each.alerts)
        return [each for each in found if each.kind in ("rule", "query")]

    @property
    def replies(self) -> list[str]:
        return [reply for each in self.outcomes for reply in each.replies]

    @property
    def reports(self) -> list[ReportedValues]:
        """The rows, graphs and answers that queries have reported."""
        reports = (told.report for each in self.outcomes for told in each.reports)
        return [row for report in reports for row in rows_of(report)]


class Copy:
    """A knowledge base in Oxigraph, kept in step from the first question on."""

    def __init__(self) -> None:
        self._changes: KnowledgeChanges | None = None
        self._quads = QuadStore()

    def holds(self, kb: KnowledgeBase, text: str) -> bool:
        """The answer of ``ASK``.

        Raises:
            QueryError: it cannot be answered.
        """
        asked = repeated(read_answerable(text))
        if self._changes is None:
            self._changes = KnowledgeChanges(kb)
        added, removed = map(list, map(quads_of, self._changes.read()))
        self._quads.change(added, removed)
        self._changes.done()
        question = asked(self._quads.store)
        found = bool(question.answer(self._quads.store))
        question.check()
        return found


@frozen
class Scene:
    """The state that expectations are compared with."""

    kb: KnowledgeBase
    copy: Copy
    prefixes: Mapping[str, str]
    since: StorySpan
    shapes: Mapping[str, ShapeQuery]

    def differences(self, expected: Expectation) -> StoryDifference | None:
        """Compare the state with what is expected; None if it agrees.

        Raises:
            StoryError: the expectation cannot be read.
        """
        what = expected.what
        if what in STATUSES:
            return self._status(expected)
        if what == "ask":
            return self._ask(expected)
        if what == "asserted":
            return self._graph(expected, Origin.WINDOW, self.since.asserted)
        if what == "inferred":
            inferred = Origin.INFERRED | Origin.STATIC_INFERRED
            return self._graph(expected, inferred, self.since.inferred)
        if what == "alert":
            wanted = [(each, str(each)) for each in _alerts(expected)]
            alerts = [(each, alert_text(each)) for each in self.since.alerts]
            return _listed(expected, wanted, alerts, _alert_fits)
        if what == "reply":
            replies = [(_canonical_xml(each), each) for each in self.since.replies]
            return _listed(expected, list(_documents(expected)), replies, eq)
        if what == "violation":
            begun = self._told(self._violations(expected)), self._told(self._violated())
            return _listed(expected, *begun, lambda want, got: got[: len(want)] == want)
        rows = [self._row(expected)] if expected.text else []
        told, reported = (
            [(row, row.text(self.prefixes)) for row in each if row.query not in self.shapes]
            for each in (rows, self.since.reports)
        )
        return _listed(expected, told, reported, lambda want, got: got.fits(want))

    def _graph(
        self, expected: Expectation, graph: Origin, new: Mapping[Triple, None]
    ) -> StoryDifference | None:
        wanted = turtle_triples(expected.text, self.prefixes, expected.position)
        if expected.amount is Amount.ONLY:
            missing, unexpected = difference(wanted, [t for t in new if self.kb.marks(t) & graph])
            if not missing and not unexpected:
                return None
            texts = triple_texts(missing, self.prefixes), triple_texts(unexpected, self.prefixes)
            return expected.differs(*texts)
        there = {triple for origin in graph for triple in self.kb.triples(origin)}
        lacking = absent(wanted, there)
        if expected.amount is Amount.NOT:
            found = [triple for triple in wanted if triple not in lacking]
            if not found:
                return None
            return expected.differs(unexpected=triple_texts(found, self.prefixes))
        if not lacking:
            return None
        got = self._near(lacking, there)
        return expected.differs(triple_texts(lacking, self.prefixes), got=got)

    def _near(self, lacking: Collection[Triple], there: Collection[Triple]) -> tuple[str, ...]:
        """The statements of the same subjects, and the graphs that have missing ones."""
        subjects = {triple[0] for triple in lacking}
        texts = triple_texts((t for t in there if t[0] in subjects), self.prefixes)[:_SHOWN]
        elsewhere = []
        for triple in lacking:
            names = [
                word
                for word, origin in (
                    ("asserted", Origin.WINDOW),
                    ("inferred", Origin.INFERRED | Origin.STATIC_INFERRED),
                    ("static", Origin.STATIC),
                )
                if self.kb.marks(triple) & origin
            ]
            if names:
                text = triple_text(triple, self.prefixes)
                elsewhere.append(f"{text}  # this one is {' and '.join(names)}")
        return (*texts, *elsewhere)

    def _ask(self, expected: Expectation) -> StoryDifference | None:
        text = expected.text.strip()
        if text.startswith("{") and text.endswith("}"):
            text = text[1:-1]
        head = " ".join(f"PREFIX {name}: <{start}>" for name, start in self.prefixes.items())
        try:
            answer = self.copy.holds(self.kb, f"{head} {text}")
        except SensorStreamError as error:
            raise StoryError(f"ask: {error.message}", position=expected.position) from None
        if answer is (expected.amount is not Amount.NOT):
            return None
        wanted, got = (f"the answer {str(each).lower()}" for each in (not answer, answer))
        return expected.differs((wanted,), got=(got,))

    def _status(self, expected: Expectation) -> StoryDifference | None:
        code = expected.text
        fits = [
            outcome
            for outcome in self.since.outcomes
            if outcome.message.id
            and outcome.status.value == expected.what
            and (not code or (outcome.rejection is not None and outcome.rejection.code == code))
        ]
        if bool(fits) is (expected.amount is not Amount.NOT):
            return None
        got = tuple(map(status_text, self.since.outcomes))
        if fits:
            return expected.differs(unexpected=tuple(map(status_text, fits)))
        return expected.differs((f"{expected.what} {code}".strip(),), got=got)

    def _told(self, found: Iterable[_Violated]) -> list[tuple[_Violated, str]]:
        """Violations that begin (+) or end (-), each with its text."""
        return [
            (
                each,
                " ".join((each[0], term_text(each[1], self.prefixes), *map(json.dumps, each[2:]))),
            )
            for each in found
        ]

    def _violated(self) -> Iterator[_Violated]:
        reports = (told.report for each in self.since.outcomes for told in each.reports)
        for report in (each for each in reports if each.query in self.shapes):
            for row in report.rows:
                found = self.shapes[report.query].violation(report.variables, row)
                yield report.operation.value, found.focus, found.message

    def _violations(self, expected: Expectation) -> Iterator[_Violated]:
        for line in expected.text.splitlines():
            match = _VIOLATION.fullmatch(line)
            if match is None:
                told = f"'{line.strip()}': expected + or -, a focus node, and maybe its \"message\""
                raise StoryError(told, position=expected.position)
            ((_, focus),) = self._values(f"?focus {match[2]}", expected.position)
            yield match[1], focus, *([json.loads(match[3])] if match[3] else [])

    def _row(self, expected: Expectation) -> ReportedValues:
        match = _REPORT.match(expected.text)
        where = expected.position
        if match is None:
            raise StoryError(
                "expected 'report QUERY + ?variable VALUE …', or - or = for +", position=where
            )
        name, sign, rest = self._name(match[1]), match[2], match[3].strip()
        if rest in ("true", "false"):
            return ReportedValues(name, sign, answer=rest == "true")
        if rest.startswith("{") and rest.endswith("}"):
            return ReportedValues(
                name, sign, graph=turtle_triples(rest[1:-1], self.prefixes, where)
            )
        return ReportedValues(name, sign, dict(self._values(rest, where)))

    def _name(self, written: str) -> str:
        """The name of a query; one that REGISTER gives is an IRI and may have a prefix."""
        prefix, colon, local = written.partition(":")
        if colon and prefix in self.prefixes:
            return self.prefixes[prefix] + local
        return written[1:-1] if written.startswith("<") else written

    def _values(self, text: str, where: Position) -> Iterator[tuple[str, Term]]:
        name, start = "", 0
        places = [(m[1], m.start(), m.end()) for m in _TOKEN.finditer(text) if m[1]]
        if not places or text[: places[0][1]].strip():
            raise StoryError(f"'{text}': expected '?variable VALUE …'", position=where)
        for (name, _, start), (_, end, _) in zip(
            places, [*places[1:], ("", len(text), 0)], strict=True
        ):
            triples = turtle_triples(f"<x:x> <x:x> {text[start:end]}", self.prefixes, where)
            if len(triples) != 1:
                raise StoryError(f"?{name}: expected one value", position=where)
            yield name, triples[0][2]


def status_text(outcome: Outcome) -> str:
    """A message's status, with the reason if it was not accepted."""
    text = f"{outcome.message.id} {outcome.status.value}"
    if outcome.rejection is not None:
        return f"{text} {outcome.rejection.code}: {outcome.rejection}"
    return text if outcome.status is Status.ACCEPTED else f"{text}: {'; '.join(outcome.warnings)}"


def _listed(
    expected: Expectation,
    wanted: Sequence[tuple[_T, str]],
    got: Sequence[tuple[_U, str]],
    fits: Callable[[_T, _U], bool],
) -> StoryDifference | None:
    """Compare things that happened, each with its text, which can meet one expectation each."""
    left = list(got)
    missing: list[str] = []
    met: list[str] = []
    for want, text in wanted:
        found = next((each for each in left if fits(want, each[0])), None)
        if found is None:
            missing.append(text)
        else:
            left.remove(found)
            met.append(found[1])
    texts = tuple(text for _, text in left)
    if expected.amount is Amount.NOT:
        return expected.differs(unexpected=tuple(met)) if met else None
    if expected.amount is Amount.ONLY:
        return expected.differs(tuple(missing), texts) if missing or texts else None
    return expected.differs(tuple(missing), got=texts[:_SHOWN]) if missing else None


def _alerts(expected: Expectation) -> Iterator[_Alert]:
    start, text = 0, expected.text
    while start < len(text):
        match = _ALERT.match(text, start)
        if match is None:
            raise StoryError(
                f"'{text[start:].strip()}': expected [info|warning|critical] \"text\" "
                '[key "key"], one alert a line',
                position=expected.position,
            )
        try:
            said = json.loads(match[2], strict=False)
            key = None if match[3] is None else json.loads(match[3], strict=False)
        except ValueError as error:
            raise StoryError(f"{match[0].strip()}: {error}", position=expected.position) from None
        yield _Alert(match[1] or "", said, key)
        start = match.end()


@frozen
class _Alert:
    """An alert that a story expects; what it leaves out counts for nothing."""

    severity: str
    text: str
    key: str | None

    def __str__(self) -> str:
        words = [self.severity, json.dumps(self.text, ensure_ascii=False)]
        if self.key is not None:
            words += ["key", json.dumps(self.key, ensure_ascii=False)]
        return " ".join(word for word in words if word)


def _alert_fits(want: _Alert, got: Alert) -> bool:
    return (
        want.text == got.text
        and want.severity in ("", got.severity)
        and want.key in (None, got.key)
    )


def _documents(expected: Expectation) -> Iterator[tuple[bytes, str]]:
    """The XML documents of an expectation, canonical and as text."""
    try:
        root = etree.fromstring(
            f"<r>{expected.text}</r>", etree.XMLParser(resolve_entities=False, no_network=True)
        )
    except etree.XMLSyntaxError as error:
        raise StoryError(f"reply: not XML: {error}", position=expected.position) from None
    for each in root:
        each.tail = None
        text = etree.tostring(each, encoding="unicode")
        yield _canonical_xml(text), text


def _canonical_xml(text: str) -> bytes:
    return str(etree.canonicalize(text, strip_text=True)).encode()
