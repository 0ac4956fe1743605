"""Stages on Spark: rooms, buildings, the city; their events go on, each once."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from sensorstream.app.application import Application
from sensorstream.app.control.rule_files import check_key
from sensorstream.app.control.wiring import (
    Deployment,
    Substitutes,
    read_deployment,
    shipped,
    unpacked,
)
from sensorstream.app.life.starting import StreamTime
from sensorstream.engine.codec import encode
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.errors import QueryError, RulesError, SensorStreamError, SettingsError
from sensorstream.history.database import opened
from sensorstream.history.effects_writer import Writes, forget_events
from sensorstream.history.store import PostgresStore
from sensorstream.journal.kinds import new_record
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Effects
from sensorstream.journal.registration import RegisterQuery
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings
from sensorstream.streaming.stage_events import _parts, passed_on
from sensorstream.streams.query_report import Report, RowOperation
from tests.asking import asking
from tests.databases import execute
from tests.streaming.conftest import START, on_spark
from tests.streaming.stand_in import Engines, StandIn, entry, running, take, write
from tests.streaming.test_spark_stream import finished, killed, started, stored
from tests.waiting import eventually

ONTOLOGY: Final = """\
@prefix : <http://example.org/c#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://example.org/c> a owl:Ontology .
:Room a owl:Class . :HotRoom a owl:Class . :Crowded a owl:Class .
:in a owl:ObjectProperty . :temperature a owl:DatatypeProperty ; rdfs:range xsd:integer .
"""
RULES: Final = """\
prefix : <http://example.org/c#>

mapping measured
on message {/measured}
then
  update individual :{/measured/@room} a :Room at {/measured/@at}
    ; :in :{/measured/@in} ; :temperature {/measured/@x} .
"""
HOT: Final = """PREFIX : <http://example.org/c#>
REGISTER QUERY :hot AS
CONSTRUCT { ?room a :HotRoom ; :in ?building }
WHERE { { ?room :temperature ?x } EQUALS { ?room :in ?building } FILTER(?x > 70) }"""
CROWDED: Final = """PREFIX : <http://example.org/c#>
REGISTER ISTREAM :crowded AS
CONSTRUCT { ?building a :Crowded }
FROM NAMED WINDOW :w ON :hot [RANGE PT10S]
WHERE { SELECT ?building (COUNT(DISTINCT ?room) AS ?n)
        WHERE { WINDOW :w { ?room :in ?building } }
        GROUP BY ?building HAVING(COUNT(DISTINCT ?room) >= 2) }"""
BUILDING: Final = """PREFIX : <http://example.org/c#>
REGISTER QUERY :building AS
SELECT ?building ALERT warning "{?building}" KEY "{?building}"
FROM NAMED WINDOW :w ON :hot [RANGE PT10S]
WHERE { SELECT ?building WHERE { WINDOW :w { ?room :in ?building } }
        GROUP BY ?building HAVING(COUNT(DISTINCT ?room) >= 2) }"""
CITY: Final = """PREFIX : <http://example.org/c#>
REGISTER QUERY :city AS
SELECT ?n ALERT critical "{?n} buildings" KEY "city"
FROM NAMED WINDOW :w ON :crowded [RANGE PT20S]
WHERE { SELECT (COUNT(DISTINCT ?building) AS ?n) WHERE { WINDOW :w { ?building a :Crowded } }
        HAVING(COUNT(DISTINCT ?building) >= 2) }"""
CITY_RULES: Final = """\
prefix : <http://example.org/c#>

rule two
on insert :Crowded as ?building
if select { SELECT ?building { ?building a :Crowded } }
then
  alert info "{?building}" key "{?building}"
