from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import httpx
import pytest
import zeep
import zeep.exceptions
from lxml import etree

from sensorstream.server import soap as soap_module

NS = {
    "s": "urn:sensorstream:soap",
    "e11": "http://schemas.xmlsoap.org/soap/envelope/",
    "e12": "http://www.w3.org/2003/05/soap-envelope",
}
SOAP_11 = {"content-type": "text/xml; charset=utf-8", "soapaction": '""'}
SOAP_12 = {"content-type": "application/soap+xml; charset=utf-8"}


def envelope(
    message: str = "<Message/>", *, version: str = "e11", headers: str = "", prolog: str = ""
) -> bytes:
    return (
        f'{prolog}<e:Envelope xmlns:e="{NS[version]}">{headers}<e:Body>'
        f'<postMessage xmlns="{NS["s"]}"><message>{escape(message)}</message></postMessage>'
        "</e:Body></e:Envelope>"
    ).encode()


def texts(answer: httpx.Response, path: str) -> list[str]:
    found: Any = etree.fromstring(answer.content).xpath(path, namespaces=NS)
    return [str(each) for each in found]


@pytest.fixture(scope="module")
def soap(served: Any) -> Iterator[zeep.Client]:
    with zeep.Client(f"{served.url}/soap?wsdl") as client:
        yield client


def test_zeep_posts_a_message_as_it_comes(soap: zeep.Client, application: Any) -> None:
    text = "<Message><Name>Käthe &amp; Ada</Name></Message>"
    result = soap.service.postMessage(text)
    message = application.received[-1]
    assert (message.content, message.source) == (text.encode(), "soap")
    assert result.message_id == message.id
    assert result.matched == ["tracker", "sensor"]
    assert result.individuals == ["http://example.org/human-1"]
    assert [(each.id, each.text, each.time) for each in result.alerts] == [
        (f"{message.id}-1", "21 people", "7")
    ]
    assert result.expired == 0
    assert (result.timings.t_i, result.timings.t_s) == (0.001, 0.004)
    assert result.replies == ["<Command lamp='on'/>"]
    assert result.warnings == ["something odd"]


def test_zeep_speaks_soap_1_2_to_the_other_port(soap: zeep.Client) -> None:
    service = soap.bind("SensorStream", "Soap12")
    assert service.postMessage("<Message/>").matched == ["tracker", "sensor"]


def test_zeep_may_give_a_key_in_the_header(soap: zeep.Client, application: Any) -> None:
    header = {"key": "7d0b1c4e"}
    result = soap.service.postMessage("<Message/>", _soapheaders=header)
    assert result.message_id == application.received[-1].id
    with pytest.raises(zeep.exceptions.Fault, match="printable ASCII signs"):
        soap.service.postMessage("<Message/>", _soapheaders={"key": "x" * 256})


def test_zeep_gets_a_bad_message_back_as_a_fault(soap: zeep.Client) -> None:
    with pytest.raises(zeep.exceptions.Fault) as caught:
        soap.service.postMessage("<Bad/>")
    fault = caught.value
    assert fault.code == "soap:Client"
    assert "expected an integer" in fault.message
    problem = fault.detail.find("s:problem", NS)
    told = {etree.QName(each).localname: each.text for each in problem}
    assert told["type"] == "urn:sensorstream:error:mapping"
    assert told["status"] == "422"
    assert problem.findtext("s:position/s:column", namespaces=NS) == "5"
    assert told["see"] == "docs/use/mapping-rules.html#missing-and-invalid-values"
    wsdl = etree.fromstring(Path(str(soap_module.__file__)).with_name("service.wsdl").read_bytes())
    [schema] = wsdl.iter("{http://www.w3.org/2001/XMLSchema}schema")
    etree.XMLSchema(etree.fromstring(etree.tostring(schema))).assertValid(problem)


def test_a_fault_of_soap_1_2_is_a_bad_request_of_the_sender(client: httpx.Client) -> None:
    answer = client.post("/soap", content=envelope("<Bad/>", version="e12"), headers=SOAP_12)
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("application/soap+xml")
    assert texts(answer, "//e12:Code/e12:Value/text()") == ["soap:Sender"]
    assert texts(answer, "//e12:Reason/e12:Text/@xml:lang") == ["en"]
    assert texts(answer, "//e12:Detail/s:problem/s:status/text()") == ["422"]


@pytest.mark.parametrize(
    ("message", "code"),
    [("<Bad/>", "Client"), ("<open>", "Client"), ("<Busy/>", "Server"), ("<Defect/>", "Server")],
)
def test_a_fault_of_soap_1_1_tells_whose_fault_it_is(
    client: httpx.Client, message: str, code: str
) -> None:
    answer = client.post("/soap", content=envelope(message), headers=SOAP_11)
    assert answer.status_code == 500
    assert texts(answer, "//e11:Fault/faultcode/text()") == [f"soap:{code}"]
    assert "secret" not in answer.text


def test_a_declaration_inside_the_text_says_nothing_of_its_encoding(
    client: httpx.Client, application: Any
) -> None:
    text = '\n  <?xml version="1.0" encoding="ISO-8859-1"?>\n<Name>Käthe</Name>\n'
    assert client.post("/soap", content=envelope(text), headers=SOAP_11).status_code == 200
    assert application.received[-1].content == "<Name>Käthe</Name>".encode()


