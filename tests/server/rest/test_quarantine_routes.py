from __future__ import annotations

import httpx


def test_messages_not_taken_in_are_listed_with_reason_and_content(client: httpx.Client) -> None:
    page = client.get("/quarantine", params={"limit": 1}).json()
    assert page["messages"] == [
        {
            "seq": 2,
            "message_id": "m2",
            "source": "rest",
            "received_at": "2026-03-01T12:00:00Z",
            "status": "rejected",
            "reason": "not an integer",
            "code": None,
            "content": "<Bad/>",
            "contradiction": {
                "triples": ["<urn:x:a> <urn:x:p> <urn:x:b> ."],
                "axioms": ["p Range C"],
                "limits": "",
            },
        }
    ]
    following = client.get(page["next"]).json()["messages"]
    assert [(each["status"], each["content"]) for each in following] == [
        ("unmatched", "<\ufffdOdd/>")
    ]
