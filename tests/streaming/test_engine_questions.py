"""Engines by key are asked through the journal, and say what a server's engine says."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.app.questions import engine_questions
from sensorstream.app.questions.engine_questions import _Plain
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.history import effects_writer
from sensorstream.history.database import engine, opened
from sensorstream.history.effects_writer import followed, store_followed
from sensorstream.journal.message import AskEngines
from sensorstream.journal.records import Record
from sensorstream.model import rdf
from sensorstream.model.events import Status
from sensorstream.model.terms import IRI
from sensorstream.reasoning.dl.cross_check import Differences
from sensorstream.server.rest.queries_routes import _follow
from sensorstream.settings.settings import Settings
from sensorstream.streams.query_report import Report, RowOperation
from tests.asking import Ask, asking
from tests.databases import execute
from tests.streaming.conftest import edit, on_spark, seen, write_deployment
from tests.streaming.stand_in import StandIn, running, write
from tests.waiting import eventually

T: Final = "http://example.org/t#"
QUERY: Final = f"PREFIX : <{T}> SELECT ?p ?x {{ ?p a :Actor ; :x ?x }}"
GRAPH: Final = f"PREFIX : <{T}> CONSTRUCT {{ ?p a :Far }} WHERE {{ ?p :x ?x FILTER(?x > 50) }}"
NORTH: Final = [seen("north", 1, (1, 20)), seen("north", 2, (2, 60)), seen("north", 3, (1, 30))]
SOUTH: Final = [seen("south", 4, (7, 90)), seen("south", 5, (8, 10))]


def begun(server: Application) -> Ask:
    """A server with two queries, and the messages of the north."""
    server.queries.register(QUERY, "who")
    server.queries.register(GRAPH, "far")
    server.queries.register(f"ASK {{ ?p <{T}x> 90 }}", "any")
    for each in NORTH:
        server.submit(each, "north").result(60)
    return asking(server)


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return read_deployment(write_deployment(tmp_path))


def at(settings: Settings, url: str) -> Settings:
    return replace(settings, history=replace(settings.history, url=url))


@pytest.fixture
def here(deployment: Deployment, new_database: Callable[[], str]) -> Iterator[Ask]:
    with Application.open(at(deployment.settings, new_database())) as server:
        yield begun(server)


@pytest.fixture
def there(deployment: Deployment, new_database: Callable[[], str]) -> Iterator[Ask]:
    url = new_database()
    with Application.open(on_spark(deployment.settings, url)) as server:
        with running(deployment, url):
            ask = begun(server)
            for each in SOUTH:
                server.submit(each, "south").result(60)
            yield ask
        assert execute(url, "select count(*) from store.answers") == [(0,)]


def without_seconds(found: Any) -> Any:
    """The same without what a clock measures, and what an engine that was built again counts.

    Silence has a number of the journal, too: where it was told, later messages have other ones.
    """
    if isinstance(found, dict):
        other = TIMES | {"added", "removed"} if "operator" in found else TIMES
        return {k: without_seconds(v) for k, v in found.items() if k not in other}
    return [without_seconds(each) for each in found] if isinstance(found, list) else found


TIMES: Final = {"seconds", "received_at", "message_id"}


def told_all(ask: Callable[[], httpx.Response]) -> bool:
    return bool(ask().json().get("reports") == len(NORTH))


def test_the_engine_of_a_key_answers_as_a_server_does(here: Ask, there: Ask) -> None:
    one = f"{T}north-1"
    asked = partial(here, "/queries/who/graph"), partial(there, "/queries/who/graph?key=north")
    for each in asked:
        # The last instant is over when silence has told it.
        eventually(partial(told_all, each))
    for path, params in (
        ("/queries/who/results", {}),
        ("/queries/far/results", {}),
        ("/queries/any/results", {}),
        ("/queries/who/graph", {}),
        ("/queries/who/step", {}),
        ("/why", {"statement": f"<{one}> a <{T}Actor>"}),
        ("/why", {"statement": f"<{one}> <{T}x> 30"}),
        ("/why", {"statement": f"<{one}> <{T}x> 31"}),
        ("/why", {"statement": f"<{T}south-7> a <{T}Human>"}),
        ("/why", {"statement": "no statement"}),
        ("/why-not", {"rule": "far", "individual": one}),
        ("/why-not", {"rule": "far", "individual": f"{T}south-7"}),
        ("/why-not", {"rule": "who", "individual": one}),
        ("/why-not", {"rule": "who", "individual": f"{T}north-9"}),
        ("/why-not", {"rule": "far", "individual": one, "variable": "y"}),
        ("/why-not", {"rule": "near", "individual": one}),
        ("/queries/none/results", {}),
    ):
        expected = here(path, params=params)
        found = there(path, params=params | {"key": "north"})
        assert found.status_code == expected.status_code, (path, found.text)
        if expected.headers["content-type"].endswith("json"):
            assert without_seconds(found.json()) == without_seconds(expected.json()), path
        else:
            assert found.text == expected.text
    assert here("/queries/who/step", "DELETE").status_code == 204
    assert there("/queries/who/step?key=north", "DELETE").status_code == 204
    refused = here("/queries/who/results?key=north")
    assert refused.status_code == 400
    assert "the engine of the server has the messages of all keys" in refused.text


def test_all_engines_answer_together(there: Ask) -> None:
    tables = {"accept": "text/csv"}
    told = there("/queries/who/results", headers=tables)
    assert told.status_code == 200, told.text
    rows = told.text.split()
    assert rows[0] == "key,p,x"
    assert sorted(rows[1:]) == [
        f"north,{T}north-1,30", f"north,{T}north-2,60", f"south,{T}south-7,90",
        f"south,{T}south-8,10",
    ]  # fmt: skip
    assert there("/queries/far/results").text.count("Far") == 2
    assert there("/queries/any/results").json()["boolean"] is True
    why = there("/why", params={"statement": f"<{T}south-7> a <{T}Actor>"}).json()
    assert why["holds"]
    assert why["notes"] == ["it holds in the engines of 1 keys ('south'); this is what 'south' has"]
    why = there("/why", params={"statement": f"<{T}Human> a <{T}Nothing>"}).json()
    assert not why["holds"]
    for person, answer in (("south-8", "?x is 10"), ("north-9", "not in the window")):
        told = there("/why-not", params={"rule": "far", "individual": f"{T}{person}"}).json()
        assert answer in told["answer"], told
    for path in ("/queries/who/graph", "/queries/who/step"):
        refused = there(path)
        assert refused.status_code == 409
        assert (
            "key: one engine answers: expected the key of one, such as 'north', 'south'"
            in (refused.json()["detail"])
        )
    refused = there("/queries/who/results?key=west")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "key: no message of the key 'west' has come",
    )


def test_trials_have_an_engine_for_each_key_too(here: Ask, there: Ask) -> None:
    rule = "prefix : <http://example.org/t#>\n" + (
        "rule two on change if select "
        "{ SELECT (COUNT(?p) AS ?n) { ?p a :Human } HAVING (COUNT(?p) > 2) } "
        'then alert info "{?n} people" key "n"'
    )
    sent = {"content-type": "text/plain"}
    tried = there("/rules/new.rules?dry-run", "PUT", content=rule.encode(), headers=sent).json()
    assert (tried["faults"], tried["messages"], tried["different"]) == ([], 5, 0)
    for ask in (here, there):
        more = seen("north", 9, (5, 1))
        xml = {"content-type": "application/xml"}
        sent_one = ask("/messages?source=north", "POST", content=more, headers=xml)
        assert sent_one.status_code in (200, 202)
    tried = there("/rules/new.rules?dry-run", "PUT", content=rule.encode(), headers=sent).json()
    expected = here("/rules/new.rules?dry-run", "PUT", content=rule.encode(), headers=sent).json()
    assert [each["after"] for each in tried["differences"]] == [
        each["after"] for each in expected["differences"]
    ]
    assert tried["different"] == 1
    sent = {"content-type": "application/sparql-query"}
    found = there("/queries/new?dry-run", "PUT", content=QUERY.encode(), headers=sent).json()
    assert (found["messages"], found["count"], found["faults"]) == (6, 5, [])
    asked = {"message": NORTH[0].decode(), "source": "south", "files": {}, "after": 5}
    assert there("/trials", "POST", json=asked).json()["preceding"] == 2


@pytest.fixture
def asked_at(record: Callable[..., Record]) -> Callable[..., Record]:
    """Makes questions of now."""

    def make(seq: int, key: str = "", age: float = 0.0) -> Record:
        content, source = AskEngines("results", {"name": "who"}, key).encode()
        when = datetime.now(UTC) - timedelta(seconds=age)
        return replace(record(seq, content, source, "ask"), received_at=when)

    return make


def kept(spark: StandIn) -> dict[tuple[str, str], Any]:
    """The state of all keys, but for the places of the engines."""
    return {column: each for column, each in spark.state.items() if column[1] != "place"}


def answers(url: str) -> list[tuple[int, str]]:
    found = execute(url, "select entry, key from store.answers order by entry, key")
    return [(entry, key) for entry, key in found]


def test_a_question_is_answered_once_by_those_it_asks(
    deployment: Deployment,
    database: str,
    record: Callable[..., Record],
    asked_at: Callable[..., Record],
) -> None:
    query = record(1, QUERY.encode(), "who", "query")
    first = [record(n, seen("c", n, (n, n)), f"cam{n % 3}") for n in range(2, 8)]
    write(database, [query, *first])
    with closing(StandIn(deployment, database)) as spark:
        assert spark.batch() == ["", "=cam0", "=cam1", "=cam2"]
        write(database, [asked_at(8, "=cam1")])
        before = kept(spark)
        assert spark.batch(forgets=True) == ["", "=cam1"]
        assert answers(database) == [(8, "=cam1")]
        # Spark repeats the batch after a crash, with engines that are rebuilt.
        spark.lose_engines()
        assert spark.batch() == ["", "=cam1"]
        assert answers(database) == [(8, "=cam1")]
        assert kept(spark) == before, "nothing is kept of a question"
        others = [record(n, seen("c", n, (1, 1)), f"cam{of}") for n, of in ((10, 9), (11, 2))]
        write(database, [asked_at(9), *others])
        spark.lose_engines()
        assert spark.batch() == ["", "=cam0", "=cam1", "=cam2", "=cam9"]
        assert answers(database) == [(8, "=cam1"), (9, "=cam0"), (9, "=cam1"), (9, "=cam2")]
        write(database, [asked_at(12, "=none"), asked_at(13, "=cam0", age=700)])
        assert spark.batch() == [""], "whoever asked so long ago has gone"
        assert len(answers(database)) == 4
        execute(database, "update store.answers set stored_at = now() - interval '11 minutes'")
        write(database, [asked_at(14, "=cam2")])
        spark.batch()
        assert answers(database) == [(14, "=cam2")]
        assert (
            execute(database, "select status from store.messages where kind = 'ask' order by seq")
            == [("accepted",)] * 5
        )


def test_what_goes_wrong_in_an_engine_is_the_answer(
    deployment: Deployment, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    with Application.open(on_spark(deployment.settings, url)) as server:
        ask = begun(server)
        refused = ask("/queries/who/results")
        assert refused.status_code == 503
        assert "no pipeline runs" in refused.text
        with running(deployment, url):
            with monkeypatch.context() as patch:
                patch.setattr(engine_questions, "_MOST_OF_MANY", 100)
                patch.setattr(engine_questions, "_MOST_ALONE", 200)
                told = ask("/queries/who/results").json()
                assert told["detail"].startswith(
                    "the answer has more than 0 KiB: ask the engine of"
                )
                told = ask("/queries/who/results?key=north").json()
                assert told["detail"].endswith("ask for less")
                patch.setattr(engine_questions, "MOST_ENGINES", 0)
                told = ask("/queries/who/results").json()["detail"]
                assert told.startswith("key: there are more than 0 engines: expected the key of on")
            assert ask("/queries/who/results").status_code == 200
            monkeypatch.setitem(engine_questions.QUESTIONS, "results", lambda *_: 1 / 0)
            assert "ZeroDivisionError" in ask("/queries/who/results").json()["detail"]


def test_a_server_with_an_engine_of_its_own_passes_over_questions(
    deployment: Deployment, new_database: Callable[[], str]
) -> None:
    url, path = new_database(), "/queries/who/results"
    with Application.open(on_spark(deployment.settings, url)) as server:
        ask = begun(server)
        with running(deployment, url):
            expected = ask(path, params={"key": "north"}).json()
    with Application.open(at(deployment.settings, url)) as server:
        assert asking(server)(path).json() == expected
        assert server.submit(SOUTH[0], "south").result(60).status is Status.ACCEPTED


def test_nothing_but_classes_of_the_package_comes_out_of_an_answer() -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"an answer has posix\.system"):
        _Plain(io.BytesIO(pickle.dumps(os.system))).load()


def events(server: Application, place: int, count: int) -> list[tuple[str, Any]]:
    """The next events of the query's stream after a report: the kind and the data of each."""
    query = server.queries.view("who")

    async def read() -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        with server.queries.feed.subscribe() as news:
            last = f"{query.entry}-{place}"
            async for part in _follow(server, query, last, news, "json"):
                lines = [each for each in part.decode().splitlines() if each and each[0] != ":"]
                fields = dict(each.split(": ", 1) for each in lines)
                if "event" in fields:
                    data = json.loads(fields["data"])
                    assert fields["event"] != "report" or data["id"] == fields["id"]
                    found.append((fields["event"], data))
                if len(found) == count:
                    break
        return found

    return asyncio.run(read())


