"""What is inferred in history, computed anew: as if the ontology had been there from the start."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import psycopg2
import pytest

from sensorstream.app.application import Application
from sensorstream.app.life.starting import in_force, read_files
from sensorstream.app.why import rereasoning
from sensorstream.app.why.rereasoning import Rereasoned, rereason
from sensorstream.engine.checkpoint import load
from sensorstream.errors import HistoryError, OntologyConflict
from sensorstream.history.store import PostgresStore
from sensorstream.history.term_dictionary import term_of
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from tests.app.test_history_truth import MORE, ONTOLOGY, RULES
from tests.databases import execute
from tests.history.ends import stays_told_wrong

HIGH = (
    ONTOLOGY
    + """:High a owl:Class ; owl:equivalentClass [ a owl:Restriction ;
  owl:onProperty :level ; owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
    owl:withRestrictions ( [ xsd:minInclusive 2 ] ) ] ] .
"""
)


def people(folder: Path, url: str, settings: Settings, ontology: str, profile: str) -> Settings:
    folder.mkdir(exist_ok=True)
    (folder / "o.ttl").write_text(ontology)
    (folder / "r.rules").write_text(RULES)
    return replace(
        settings,
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((folder / "o.ttl",)),
        rules=RuleSettings((folder / "r.rules",)),
        reasoning=ReasoningSettings(profile=profile),
        window=WindowSettings(size="3"),
        history=replace(settings.history, url=url),
    )


def stream(seed: int, length: int, *, apart: bool = False) -> Iterator[str]:
    """Messages; ``apart``: no two of one time."""
    chance = random.Random(seed)
    time = 100
    for _ in range(length):
        time += chance.choice((1, 1, 2, 4) if apart else (0, 0, 1, 1, 2, 4))
        told = {"id": chance.choice("abcde"), "t": time, "level": chance.randint(0, 2)}
        told["kind"] = chance.choice(("Human", "Actor"))
        if chance.random() < 0.7:
            told["near"] = chance.choice("abcxy")
        yield f"<p {' '.join(f'{name}={str(value)!r}' for name, value in told.items())}/>"


def run(settings: Settings, messages: Iterator[str]) -> None:
    """A server takes the messages in, and stops."""
    with Application.open(settings) as application:
        for each in messages:
            status = application.submit(each.encode(), "test").result(60).status
            assert status.value == "accepted"


def again(
    settings: Settings, start: int | None = None, end: int | None = None, *, dry: bool = False
) -> Rereasoned:
    url = settings.history.url
    with PostgresStore.open(url, Timeline.INTEGER) as store:
        deployment, put = in_force(settings, read_files(settings), store, store.last_seq())
        return rereason(
            url,
            deployment,
            put=put is not None,
            store=store,
            start=start,
            end=end,
            dry=dry,
            said=lambda _: None,
        )


Rows = list[tuple[int, Triple, int, int | None]]


def inferred(settings: Settings) -> tuple[Rows, int]:
    """Stay, statement and interval of all that was and is inferred; the time of the last event."""
    connection = psycopg2.connect(settings.history.url)
    with connection, connection.cursor() as cursor:
        terms = ", ".join(f"{t}.kind, {t}.text, {t}.datatype, {t}.language" for t in "upo")
        cursor.execute(
            f"select s.stay, s.valid_from, s.valid_to, {terms} from store.statements s "
            "join store.terms u on u.id = s.subject join store.terms p on p.id = s.predicate "
            "join store.terms o on o.id = s.object where s.inferred"
        )
        rows: Rows = [
            (stay, cast(Triple, tuple(term_of(*parts[n : n + 4]) for n in (0, 4, 8))), start, end)
            for stay, start, end, *parts in cursor.fetchall()
        ]
        cursor.execute("select state from store.checkpoints order by seq desc limit 1")
        state = load(bytes((cursor.fetchone() or ())[0]))
    connection.close()
    for each in state.inferred or ():
        rows += ((each.stay, (each.subject, *value), each.time, None) for value in each.values)
    now = state.window.counters.now
    assert now is not None
    return rows, now


def at(rows: Rows, time: int) -> set[tuple[int, Triple]]:
    return {
        (stay, triple)
        for stay, triple, start, end in rows
        if start <= time and (end is None or time < end)
    }


@pytest.mark.parametrize("seed", range(3))
def test_history_is_as_if_the_ontology_had_been_there(
    settings: Settings,
    new_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.setattr(rereasoning, "_SLICE", (7, 20_000, 1)[seed])
    first, then = (ONTOLOGY, MORE) if seed < 2 else (MORE, ONTOLOGY)
    late = people(tmp_path / "a", new_database(), settings, first, "plain")
    early = people(tmp_path / "b", new_database(), settings, then, "plain")
    for each in (late, early):
        run(each, stream(seed, 40))
    old, now = inferred(late)
    before = sorted(map(str, old))
    assert again(late) == Rereasoned(0, 0, 0, now)
    assert sorted(map(str, inferred(late)[0])) == before
    late.ontology.files[0].write_text(then)
    counted = again(late, dry=True)
    assert sorted(map(str, inferred(late)[0])) == before
    assert counted.added or counted.removed
    done = again(late)
    assert (done.added > 0, done.removed > 0) == (seed < 2, seed == 2)
    rows, _ = inferred(late)
    expected, _ = inferred(early)
    # What is in the window since then has no end that could be changed.
    standing = {(stay, triple) for stay, triple, _, end in rows if end is None}
    for time in range(99, now):
        difference = at(rows, time) ^ at(expected, time)
        assert difference <= (standing if seed == 2 else set()), time
    repeated = again(late)
    assert (repeated.added, repeated.removed) == (0, 0)
    having, wrong = stays_told_wrong(late.history.url)
    assert having > 0
    assert wrong == []


def test_after_late_messages_it_is_as_in_order(
    settings: Settings, new_database: Callable[[], str], tmp_path: Path
) -> None:
    late = people(tmp_path / "a", new_database(), settings, MORE, "plain")
    order = people(tmp_path / "b", new_database(), settings, MORE, "plain")
    # Nobody leaves the window: who does depends on what has come until then.
    late, order = (replace(each, window=WindowSettings(kind="landmark")) for each in (late, order))
    messages = list(stream(7, 60, apart=True))
    run(order, iter(messages))
    chance = random.Random(7)
    for _ in range(12):
        place = chance.randrange(len(messages))
        messages.insert(place + chance.randint(1, 5), messages.pop(place))
    run(late, iter(messages))

    def differing() -> list[int]:
        (found, now), (expected, _) = inferred(late), inferred(order)
        return [
            time
            for time in range(99, now + 1)
            if {triple for _, triple in at(found, time)}
            != {triple for _, triple in at(expected, time)}
        ]

    # What was inferred before a late message came.
    assert differing()
    again(late)
    assert differing() == []


def test_only_the_span_is_changed_and_a_run_that_was_killed_is_repeated(
    settings: Settings,
    new_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rereasoning, "_SLICE", 5)
    late = people(tmp_path / "a", new_database(), settings, ONTOLOGY, "plain")
    early = people(tmp_path / "b", new_database(), settings, MORE, "plain")
    for each in (late, early):
        run(each, stream(9, 40))
    old, now = inferred(late)
    expected, _ = inferred(early)
    late.ontology.files[0].write_text(MORE)
    start, end = 110, now - 12
    stored = PostgresStore.replace_inferred
    calls: list[int] = []

    def killed(store: PostgresStore, *what: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise HistoryError("killed")
        stored(store, *what)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(PostgresStore, "replace_inferred", killed)
        with pytest.raises(HistoryError, match="killed"):
            again(late, start, end)
    again(late, start, end)
    rows, _ = inferred(late)
    for time in range(99, now):
        assert at(rows, time) == at(expected if start <= time < end else old, time), time
    assert execute(late.history.url, "select count(*) from store.ontologies") == [(2,)]


def test_hermit_reasons_over_history(
    settings: Settings, new_database: Callable[[], str], tmp_path: Path
) -> None:
    late = people(tmp_path / "a", new_database(), settings, ONTOLOGY, "plain")
    run(late, stream(4, 12))
    late = replace(late, reasoning=ReasoningSettings("hermit", heap=256))
    late.ontology.files[0].write_text(HIGH)
    assert again(late).added > 0
    rows, now = inferred(late)
    high = {(t[0], start, end) for _, t, start, end in rows if str(t[2]).endswith("High")}
    assert high
    twos = {
        (name, time)
        for name, a, b in execute(
            late.history.url,
            "select n.text, valid_from, valid_to from store.statements s "
            "join store.terms n on n.id = s.subject join store.terms o on o.id = s.object "
            "where not inferred and o.number = 2 and valid_from < valid_to",
        )
        for time in range(a, min(b, now))
    }
    found = {(name, t) for name, a, b in high for t in range(a, now if b is None else b)}
    assert twos <= found


def test_what_cannot_be_reasoned_over_is_refused(
    settings: Settings, new_database: Callable[[], str], tmp_path: Path
) -> None:
    late = people(tmp_path / "a", new_database(), settings, ONTOLOGY, "plain")
    run(late, stream(4, 12))
    before, now = inferred(late)
    part = f"values ('x', 0, {now - 2}, 'archived')"
    execute(
        late.history.url,
        f"insert into store.archives (name, ended_from, ended_before, state) {part}",
    )
    with pytest.raises(HistoryError, match="in the archive alone: restore them, or begin there"):
        again(late)
    assert again(late, now - 2) == Rereasoned(0, 0, 0, now)
    assert again(late, now + 2, now + 5) == Rereasoned(0, 0, 0, now)
    execute(late.history.url, "delete from store.archives")
    clash = ONTOLOGY + ":Human owl:disjointWith :Actor .\n"
    hermit = replace(late, reasoning=ReasoningSettings("hermit", heap=256))
    hermit.ontology.files[0].write_text(clash.replace("; rdfs:subClassOf :Actor", ""))
    with pytest.raises(OntologyConflict, match=r"what held at 1\d\d contradicts the ontology"):
        again(hermit)
    assert inferred(late)[0] == before
    execute(late.history.url, "update store.checkpoints set seq = seq - 1")
    with pytest.raises(HistoryError, match="did not end cleanly"):
        again(late)
