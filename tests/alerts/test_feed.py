from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import AbstractContextManager

import pytest

from sensorstream.alerts.feed import AlertFeed, Subscription


def test_news_from_another_thread_wakes_every_subscriber() -> None:
    async def run() -> list[bool]:
        with feed.subscribe() as first, feed.subscribe() as second:
            assert len(feed) == 2
            threading.Thread(target=feed.announce).start()
            return [await first.wait(60), await second.wait(60)]

    feed = AlertFeed()
    assert asyncio.run(run()) == [True, True]
    assert len(feed) == 0


def test_news_before_the_wait_is_not_lost_and_told_once() -> None:
    async def run() -> list[bool]:
        with feed.subscribe() as subscription:
            feed.announce()
            feed.announce()
            return [await subscription.wait(60), await subscription.wait(0.01)]

    feed = AlertFeed()
    assert asyncio.run(run()) == [True, False]


def test_closing_wakes_subscribers_for_the_last_time() -> None:
    async def run() -> bool:
        with feed.subscribe() as subscription:
            threading.Thread(target=feed.close).start()
            return await subscription.wait(60) and feed.closed

    feed = AlertFeed()
    assert asyncio.run(run())


def test_a_subscription_lost_to_the_garbage_collector_holds_up_no_announcement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> bool:
        lost: list[object] = [feed.subscribe()]
        lost[0].__enter__()  # type: ignore[attr-defined]
        lost.append(lost)
        del lost
        with feed.subscribe():
            announcing = threading.Thread(target=feed.announce, daemon=True)
            announcing.start()
            announcing.join(10)
            return announcing.is_alive()

    feed = AlertFeed()
    monkeypatch.setattr(Subscription, "wake", lambda self: gc.collect())
    gc.disable()
    try:
        assert not asyncio.run(run())
    finally:
        gc.enable()


def test_a_subscriber_whose_loop_is_gone_does_not_disturb_the_pipeline() -> None:
    async def leave_open() -> None:
        contexts.append(feed.subscribe())
        contexts[0].__enter__()

    feed = AlertFeed()
    contexts: list[AbstractContextManager[Subscription]] = []
    asyncio.run(leave_open())
    feed.announce()
    assert len(feed) == 1
