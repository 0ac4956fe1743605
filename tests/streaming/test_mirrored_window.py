"""The mirror of the windows holds what the windows of all engines hold, after each batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.app.questions import mirrored_window
from sensorstream.app.questions.mirrored_window import ANSWERED_OF, MirroredWindow, WindowMirror
from sensorstream.engine.engine import Engine
from sensorstream.history import effects_writer
from sensorstream.history.database import connect
from sensorstream.history.effects_writer import EngineStanding, HeldRow, Standings, Writes
from sensorstream.history.journal_rows import JournalRow
from sensorstream.history.store import PostgresStore
from sensorstream.kb.graph_index import Origin
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import Waits
from sensorstream.settings.settings import Settings, WindowSettings
from tests.databases import execute
from tests.streaming.conftest import ONTOLOGY, RULE_SET, often, seen, write_deployment
from tests.streaming.stand_in import Keys, entry, passed

SHARED = """
mapping told
on message {/told}
then
  insert individual :{/told/@who} a :Human at {/told/@at} ; :near :place ; :x {/told/@x}
    ; :part [ a :Part ; :x {/told/@x} ] .

rule marked
on insert :Human as ?person
if select { SELECT ?person { ?person :x ?x . FILTER(?x > 90) } }
then
  delete { ?person :x ?x . }
"""
WINDOWS = {
    "by count": WindowSettings(size="3"),
    "in steps": WindowSettings(size="3", step="2"),
    "by time": WindowSettings(unit="time", size="6"),
    "of triples": WindowSettings(unit="triples", size="5"),
    "by source": WindowSettings(size="3", partition="source"),
}


@pytest.fixture(scope="module", params=[*WINDOWS, "late", "ruled"])
def deployment(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Deployments with windows of all kinds; individuals of one name may be in two of them."""
    folder = tmp_path_factory.mktemp("mirrored")
    settings = often(write_deployment(folder))
    (folder / "met.ru").write_text(RULE_SET)
    (folder / "t.ttl").write_text(
        f"{ONTOLOGY} :by a owl:DatatypeProperty . :near a owl:ObjectProperty ; rdfs:range :Place . "
        ":part a owl:ObjectProperty . :Part a owl:Class . :Place a owl:Class .\n"
    )
    with (folder / "t.rules").open("a") as rules:
        rules.write(SHARED)
    ruled = request.param == "ruled"
    return read_deployment(
        replace(
            settings,
            window=WINDOWS.get(request.param, WINDOWS["by time"]),
            time=replace(settings.time, lateness="3" if request.param == "late" else ""),
            reasoning=replace(settings.reasoning, profile="rdfs, met.ru" if ruled else "plain"),
        )
    )


SAID = st.tuples(
    st.sampled_from(("north", "south", "west")),
    st.integers(-2, 3),
    st.one_of(
        st.tuples(st.sampled_from(("a", "b", "c")), st.integers(88, 92)),
        st.lists(st.tuples(st.integers(0, 4), st.integers(80, 99)), max_size=2),
    ),
)
STREAMS = st.lists(st.lists(SAID, min_size=1, max_size=5), min_size=1, max_size=6)


def rows_of(batches: Sequence[Sequence[Any]]) -> Iterator[list[JournalRow]]:
    """The journal of a drawn stream, by batches, each with an entry that tells the time."""
    seq, time = 0, 10
    for batch in batches:
        rows: list[JournalRow] = []
        for source, step, what in batch:
            seq, time = seq + 1, max(1, time + step)
            content = b"<not xml"
            if isinstance(what, tuple):
                content = f"<told who='{what[0]}' at='{time}' x='{what[1]}'/>".encode()
            elif what:
                content = seen("cam", time, *what)
            rows.append(entry(seq, content, source))
        seq += 1
        rows.append(passed(seq, time, received=seq))
        yield rows


LIVE = Origin.WINDOW | Origin.INFERRED


def engines(keys: Keys) -> list[Engine]:
    return [each._engine for each in keys.host._engines.values()]


def follow(windows: MirroredWindow, keys: Keys) -> None:
    """Tell a mirror what the engines have told of the last batch."""
    for standing in keys.standings.values():
        for digest, content in standing.held:
            windows.change(digest, content)


def assert_mirrors(windows: MirroredWindow, keys: Keys) -> None:
    real = engines(keys)
    for origin in (Origin.WINDOW, Origin.INFERRED):
        expected = {triple for each in real for triple in each.kb.triples(origin)}
        assert set(windows.kb.triples(origin)) == expected, origin
        assert windows.kb.size(origin) == len(expected)
    held = [one for each in real for one in each.window]
    assert sorted(map(told, windows.window)) == sorted(map(told, held))
    assert len(windows.window) == len(held)
    for one in held:
        found = windows.window.get(one.name)
        assert found is not None
        assert found.statements.keys() >= one.statements.keys()
        assert found.time >= one.time
        assert one.name in windows.window
    assert windows.window.get("http://example.org/nobody") is None  # type: ignore[arg-type]
    begun = [each.inferences.begun() for each in real]
    found_begun = windows.inferences.begun()
    assert found_begun.keys() == {triple for each in begun for triple in each}
    for triple, interval in found_begun.items():
        assert interval in [each.get(triple) for each in begun]
    for key, keyed in keys.host._engines.items():
        kb = keyed._engine.kb
        graphs = {triple: kb.origins(triple) & LIVE for triple in kb.match(None, None, None)}
        assert (windows.marks_of(key) or {}) == {t: each for t, each in graphs.items() if each}
    assert windows.held == sum(each.held for each in real)
    assert windows.pending == sum(each.window.pending for each in real)


def told(one: Any) -> str:
    """An individual, but for the count of arrivals, which is that of all keys in the mirror."""
    return repr((one.name, one.stay, one.entered, one.time, one.message, [*one.statements.items()]))