def test_a_message_may_stand_in_a_cdata_section(client: httpx.Client, application: Any) -> None:
    content = envelope("MESSAGE").replace(b"MESSAGE", b"<![CDATA[<A x='1'/>]]>")
    assert client.post("/soap", content=content, headers=SOAP_11).status_code == 200
    assert application.received[-1].content == b"<A x='1'/>"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not well-formed"),
        (b"<open>", "not well-formed"),
        (b"<a/>", "expected a SOAP 1.1 or 1.2 Envelope"),
        (envelope(prolog="<!DOCTYPE x>"), "DOCTYPE"),
        (
            envelope(prolog='<!DOCTYPE x [<!ENTITY a "b">]>').replace(b"&lt;Message/", b"&a;"),
            "DOCTYPE",
        ),
        (envelope().replace(b"postMessage", b"getMessage"), "expected one"),
        (f'<e:Envelope xmlns:e="{NS["e11"]}"/>'.encode(), "the body holds nothing"),
        (envelope().replace(b"&lt;Message/&gt;", b"<Message/>"), "escaped"),
        (envelope().replace(b"message>", b"massage>"), "expected one"),
    ],
)
def test_what_is_no_call_is_answered_by_a_fault_that_says_why(
    client: httpx.Client, content: bytes, told: str
) -> None:
    answer = client.post("/soap", content=content, headers=SOAP_11)
    assert answer.status_code == 500
    (reason,) = texts(answer, "//faultstring/text()")
    assert told in reason


def test_what_is_no_xml_is_answered_in_the_version_of_its_media_type(client: httpx.Client) -> None:
    answer = client.post("/soap", content=b"<open>", headers=SOAP_12)
    assert answer.status_code == 400
    assert texts(answer, "//e12:Code/e12:Value/text()") == ["soap:Sender"]


def test_an_unknown_envelope_is_a_version_mismatch(client: httpx.Client) -> None:
    content = envelope().replace(NS["e11"].encode(), b"http://example.org/soap-2.0")
    answer = client.post("/soap", content=content, headers=SOAP_11)
    assert texts(answer, "//faultcode/text()") == ["soap:VersionMismatch"]


@pytest.mark.parametrize(
    ("version", "attributes", "understood"),
    [
        ("e11", 'e:mustUnderstand="1"', False),
        ("e11", 'e:mustUnderstand="0"', True),
        ("e11", "", True),
        ("e11", 'e:mustUnderstand="1" e:actor="http://example.org/someone-else"', True),
        ("e11", 'e:mustUnderstand="1" e:actor="http://schemas.xmlsoap.org/soap/actor/next"', False),
        ("e12", 'e:mustUnderstand="true"', False),
        ("e12", 'e:mustUnderstand="true" e:role="http://example.org/someone-else"', True),
        (
            "e12",
            'e:mustUnderstand="1" '
            'e:role="http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver"',
            False,
        ),
    ],
)
def test_a_header_that_must_be_understood_is_refused(
    client: httpx.Client, version: str, attributes: str, understood: bool
) -> None:
    block = f'<e:Header><x:Security xmlns:x="urn:x" {attributes}/></e:Header>'
    content = envelope(version=version, headers=block)
    headers = SOAP_11 if version == "e11" else SOAP_12
    answer = client.post("/soap", content=content, headers=headers)
    if understood:
        assert answer.status_code == 200
        return
    assert answer.status_code == 500
    assert "soap:MustUnderstand" in texts(answer, "//faultcode/text() | //e12:Value/text()")
    if version == "e12":
        assert texts(answer, "//e12:NotUnderstood/@qname") == ["h:Security"]


def test_another_content_type_is_refused(client: httpx.Client) -> None:
    answer = client.post("/soap", json={})
    assert answer.status_code == 415
    assert "text/xml" in answer.json()["detail"]


def test_a_message_over_the_limit_is_a_fault_though_its_envelope_passes(
    client: httpx.Client, application: Any
) -> None:
    limit = application.settings.server.max_message_bytes
    largest = "<a>" + "x" * (limit - 7) + "</a>"
    assert client.post("/soap", content=envelope(largest), headers=SOAP_11).status_code == 200
    answer = client.post("/soap", content=envelope(largest + " <b/>"), headers=SOAP_11)
    assert texts(answer, "//s:type/text()") == ["urn:sensorstream:error:message-too-large"]


def test_the_wsdl_names_the_address_it_was_asked_at(client: httpx.Client, served: Any) -> None:
    for name in ("wsdl", "WSDL"):
        answer = client.get(f"/soap?{name}")
        assert answer.headers["content-type"].startswith("text/xml")
        addresses = etree.fromstring(answer.content).xpath("//@location")
        assert addresses == [f"{served.url}/soap"] * 2


def test_without_wsdl_there_is_nothing_to_get(client: httpx.Client) -> None:
    answer = client.get("/soap")
    assert answer.status_code == 404
    assert "/soap?wsdl" in answer.json()["detail"]


@pytest.mark.parametrize("version", ["e11", "e12"])
def test_a_fault_does_not_name_all_that_was_wrong(client: httpx.Client, version: str) -> None:
    names = SOAP_11 if version == "e11" else SOAP_12
    space, true = f"xmlns='urn:{'x' * 200}'", 1 if version == "e11" else "true"
    many = "".join(f"<a{n}/>" for n in range(2_000))
    understood = "".join(f"<a{n} e:mustUnderstand='{true}'/>" for n in range(2_000))
    for body, headers in (
        (f"<e:Body {space}>{many}</e:Body>", ""),
        ("<e:Body/>", f"<e:Header {space}>{understood}</e:Header>"),
    ):
        content = f'<e:Envelope xmlns:e="{NS[version]}">{headers}{body}</e:Envelope>'
        answer = client.post("/soap", content=content, headers=names)
        assert answer.status_code in (400, 500)
        assert len(answer.content) < 60_000
        assert "a1999" in answer.text, "the end is told, too"
