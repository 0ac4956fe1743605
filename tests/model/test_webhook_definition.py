from __future__ import annotations

import pytest

from sensorstream.errors import WebhookError
from sensorstream.model.webhook_definition import Grouping, grouping_data, read_grouping


def test_what_is_written_is_read_again_and_what_is_not_said_has_its_default() -> None:
    found = read_grouping({"by": ["key", "rule"], "wait": 5})
    assert found == Grouping(("rule", "key"), 5.0, 300.0)
    assert read_grouping(grouping_data(found)) == found
    assert read_grouping(None) is None
    assert grouping_data(None) is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["rule"], "expected by"),
        ({}, "'by'"),
        ({"by": "rule"}, "'by'"),
        ({"by": ["colour"]}, "rule, kind, severity, key"),
        ({"by": [], "every": 3}, "'every'"),
        ({"by": [], "wait": 3601}, "'wait': expected 0 to 3600"),
        ({"by": [], "wait": float("nan")}, "'wait'"),
        ({"by": [], "interval": 0}, "'interval': expected 1 to 604800"),
        ({"by": [], "interval": True}, "'interval'"),
    ],
)
def test_what_is_no_grouping_is_refused_with_what_is_expected(given: object, told: str) -> None:
    with pytest.raises(WebhookError, match=told):
        read_grouping(given)
