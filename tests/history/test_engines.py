"""Which engines a batch wakes, also when Spark repeats it."""

from __future__ import annotations

from sensorstream.history.effects_writer import EngineStanding, Standings, Writes, waiting_keys
from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import Waits

EARLY, FAR = (5, 5, 5), (100, 100, 100)


def woken(store: PostgresStore, after: int, times: tuple[int, int, int] | None) -> set[str]:
    with store._transaction("test") as cursor:
        return set(waiting_keys(cursor, after, times))


def test_a_repeated_batch_wakes_the_engines_that_it_woke_before(url: str) -> None:
    with PostgresStore.open(url, Timeline.INTEGER, Writes.EFFECTS) as store:
        long = "long" * 5_000
        one = EngineStanding("one", 2, Waits(moved=20), 10, 3)
        store.place(Standings(4, [one, EngineStanding(long, 1, Waits(), 12, 4)]))
        assert woken(store, 4, EARLY) == set()
        assert woken(store, 4, FAR) == {"one"}
        assert woken(store, 4, None) == {"one", long}
        after = Standings(9, [EngineStanding("one", 0, Waits(), 21, None)])
        store.place(after)
        # The batch that begins after 4 has ended with 9: it may be repeated.
        assert woken(store, 4, FAR) == {"one"}
        assert woken(store, 9, FAR) == set()
        store.place(after)
        assert woken(store, 4, FAR) == {"one"}
        store.place(Standings(12, []))
        assert woken(store, 12, None) == {long}
        with store._transaction("test") as cursor:
            cursor.execute("select moved, moved_at, routed, covered from store.pipeline")
            assert cursor.fetchone() == (21, 4, 12, 9)
            cursor.execute("select count(*) from store.engines")
            assert cursor.fetchone() == (1,)
        store.displace()
        assert woken(store, 12, None) == set()


def test_each_kind_of_time_wakes(url: str) -> None:
    waits = (Waits(received=7), Waits(moved=7), Waits(present=7))
    with PostgresStore.open(url, Timeline.INTEGER, Writes.EFFECTS) as store:
        store.place(Standings(1, [EngineStanding(str(n), 0, w, 0, 0) for n, w in enumerate(waits)]))
        assert woken(store, 1, (7, 0, 0)) == {"0"}
        assert woken(store, 1, (0, 7, 0)) == {"1"}
        assert woken(store, 1, (0, 0, 7)) == {"2"}
