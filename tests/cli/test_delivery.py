from __future__ import annotations

import pytest

from sensorstream.cli.send_command import Tally, report

ANSWER = {
    "status": "accepted",
    "matched": ["seen"],
    "warnings": [],
    "individuals": ["a"],
    "alerts": [],
    "expired": 0,
    "timings": {},
}


def test_a_message_that_is_journalled_for_spark_is_accepted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally(sent=1)
    tally.count("first", {**ANSWER, "status": "journalled", "matched": [], "individuals": []})
    assert tally.clean
    report(tally, as_json=False)
    assert "1 accepted (1 journalled for the pipeline on Spark), 0 unmatched" in (
        capsys.readouterr().out
    )


def test_a_message_without_a_rule_is_not_accepted() -> None:
    tally = Tally(sent=1)
    tally.count("first", {**ANSWER, "matched": [], "warnings": ["no rule reads /seen"]})
    assert tally.unmatched == [("first", "no rule reads /seen")]
