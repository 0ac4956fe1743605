"""The fair queue against its plain definition, on random senders."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.app.life.entry_queue import FairQueue, Path
from sensorstream.errors import Busy

MOST, MOST_BYTES = 12, 40

paths = st.tuples(st.sampled_from("ab"), st.sampled_from("st"), st.sampled_from("12"))
steps = st.lists(st.none() | st.tuples(paths, st.integers(0, 15)), max_size=80)


@dataclass
class Naive:
    """All that waits in one list; whose turn it is is worked out anew each time."""

    items: list[tuple[Path, int, int]] = field(default_factory=list)
    clock: int = 0
    # When each group of senders was last in turn; or when it began to wait.
    turns: dict[tuple[str, ...], int] = field(default_factory=dict)

    def put(self, path: Path, size: int, item: int) -> bool:
        own = [each for each in self.items if each[0][0] == path[0]]
        left = MOST - len(self.items)
        free = MOST_BYTES - sum(each[1] for each in self.items)
        if self.items and (len(own) >= left or sum(each[1] for each in own) >= free or size > free):
            return False
        self.clock += 1
        for depth in (1, 2, 3):
            if not any(each[0][:depth] == path[:depth] for each in self.items):
                self.turns[path[:depth]] = self.clock
        self.items.append((path, size, item))
        return True

    def take(self) -> int:
        self.clock += 1
        found = self.items
        for depth in (1, 2, 3):
            first = min((each[0][:depth] for each in found), key=self.turns.__getitem__)
            found = [each for each in found if each[0][:depth] == first]
            self.turns[first] = self.clock
        self.items.remove(found[0])
        return found[0][2]


@given(steps)
def test_it_does_what_its_definition_says(steps: list[tuple[Path, int] | None]) -> None:
    naive, waiting = Naive(), FairQueue[int](MOST, MOST_BYTES)
    for number, step in enumerate(steps):
        if step is None:
            if naive.items:
                assert waiting.take() == naive.take()
            else:
                with pytest.raises(IndexError):
                    waiting.take()
        else:
            path, size = step
            try:
                waiting.put(path, size, number)
                entered = True
            except Busy:
                entered = False
            assert entered is naive.put(path, size, number)
        assert len(waiting) == len(naive.items) <= MOST
        assert waiting.bytes == sum(size for _, size, _ in naive.items) <= MOST_BYTES


@given(st.lists(st.tuples(paths, st.just(0)), min_size=1, max_size=200))
def test_nothing_is_lost_and_each_path_keeps_its_order(puts: list[tuple[Path, int]]) -> None:
    waiting = FairQueue[tuple[Path, int]](10**6, 10**6)
    for number, (path, size) in enumerate(puts):
        waiting.put(path, size, (path, number))
    taken = [waiting.take() for _ in puts]
    assert sorted(taken, key=lambda each: each[1]) == [
        (path, number) for number, (path, _) in enumerate(puts)
    ]
    for path in {each[0] for each in taken}:
        mine = [number for whose, number in taken if whose == path]
        assert mine == sorted(mine)


def test_while_several_addresses_wait_each_has_as_many_turns_whatever_it_calls_itself() -> None:
    waiting = FairQueue[str](10_000, 10**6)
    for number in range(900):
        waiting.put(("greedy", f"source {number}", f"port {number}"), 1, "greedy")
    for _ in range(50):
        waiting.put(("modest", "rest", "1"), 1, "modest")
    assert Counter(waiting.take() for _ in range(100)) == {"greedy": 50, "modest": 50}


def test_who_comes_late_finds_room_however_much_another_has_sent() -> None:
    waiting = FairQueue[int](100, 10**6)
    for number in range(50):
        waiting.put(("a", "", ""), 0, number)
    with pytest.raises(Busy, match=r"50 of them \(0 bytes\) from a") as refused:
        waiting.put(("a", "", ""), 0, 50)
    assert refused.value.retry_after > 0
    for late in "bcdefg":
        waiting.put((late, "", ""), 0, 0)
    with pytest.raises(Busy):
        waiting.put(("a", "", ""), 0, 0)


def test_an_item_that_is_larger_than_the_queue_waits_alone() -> None:
    waiting = FairQueue[int](10, 100)
    waiting.put(("a", "", ""), 500, 1)
    with pytest.raises(Busy):
        waiting.put(("b", "", ""), 1, 2)
    assert waiting.take() == 1
    waiting.put(("b", "", ""), 1, 2)
