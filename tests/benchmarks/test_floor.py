"""The engine, the mapping and their floor take the same messages in turns."""

from benchmarks.floor import measure


def test_each_way_takes_each_turn() -> None:
    assert [len(turns) for turns in measure(60).values()] == [3, 3, 3]
