"""Talking to a running server, as any outside client would: over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote
from xml.sax.saxutils import escape

import httpx
from lxml import etree

from sensorstream import errors
from sensorstream.errors import MessageError, Position, SensorStreamError, ServerUnreachable

SOAP_ENVELOPE: Final = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_MESSAGES: Final = "http://sensorstream.example/soap"
_PROBLEM: Final = "urn:sensorstream:error:"

_LISTS: Final = (
    "matched",
    "individuals",
    "alerts",
    "filtered",
    "shed",
    "replies",
    "warnings",
)


class Client:
    """One server; keeps its connection open. Use as a context manager.

    Every method raises :class:`ServerUnreachable` where no SensorStream answers, and the error
    of our own tree that the server names in its answer.
    """

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        """``timeout`` is in seconds and counts for each request."""
        self.url = url.rstrip("/")
        # trust_env off: a proxy of the environment must not stand between us and localhost.
        self._http = httpx.Client(base_url=self.url, timeout=timeout, trust_env=False)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._http.close()

    def post(self, message: bytes, source: str | None = None) -> dict[str, Any]:
        """Send one XML message by REST, in the name of a source; what became of it."""
        return self._json(
            "POST",
            "/messages",
            params={} if source is None else {"source": source},
            content=message,
            headers={"Content-Type": "application/xml"},
        )

    def post_soap(self, message: bytes) -> dict[str, Any]:
        """Send one XML message by SOAP 1.1; the same facts as :meth:`post`.

        Raises:
            MessageError: the message is not UTF-8, so it cannot stand inside the envelope.
        """
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

    def sparql(self, query: str, accept: str) -> tuple[str, str]:
        """The answer to a SPARQL query: its media type and its text."""
        response = self._checked(
            "POST",
            "/sparql",
            content=query.encode(),
            headers={"Content-Type": "application/sparql-query", "Accept": accept},
        )
        return response.headers.get("content-type", "").split(";")[0], response.text

    def select(self, query: str) -> list[dict[str, str]]:
        """The solutions of a SELECT query, each value as its plain text."""
        found = self._json(
            "POST",
            "/sparql",
            content=query.encode(),
            headers={
                "Content-Type": "application/sparql-query",
                "Accept": "application/sparql-results+json",
            },
        )
        return [
            {name: cell["value"] for name, cell in solution.items()}
            for solution in found["results"]["bindings"]
        ]

    def sql(self, query: str) -> dict[str, Any]:
        """The answer to an SQL query over history: ``columns`` and ``rows``."""
        return self._json("POST", "/sql", json={"query": query})

    def alerts(self) -> list[dict[str, Any]]:
        """The newest thousand alerts the server keeps, newest first."""
        return list(self._json("GET", "/alerts?limit=1000")["alerts"])

    def register_webhook(self, url: str) -> dict[str, Any]:
        """Have alerts delivered to ``url``; the answer holds the secret that signs them."""
        return self._json("POST", "/webhooks", json={"url": url})

    def query_graph(self, name: str) -> dict[str, Any]:
        """The operators of a continuous query."""
        return self._json("GET", f"/queries/{quote(name, safe='')}/graph")

    def metrics(self) -> str:
        """The server's metrics in Prometheus' text format."""
        return self._checked("GET", "/metrics").text

    def _json(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        response = self._checked(method, path, **content)
        try:
            answer: dict[str, Any] = response.json()
        except ValueError:
            raise ServerUnreachable(f"{self.url} is no SensorStream server") from None
        return answer

    def _checked(self, method: str, path: str, **content: Any) -> httpx.Response:
        response = self._request(method, path, **content)
        if response.is_success:
            return response
        try:
            problem = response.json()
            code, detail = str(problem["type"]), str(problem.get("detail") or problem.get("title"))
            place = problem.get("position")
            position = None if place is None else Position(**place)
        except (ValueError, LookupError, TypeError):
            raise ServerUnreachable(
                f"{self.url}{path} answered {response.status_code}, and not as SensorStream does"
            ) from None
        raise _error(code, detail, position)

    def _request(self, method: str, path: str, **content: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise ServerUnreachable(f"no answer from {self.url}: {reason}") from None


def _kinds() -> Iterator[type[SensorStreamError]]:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, SensorStreamError):
            yield kind


_BY_CODE: Final[Mapping[str, type[SensorStreamError]]] = {kind.code: kind for kind in _kinds()}


def _error(problem_type: str, detail: str, position: Position | None = None) -> SensorStreamError:
    code = problem_type.removeprefix(_PROBLEM)
    # What is no error of ours is one of HTTP: not found, not allowed, internal.
    return _BY_CODE.get(code, ServerUnreachable)(detail, position=position)


def _soap_answer(response: httpx.Response) -> dict[str, Any]:
    try:
        root = etree.fromstring(response.content, etree.XMLParser(resolve_entities=False))
    except etree.XMLSyntaxError:
        raise ServerUnreachable(
            f"{response.url} answered {response.status_code}, and not in SOAP"
        ) from None
    problem = root.find(f".//{{{SOAP_MESSAGES}}}problem")
    if problem is not None:
        told = {str(etree.QName(field).localname): field.text or "" for field in problem}
        raise _error(told.get("type", ""), told.get("detail", ""))
    answer = root.find(f".//{{{SOAP_MESSAGES}}}postMessageResponse")
    if answer is None:
        raise ServerUnreachable(f"{response.url} answered {response.status_code} without a result")
    facts: dict[str, Any] = {name: [] for name in _LISTS}
    for field in answer:
        name = str(etree.QName(field).localname)
        value = _plain(field)
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
    return {str(etree.QName(child).localname): _plain(child) for child in element}
