"""What a skipped entry leaves behind: everything else is there, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from sensorstream.app.application import Application
from sensorstream.app.life.in_work import Death
from sensorstream.app.life.recovery import find_start, skip_deadly, skip_entry
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import JournalError
from sensorstream.history.journal_rows import entries, entry_at
from sensorstream.history.store import PostgresStore
from sensorstream.journal.message import Tick
from sensorstream.model.events import Status
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import RuleSettings, Settings, TimeSettings
from sensorstream.testing import DAWN
from tests.app.conftest import Open
from tests.databases import execute
from tests.waiting import eventually

WAITING = """prefix : <http://sensorstream.example/tracking#>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping seen on message {/m}
then update individual :{@id} a :Human at {@t} ; :hasXLocation {@v}^^xsd:integer .

rule hot
when select { SELECT ?s { ?s :hasXLocation ?v FILTER(?v > 30) } } becomes true for "4"
then alert warning "{?s}" key "{?s}"
"""
ALERTING = """PREFIX : <http://sensorstream.example/tracking#>
SELECT ?s ?v ALERT warning "{?s} at {?v}" KEY "{?s}"
WHERE { ?s :hasXLocation ?v FILTER(?v > 30) }"""


@contextmanager
def writing(settings: Settings) -> Iterator[PostgresStore]:
    with PostgresStore.open(settings.history.url, Timeline.INTEGER) as store:
        yield store


def forget_checkpoints(settings: Settings, after: int) -> None:
    """As if the server had been killed before it wrote them."""
    execute(settings.history.url, "delete from store.checkpoints where seq > %s", values=(after,))


def skip(settings: Settings, seq: int) -> None:
    with writing(settings) as store:
        skip_entry(seq, "skipped: in a test", store, find_start(store), DAWN)


def everything(application: Application) -> tuple[Any, ...]:
    window = application.window_view(1000)
    rows = application.asking.sql("select subject, predicate, object from history.statements").rows
    return (
        window,
        sorted(rows),
        application.reader.quarantined(100),
        len(application.reader.alerts_before(1000)),
    )


def individuals(application: Application) -> Counter[str]:
    rows = application.asking.sql("select distinct iri, message_id from history.individuals").rows
    inside = application.window_view(1000).individuals
    names = [str(row[0]) for row in rows] + [str(each.name) for each in inside]
    return Counter(each for each in names if "#human-" in each)


def test_one_that_had_been_applied_is_skipped_and_nothing_else_is_lost_or_stands_twice(
    settings: Settings, open_application: Open
) -> None:
    messages = [bytes(each) for each in tracker_messages(40)]
    application = open_application(settings)
    named = [application.submit(each, "hall").result(300).individuals for each in messages[:27]]
    application.close()
    forget_checkpoints(settings, 21)
    skip(settings, 23)
    again = open_application(settings)
    before = everything(again)
    again.close()
    forget_checkpoints(settings, 27)
    again = open_application(settings)
    assert everything(again) == before
    named += [again.submit(each, "hall").result(300).individuals for each in messages[27:]]
    (lost,) = named[22]
    found = individuals(again)
    expected = {str(name) for names in named for name in names if name != lost}
    assert found == dict.fromkeys(expected, 1)
    assert [each.id for each in again.reader.quarantined(10)] == ["m23"]
    statements = again.asking.sql("select * from history.statements").rows
    assert len(statements) == len(set(map(str, statements)))


def test_a_message_that_brings_the_engine_down_at_its_turn_is_refused_then(
    settings: Settings, open_application: Open
) -> None:
    settings = replace(settings, time=TimeSettings(lateness="5", idle=1000.0))
    messages = [bytes(each) for each in tracker_messages(30)]
    application = open_application(settings)
    held = [application.submit(each, "hall").result(300) for each in messages[:12]][-1]
    application.close()
    seq = int(held.message.id[1:])
    with writing(settings) as store:
        last = entry_at(store.url, seq)
        assert last is not None
        assert last.status is Status.HELD
        start = find_start(store)
        for times, skipped in ((1, False), (2, True)):
            death = Death(seq + 1, 0, seq, times)
            # Of an entry that is not in this journal.
            assert skip_deadly(death, store, start, DAWN)
            assert not [each for each in entries(store.url, 10) if each.kind == "skip"]
            death = Death(seq, last.received, seq, times)
            assert skip_deadly(death, store, start, DAWN) is skipped
            assert (entries(store.url, 1)[0].kind == "skip") is skipped
    again = open_application(settings)
    for each in messages[12:]:
        again.submit(each, "hall").result(300)
    (kept,) = again.reader.quarantined(10)
    assert (kept.seq, kept.status) == (seq, "rejected")
    assert f"the server ended while entry {seq} was in work, 2 times in a row" in kept.reason
    assert held.individuals[0] not in {each.name for each in again.window_view(100).individuals}
    again.close()
    assert [each.seq for each in open_application(settings).reader.quarantined(10)] == [seq]


def test_a_query_that_is_skipped_does_not_run_and_can_be_registered_anew(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    application.queries.register("SELECT ?s { ?s a ?c }", "all")
    application.close()
    forget_checkpoints(settings, 0)
    skip(settings, 1)
    again = open_application(settings)
    assert list(again.queries.views()) == []
    (raised,) = again.reader.alerts_before(10)
    assert raised.alert.kind == "entry-skipped"
    assert raised.alert.text == "skipped: in a test; the query 'all' does not run"
    again.queries.register("SELECT ?s { ?s a ?c }", "all")
    assert len(again.queries.views()) == 1


def test_what_cannot_be_skipped_is_refused_with_the_reason(
    settings: Settings, application: Application
) -> None:
    for each in tracker_messages(3):
        application.submit(bytes(each), "hall").result(300)
    application.close()
    for seq, reason in [(9, "no entry 9"), (2, "the checkpoint at entry 3 has what it did")]:
        with pytest.raises(JournalError, match=reason):
            skip(settings, seq)
    forget_checkpoints(settings, 0)
    skip(settings, 2)
    with pytest.raises(JournalError, match="skipped already: skipped: in a test"):
        skip(settings, 2)


@pytest.fixture
def waiting(settings: Settings) -> Settings:
    rules = settings.path.parent / "waiting.rules"
    rules.write_text(WAITING)
    return replace(settings, rules=RuleSettings((rules,)))


def say(application: Application, name: str, time: int, value: int) -> None:
    content = f"<m id='{name}' t='{time}' v='{value}'/>"
    application.submit(content.encode(), "hall").result(300)


def told(application: Application) -> list[tuple[str, str, int]]:
    """The alerts that rules and queries have raised: whose, of which individual, at which time."""
    alerts = [each.alert for each in application.reader.alerts_before(100)]
    return sorted(
        (each.rule, each.key.rpartition("#")[2], each.time) for each in alerts if each.rule
    )


def skip_as_if_killed(settings: Settings, seq: int) -> None:
    forget_checkpoints(settings, 0)
    skip(settings, seq)


def test_what_was_due_when_a_skipped_message_came_is_told_once(
    waiting: Settings, open_application: Open
) -> None:
    application = open_application(waiting)
    say(application, "a", 1, 31)
    say(application, "b", 10, 31)
    application.close()
    skip_as_if_killed(waiting, 2)
    for time, expected in ((12, [("hot", "a", 5)]), (20, [("hot", "a", 5), ("hot", "c", 16)])):
        again = open_application(waiting)
        say(again, "c", time, 31)
        assert told(again) == expected
        again.close()
        forget_checkpoints(waiting, 0)


def test_what_was_due_at_a_skipped_tick_is_told_once(
    waiting: Settings, open_application: Open
) -> None:
    (rules,) = waiting.rules.files
    rules.write_text(WAITING.replace('for "4"', 'for "1"'))
    application = open_application(waiting)
    say(application, "a", 1, 31)
    eventually(lambda: told(application))
    (raised,) = application.reader.alerts_before(10)
    application.close()
    skip_as_if_killed(waiting, int(raised.alert.message.removeprefix("m")))
    again = open_application(waiting)
    say(again, "c", 12, 1)
    assert told(again) == [("hot", "a", 2)]


def test_after_a_skipped_message_queries_raise_alerts_under_ids_of_their_own(
    waiting: Settings, open_application: Open
) -> None:
    application = open_application(waiting)
    application.queries.register(ALERTING, "far")
    for n in (1, 2, 3):
        say(application, f"a{n}", n, 31)
    say(application, "b", 4, 1)
    application.close()
    skip_as_if_killed(waiting, 3)
    again = open_application(waiting)
    for n in (5, 6):
        say(again, f"a{n}", n, 31)
    say(again, "b", 7, 1)
    found = [each for each in told(again) if each[0] == "far"]
    assert found == [("far", f"a{n}", n) for n in (1, 2, 3, 5, 6)]


def test_what_a_skipped_tick_has_released_is_told_once(
    waiting: Settings, open_application: Open
) -> None:
    (rules,) = waiting.rules.files
    text = WAITING.replace(
        "when select { SELECT ?s", "on insert :Human as ?s if select { SELECT ?v"
    )
    rules.write_text(text.replace(' becomes true for "4"', ""))
    settings = replace(waiting, time=TimeSettings(lateness="5", idle=0.1))
    application = open_application(settings)
    say(application, "a", 1, 31)
    eventually(lambda: told(application))
    application.close()
    (tick,) = [each for each in entries(settings.history.url, 9) if each.kind == Tick.kind]
    skip_as_if_killed(settings, tick.seq)
    again = open_application(settings)
    say(again, "c", 20, 31)
    eventually(lambda: len(told(again)) > 1)
    assert told(again) == [("hot", "a", 1), ("hot", "c", 20)]
