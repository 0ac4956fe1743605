"""Partitioned windows by example: whose they are, and when they are forgotten."""

from __future__ import annotations

from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.window.window import IndividualWindow
from sensorstream.window.window_partition import partition_of
from sensorstream.window.window_spec import (
    WindowMove,
    WindowPartitioning,
    WindowSpec,
    WindowUnitKind,
)
from tests.window.test_triple_window import P, name

ROOM = IRI("http://e/room")


def sliding(size: int, partition: WindowPartitioning) -> IndividualWindow:
    return IndividualWindow(
        WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, size), partition
    )


def placed(subject: int, room: str) -> Triple:
    return name(subject), ROOM, Literal(room)


def keys(window: IndividualWindow) -> dict[str | None, set[str]]:
    return {pane.key: set(pane.names) for pane in window.state().panes}


def names(window: IndividualWindow) -> set[str]:
    return {individual.name for individual in window}


def test_the_settings_name_a_property_or_the_source() -> None:
    assert partition_of("") is None
    assert partition_of("source") == WindowPartitioning()
    assert partition_of(ROOM) == WindowPartitioning(ROOM)


def test_each_source_has_a_window_of_its_own() -> None:
    window = sliding(1, WindowPartitioning())
    for time, (subject, source) in enumerate([(1, "north"), (2, "south"), (3, "north")]):
        window.insert(Event(((name(subject), P, Literal("x")),), time, "m", source=source))
    assert names(window) == {name(2), name(3)}


def test_each_value_of_a_property_has_a_window_of_its_own() -> None:
    window = sliding(1, WindowPartitioning(ROOM))
    window.insert(Event((placed(1, "lab"), placed(2, "hall")), 1, "m1"))
    change = window.insert(Event((placed(3, "lab"),), 2, "m2"))
    assert [gone.name for gone in change.departures] == [name(1)]
    assert names(window) == {name(2), name(3)}


def test_individuals_without_a_value_share_a_window() -> None:
    window = sliding(1, WindowPartitioning(ROOM))
    window.insert(Event(((name(1), P, Literal("x")), placed(2, "lab")), 1, "m1"))
    window.insert(Event(((name(3), P, Literal("x")),), 2, "m2"))
    assert keys(window) == {'"lab"': {name(2)}, None: {name(3)}}


def test_an_individual_stays_in_the_partition_it_entered() -> None:
    window = sliding(2, WindowPartitioning(ROOM))
    window.insert(Event((placed(1, "lab"),), 1, "m1"))
    window.insert(Event((placed(1, "hall"),), 2, "m2", frozenset({(name(1), ROOM)})))
    assert keys(window) == {'"lab"': {name(1)}}


def test_a_blank_node_goes_where_its_owner_is() -> None:
    window = sliding(1, WindowPartitioning(ROOM))
    node = BlankNode("_:b")
    inside = (node, P, Literal("x"))
    window.insert(Event((placed(1, "lab"), placed(2, "hall"), (name(1), P, node), inside), 1, "m"))
    change = window.insert(Event((placed(3, "lab"),), 2, "m2"))
    assert set(change.delta.removed) == {placed(1, "lab"), (name(1), P, node), inside}


def test_a_message_for_several_partitions_is_one_change_and_is_undone_as_one() -> None:
    window = sliding(1, WindowPartitioning(ROOM))
    window.insert(Event((placed(1, "lab"),), 1, "m1"))
    change = window.insert(Event((placed(2, "lab"), placed(3, "hall")), 2, "m2"))
    assert set(change.delta.added) == {placed(2, "lab"), placed(3, "hall")}
    window.undo(change)
    assert keys(window) == {'"lab"': {name(1)}}


def test_each_partition_counts_its_own_steps() -> None:
    spec = WindowSpec(WindowMove.TUMBLING, WindowUnitKind.INDIVIDUALS, 2)
    window = IndividualWindow(spec, WindowPartitioning(ROOM))
    for time, (subject, room) in enumerate([(1, "lab"), (2, "hall"), (3, "lab")]):
        window.insert(Event((placed(subject, room),), time, f"m{time}"))
    assert names(window) == {name(1), name(3)}
    assert window.pending == 1


def test_a_partition_that_becomes_empty_is_forgotten() -> None:
    window = sliding(3, WindowPartitioning(ROOM))
    for room in range(1000):
        window.insert(Event((placed(room, f"room {room}"),), room, f"m{room}"))
        window.retract([placed(room, f"room {room}")], room)
    assert window.partitions == 0
    assert not window._homes


def test_a_logical_window_needs_no_panes_to_be_partitioned() -> None:
    window = IndividualWindow(
        WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, 5), WindowPartitioning(ROOM)
    )
    window.insert(Event((placed(1, "lab"),), 1, "m1"))
    window.insert(Event((placed(2, "hall"),), 9, "m2"))
    assert names(window) == {name(2)}, "all partitions expire by one clock"
