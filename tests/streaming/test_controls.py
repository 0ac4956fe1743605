"""A continuous query starts and ends in every engine, at its place in the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sensorstream.app.control.wiring import read_deployment
from sensorstream.history.journal_rows import journal_rows
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.registration import RegisterQuery
from sensorstream.model.events import Alert, Status
from sensorstream.settings.settings import Settings, ShapeSettings
from sensorstream.shapes.shape_compiler import compile_shapes
from sensorstream.shapes.shape_graph import read_shapes
from tests.streaming.conftest import seen
from tests.streaming.stand_in import Engines, take, write

QUERY = b"PREFIX : <http://example.org/t#> SELECT ?p ?x { ?p :x ?x }"


def test_every_engine_reports_under_ids_of_its_own_and_the_entry_has_one_status(
    settings: Settings, database: str, record: Callable[..., Record]
) -> None:
    entries = [
        record(1, seen("north", 1, (1, 5)), "north"),
        record(2, QUERY, "where", "query"),
        record(3, seen("north", 3, (2, 6)), "north"),
        record(4, seen("south", 4, (3, 7)), "south"),
        record(5, seen("north", 5, (2, 8)), "north"),
        record(6, seen("south", 6, (3, 9)), "south"),
        record(7, b"", "where", "query-end"),
        record(8, seen("south", 8, (3, 1)), "south"),
    ]
    write(database, entries)
    one, two, three, four, five, six, seven, eight = journal_rows(database, 0)
    engines = Engines(read_deployment(settings), database)
    before = take(engines, "=north", [one])
    north = take(engines, "=north", [three, five], 7)
    south = take(engines, "=south", [four, six, eight], 7)
    control = take(engines, "", [two, seven], 7)
    engines.host.close()

    reports = [each for effects in (*north, *south) for each in effects.reports]
    assert {each.entry for each in reports} == {"m2.1", "m2.4"}
    assert len({each.id for each in reports}) == len(reports)
    assert not any(each.reports for each in before)
    assert not south[-1].reports, "nothing is reported after its end"
    statuses = [s for effects in (*north, *south) for s in effects.statuses]
    assert sorted(each.seq for each in statuses) == [3, 4, 5, 6, 8]
    assert [(s.seq, s.status) for each in control for s in each.statuses] == [
        (2, Status.ACCEPTED),
        (7, Status.ACCEPTED),
    ]


def test_a_query_that_is_put_again_reports_by_its_new_text_in_every_engine(
    settings: Settings, database: str, record: Callable[..., Record]
) -> None:
    def put(seq: int, text: bytes) -> Record:
        content, name = RegisterQuery("where", text.decode(), "me", replaces=True).encode()
        return record(seq, content, name, "query")

    entries = [
        put(1, QUERY),
        *(record(n, seen("north", n, (n, 5)), "north") for n in (2, 3)),
        put(4, QUERY.replace(b":x ?x", b"a ?x")),
        *(record(n, seen("north", n, (n, 5)), "north") for n in (5, 6)),
        put(7, QUERY),
        *(record(n, seen("north", n, (n, 5)), "north") for n in (8, 9)),
    ]
    write(database, entries)
    rows = [each for each in journal_rows(database, 0) if each[0] not in (1, 4, 7)]
    engines = Engines(read_deployment(settings), database)
    north = take(engines, "=north", rows, 7)
    engines.host.close()
    said = {(r.entry, "#Human" in str(r.report)) for effects in north for r in effects.reports}
    assert said == {("m1.2", False), ("m4.2", True), ("m7.2", False)}


def test_the_shapes_of_each_engine_begin_with_what_it_has_and_end_with_their_texts(
    settings: Settings, database: str, record: Callable[..., Record], tmp_path: Path
) -> None:
    file = tmp_path / "shapes.ttl"
    file.write_text(
        "@prefix : <http://example.org/t#> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        ":S sh:targetClass :Actor ; sh:property [ sh:path :x ; sh:maxInclusive 7 ] ."
    )
    shaped = replace(settings, shapes=ShapeSettings((file,), "quarantine"))
    (low,) = compile_shapes(read_shapes([file]))

    def put(seq: int, text: str) -> Record:
        content, name = RegisterQuery(low.name, text, "", replaces=True, found=True).encode()
        return record(seq, content, name, "query")

    entries = [
        record(1, seen("north", 1, (1, 8)), "north"),
        record(2, seen("north", 2, (2, 9)), "north"),
        put(3, low.text),
        record(4, seen("south", 4, (3, 9)), "south"),
        put(5, low.text.replace("7", "8")),
        record(6, seen("south", 6, (3, 2)), "south"),
        record(7, seen("north", 7, (4, 1)), "north"),
        record(8, seen("south", 8, (5, 1)), "south"),
    ]
    write(database, entries)
    rows = list(journal_rows(database, 0))
    # What is at the door is known from the shapes, too: all engines read them.
    door = Engines(read_deployment(shaped), database)
    (refused,) = take(door, "=north", rows[:1])
    door.host.close()
    assert [each.status for each in refused.statuses] == [Status.REJECTED]
    engines = Engines(read_deployment(settings), database)
    north = take(engines, "=north", [rows[0], rows[1], rows[6]], 8)
    south = take(engines, "=south", [rows[3], rows[5], rows[7]], 8)
    control = take(engines, "", [rows[2], rows[4]], 8)
    engines.host.close()

    def told(effects: list[Effects]) -> list[tuple[bool, str | None]]:
        return [
            (isinstance(each, Alert), each.key and each.key.rpartition("#")[2])
            for one in effects
            for each in one.alerts
            if each.rule == low.name
        ]

    assert told(north) == [(True, "north-1 8"), (True, "north-2 9"), (False, "north-1 8")]
    assert told(south) == [(True, "south-3 9"), (False, "south-3 9")]
    assert told(control) == []
