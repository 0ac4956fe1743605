from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.w3c.protocol import HTTP_DEVIATIONS, MISSING, HttpCase, ProtocolServer, http_cases


@pytest.fixture(scope="module")
def server() -> Iterator[ProtocolServer]:
    found = ProtocolServer()
    yield found
    found.close()


def test_the_suites_are_here() -> None:
    if not http_cases():
        pytest.skip(MISSING)
    assert len(http_cases()) == 34


@pytest.mark.parametrize("case", http_cases(), ids=lambda case: case.name)
def test_the_server_answers_as_the_suite_says(server: ProtocolServer, case: HttpCase) -> None:
    fault = server.fault(case)
    assert (fault is not None) == (case.name in HTTP_DEVIATIONS), fault


def test_the_description_is_that_of_the_suite(server: ProtocolServer) -> None:
    assert [why for _, why in server.description_faults()] == [None] * 3
