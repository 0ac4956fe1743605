"""SPARQL over a deployment's history in PostgreSQL: as Oxigraph answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sensorstream.app.application import Application
from sensorstream.history.asking.run import Limits, answered
from tests.history import house

LIMITS = Limits(30.0, 10_000)


@pytest.fixture(scope="module")
def history(new_database: Callable[[], str]) -> Iterator[str]:
    """The URL of the house's history; its server has stopped."""
    url = new_database()
    with TemporaryDirectory() as folder:
        with Application.open(house.settings(Path(folder), url)) as application:
            for each in [application.submit(content, "house") for content in house.messages()]:
                assert each.result(60).status.value == "accepted"
        yield url


def test_there_are_enough_questions() -> None:
    assert len(house.cases()) >= 60


@pytest.mark.parametrize("case", house.cases(), ids=lambda case: case.name)
def test_an_answer_is_that_of_oxigraph(history: str, case: house.Case) -> None:
    store = house.exported(history, case.question.time)
    with answered(history, case.question, LIMITS) as answer:
        found = house.comparable(answer, case)
    assert found == house.expected(store, case)
