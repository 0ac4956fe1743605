"""The commands' client of a running server, over HTTP like any other client."""

from __future__ import annotations

import json
import os
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote

from sensorstream.cli.options import shown_key
from sensorstream.client import clients
from sensorstream.client.operation import check, error_of, media_type, reaching
from sensorstream.client.question_operations import AskedOf, asked
from sensorstream.errors import MessageError, ServerUnreachable

if TYPE_CHECKING:
    import httpx
    from lxml import etree

TABLES: Final = "application/sparql-results+json, text/turtle;q=0.9"
"""The answers that are shown as tables; a graph is Turtle."""
SOAP_ENVELOPE: Final = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_MESSAGES: Final = "urn:sensorstream:soap"

_LISTS: Final = (
    "matched",
    "individuals",
    "alerts",
    "filtered",
    "shed",
    "replies",
    "warnings",
)


class CommandClient(clients.Client):
    """The public client, and the further requests of the commands."""

    def __init__(self, url: str, *, timeout: float = clients.TIMEOUT) -> None:
        """Use the key and the certificates that the user has named (see :func:`shown_key`)."""
        ca = os.environ.get("SENSORSTREAM_CA") or None
        super().__init__(url, timeout=timeout, key=shown_key(), ca=ca)

    def post_soap(self, message: bytes) -> dict[str, Any]:
        """Send one XML message by SOAP 1.1; same answer as :meth:`send`.

        Raises:
            MessageError: the message is not UTF-8, so it cannot stand inside the envelope.
        """
        from xml.sax.saxutils import escape

        try:
            text = escape(message.decode("utf-8"))
        except UnicodeDecodeError:
            raise MessageError("only a UTF-8 message can be sent by SOAP: use REST") from None
        envelope = (
            f'<e:Envelope xmlns:e="{SOAP_ENVELOPE}"><e:Body>'
            f'<s:postMessage xmlns:s="{SOAP_MESSAGES}"><s:message>{text}</s:message>'
            "</s:postMessage></e:Body></e:Envelope>"
        )
        response = self._request(
            "POST",
            "/soap",
            content=envelope.encode(),
            headers={"Content-Type": "text/xml; charset=utf-8", "SOAPAction": '""'},
        )
        return _soap_answer(response)

    def write_sparql(self, query: str, accept: str, scope: AskedOf, out: IO[bytes]) -> str:
        """Write the answer to a SPARQL query as it comes; its media type."""
        return self._write("POST", "/sparql", asked(query, accept, scope), out)

    def write_sql(self, query: str, accept: str, out: IO[bytes]) -> None:
        """Write the answer to an SQL query as it comes."""
        options = {"json": {"query": query}, "headers": {"Accept": accept}}
        self._write("POST", "/sql", options, out)

    def write_job_result(self, job_id: str, accept: str, out: IO[bytes]) -> str:
        """Write the result of a job as it comes; its media type."""
        path = f"/jobs/{quote(job_id, safe='')}/result"
        return self._write("GET", path, {"headers": {"Accept": accept}}, out)

    def _write(self, method: str, path: str, options: dict[str, Any], out: IO[bytes]) -> str:
        with (
            reaching(self.url),
            self._http.stream(method, path, timeout=None, **options) as response,
        ):
            if not response.is_success:
                response.read()
            check(response)
            for piece in response.iter_bytes():
                out.write(piece)
            return media_type(response)

    def answer(self, name: str, key: str | None = None) -> tuple[str, str]:
        """The media type and the text of the present result of a continuous query."""
        return self._answer(name, TABLES, key)

    def select(self, query: str, *, on: str = "cache") -> list[dict[str, str]]:
        """The solutions of a SELECT query, each value as its plain text."""
        accept = "application/sparql-results+json"
        document = json.loads(self._sparql(query, accept, on=on)[1])
        return [
            {name: cell["value"] for name, cell in solution.items()}
            for solution in document["results"]["bindings"]
        ]


def _soap_answer(response: httpx.Response) -> dict[str, Any]:
    from lxml import etree

    try:
        root = etree.fromstring(response.content, etree.XMLParser(resolve_entities=False))
    except etree.XMLSyntaxError:
        raise ServerUnreachable(
            f"{response.url} answered {response.status_code}: expected an answer in SOAP"
        ) from None
    problem = root.find(f".//{{{SOAP_MESSAGES}}}problem")
    if problem is not None:
        fields = {_name(field): field.text or "" for field in problem}
        raise error_of(fields.get("type", ""), fields.get("detail", ""), fields)
    answer = root.find(f".//{{{SOAP_MESSAGES}}}postMessageResponse")
    if answer is None:
        raise ServerUnreachable(f"{response.url} answered {response.status_code} without a result")
    facts: dict[str, Any] = {name: [] for name in _LISTS}
    for field in answer:
        name, value = _name(field), _plain(field)
        if name in _LISTS:
            facts[name].append(value)
        else:
            facts[name] = value
    facts["expired"] = int(facts["expired"])
    facts["timings"] = {phase: float(seconds) for phase, seconds in facts["timings"].items()}
    return facts


def _plain(element: etree._Element) -> Any:
    """An element's text, or its children by name."""
    if not len(element):
        return element.text or ""
    return {_name(child): _plain(child) for child in element}


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]
