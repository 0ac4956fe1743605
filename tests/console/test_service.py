from __future__ import annotations

import asyncio
from typing import cast

import pytest
from nicegui import Client, ui

from sensorstream.console.pages import Visit, page_of
from sensorstream.console.places import OVERVIEW
from sensorstream.console.service import build_page


async def fail(visit: Visit) -> None:
    raise ZeroDivisionError


def test_a_page_that_fails_says_so_and_the_fault_goes_on_to_the_log() -> None:
    async def opened() -> list[str]:
        with Client(ui.page("/")) as client:
            with pytest.raises(ZeroDivisionError):
                await build_page(page_of(OVERVIEW, fail), cast(Visit, None))
            return [each.text for each in client.elements.values() if isinstance(each, ui.label)]

    assert asyncio.run(opened()) == ["This page cannot be shown: the log of the server says why."]