def test_reports_are_followed_as_on_a_server_and_what_is_missed_is_told(
    deployment: Deployment, new_database: Callable[[], str]
) -> None:
    url, told = new_database(), []
    with ThreadPoolExecutor() as threads, ExitStack() as stack:
        for settings in (
            at(deployment.settings, new_database()),
            on_spark(deployment.settings, url),
        ):
            server = stack.enter_context(Application.open(settings))
            if not server.here:
                stack.enter_context(running(deployment, url))
            query = server.queries.register(QUERY, "who")
            start, none = server.queries.reports(query, None)
            assert not none
            for each in NORTH:
                server.submit(each, "north").result(60)
            # Each comes, and the third also changes a row.
            whole = events(server, start, 4)
            assert events(server, start + 1, 3) == whole[1:]
            assert [data.pop("id") for _, data in whole] == [
                f"{query.entry}-{start + n}" for n in range(1, 5)
            ]
            end = threads.submit(events, server, start + 4, 1)
            eventually(lambda: len(server.queries.feed) == 1)  # noqa: B023 - it is over then
            server.queries.remove("who")
            assert end.result(60) == [("end", {})]
            told.append(whole)
        assert {kind for kind, _ in told[0]} == {"report"}
        assert told[1] == told[0]
        # Nobody follows for long: then it is not known how many are missed.
        query = server.queries.register(QUERY, "who")
        start, _ = server.queries.reports(query, None)
        execute(url, "update store.answers set stored_at = now() - interval '1 hour'")
        server.submit(SOUTH[0], "south").result(60)
        eventually(lambda: not server.queries.runs("none"))
        assert not server.queries.reports(query, start)[1]
        server.submit(SOUTH[1], "south").result(60)
        eventually(lambda: server.queries.reports(query, start)[1])
        place, found = server.queries.reports(query, start)
        assert found[0].number == place + 2


