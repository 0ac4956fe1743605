"""Rules, rule sets, ontology and queries that change between two messages of all engines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from sensorstream.app.control import rule_exchange
from sensorstream.app.control.wiring import Deployment, Substitutes, read_deployment
from sensorstream.app.life.starting import in_force, read_files
from sensorstream.errors import LanguageError
from sensorstream.history.journal_rows import JournalRow, journal_rows, record_of, row_of
from sensorstream.history.store import PostgresStore
from sensorstream.journal.entry import Entry
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.kinds import new_record
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.events import Alert
from sensorstream.model.terms import IRI
from sensorstream.settings.settings import Settings
from tests.streaming.conftest import ONTOLOGY, START, seen, write_deployment
from tests.streaming.stand_in import (
    Engines,
    Keys,
    batches,
    by_keys,
    message,
    of_one_engine,
    passed,
    take,
    told,
    write,
)

T: Final = "http://example.org/t#"
SOURCES: Final = ("north", "south", "west")
OTHER: Final = (":Human a owl:Class ; rdfs:subClassOf :Actor .", ":Human a owl:Class .")
"""What the second ontology has instead."""
RULES: Final = (
    (("?x > 70", "?x > 70"),),
    (("?x > 70", "?x > 40"),),
    (("rule far", "rule wide"), ("a :Human at", "a :Human , :Actor at")),
    (("on insert :Human as", "on expire :Human as"),),
)
"""What each of the rule files has instead of the first one's texts."""
QUERIES: Final = (
    'SELECT ?p ?x ALERT info "{?p} {?x}" KEY "{?p}" WHERE { ?p a :Actor ; :x ?x }',
    'SELECT ?p ALERT info "{?p}" KEY "{?p}" WHERE { ?p :x ?x FILTER(?x > 50) }',
)

_SAID = st.tuples(
    st.just("message"),
    st.sampled_from(SOURCES),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 100)), min_size=1, max_size=3),
)
_CHANGES = st.one_of(
    st.tuples(st.just("rules"), st.integers(0, 3)),
    st.tuples(st.just("ontology"), st.integers(0, 1)),
    st.tuples(st.just("query"), st.sampled_from(("a", "b")), st.sampled_from((0, 1, None))),
)
_STEPS = st.lists(st.one_of(_SAID, _SAID, _CHANGES), min_size=3, max_size=24)
_FEW_STEPS = st.lists(st.one_of(_SAID, _SAID, _CHANGES), min_size=3, max_size=10)
_CUTS = st.sets(st.integers(0, 60))
_BATCHES = st.sets(st.integers(0, 12))