"""
SETTINGS: Final = """\
[ontology]
files = ["c.ttl"]
[rules]
files = ["c.rules"]
[reasoning]
profile = "none"
[history]
checkpoint_every = 5
[pipeline]
runner = "spark"
[[pipeline.stages]]
name = "building"
from = ["http://example.org/c#hot"]
key = ":in"
queries = ["stages/*building.rq"]
[[pipeline.stages]]
name = "city"
from = ["http://example.org/c#crowded"]
rules = ["stages/city.rules"]
queries = ["stages/city.rq"]
"""
C: Final = "http://example.org/c#"
MOST: Final = 500
SILENCE: Final = 100
NONE: Final = {"seq": 0, "controls": 0}


def written(folder: Path, text: str = SETTINGS) -> Settings:
    """The deployment in a folder."""
    files = {
        "c.ttl": ONTOLOGY,
        "c.rules": RULES,
        "queries/hot.rq": HOT,
        "stages/1-building.rq": CROWDED,
        "stages/2-building.rq": BUILDING,
        "stages/city.rq": CITY,
        "stages/city.rules": CITY_RULES,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return written_settings(folder, text)


def written_settings(folder: Path, text: str) -> Settings:
    """The settings in a folder that has all other files."""
    file = folder / "sensorstream.toml"
    file.write_text(text)
    return load_settings(file, {})


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return written(tmp_path_factory.mktemp("stages"))


@pytest.fixture(scope="module")
def deployment(settings: Settings) -> Deployment:
    return read_deployment(settings)


def measured(room: str, building: str, time: int, x: int) -> bytes:
    return f"<measured room='{room}' in='{building}' at='{time}' x='{x}'/>".encode()


class City(StandIn):
    """A server and a pipeline."""

    def __init__(self, deployment: Deployment, url: str) -> None:
        # As on another machine, without the files.
        super().__init__(unpacked(shipped(deployment)), url)
        self._journal = PostgresStore.open(url, Timeline.INTEGER, Writes.JOURNAL)
        self.seq = 0
        self.time = StreamTime(url, 0)
        self.restart_server()

    def close(self) -> None:
        self.time.close()
        self._journal.close()
        super().close()

    def change(self, deployment: Deployment) -> None:
        """Server and pipeline are started anew with other files."""
        self.deployment = unpacked(shipped(deployment))
        self.lose_engines()
        self.restart_server()

    def restart_server(self) -> None:
        """The server ends, after what it has written to the journal, and another begins."""
        self.time.close()
        self.time = StreamTime(self.url, 0, [each.name for each in self.deployment.stages])

    def write(self, *entries: Any, arrival: int = 0) -> None:
        records = [
            new_record(each, seq, START, arrival) for seq, each in enumerate(entries, self.seq + 1)
        ]
        self.seq += len(records)
        if records:
            self._journal.append(records)

    def look(self, arrival: int = 0) -> bool:
        """What the server does each second."""
        entries = self.time.due(arrival)
        self.write(*entries, arrival=arrival)
        return bool(entries)

    def finish(self) -> None:
        """Go on until nothing is left to be done, and the streams are silent for long."""
        for turn in range(MOST):
            before = self.offset
            self.batch()
            if not self.look(SILENCE) and self.offset == before and turn > 1:
                break
        else:
            raise AssertionError("it does not come to an end")


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(("a1", "a2", "a3", "b1", "b2", "c1", "c2")),
        st.integers(0, 4),
        st.integers(60, 90),
    ),
    min_size=4,
    max_size=40,
)


def expected(said: Sequence[tuple[str, int, int]]) -> tuple[Counter[Any], Counter[Any]]:
    """The alerts of buildings, and those of the city, computed from all messages at once."""
    buildings: Counter[Any] = Counter()
    city: Counter[Any] = Counter()
    hot = [(time, room) for room, time, x in said if x > 70]
    crowds: list[tuple[int, str]] = []
    last = max((time for _, time, _ in said), default=0) + SILENCE
    before: set[str] = set()
    for now in range(last + 1):
        rooms = {room for time, room in hot if now - 10 < time <= now}
        counts = Counter(room[0] for room in rooms)
        crowded = {each for each, count in counts.items() if count >= 2}
        for each in crowded - before:
            crowds.append((now, each))
            buildings[each, now] += 1
        before = crowded
    counted = 0
    for now in range(last + 1):
        count = len({each for time, each in crowds if now - 20 < time <= now})
        if count >= 2 and count != counted:
            city[f"{count} buildings", now] += 1
        counted = count
    return buildings, city


def alerts(url: str, rule: str) -> Counter[Any]:
    told = execute(url, "select text, time from store.alerts where rule = %s", values=(rule,))
    return Counter((text.rpartition("#")[2], time) for text, time in told)


@profile(
    max_examples=12,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(said=MESSAGES, dice=st.randoms(use_true_random=False))
def test_the_last_stage_says_what_is_computed_from_all_messages_each_once(
    deployment: Deployment, new_database: Callable[[], str], said: Any, dice: Any
) -> None:
    time, messages = 0, []
    for room, step, x in said:
        time += step
        messages.append((room, time, x))
    with closing(City(deployment, new_database())) as city:
        city.write(RegisterQuery("http://example.org/c#hot", HOT))
        left = list(messages)
        while left:
            some, left = left[:3], left[3:]
            city.write(*(TakeMessage(measured(r, r[0], t, x), r) for r, t, x in some))
            match dice.randrange(6):
                case 0:
                    city.lose_engines()
                case 1:
                    city.batch(commit=False)
                case 2:
                    city.batch(twice=True)
                case 3:
                    city.look()
                    city.restart_server()
                case 4:
                    city.look()
                case _:
                    city.batch()
        city.finish()
        buildings, whole = expected(messages)
        assert alerts(city.url, f"{C}building") == buildings
        assert alerts(city.url, f"{C}city") == whole
        inserted = {text for text, _ in alerts(city.url, "two")}
        assert inserted == {each for each, _ in buildings}
        assert execute(city.url, "select count(*) from store.passed_on") == [(0,)]
        told = execute(city.url, "select origin from store.messages where kind = 'event'")
        assert len(told) == len(set(told))


@pytest.mark.parametrize("every", [1, 100])
def test_an_edited_query_and_a_stage_that_is_gone(
    tmp_path: Path, database: str, every: int
) -> None:
    def say(city: City, first: int) -> None:
        rooms = ("a1", "a2", "b1", "b2")
        told = [measured(room, room[0], first + n, 80) for n, room in enumerate(rooms)]
        city.write(*(TakeMessage(each, room) for each, room in zip(told, rooms, strict=True)))
        city.finish()

    whole = SETTINGS.replace("every = 5", f"every = {every}")
    settings = written(tmp_path, whole)
    with closing(City(read_deployment(settings), database)) as city:
        city.write(RegisterQuery("http://example.org/c#hot", HOT))
        say(city, 1)
        assert alerts(database, f"{C}building") == Counter({("a", 2): 1, ("b", 4): 1})
        assert alerts(database, f"{C}city") == Counter({("2 buildings", 4): 1})
        file = tmp_path / "stages/2-building.rq"
        file.write_text(BUILDING.replace('warning "{?building}"', 'warning "new#{?building}"'))
        text = whole[: whole.rindex("[[")]
        city.change(read_deployment(written_settings(tmp_path, text)))
        say(city, 201)
        assert alerts(database, f"{C}city") == Counter({("2 buildings", 4): 1})
        new = execute(database, "select text, time from store.alerts where time > 200 order by 2")
        assert new == [(f"new#{C}a", 202), (f"new#{C}b", 204)]


def test_queries_of_stages_are_listed_read_and_followed_as_others_are(
    tmp_path: Path, database: str
) -> None:
    settings = written(tmp_path)
    for file in tmp_path.glob("stages/*.rq"):
        # Time goes on with the clock, and nothing is to leave its window meanwhile.
        file.write_text(re.sub(r"PT\d+S", "PT9H", file.read_text()))
    crowded, whole, count = f"building={C}crowded", f"building={C}building", f"city={C}city"
    pipeline = running(read_deployment(settings), database)
    with Application.open(on_spark(settings, database)) as server, pipeline:
        queries, ask = server.queries, asking(server)
        queries.register(HOT)
        queries.register(f"ASK {{ ?x a <{C}Room> }}", "city")
        listed = {each["name"]: each["stage"] for each in ask("/queries").json()["queries"]}
        stages = {crowded: "building", whole: "building", count: "city"}
        assert listed == {f"{C}hot": "", "city": ""} | stages
        views = {name: queries.view(name) for name in stages}
        places = {name: queries.reports(view, None)[0] for name, view in views.items()}
        for time, room in enumerate(("a1", "a2", "b1", "b2"), 1):
            server.submit(measured(room, room[0], time, 80), room).result(60)
        last = views[count], places[count]
        eventually(lambda: queries.reports(*last)[1])
        ((told,), (first, *_)) = (queries.reports(views[n], places[n])[1] for n in (count, crowded))
        assert told.id == f"{views[count].entry}-{places[count] + 1}"
        assert told.report.rows == ((Literal("2", xsd.INTEGER),),)
        assert first.report.triples == ((IRI(f"{C}a"), rdf.TYPE, IRI(f"{C}Crowded")),)
        assert [*map(queries.runs, ("m0", views[count].entry))] == [False, True]

        def said(name: str, what: str, accept: str = "text/csv", **params: str) -> Any:
            path = f"/queries/{quote(name, safe='')}/{what}"
            return ask(path, params=params, headers={"accept": accept})

        assert said(count, "results").text.split() == ["key,n", "city=,2"]
        rows = {f"building={C}{each},{C}{each}" for each in "ab"}
        assert {*said(whole, "results").text.split()} == {"key,building"} | rows
        assert said(f"{C}city", "results", key="city=").text.split() == ["n", "2"]
        assert said(count, "graph").status_code == 200
        assert f"such as 'building={C}a'" in said(crowded, "graph").json()["detail"]
        assert said(f"{C}city", "results").status_code == 404
        assert said(crowded, "results", key="city=").status_code == 404
        refused = said(crowded, "results", "text/event-stream", key="city=").text
        assert "the reports of all engines are followed" in refused
        for change in (queries.put, queries.try_put, queries.remove):
            with pytest.raises(QueryError, match="of the stage 'building': change its file"):
                change(crowded, CROWDED)


def test_an_interval_goes_on_whole_though_it_begins_before_what_came(settings: Settings) -> None:
    zero = f'"PT0S"^^<{xsd.DURATION}>'
    long = f"PREFIX : <{C}> SELECT ?p {{ ?p a :Crowded FILTER(getDURATION() > {zero}) }}"
    deployment = read_deployment(settings)
    stage = replace(deployment.stages[0], queries={"long": long})
    engines = Engines(replace(deployment, stages=(stage,)))
    triples = ((IRI(f"{C}p"), rdf.TYPE, IRI(f"{C}Crowded")),)
    events = [Event(triples, 8, "", source="s"), Event(triples, 5, "", source="s", end=9)]
    events.append(Event(((IRI(f"{C}p"), rdf.TYPE, BlankNode("_:x")),), 12, "", source="s"))
    contents = [json.dumps(encode(each, Event)).encode() for each in events]
    contents.append(contents[0].replace(b"Crowded", b"no IRI"))
    key = "building=p"
    rows = [entry(n, content, key, "event") for n, content in enumerate(contents, 1)]
    said = take(engines, key, rows)
    statuses = [each.status.value for effects in said for each in effects.statuses]
    assert statuses == ["accepted"] * 3 + ["rejected"]
    found = [each for effects in said for each in effects.reports]
    assert [(each.report.time, each.report.intervals) for each in found] == [(9, [(5, 9)])]
    engines.host.close()


def test_events_of_a_stage_that_is_gone_are_forgotten_by_the_pipeline(database: str) -> None:
    def left(*stages: str) -> list[str]:
        with opened(database, "forget") as cursor:
            forget_events(cursor, stages)
        return [key for (key,) in execute(database, "select key from store.passed_on order by 1")]

    told = "insert into store.passed_on (key, time, content) values ('a=x', 1, ''), ('b=', 2, '')"
    execute(database, told)
    # A server that was not started again must not know all of them.
    assert left() == ["a=x", "b="]
    assert left("", "b") == ["b="]


def test_an_event_is_divided_by_the_values_of_the_key() -> None:
    key, a, b = (IRI(f"{C}{name}") for name in ("in", "a", "b"))
    one, two, other = (IRI(f"{C}{name}") for name in ("one", "two", "other"))
    kind = (other, rdf.TYPE, IRI(f"{C}Crowded"))
    event = Event(((one, key, a), (two, key, b), (two, rdf.TYPE, a), kind), 5, "")
    parts = {value: part.triples for value, part in _parts(event, key)}
    assert parts == {
        str(a): ((one, key, a), kind),
        str(b): ((two, key, b), (two, rdf.TYPE, a), kind),
    }
    assert list(_parts(event, None)) == [("", event)]
    assert [value for value, _ in _parts(event.part((kind,), frozenset()), key)] == [""]
    told = event.part(((one, key, Literal("7", xsd.INTEGER)),), frozenset())
    assert [value for value, _ in _parts(told, key)] == ["7"]


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ('runner = "spark"', 'runner = "engine"', 9, "building: stages are for pipeline.runner"),
        ("#hot", "#hat", 9, "from: no query 'http://example.org/c#hat' in the folder 'queries' or"),
        (
            "#crowded",
            "#building",
            14,
            "city: from: 'http://example.org/c#building' makes no events",
        ),
        ('":in"', '":inside"', 9, "declares no property <http://example.org/c#inside>"),
        ('queries = ["stages/*building.rq"]', "", 9, "building: it does nothing"),
        ("stages/city.rules", "c.rules", 14, "'measured' is a mapping rule"),
        ('name = "city"', 'name = "building"', 15, "there are two with the name 'building'"),
        ('name = "city"', 'name = "a=b"', 15, "expected small letters"),
        (
            'key = ":in"',
            'kay = ":in"',
            12,
            "unknown setting pipeline.stages.kay: did you mean key?",
        ),
        ('from = ["http://example.org/c#hot"]\n', "", 9, "pipeline.stages.from is not set"),
    ],
)
def test_a_stage_that_cannot_be_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    text = SETTINGS.replace("[history]\ncheckpoint_every = 5\n", "")
    assert old in text
    with pytest.raises(SettingsError) as caught:
        read_deployment(written(tmp_path, text.replace(old, new)))
    assert told in str(caught.value)
    assert caught.value.position is not None
    assert caught.value.position.line == line


def test_the_key_of_a_stage_has_the_prefixes_of_the_rules_in_force(tmp_path: Path) -> None:
    settings = written(tmp_path, SETTINGS.replace('key = ":in"', 'key = "n:in"'))
    with pytest.raises(SettingsError, match="declares no property <n:in>"):
        read_deployment(settings)
    now = {"c.rules": f"prefix n: <{C}>\n{RULES}"}
    deployment = read_deployment(settings, put=Substitutes(now))
    assert deployment.stages[0].key == f"{C}in"
    check_key(settings, now, {**now, "more.rules": f"prefix m: <{C}>"})
    with pytest.raises(RulesError, match=r"building.key is 'n:in'.* would stand for nothing"):
        check_key(settings, now, {"c.rules": RULES})


def test_events_go_on_in_the_order_of_their_entries(settings: Settings) -> None:
    stages = read_deployment(settings).stages
    triples = ((IRI(f"{C}p"), IRI(f"{C}in"), IRI(f"{C}a")),)
    report = Report(f"{C}hot", 5, RowOperation.ADDED, triples=triples)
    told = []
    for key, seq in (("=b", 4), ("=a", 3), ("=c", 4)):
        reports = (EngineReport(key, 1, replace(report, time=seq)),)
        told.append((key, [Effects(seq, (), (), (), (), START, reports=reports)]))
    expected = passed_on(stages, told)
    assert [time for _, time, _ in expected] == [3, 4, 4]
    assert passed_on(stages, told[::-1]) == expected


def test_a_query_of_a_stage_that_cannot_run_is_refused(tmp_path: Path) -> None:
    settings = written(tmp_path)
    (tmp_path / "stages/city.rq").write_text("SELECT {")
    with pytest.raises(SensorStreamError) as caught:
        read_deployment(settings)
    assert caught.value.position is not None
    assert caught.value.position.file.endswith("city.rq")
    (tmp_path / "stages/city.rq").write_text("SELECT (RAND() AS ?x) { ?s ?p ?o }")
    with pytest.raises(SensorStreamError, match=r"limits\.evaluate_anew"):
        read_deployment(settings)


def test_on_spark_each_event_goes_on_once_whatever_is_killed(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    url, folder = new_database(), tmp_path / "in"
    more = f'[spark]\nmaster = "local[2]"\n[history]\nurl = "{url}"\n'
    key = f'key = "string(/measured/@room)"\nbatch = 10\nfolder = "{tmp_path / "state"}"\n'
    text = SETTINGS.replace("[history]\n", more).replace("[[", f"{key}[[", 1)
    settings = written(tmp_path, text)
    rooms = ("a1", "b1", "a2", "b2", "c1", "a1", "c2", "b2")
    said = [(rooms[n % 8], 2 * n + 1, 65 + 7 * n % 20) for n in range(30)]
    # At the end time goes on.
    told = [*said, ("a1", said[-1][1] + SILENCE, 60)]
    folder.mkdir()
    for number, (room, time, x) in enumerate(told):
        (folder / f"{number:03}.xml").write_bytes(measured(room, room[0], time, x))
    write(url, [new_record(RegisterQuery(f"{C}hot", HOT), 1, START, 0)])

    source = ("--source", f"folder:{folder}")
    command = started(settings, *source)
    stored(url, 12, command)
    killed(command)
    finished(started(settings, *source, "--once"))

    buildings, city = expected(said)
    assert buildings
    assert city
    assert alerts(url, f"{C}building") == buildings
    assert alerts(url, f"{C}city") == city
    assert {text for text, _ in alerts(url, "two")} == {each for each, _ in buildings}
    assert execute(url, "select count(*) from store.passed_on") == [(0,)]