@profile(max_examples=12, deadline=None)
@given(batches=STREAMS, lost=st.sets(st.integers(0, 5)), repeated=st.sets(st.integers(0, 5)))
def test_after_each_batch_it_holds_what_the_windows_hold(
    deployment: Deployment, batches: Any, lost: set[int], repeated: set[int]
) -> None:
    keys, windows = Keys(deployment), MirroredWindow(deployment.window)
    for number, rows in enumerate(rows_of(batches)):
        if number in lost:
            keys.lose_engines()
        if number in repeated:
            keys.take(rows, commit=False)
        keys.standings = {k: replace(each, held=()) for k, each in keys.standings.items()}
        keys.take(rows)
        follow(windows, keys)
        if not lost:
            assert_mirrors(windows, keys)
    if lost:
        # Engines that had nothing to do since are not there again.
        woken = [(f, 1, [(1, 80)]) for f in ("north", "south", "west")]
        more = [*batches, woken]
        *_, rows = rows_of(more)
        keys.standings = {k: replace(each, held=()) for k, each in keys.standings.items()}
        keys.take(rows)
        follow(windows, keys)
        assert_mirrors(windows, keys)
    keys.host.close()


def stored(store: PostgresStore, upto: int, *rows: HeldRow) -> None:
    """Store a batch of one engine that holds this anew."""
    store.place(Standings(upto, [EngineStanding("=k", 1, Waits(), upto, upto, held=rows)]))


def part(name: str, message: str = "m1") -> HeldRow:
    """An individual that is human, in the window of an engine."""
    type_ = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    said = [[name, type_, "http://example.org/t#Human", message, 5, ""]]
    return name.encode(), json.dumps([name, [1, 5, 5, 1, message, said], []])


@contextmanager
def mirrored(settings: Settings, url: str) -> Iterator[tuple[PostgresStore, WindowMirror]]:
    """A pipeline's store, and the mirror of its windows."""
    deployment = read_deployment(settings)
    with (
        PostgresStore.open(url, Timeline.INTEGER, Writes.EFFECTS) as store,
        closing(WindowMirror(lambda: url, lambda: deployment)) as mirror,
    ):
        yield store, mirror


def names(mirror: WindowMirror) -> list[str]:
    with mirror.looking() as windows:
        return sorted(each.name for each in windows.window)


def test_it_reads_what_is_new_since_the_question_before(
    settings: Settings, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (effects_writer, mirrored_window):
        monkeypatch.setattr(module, "GONE_KEPT", 10)
    deployment = read_deployment(settings)
    changed: list[bytes] = []
    change = MirroredWindow.change

    def counted(windows: MirroredWindow, digest: bytes, content: str | None) -> None:
        changed.append(digest)
        change(windows, digest, content)

    monkeypatch.setattr(MirroredWindow, "change", counted)
    with (
        PostgresStore.open(database, Timeline.INTEGER, Writes.EFFECTS) as store,
        closing(WindowMirror(lambda: database, lambda: deployment)) as mirror,
    ):
        assert names(mirror) == []
        a, b, c = map(part, ("http://e/a", "http://e/b", "http://e/c"))
        stored(store, 3, a, b)
        assert names(mirror) == ["http://e/a", "http://e/b"]
        with mirror.looking() as windows:
            assert set(windows.kb.triples(Origin.STATIC)) == set(
                read_deployment(settings).ontology.triples
            )
            assert windows.kb.size(Origin.STATIC_INFERRED) > 0
            assert windows.now == 3
        changed.clear()
        stored(store, 5, c, (a[0], None))
        # A batch that is repeated writes nothing.
        stored(store, 5, a)
        assert names(mirror) == ["http://e/b", "http://e/c"]
        assert names(mirror) == ["http://e/b", "http://e/c"]
        assert sorted(changed) == [a[0], c[0]]
        # What has gone is forgotten: who has not asked for so long reads all again.
        stored(store, 6, (b[0], None))
        stored(store, 30, a)
        assert execute(database, "select count(*) from store.held") == [(2,)]
        assert names(mirror) == ["http://e/a", "http://e/c"]
        # So does who knows of a journal that is processed from its beginning again.
        store.displace()
        stored(store, 31, b)
        told: list[Any] = []
        token = ANSWERED_OF.set(told)
        assert names(mirror) == ["http://e/b"]
        ANSWERED_OF.reset(token)
        assert [each.entry for each in told] == [31]


def test_after_a_fault_on_the_way_all_is_read_again(settings: Settings, database: str) -> None:
    with mirrored(settings, database) as (store, mirror):
        stored(store, 1, part("http://e/a"), (b"torn", "{"))
        with pytest.raises(json.JSONDecodeError):
            names(mirror)
        stored(store, 2, (b"torn", None))
        assert names(mirror) == ["http://e/a"]


def test_a_question_sees_history_and_windows_of_one_batch(
    settings: Settings, database: str
) -> None:
    with (
        mirrored(settings, database) as (store, mirror),
        closing(connect(database)) as other,
        other.cursor() as cursor,
    ):
        stored(store, 1, part("http://e/a"))
        other.set_session(isolation_level="REPEATABLE READ", readonly=True)

        def fix(snapshot: str) -> None:
            # A batch is stored when the mirror has been read, and before the question begins.
            stored(store, 2, part("http://e/b"))
            cursor.execute("set transaction snapshot %s", (snapshot,))
            cursor.execute("select routed from store.pipeline")

        with mirror.looking(fix) as windows:
            assert [each.name for each in windows.window] == ["http://e/a"]
        assert cursor.fetchall() == [(1,)]
        assert names(mirror) == ["http://e/a", "http://e/b"]
