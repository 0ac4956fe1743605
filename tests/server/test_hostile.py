"""Whatever a client sends, the answer is no fault of the server: over real HTTP and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.settings.settings import (
    ArchiveSettings,
    HistorySettings,
    LimitSettings,
    ReasoningSettings,
)
from tests.tracking_settings import tracking

XML = {"content-type": "application/xml"}
DIGITS = "1" * 5000
DEEP = 100_000
OVERRUN = "urn:sensorstream:error:overrun"
FORM = {"content-type": "application/x-www-form-urlencoded"}
SPARQL = {"content-type": "application/sparql-query"}
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def web(
    tmp_path_factory: pytest.TempPathFactory,
    new_database: Callable[[], str],
    listen: Callable[[Application], Iterator[str]],
) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("deployment")
    settings = tracking(
        folder,
        reasoning=ReasoningSettings(profile="plain"),
        history=HistorySettings(url=new_database()),
        limits=LimitSettings(question_seconds=5.0),
        archive=ArchiveSettings(folder=folder / "archive"),
    )
    with Application.open(settings) as application:
        for message in tracker_messages(5, start=100):
            application.submit(message, "cam").result(60)
        for url in listen(application):
            with httpx.Client(base_url=url, timeout=60) as client:
                yield client


def sane(answer: httpx.Response) -> bool:
    """No fault of the server, and a problem document for what is refused."""
    soap = answer.request.url.path == "/soap"  # SOAP has faults of its own.
    if answer.status_code >= 400 and answer.request.method != "HEAD" and not soap:
        told = answer.headers.get("content-type", "")
        assert told == "application/problem+json", answer.text[:300]
    return soap or answer.status_code < 500


TEXTS = {
    "digits": DIGITS,
    "nul": "a\0b",
    "surrogate": "\\ud800",
    "nan": "NaN",
    "infinity": "-Infinity",
    "huge": str(10**30),
    "long": "x" * 20_000,
    "superscript": "\u00b2",
    "percent": "%",
    "empty": "",
}

READS = [
    "/window?limit={}",
    "/window?offset={}",
    "/window?limit=1&offset={}",
    "/alerts?limit={}",
    "/alerts?before={}",
    "/alerts/{}/messages",
    "/alerts/m1-1/messages?after={}",
    "/quarantine?limit={}",
    "/quarantine?before={}",
    "/latest?class={}",
    "/latest?class=http://sensorstream.example/tracking%23Human&after={}",
    "/individuals?iri={}",
    "/individuals/{}",
    "/queries/{}",
    "/queries/{}/results",
    "/queries/{}/step?last={}",
    "/jobs/{}",
    "/jobs/{}/result",
    "/webhooks/{}",
    "/sparql?query={}",
    "/sparql?query=ASK%7B%7D&on=history&at={}",
    "/sparql?query=ASK%7B%7D&on=history&during={0}/{0}",
    "/sparql?query=ASK%7B%7D&default-graph-uri={}",
    "/sparql?query=ASK%7B%7D&on=history&named-graph-uri={}",
    "/soap?{}",
    "/{}",
]


@pytest.mark.parametrize("path", READS)
def test_no_value_in_a_path_is_a_fault_of_the_server(web: httpx.Client, path: str) -> None:
    for name, text in {**TEXTS, "raw": "%ff%fe", "zero": "%00", "bad": "%zz%u0041"}.items():
        value = (
            text if name in ("raw", "zero", "bad") else httpx.QueryParams({"": text}).__str__()[1:]
        )
        answer = web.get(path.format(value, value))
        assert sane(answer), (name, answer.text[:300])


@pytest.mark.parametrize("path", ["/alerts/stream", "/queries/none/results"])
def test_no_header_is_a_fault_of_the_server(web: httpx.Client, path: str) -> None:
    for value in (DIGITS, "\xb2", "m1-\xb2", f"m1-{DIGITS}", "NaN", "-1", str(10**30)):
        headers = {b"last-event-id": value.encode("latin-1"), b"accept": b"text/event-stream"}
        with web.stream("GET", path, headers=headers) as answer:
            assert answer.status_code < 500, value
    for value in ("\xff", "*/*;q=nan", "a/b;q=" + DIGITS, ";;;,,,", "/" * 1000):
        assert sane(web.get("/ontology", headers={b"accept": value.encode("latin-1")}))
        assert sane(web.get("/metrics", headers={b"accept": value.encode("latin-1")}))
        assert sane(web.get("/sparql?query=ASK{}", headers={b"accept": value.encode("latin-1")}))


SOAP = """<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">
<s:Body><n:postMessage xmlns:n="urn:sensorstream:soap"><n:message>{}</n:message>
</n:postMessage></s:Body></s:Envelope>"""


@pytest.mark.parametrize(
    "text", [" " * 900_000, "<![CDATA[" + "<?xml " * 150_000 + "]]>", "&#10;" * 900_000 + "x"]
)
def test_no_text_in_a_soap_message_holds_the_server(web: httpx.Client, text: str) -> None:
    # The client waits a minute. A search from each place on would take half an hour.
    answer = web.post("/soap", content=SOAP.format(text), headers={"content-type": "text/xml"})
    assert answer.status_code == 500, answer.text[:300]
    assert "Client</faultcode>" in answer.text


def test_no_value_that_is_refused_holds_the_server(web: httpx.Client) -> None:
    # It stands in the log, where secrets are looked for.
    (message,) = tracker_messages(1, start=200)
    assert b"value = '200'" in message
    wrong = message.replace(b"value = '200'", b"value='%s'" % (b"a." * 400_000))
    answer = web.post("/messages", content=wrong, headers=XML)
    assert answer.status_code == 422, answer.text[:300]


def bodies(field: str, others: str = "") -> list[bytes]:
    values = [
        DIGITS,
        f'"{DIGITS}"',
        '"\\u0000"',
        '"select \\u0000"',
        '"\\ud800"',
        "NaN",
        "-Infinity",
        "1e999",
        "[" * DEEP,
        "[" * DEEP + "]" * DEEP,
        '{"a":' * DEEP,
        '"' + "x" * 70_000 + '"',
        "null",
        '"\\',
        "\ufeff",
    ]
    told = [f'{{"{field}": {value}{others}}}'.encode() for value in values]
    return [*told, b"\xff\xfe{}", b"", b"\0", b"[" * DEEP, b'"\\ud800"', b"\xef\xbb\xbf{}"]


@pytest.mark.parametrize(
    ("path", "field", "others"),
    [
        ("/sql", "query", ""),
        ("/sql?on=archive", "query", ""),
        ("/jobs", "text", ', "language": "sql"'),
        ("/jobs", "at", ', "language": "sparql", "text": "ASK {}"'),
        ("/webhooks", "url", ""),
        ("/webhooks", "secret", ', "url": "https://example.org/"'),
        ("/messages/batch", "x", ""),
    ],
)
def test_no_json_is_a_fault_of_the_server(
    web: httpx.Client, path: str, field: str, others: str
) -> None:
    for body in bodies(field, others):
        answer = web.post(path, content=body, headers=JSON)
        assert sane(answer), (body[:60], answer.text[:300])


def test_no_batch_is_a_fault_of_the_server(web: httpx.Client) -> None:
    for body in (
        b'["\\ud800"]',
        b'["\\u0000"]',
        b"[NaN]",
        b"[" + DIGITS.encode() + b"]",
        b"[[[]]]",
    ):
        for kind in ("application/json", "application/x-ndjson"):
            answer = web.post("/messages/batch", content=body, headers={"content-type": kind})
            assert sane(answer), (body, answer.text)
    for body in (
        b"<Messages>\0</Messages>",
        b"<Messages>" + b"<a>" * DEEP,
        b"<Messages><a>\xff</a></Messages>",
        b"<Messages><p:a xmlns:q=''/><a b='&x;'/><a xmlns:xml='x'/></Messages>",
    ):
        answer = web.post("/messages/batch", content=body, headers=XML)
        assert sane(answer), (body, answer.text)


def test_no_source_is_a_fault_of_the_server(web: httpx.Client) -> None:
    for source in ("%00", "%ff", "x" * 60_000, "%ed%a0%80", ""):
        answer = web.post(f"/messages?source={source}", content=b"<A/>", headers=XML)
        assert sane(answer), (source[:20], answer.text)
        answer = web.post(f"/messages/batch?source={source}", json=["<A/>"])
        assert sane(answer), (source[:20], answer.text)


SQL = [
    "delete from store.messages",
    "delete from messages returning *",
    "delete",
    "select 'NaN'::float8, 'Infinity'::float8, 'NaN'::numeric, '-Infinity'::numeric",
    "select 'infinity'::timestamptz, '-infinity'::date, '4713-01-01 BC'::date",
    "select '294276-12-31'::timestamptz, 'infinity'::timestamp, '24:00'::time",
    f"select 10::numeric ^ 4000, {DIGITS}",
    "select interval '178000000 years', '1 day'::interval",
    "select '\\xff'::bytea, array[1,null], row(1,2), '[1,2)'::int4range, '{}'::jsonb",
    "select '1'::money, '(1,2)'::point, '10.0.0.1'::inet, b'101', '<a/>'::xml, 'x'::tsvector",
    "select '{\"a\": 1e400}'::json",
    "select 1 as a, 2 as a",
    "select",
    "values (1)",
    "table messages",
    "show all",
    "explain select 1",
    "listen x",
    "vacuum",
    "prepare x as select 1",
    "declare c cursor for select 1",
    "fetch forward 1 from answer",
    "select * from store.next_rows('answer', 1) as rows(a text)",
    "set statement_timeout = 0",
    "begin",
    "select $1",
    "select '%s %(x)s %'",
    "select * from live.individuals",
    "select U&'\\D800'",
    "select chr(0)",
    "select " + "(" * 5000,
    "select " + "1+" * 20_000 + "1",
    "select '" + "x" * 60_000 + "' as " + "y" * 60_000,
]


@pytest.mark.parametrize("accept", ["application/json", "text/csv"])
@pytest.mark.parametrize("on", ["history", "archive"])
def test_no_sql_is_a_fault_of_the_server(web: httpx.Client, on: str, accept: str) -> None:
    for text in SQL:
        told = {"query": text}
        answer = web.post(f"/sql?on={on}", json=told, headers={"accept": accept})
        assert sane(answer), (text[:80], answer.text[:300])


def test_no_answer_of_sql_is_larger_than_the_memory(web: httpx.Client) -> None:
    for value in ("repeat('x', 17000000)", "array_fill(1, array[9000000])"):
        answer = web.post("/sql", json={"query": f"select {value} from generate_series(1, 1000)"})
        assert (answer.status_code, answer.json()["type"]) == (422, OVERRUN), answer.text[:300]


CALLS = [
    "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * { sErViCe SILENT <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * { \\u0053ERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * { SERV\\U00000049CE <http://127.0.0.1:1/> {} }",
    "SELECT * { SERVICE#\n<http://127.0.0.1:1/>{} }",
    "SELECT * { { SELECT * { SERVICE ?x { ?s ?p ?o } } } }",
    "ASK { FILTER EXISTS { SERVICE <http://127.0.0.1:1/> {} } }",
    "ASK { OPTIONAL { GRAPH ?g { MINUS { SERVICE <http://127.0.0.1:1/> {} } } } }",
    "CONSTRUCT { ?s ?p ?o } WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * FROM <http://127.0.0.1:1/> { ?s ?p ?o }",
    "LOAD <http://127.0.0.1:1/>",
    "\\u004cOAD <http://127.0.0.1:1/>",
    "load silent <http://127.0.0.1:1/> into graph <urn:g>",
    "ASK {} ; LOAD <http://127.0.0.1:1/>",
]


@pytest.mark.parametrize("on", ["cache", "history", "all", "archive", "spark"])
def test_no_query_calls_others_however_it_is_written(web: httpx.Client, on: str) -> None:
    for text in CALLS:
        if "FROM" in text and on != "archive":
            continue  # The name of a graph that is not there; nothing is fetched.
        answer = web.post("/sparql", params={"on": on}, content=text, headers=SPARQL)
        assert 400 <= answer.status_code < 500, (text, answer.text)


def test_no_continuous_query_calls_others_however_it_is_written(web: httpx.Client) -> None:
    for text in CALLS:
        if text.startswith("SELECT * FROM"):
            continue
        answer = web.post("/queries?name=a", content=text, headers=SPARQL)
        assert 400 <= answer.status_code < 500, (text, answer.text)


QUERIES = [
    f"SELECT ({DIGITS} AS ?x) {{}}",
    f"ASK {{ ?s ?p {DIGITS}.5 , 1e{DIGITS} , -{DIGITS} }}",
    f"SELECT * {{}} LIMIT {DIGITS}",
    f"SELECT * {{}} OFFSET {10**30}",
    "SELECT (1/0 AS ?x) (1e400 AS ?y) ('a'+1 AS ?z) {}",
    'ASK { ?s ?p "\\uD800" }',
    'ASK { ?s ?p "\\u0000" }',
    "ASK { <\\u0000> ?p ?o }",
    "ASK { ?s ?p '\0' }",
    "ASK { FILTER(REGEX('a', '(')) }",
    "ASK { FILTER(REGEX('a', 'a', '\\u0000')) }",
    "ASK { FILTER(REPLACE('a', '.*', '$9') = 'a') }",
    "SELECT (SUBSTR('a', 1e300) AS ?x) (YEAR('9'^^xsd:dateTime) AS ?y) {}",
    'SELECT ("99999999999-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> AS ?x) {}',
    f"PREFIX {'p' * 60_000}: <urn:x> ASK {{}}",
    f"SELECT ?{'v' * 60_000} {{ ?{'v' * 60_000} ?p ?o }}",
    "ASK { ?s <" + "x:" + "y" * 60_000 + "> ?o }",
    "SELECT (COUNT(*) AS ?s) ?s { ?s ?p ?o }",
    "DESCRIBE <urn:x>",
    "",
    "\ufeffASK {}",
    "SELECT * { ?s ?p ?o } VALUES (?a ?b) { (1) }",
    "INSERT DATA { <a> <b> <c> }",
    "DROP ALL",
]


@pytest.mark.parametrize("on", ["cache", "history", "all"])
def test_no_sparql_is_a_fault_of_the_server(web: httpx.Client, on: str) -> None:
    for text in QUERIES:
        answer = web.post("/sparql", params={"on": on}, content=text.encode(), headers=SPARQL)
        assert sane(answer), (text[:80], answer.text[:300])
    for body in (b"\xff", b"query=%ff", b"query=%00", b"query=%zz", b"q&" * 5000, b"=&=;"):
        answer = web.post("/sparql", params={"on": on}, content=body, headers=FORM)
        assert sane(answer), (body[:20], answer.text[:300])


def test_no_registration_is_a_fault_of_the_server(web: httpx.Client) -> None:
    for text in (*QUERIES, *(f"REGISTER QUERY a AS {each}" for each in QUERIES)):
        answer = web.post("/queries?name=a", content=text.encode(), headers=SPARQL)
        assert sane(answer), (text[:80], answer.text[:300])
        web.delete("/queries/a")
    for name in TEXTS.values():
        answer = web.post("/queries", params={"name": name}, content="ASK {}", headers=SPARQL)
        assert sane(answer), (name[:20], answer.text[:300])


def test_no_width_of_a_query_holds_the_server(web: httpx.Client) -> None:
    # Oxigraph's optimiser would take hours, in the thread of the engine.
    rows = " ".join(f"?s <urn:p{n}> ?o{n} ." for n in range(1_000))
    wide = f"SELECT ?s {{ {rows} OPTIONAL {{ ?s ?p ?o FILTER EXISTS {{ ?s ?p 1 }} }} }}"
    for text, said in (
        (wide, "the text has 1,002 patterns"),
        (f"ASK {{ ?s ?p ({'1 ' * 10_000}) }}", "the text has 20,001 patterns"),
        (f"ASK {{ VALUES ?x {{ {'1 ' * 200_000} }} }}", "characters: expected at most 262,144"),
    ):
        for path in ("/queries?name=a", "/sparql", "/sparql?on=history"):
            answer = web.post(path, content=text, headers=SPARQL)
            assert answer.status_code == 400, (path, answer.text)
            assert said in answer.json()["detail"]
    assert web.get("/queries/a").status_code == 404


@given(
    body=st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: text.encode(errors="replace"))
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_body_at_all_is_a_fault_of_the_server(web: httpx.Client, body: bytes) -> None:
    document = described(web)
    for path, operations in document["paths"].items():
        for method in operations:
            content = operations[method].get("requestBody", {}).get("content", {})
            for kind in content:
                answer = web.request(method, path, content=body, headers={"content-type": kind})
                assert sane(answer), (method, path, kind, answer.text[:300])


def described(web: httpx.Client) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(web.get("/openapi.json").content)
    return document


def test_the_description_is_valid_openapi(web: httpx.Client) -> None:
    document = described(web)
    assert document["openapi"].startswith("3.1")
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []


def test_every_operation_has_a_name_of_its_own(web: httpx.Client) -> None:
    operations = [each for path in described(web)["paths"].values() for each in path.values()]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


def test_every_get_has_a_head(web: httpx.Client) -> None:
    for path, operations in described(web)["paths"].items():
        if "get" not in operations or "{" in path:
            continue
        head = web.head(path, headers={"accept": "*/*"})
        assert (head.status_code < 500, head.content) == (True, b""), path
        if path != "/alerts/stream":
            assert head.status_code == web.get(path).status_code, path


def test_a_method_that_a_path_does_not_have_is_told_those_it_has(web: httpx.Client) -> None:
    answer = web.patch("/ontology")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, PUT")
    answer = web.patch("/queries/some")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, PUT")
    assert web.delete("/messages").headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("path", ["/ontology", "/openapi.json"])
def test_what_a_client_has_already_is_not_sent_again(web: httpx.Client, path: str) -> None:
    tag = web.get(path).headers["etag"]
    again = web.get(path, headers={"if-none-match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert web.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=list(HealthCheck), phases=(Phase.generate,))
def test_calls_made_from_the_description_are_no_fault_of_the_server(
    web: httpx.Client, operations: list[Any], data: st.DataObject
) -> None:
    operation = data.draw(st.sampled_from(operations))
    case = data.draw(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    answer = case.call(base_url=str(web.base_url), timeout=60)
    assert answer.status_code < 500, case.as_curl_command()


@pytest.fixture(scope="module")
def operations(web: httpx.Client) -> list[Any]:
    """What the description describes; but streams have no end, and a fault of SOAP is 500."""
    schema = schemathesis.openapi.from_dict(described(web))
    some = schema.exclude(path=["/alerts/stream", "/soap"])
    found = [each.ok() for each in some.get_all_operations() if isinstance(each, Ok)]
    assert len(found) > 30
    return found