def changed(text: str, changes: Sequence[tuple[str, str]]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


class Journal:
    """A journal as a server writes it: the first change also puts what was in force before."""

    def __init__(self, deployment: Deployment, texts: Sequence[Mapping[str, str]]) -> None:
        content = deployment.ontology.ntriples()
        line = b"<http://example.org/t#Human> <http://www.w3.org/2000/01/rdf-schema#subClassOf>"
        other = b"\n".join(each for each in content.split(b"\n") if not each.startswith(line))
        assert other != content
        self._ontologies, self._texts, self._tables = (content, other), texts, deployment.tables
        self._put: set[str] = set()
        self.rows: list[JournalRow] = []

    def say(self, source: str, people: Sequence[tuple[int, int]]) -> None:
        seq = len(self.rows) + 1
        self.rows.append(message(seq, source, seq, people))

    def put(self, entry: Entry) -> None:
        seq = len(self.rows) + 1
        self.rows.append(row_of(new_record(entry, seq, START, seq)))

    def rules(self, number: int) -> None:
        if "rules" not in self._put:
            self._put.add("rules")
            self.put(PutRules(self._texts[0], "settings", self._tables))
        self.put(PutRules(self._texts[number], "me", self._tables))

    def ontology(self, number: int) -> None:
        if "ontology" not in self._put:
            self._put.add("ontology")
            self.put(PutOntology(self._ontologies[0], "application/n-triples", "settings"))
        self.put(PutOntology(self._ontologies[number], "application/n-triples", "me"))

    def query(self, name: str, number: int | None) -> None:
        if number is None:
            self.put(RemoveQuery(name, "me"))
        else:
            text = f"PREFIX : <http://example.org/t#> {QUERIES[number]}"
            self.put(RegisterQuery(name, text, "me", replaces=True))

    def take(self, steps: Sequence[Any]) -> None:
        made: dict[str, Callable[..., None]] = {
            "message": self.say,
            "rules": self.rules,
            "ontology": self.ontology,
            "query": self.query,
        }
        for kind, *words in steps:
            made[kind](*words)
        # All that is in the windows leaves them.
        for source in SOURCES:
            for turn in range(5):
                self.say(source, [(100 + turn, 1)])
        last = len(self.rows)
        self.rows.append(passed(last + 1, last + 1, received=1000))


def said(effects: Effects) -> dict[str, Any]:
    """What effects say. Ids that an entry for all engines gives end with a number of each engine's;
    a query reports when time goes on, in each engine by itself, so its alerts have other ids.
    """
    found = told(replace(effects, alerts=tuple(a for a in effects.alerts if a.kind == "rule")))
    for name in ("departures", "ended", "alerts", "reasons"):
        found[name] = re.sub(r"(m\d+)\.\d+", r"\1", repr(found[name]))
    # The last message of a source is reported when time goes on, if it does.
    last = {effects.watermark - each for each in (1, 6, 11)}
    # What was found at a start, and not raised, may end after a restart: that ends nothing.
    raised = {(each.rule, each.key) for each in effects.alerts if isinstance(each, Alert)}
    queries = Counter(
        (type(each).__name__, each.rule, each.key, each.time, getattr(each, "text", ""))
        for each in effects.alerts
        if each.kind == "query" and (each.rule, each.key) in raised and each.time not in last
    )
    return {**found, "queries": queries}


def as_stated(effects: Effects) -> dict[str, Any]:
    """What effects say, but for what is inferred, and for what queries report."""
    departures = tuple(replace(each, inferred=()) for each in effects.departures)
    ended = tuple(each for each in effects.ended if not each.inferred)
    found = said(replace(effects, departures=departures, ended=ended))
    return {**found, "queries": (), "ontologies": effects.ontologies}


def check(
    deployment: Deployment,
    journal: Journal,
    cuts: set[int],
    lost: set[int],
    again: set[int],
    edited: Deployment | None = None,
) -> Effects:
    """Compare what engines by key say with what one engine says, and with one for each source."""
    records = [record_of(row) for row in journal.rows]
    found = by_keys(deployment, batches(journal.rows, cuts), lost, again, edited)
    assert as_stated(found) == as_stated(of_one_engine(deployment, records))
    # What is inferred begins and ends with a change at the time of the key's own last message.
    alone = [
        of_one_engine(
            deployment, [r for r in records if r.kind != "message" or r.message.source == source]
        )
        for source in SOURCES
    ]
    apart = merged([replace(each, statuses=(), ontologies=()) for each in alone])
    expected = said(replace(apart, statuses=found.statuses))
    assert said(found) == expected
    return found


@profile(max_examples=25, deadline=None)
@given(steps=_STEPS, cuts=_CUTS, lost=_BATCHES, again=_BATCHES)
def test_engines_by_key_follow_changes_as_one_engine_does(
    frugal: Deployment, steps: Any, cuts: set[int], lost: set[int], again: set[int]
) -> None:
    (text,) = frugal.texts.values()
    journal = Journal(frugal, [{"t.rules": changed(text, each)} for each in RULES])
    journal.take(steps)
    check(frugal, journal, cuts, lost, again)


@profile(max_examples=12, deadline=None)
@given(steps=_STEPS, at=st.integers(0, 12), cuts=_CUTS, lost=_BATCHES)
def test_a_pipeline_that_starts_again_goes_by_the_journal_and_not_by_edited_files(
    frugal: Deployment, steps: Any, at: int, cuts: set[int], lost: set[int]
) -> None:
    (text,) = frugal.texts.values()
    texts = [{"t.rules": changed(text, each)} for each in RULES]
    journal = Journal(frugal, texts)
    journal.take([*steps[:at], ("rules", 1), ("ontology", 1), *steps[at:]])
    edited = read_deployment(frugal.settings, None, Substitutes(texts[3], tables={}))
    check(frugal, journal, cuts, lost, set(), edited)


@profile(max_examples=10, deadline=None)
@given(steps=_FEW_STEPS, cuts=_CUTS, lost=_BATCHES, again=_BATCHES)
def test_so_they_do_with_rule_sets(
    ruled: Deployment, steps: Any, cuts: set[int], lost: set[int], again: set[int]
) -> None:
    texts = [
        {name: changed(text, each) if name in part else text for name, text in ruled.texts.items()}
        for part, each in (
            ("", ()),
            ("t.rules", RULES[1]),
            ("met.ru", (("?a a :Met", "?a a :Actor"),)),
            ("met.ru", (("FILTER NOT EXISTS { ?a a :Met }", "FILTER(?x > 50)"),)),
        )
    ]
    journal = Journal(ruled, texts)
    journal.take(steps)
    check(ruled, journal, cuts, lost, again)


FAR = """
:Far a owl:Class ; owl:equivalentClass
  [ a owl:Restriction ; owl:onProperty :x ; owl:hasValue 80 ] ; owl:disjointWith :Human .
"""


def test_what_contradicts_a_new_ontology_leaves_the_window_of_its_key_and_is_told(
    tmp_path: Path, record: Callable[..., Record]
) -> None:
    settings = write_deployment(tmp_path)
    ruled = replace(
        settings, reasoning=replace(settings.reasoning, profile="owl2rl, owl2rl-unsatisfiable")
    )
    put, source = PutOntology((ONTOLOGY + FAR).encode(), "text/turtle", "me").encode()
    rows = [
        *(row_of(record(n, seen("north", n, (n, 79 + n)), "north")) for n in (1, 2)),
        row_of(record(3, seen("south", 3, (3, 5)), "south")),
        row_of(record(4, put, source, "ontology")),
        *(row_of(record(n, seen("north", n, (n, 85 - n)), "north")) for n in (5, 6)),
        row_of(record(7, seen("south", 7, (7, 79)), "south")),
    ]
    effects = by_keys(read_deployment(ruled), [rows[:3], rows[3:]], {1}, {1})
    (alert,) = (
        each for each in effects.alerts if isinstance(each, Alert) and "new ontology" in each.text
    )
    assert "left the window of the key 'north': " in alert.text
    assert "#north-1> <http://example.org/t#x> " in alert.text
    assert "north-2" not in alert.text
    assert alert.key == "m4.1"
    # History gets what left, and the rest goes on by the new ontology.
    assert [each.individual.name for each in effects.departures] == [IRI(f"{T}north-1")]
    assert {s.seq: s.status.value for s in effects.statuses} == {
        **dict.fromkeys((1, 2, 3, 4, 6, 7), "accepted"),
        5: "rejected",
    }


def test_a_deployment_that_is_put_is_compiled_once_for_all_keys(
    frugal: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Deployment] = []

    def reading(*given: Any) -> Deployment:
        read.append(read_deployment(*given))
        return read[-1]

    monkeypatch.setattr(rule_exchange, "read_deployment", reading)
    (text,) = frugal.texts.values()
    journal = Journal(frugal, [{"t.rules": changed(text, each)} for each in RULES])
    for n in range(20):
        journal.say(f"camera {n}", [(1, 60)])
    journal.rules(1)
    for n in range(30):
        journal.say(f"camera {n}", [(2, 60)])
    effects = by_keys(frugal, [journal.rows[:20], journal.rows[20:]], set(), set())
    assert len([each for each in effects.alerts if each.rule == "far"]) == 30
    # As it was before, and as it is.
    assert len(read) == 2


def test_rules_that_cannot_be_compiled_here_stop_the_pipeline_and_change_nothing(
    frugal: Deployment,
) -> None:
    journal = Journal(frugal, [frugal.texts, {"t.rules": "rule"}])
    journal.say("north", [(1, 60)])
    keys = Keys(frugal)
    keys.take(journal.rows)
    journal.rules(1)
    with pytest.raises(LanguageError):
        keys.take(journal.rows[1:])
    # 'sensorstream journal skip' is the way out.
    skipped = [(*row[:6], "skipped", *row[7:]) if row[0] == 3 else row for row in journal.rows]
    keys.rows[:] = skipped
    keys.lose_engines()
    keys.take(skipped[1:])
    keys.host.close()


def test_a_host_that_starts_later_knows_from_the_journal_what_was_in_force_when(
    settings: Settings, database: str
) -> None:
    deployment = read_deployment(settings)
    (text,) = deployment.texts.values()
    journal = Journal(deployment, [{"t.rules": changed(text, each)} for each in RULES])
    journal.say("north", [(1, 60)])
    journal.rules(1)
    journal.ontology(1)
    journal.say("north", [(2, 60)])
    journal.say("south", [(2, 60)])
    write(database, list(map(record_of, journal.rows)))
    with PostgresStore.open(database, settings.time.timeline) as store:
        put, _ = in_force(settings, read_files(settings), store, 7)
        assert store.last_seq() == 7
    assert (put.texts["t.rules"], len(put.ontology.triples)) == (
        changed(text, RULES[1]),
        len(deployment.ontology.triples) - 1,
    )
    engines = Engines(put, database, 7)
    first, *_, last, south = journal_rows(database, 0)
    # At its place the first rules were in force: nobody was far.
    before = take(engines, "=north", [first])
    after, new = take(engines, "=north", [last], 5), take(engines, "=south", [south], 5)
    alerts = [[a.key for effects in each for a in effects.alerts] for each in (before, after, new)]
    assert alerts == [[], [f"{T}north-2"], [f"{T}south-2"]]
    engines.host.close()
