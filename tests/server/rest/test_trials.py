from __future__ import annotations

import httpx
import pytest


def test_what_rules_make_of_a_message_is_told(client: httpx.Client) -> None:
    answer = client.post("/trials", json={"message": "<Message/>"})
    assert answer.status_code == 200
    tried = answer.json()
    assert (tried["status"], tried["matched"], tried["faults"]) == ("accepted", ["person"], [])
    (statement,) = tried["statements"]
    assert statement.startswith("<http://example.org/ada> ")
    assert tried["left_out"] == 0
    assert tried["preceding"] == 0
    after = client.post("/trials", json={"message": "<Message/>", "after": 7}).json()
    assert after["preceding"] == 7
    assert client.post("/trials", json={"message": "<a/>", "after": 101}).status_code == 422


@pytest.mark.parametrize("encoding", ["none", "ascii"])
def test_a_message_that_is_no_text_in_its_encoding_is_refused(
    client: httpx.Client, encoding: str
) -> None:
    message = f"<?xml version='1.0' encoding='{encoding}'?><a>ü</a>"
    answer = client.post("/trials", json={"message": message})
    assert answer.status_code == 400
    assert f"the message is not text in {encoding}" in answer.json()["detail"]


def test_a_slip_in_the_body_is_refused(client: httpx.Client) -> None:
    answer = client.post("/trials", json={"message": "<a/>", "rules": {}})
    assert answer.status_code in (400, 422)
    assert "rules" in answer.text
