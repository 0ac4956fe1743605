from __future__ import annotations

import httpx


def test_the_rules_in_force_are_listed_with_their_places(client: httpx.Client) -> None:
    answer = client.get("/rules")
    assert answer.status_code == 200
    assert answer.json() == {
        "rules": [
            {"kind": "mapping", "name": "tracker", "position": None},
            {
                "kind": "semantic",
                "name": "crowded",
                "position": {"file": "tracking.rules", "line": 3, "column": 1},
            },
        ]
    }
