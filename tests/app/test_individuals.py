"""The latest values of individuals, of a whole application over a real PostgreSQL."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

import psycopg2
import pytest

from sensorstream.app.application import Application
from sensorstream.app.questions.individuals import KnownIndividual
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import QueryError, Unavailable, UnknownIndividual
from sensorstream.model.terms import IRI
from sensorstream.settings.settings import ReasoningSettings, Settings
from tests.app.conftest import Open

TRACKING = "http://sensorstream.example/tracking#"
HUMAN, CERTAINTY = f"{TRACKING}Human", f"{TRACKING}hasCertainty"


@pytest.fixture
def application(settings: Settings, open_application: Open) -> Application:
    """Thirty people were seen; the window holds the last ten individuals."""
    opened = open_application(replace(settings, reasoning=ReasoningSettings(profile="plain")))
    futures = [opened.submit(each, "test") for each in tracker_messages(30)]
    for future in futures:
        future.result(300)
    return opened


def certainty(known: KnownIndividual) -> list[tuple[str, bool]]:
    return [
        (each.triple[2].lexical, each.valid_to is None)  # type: ignore[union-attr]
        for each in known.values
        if each.triple[1] == CERTAINTY
    ]


def test_every_individual_of_a_class_is_on_one_page(application: Application) -> None:
    pages: list[KnownIndividual] = []
    after = ""
    while True:
        page = application.individuals.latest(HUMAN, 7, after)
        pages += page.individuals
        if page.after is None:
            break
        after = page.after
    names = [str(each.name) for each in pages]
    window = {each.name for each in application.window_view(100).individuals}
    live = [name for name in names if name in window]
    assert names[: len(live)] == sorted(live)
    rows = application.asking.sql(
        "select iri, has_certainty from human order by expired_at desc"
    ).rows
    assert names[len(live) :] == [iri for iri, _ in rows]
    assert [each.in_window for each in pages] == [name in window for name in names]
    assert [certainty(each) for each in pages[len(live) :]] == [
        [(str(value), False)] for _, value in rows
    ]


def test_one_who_comes_back_has_the_windows_values_and_keeps_the_others(
    application: Application, settings: Settings
) -> None:
    name = f"{TRACKING}human-1"
    gone = application.individuals.individual(name)
    assert not gone.in_window
    connection = psycopg2.connect(settings.history.url)
    with connection, connection.cursor() as cursor:
        cursor.execute("insert into store.terms (id, kind, text) values (10000, 0, 'urn:x:height')")
        cursor.execute(
            "insert into store.statements select s.subject, 10000, s.object, "
            "s.valid_from, s.valid_to, s.stay, s.message, s.number, s.inferred "
            "from store.statements s join store.terms t on t.id = s.subject "
            "where t.text = %s limit 1",
            (name,),
        )
    connection.close()
    (first,) = tracker_messages(1)
    again = first.replace(b"TimeStamp value = '1'", b"TimeStamp value = '99'")
    application.submit(again, "test").result(300)
    back = application.individuals.individual(name)
    assert back.in_window
    assert all(live for _, live in certainty(back))
    assert [each.valid_to is None for each in back.values if each.triple[1] == "urn:x:height"] == [
        False
    ]
    page = application.individuals.latest(HUMAN, 1000)
    assert [str(each.name) for each in page.individuals].count(name) == 1


def test_what_nobody_has_said_is_not_there(application: Application) -> None:
    with pytest.raises(UnknownIndividual, match="neither the window nor history"):
        application.individuals.individual("urn:x:nobody")
    page = application.individuals.latest("urn:x:nothing", 10)
    assert (page.individuals, page.after) == ((), None)
    for bad in ("1", "history:1", "history:99999999999999999999:1", f"history:{2**63}:1"):
        with pytest.raises(QueryError, match="'after' is not"):
            application.individuals.latest(HUMAN, 10, bad)


def test_a_busy_server_says_so(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application.pipeline, "settled", lambda _read: Future())
    monkeypatch.setattr(type(application), "seconds", 0.01)
    with pytest.raises(Unavailable, match="ask again later"):
        application.individuals.individual(IRI("urn:x:a"))
