from __future__ import annotations

import httpx

TEXT = {"content-type": "text/plain"}


def test_the_rules_in_force_are_listed_with_their_places_and_files(client: httpx.Client) -> None:
    answer = client.get("/rules")
    assert answer.status_code == 200
    found = answer.json()
    assert found["rules"] == [
        {"kind": "mapping", "name": "tracker", "position": None},
        {
            "kind": "semantic",
            "name": "crowded",
            "position": {"file": "tracking.rules", "line": 3, "column": 1},
        },
    ]
    assert [each["on_disk"] for each in found["files"]] == ["absent"]
    assert answer.headers["etag"] == f'"{found["digest"]}"'


def test_a_rule_file_is_put_read_and_removed(client: httpx.Client) -> None:
    for name, text in (("new.rules", "# new ü"), ("new.rules", "# newer")):
        answer = client.put(f"/rules/{name}", content=text.encode(), headers=TEXT)
        assert (answer.status_code, answer.json()) == (200, {"change": "m9"})
        assert client.get("/rules/new.rules").text == text
    versions = client.get("/rules/new.rules/versions").json()["versions"]
    assert [each["digest"] for each in versions] == ["d1", None]
    assert client.get("/rules/new.rules/versions/m9").text == "# newer"
    unknown = client.get("/rules/new.rules/versions/m11")
    assert (unknown.status_code, unknown.json()["type"]) == (
        404,
        "urn:sensorstream:error:unknown-version",
    )
    assert client.delete("/rules/new.rules").status_code == 200
    gone = client.get("/rules/new.rules")
    assert (gone.status_code, gone.json()["type"]) == (404, "urn:sensorstream:error:unknown-rules")
    assert client.delete("/rules/new.rules").status_code == 404


def test_a_whole_set_is_put_or_none_of_it(client: httpx.Client) -> None:
    before = client.get("/rules").json()["files"]
    wrong = {"files": {"a.rules": "# a", "b.rules": "wrong"}}
    refused = client.put("/rules", json=wrong)
    assert refused.status_code == 422
    assert refused.json()["position"] == {"file": "b.rules", "line": 2, "column": 3}
    assert client.get("/rules").json()["files"] == before
    right = {"files": {"tracking.rules": "# tracking\n", "a.rules": "# a"}}
    assert client.put("/rules", json=right).status_code == 200
    found = client.get("/rules").json()["files"]
    assert [each["name"] for each in found] == ["tracking.rules", "a.rules"]
    assert client.delete("/rules/a.rules").status_code == 200


def test_what_has_changed_meanwhile_is_not_overwritten(client: httpx.Client) -> None:
    path = "/rules/tracking.rules"
    tag = client.get(path).headers["etag"]
    other = client.put(path, content=b"# other", headers={"if-match": tag})
    assert other.status_code == 200
    late = client.put(path, content=b"# late", headers={"if-match": tag})
    assert (late.status_code, late.json()["type"]) == (412, "urn:sensorstream:error:changed")
    assert client.delete(path, headers={"if-match": tag}).status_code == 412
    assert client.put(path, content=b"#", headers={"if-none-match": "*"}).status_code == 412
    absent = client.put("/rules/none.rules", content=b"#", headers={"if-match": "*"})
    assert absent.status_code == 412
    sets = client.put("/rules", json={"files": {}}, headers={"if-match": '"old"'})
    assert sets.status_code == 412
    assert client.get(path).text == "# other"
    back = client.put(path, content=b"# tracking\n", headers={"if-match": "*"})
    assert back.status_code == 200


def test_what_is_no_text_or_no_name_is_refused_with_its_reason(client: httpx.Client) -> None:
    assert client.put("/rules/a.rules", content=b"\xff").status_code == 422
    for name in ("a.owl", "..rules", "%2e%2e%2fa.rules", "a%00.rules", "x" * 300 + ".rules"):
        refused = client.put(f"/rules/{name}", content=b"# nothing")
        assert refused.status_code in {400, 404, 422}, name
    for body in (b'{"files": {"a.rules": "\\ud800"}}', b'{"files": {"a.rules": 1}}', b"[]"):
        refused = client.put("/rules", content=body, headers={"content-type": "application/json"})
        assert refused.status_code in {400, 422}, body
        assert refused.headers["content-type"] == "application/problem+json"


def test_a_name_says_the_language_and_a_type_of_another_is_refused(client: httpx.Client) -> None:
    for name, sent, status in (
        ("a.ttl", "text/turtle", 200),
        ("a.turtle", "text/plain", 200),
        ("a.xsl", "application/xslt+xml; charset=utf-8", 200),
        ("a.rules", "text/turtle", 415),
        ("a.ttl", "application/xslt+xml", 415),
    ):
        headers = {"content-type": sent}
        assert client.put(f"/rules/{name}", content=b"<a/>", headers=headers).status_code == status
    for name, told in (("a.ttl", "text/turtle"), ("a.xsl", "application/xslt+xml")):
        assert client.get(f"/rules/{name}").headers["content-type"].startswith(told)


def test_a_rule_set_is_text_of_its_own_language(client: httpx.Client) -> None:
    text = b"INSERT { ?x a <urn:b> } WHERE { ?x a <urn:a> }"
    update = {"content-type": "application/sparql-update"}
    assert client.put("/rules/mine.ru", content=text, headers=update).status_code == 200
    found = client.get("/rules/mine.ru")
    assert found.content == text
    assert found.headers["content-type"].startswith("application/sparql-update")
    assert client.put("/rules/mine.rules", content=text, headers=update).status_code == 415
    assert client.delete("/rules/mine.ru").status_code == 200
