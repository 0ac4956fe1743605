"""Heavy messages pause: what others have of the engine then, by a simulated clock."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.app.life.entry_queue import FairQueue, Heavy, Path

LARGE = 100_000
SMALL = 100

kinds = st.sampled_from([(SMALL, 0.002), (SMALL, 0.7), (LARGE, 0.3), (LARGE, 1.5), (LARGE, 0.02)])
senders = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from("st"), st.sampled_from("12")),
    st.lists(kinds, min_size=1, max_size=6),
    min_size=1,
    max_size=6,
)


@dataclass
class Engine:
    """The pipeline's thread, as far as turns go, at a clock that moves by what messages take."""

    now: float = 100.0
    heavy: Heavy = field(init=False)
    waiting: FairQueue[tuple[Path, int, float, float]] = field(init=False)
    idle: float = 0.0
    coming: dict[Path, float] = field(default_factory=dict)
    """When senders of small messages send their next one."""

    def __post_init__(self) -> None:
        self.heavy = Heavy(lambda: self.now)
        self.waiting = FairQueue(10**6, 10**12, self.heavy.expects)

    def send(self, path: Path, size: int, seconds: float, since: float | None = None) -> None:
        self.waiting.put(path, size, (path, size, seconds, self.now if since is None else since))

    def step(self) -> tuple[Path, int, float] | None:
        """Process the next one: its path, size and how long its sender has waited."""
        self.arrive()
        others = self.waiting.senders(heavy=False) > 0
        if self.waiting.senders(heavy=True) and not self.heavy.pause(others=others):
            is_heavy = True
        elif self.waiting.senders(heavy=False):
            is_heavy = False
        else:
            return None
        path, size, seconds, since = self.waiting.take(heavy=is_heavy)
        if not is_heavy:
            self.heavy.others(path)
        self.now += seconds
        self.arrive()
        self.heavy.took(path, size, seconds)
        if is_heavy:
            self.heavy.turn(path, seconds, self.waiting.senders(heavy=False))
        return path, size, self.now - since

    def rest(self) -> None:
        pause = self.heavy.pause(others=False)
        self.idle += pause
        self.now += pause

    def arrive(self) -> None:
        for path in [path for path, time in self.coming.items() if time <= self.now]:
            self.send(path, SMALL, 0.002, since=self.coming.pop(path))


@given(senders)
def test_all_are_taken_in_the_order_of_each_sender(
    messages: dict[Path, list[tuple[int, float]]],
) -> None:
    engine = Engine()
    for path, mine in messages.items():
        for size, seconds in mine:
            engine.send(path, size, seconds)
    taken: dict[Path, list[int]] = defaultdict(list)
    while len(engine.waiting):
        if (done := engine.step()) is None:
            before = engine.now
            engine.rest()
            assert engine.now > before, "nothing is due and nothing will be"
        else:
            taken[done[0]].append(done[1])
    assert taken == {path: [size for size, _ in mine] for path, mine in messages.items()}
    # Nobody waits for more than twenty times what the heavy ones have taken.
    assert engine.idle <= 20 * sum(seconds for mine in messages.values() for _, seconds in mine)


@pytest.mark.parametrize("clients", [1, 8])
@pytest.mark.parametrize("seconds", [0.3, 1.5])
def test_one_in_a_hundred_waits_for_a_heavy_one_however_many_connections_send_them(
    clients: int, seconds: float
) -> None:
    engine = Engine()
    innocent = [("a", "", f"innocent {n}") for n in range(clients)]
    hostile = [("a", "", f"hostile {n}") for n in range(8)]
    for path in hostile:
        engine.send(path, LARGE, seconds)
    # Each sends the next one a moment after the answer.
    engine.coming = dict.fromkeys(innocent, engine.now)
    waited: list[float] = []
    begun, hard = engine.now, 0.0
    while engine.now < begun + 100:
        if (done := engine.step()) is None:
            engine.now = min(engine.coming.values())
        elif done[0] in hostile:
            hard += seconds
            engine.send(done[0], LARGE, seconds)
        else:
            waited.append(done[2])
            engine.coming[done[0]] = engine.now + 0.005
    assert len([each for each in waited if each >= seconds / 2]) <= len(waited) / 100
    assert 100 / 25 <= hard <= 100 / 5 + seconds


def test_who_is_alone_does_not_pause() -> None:
    engine = Engine()
    for size in (LARGE, SMALL) * 10:
        engine.send(("a", "", "1"), size, 1.0)
    while len(engine.waiting):
        assert engine.step() is not None


def test_a_pause_ends_when_no_others_come() -> None:
    engine = Engine()
    engine.send(("b", "", ""), SMALL, 0.001)
    for _ in range(3):
        engine.send(("a", "", ""), LARGE, 1.0)
    while len(engine.waiting):
        if engine.step() is None:
            engine.rest()
    assert 0 < engine.idle <= 4.0


def test_a_small_message_that_was_slow_makes_the_next_of_its_sender_heavy() -> None:
    heavy = Heavy()
    slow, other = ("a", "s", "1"), ("a", "t", "1")
    heavy.took(slow, SMALL, 2.0)
    assert heavy.expects(("a", "s", "2"), SMALL)
    assert not heavy.expects(other, SMALL)
    heavy.took(slow, SMALL, 0.01)
    assert not heavy.expects(slow, SMALL)
    # A large one says nothing about the small ones of the same sender.
    heavy.took(slow, LARGE, 2.0)
    assert not heavy.expects(slow, SMALL)