def test_of_reports_the_last_ones_are_kept(
    deployment: Deployment, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    with closing(StandIn(deployment, url)):
        database = engine(url)
        report = Report("q", 1, RowOperation.ADDED, ("a",), ((IRI("urn:a"),), (None,)))

        def told(*entries: str) -> None:
            with opened(url, "store") as cursor:
                store_followed(cursor, [EngineReport(each, 1, report) for each in entries])

        told("m7.1")
        assert followed(database, "m7", None) == (0, ())
        told("m7.1", "m8.1", "m7.9", "m7.3.of-a-stage")
        two = [EngineReport("m7", n, report) for n in (1, 2)]
        assert followed(database, "m7", 0) == (0, two)
        assert followed(database, "m7", 1) == (1, two[1:])
        monkeypatch.setattr(effects_writer, "_MOST_REPORTS", 2)
        told(*["m7.1"] * 3)
        assert [each.number for each in followed(database, "m7", 2)[1]] == [4, 5]
        monkeypatch.setattr(effects_writer, "_MOST_BYTES", 0)
        told("m7.1")
        assert [each.number for each in followed(database, "m7", 0)[1]] == [6]
        database.dispose()


def test_a_cross_check_compares_what_each_key_has(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    url = new_database()
    settings = write_deployment(tmp_path)
    # Both keys together would contradict this.
    edit(
        tmp_path, ("t.ttl", ":x a owl:D", ":Ghost a owl:Class . :x a owl:FunctionalProperty, owl:D")
    )
    deployment = read_deployment(settings)
    with (
        Application.open(on_spark(settings, url)) as server,
        closing(StandIn(deployment, url)) as spark,
    ):
        assert server.cross_checks.now(600) is None
        for source, x in (("north", 60), ("south", 10)):
            server.submit(seen("one", 1, (1, x)), source).result(60)
        while spark.batch():
            """All is done."""
        assert server.cross_checks.now(600) == Differences()
        change = "update store.held set content = replace(content, '{}', '{}')"
        execute(url, change.format("t#Actor", "t#Ghost"))
        assert server.mirror is not None
        server.mirror._known = None
        wrong, missing = ((IRI(f"{T}one-1"), rdf.TYPE, IRI(T + n)) for n in ("Ghost", "Actor"))
        found = server.cross_checks.now(600)
        assert found is not None
        assert (found.missing, found.unfounded) == ((missing,) * 2, (wrong,) * 2)
        while spark.batch():
            """The differences are an entry."""
        ((text,),) = execute(url, "select text from store.alerts where kind like 'cross-%'")
        assert "the key 'north': should be inferred" in text
        assert "the key 'south': should be inferred" in text
        execute(url, change.format("false]", "true]"))
        server.mirror._known = None
        assert server.cross_checks.now(600) is None, "the plain profile stands in everywhere"
