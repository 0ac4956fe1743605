from __future__ import annotations

from itertools import islice

from lxml import etree

from sensorstream.cli.simulation.tracker_messages import (
    HEIGHT,
    LEAST_CERTAINTY,
    PAPER_MESSAGE,
    WIDTH,
    tracker_messages,
)


def shape(message: bytes) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (str(element.tag), tuple(sorted(map(str, element.keys()))))
        for element in etree.fromstring(message).iter()
    ]


def first(message: bytes, path: str) -> str:
    found = etree.fromstring(message).xpath(path)
    assert isinstance(found, list)
    return str(found[0])


def test_every_message_has_the_shape_the_paper_prints() -> None:
    assert {tuple(shape(message)) for message in tracker_messages(20)} == {
        tuple(shape(PAPER_MESSAGE))
    }


def test_the_bytes_outside_the_values_are_the_papers() -> None:
    def blank(message: bytes) -> bytes:
        return bytes(ord("0") if chr(byte).isdigit() else byte for byte in message)

    made = next(tracker_messages(1, start=2678))
    paper = blank(PAPER_MESSAGE).split(b"'")[0::2]
    assert blank(made).split(b"'")[0::2] == paper


def test_times_and_persons_count_up() -> None:
    messages = list(tracker_messages(3, start=7))
    assert [first(m, "//TimeStamp/@value") for m in messages] == ["7", "8", "9"]
    assert [first(m, "//person/@id") for m in messages] == ["7", "8", "9"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not() -> None:
    assert list(tracker_messages(50, seed=1)) == list(tracker_messages(50, seed=1))
    assert list(tracker_messages(50, seed=1)) != list(tracker_messages(50, seed=2))


def test_known_persons_come_back() -> None:
    seen = {first(m, "//person/@id") for m in tracker_messages(200, people=3)}
    assert seen == {"1", "2", "3"}


def test_values_stay_within_the_image_and_certainty_varies() -> None:
    messages = list(tracker_messages(300))
    certainties = [int(first(message, "//person/@certainty")) for message in messages]
    assert min(certainties) in range(LEAST_CERTAINTY, 50)
    assert max(certainties) in range(80, 101)
    for message in messages:
        assert 0 <= int(first(message, "//location2d/@x")) < WIDTH
        assert 0 <= int(first(message, "//location2d/@y")) < HEIGHT


def test_without_a_count_it_never_ends() -> None:
    assert len(list(islice(tracker_messages(), 500))) == 500
