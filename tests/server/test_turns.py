"""Turns between clients, against their plain definition; and what becomes of those who leave."""

from __future__ import annotations

import asyncio
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.server.client_questions import ClientTurns

clients = st.sampled_from("abc")
steps = st.lists(st.tuples(st.sampled_from(["take", "end", "leave"]), clients), max_size=60)


class Naive:
    """Who waits, in order of arrival, and who was last given a turn."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held: Counter[str] = Counter()
        self.waiting: list[str] = []
        self.last: dict[str, int] = {}
        self.clock = 0

    def may(self, client: str) -> bool:
        return self.held[client] < self.most - sum(self.held.values())

    def step(self, what: str, client: str) -> None:
        self.clock += 1
        if what == "take":
            if client not in self.waiting:
                self.last[client] = self.clock
            self.waiting.append(client)
        elif what == "end" and self.held[client]:
            self.held[client] -= 1
        elif what == "leave" and client in self.waiting:
            # The last to come leaves; the client has no other place because of that.
            self.waiting.reverse()
            self.waiting.remove(client)
            self.waiting.reverse()
        while able := [each for each in set(self.waiting) if self.may(each)]:
            self.clock += 1
            next_ = min(able, key=self.last.__getitem__)
            self.waiting.remove(next_)
            self.held[next_] += 1
            self.last[next_] = self.clock


@given(st.integers(1, 6), steps)
def test_turns_are_given_as_their_definition_says(most: int, steps: list[tuple[str, str]]) -> None:
    async def both() -> None:
        turns, naive = ClientTurns(most), Naive(most)
        waiting: dict[str, list[asyncio.Task[None]]] = {each: [] for each in "abc"}
        for what, client in steps:
            before = {each: naive.held[each] for each in "abc"}
            naive.step(what, client)
            if what == "take":
                waiting[client].append(asyncio.create_task(turns.take(client)))
            elif what == "end" and before[client]:
                turns.give_back(client)
            elif what == "leave" and waiting[client]:
                waiting[client].pop().cancel()
            for _ in range(3):
                await asyncio.sleep(0)
            waiting = {
                each: [task for task in tasks if not task.done()] for each, tasks in waiting.items()
            }
            assert {each: turns.held(each) for each in "abc"} == dict(naive.held) | {
                each: 0 for each in "abc" if each not in naive.held
            }
            assert turns.held() <= most
        for task in [task for tasks in waiting.values() for task in tasks]:
            task.cancel()

    asyncio.run(both())


def test_one_client_alone_has_half_of_the_turns_and_a_second_finds_one() -> None:
    async def ask() -> None:
        turns = ClientTurns(4)
        hostile = [asyncio.create_task(turns.take("a")) for _ in range(100)]
        await asyncio.sleep(0)
        assert turns.held("a") == 2
        await asyncio.wait_for(turns.take("b"), 300)
        assert (turns.held("a"), turns.held("b")) == (2, 1)
        for each in hostile:
            each.cancel()

    asyncio.run(ask())


def test_a_turn_that_comes_as_its_client_leaves_is_given_to_the_next() -> None:
    async def ask() -> None:
        turns = ClientTurns(1)
        await turns.take("a")
        first, second = (asyncio.create_task(turns.take(each)) for each in "bc")
        await asyncio.sleep(0)
        # It leaves before and after it is given the turn, before it can go on.
        turns.give_back("a")
        first.cancel()
        await asyncio.wait_for(second, 300)
        assert (turns.held("b"), turns.held("c")) == (0, 1)
        third, fourth = (asyncio.create_task(turns.take(each)) for each in "ab")
        await asyncio.sleep(0)
        third.cancel()
        turns.give_back("c")
        await asyncio.wait_for(fourth, 300)
        assert turns.held() == turns.held("b") == 1

    asyncio.run(ask())
