"""The W3C's tests of SPARQL over HTTP, against the server of an application in memory.

The server only reads. What a test of the Graph Store Protocol writes, the test itself writes into
the knowledge base; GET and HEAD are the server's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx
import rdflib
import rdflib.compare
from rdflib.collection import Collection

from sensorstream.history.asking.answer_formats import BOOLEANS, GRAPHS, SOLUTIONS
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.graph_text import GraphReader
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI
from sensorstream.server.web_application import create_app
from tests.server.memory import MemoryApplication
from tests.w3c.manifests import SUITES
from tests.w3c.page_tables import counted, reasons

_MF: Final = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
_UT: Final = rdflib.Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
_HT: Final = rdflib.Namespace("http://www.w3.org/2011/http#")
_CNT: Final = rdflib.Namespace("http://www.w3.org/2011/content#")
_SD: Final = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
_STATUS: Final = {
    **{f"StatusCode{n}xx": range(n * 100, n * 100 + 100) for n in range(2, 6)},
    "OK": [200],
    "Created": [201],
    "NoContent": [204],
    "NotFound": [404],
}
_FORMATS: Final[Mapping[str, Any]] = {"boolean": BOOLEANS, "tabular": SOLUTIONS, "RDF": GRAPHS}
MANIFESTS: Final = ("protocol/manifest", "graph-store-protocol/manifest-indirect")
NOT_RUN: Final = {
    "update_dataset_default_graph, update_dataset_default_graphs, update_dataset_named_graphs, "
    "update_dataset_full, update_post_form, update_post_direct, update_base_uri": (
        "updates are refused: the knowledge base changes by messages and rules"
    ),
    "post_get_post_get_indirect, post_get_new_graph": "graphs are not written",
    "graph-store-protocol/manifest-direct": (
        "the graphs with paths of their own are the system's four"
    ),
}
HTTP_DEVIATIONS: Final = {
    "query_content_type_construct": "its query has relative IRIs without BASE, which are refused"
}
MISSING: Final = f"the W3C's suites are not beside the repository: {SUITES}"
_INTRODUCTION: Final = """
## HTTP

[The server](../use/http-api.md#sparql) on the W3C's tests of the SPARQL 1.1 Protocol, of the Graph
Store Protocol with `?graph=` and `?default`, and of the Service Description. Graphs are only read:
what a test of the Graph Store Protocol puts or deletes is put into the knowledge base for it.
"""
_SCHEMA: Final = frozenset(
    (
        *("Service", "Dataset", "Graph", "NamedGraph", "GraphCollection", "Function"),
        *("SPARQL11Query", "UnionDefaultGraph", "endpoint", "supportedLanguage", "feature"),
        *("resultFormat", "extensionFunction", "defaultDataset", "availableGraphs"),
        *("defaultGraph", "namedGraph", "name", "graph"),
    )
)
"""The terms of the vocabulary (section 3) that are used here."""


@dataclass(frozen=True, slots=True)
class HttpCase:
    """A test: the node of its manifest."""

    name: str
    category: str
    manifest: rdflib.Graph
    node: Any


@cache
def http_cases() -> tuple[HttpCase, ...]:
    """The tests that need no update; none without the suites."""
    skipped = {each for names in NOT_RUN for each in names.split(", ")}
    found = []
    for path in MANIFESTS:
        file = SUITES / "sparql11" / f"{path}.ttl"
        if file.exists():
            graph = rdflib.Graph().parse(file, publicID=file.as_uri())
            (entries,) = graph.objects(None, _MF.entries)
            for node in Collection(graph, entries):
                name = str(node).rpartition("#")[2]
                if name not in skipped:
                    found.append(HttpCase(name, path.partition("/")[0], graph, node))
    return tuple(found)


class ProtocolServer:
    """The server, with a knowledge base that each test fills."""

    def __init__(self) -> None:
        self._application = MemoryApplication()
        kb = self._application.kb
        for origin in Origin:
            kb.apply(origin, Delta(0, (), tuple(kb.triples(origin))))
        transport = httpx.ASGITransport(create_app(self._application))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        self._runner = asyncio.Runner()
        self._placed: dict[str | None, list[Any]] = {}

    def close(self) -> None:
        """End the client, and the process of the cache."""
        self._runner.run(self._client.aclose())
        self._runner.close()
        self._application.cache.close()

    def fault(self, case: HttpCase) -> str | None:
        """What is wrong with the answers to a test; None: nothing."""
        graph = case.manifest
        try:
            for data in graph.objects(case.node, _UT.graphData):
                file = Path(str(graph.value(data, _UT.graph)).removeprefix("file://"))
                self._put(str(graph.value(data, rdflib.RDFS.label)), file.read_text())
            action = graph.value(case.node, _MF.action)
            for request in Collection(graph, graph.value(action, _HT.requests)):
                if fault := self._request(case, request):
                    return fault
            return None
        finally:
            for name in list(self._placed):
                self._put(name, "")

    def description_faults(self) -> Iterator[tuple[str, str | None]]:
        """The tests of the service's description, and what is wrong."""
        answer = self._runner.run(self._client.get("/sparql"))
        found = rdflib.Graph().parse(data=answer.text, format="turtle")
        yield "returns-rdf", None if len(found) else "nothing"
        endpoint = (None, _SD.endpoint, rdflib.URIRef("http://127.0.0.1/sparql"))
        yield "has-endpoint-triple", None if endpoint in found else "no such triple"
        used = {str(each) for row in found for each in row[1:] if str(each).startswith(str(_SD))}
        unknown = {each.removeprefix(str(_SD)) for each in used} - _SCHEMA
        yield "conforms-to-schema", f"unknown: {unknown}" if unknown else None

    def _put(self, name: str | None, text: str) -> None:
        kb: KnowledgeBase = self._application.kb
        for triple in self._placed.pop(name, ()):
            kb.place(triple, [])
            kb.apply(Origin.WINDOW, Delta(0, (), (triple,)))
        if text:
            triples = GraphReader().read(text, "b")
            kb.add(Origin.WINDOW, triples)
            for triple in triples:
                kb.place(triple, [] if name is None else [IRI(name)])
            self._placed[name] = list(triples)

    def _request(self, case: HttpCase, request: Any) -> str | None:
        graph = case.manifest

        def one(node: Any, name: Any) -> str:
            found = None if node is None else graph.value(node, name)
            return "" if found is None else str(found)

        fields = graph.value(request, _HT.headers)
        headers = {
            one(each, _HT.fieldName): one(each, _HT.fieldValue)
            for each in (Collection(graph, fields) if fields is not None else ())
        }
        body, method = graph.value(request, _HT.body), one(request, _HT.methodName)
        content = one(body, _CNT.chars).encode(one(body, _CNT.characterEncoding) or "utf-8")
        path = one(request, _HT.absolutePath)
        if case.category != "protocol" and method in ("PUT", "DELETE"):
            name = parse_qs(urlsplit(path).query, keep_blank_values=True)
            self._put(name.get("graph", [None])[0], content.decode() if method == "PUT" else "")
            return None
        path = path.replace("/sparql/", "/sparql", 1).replace("/gsp", "/graphs", 1)
        asked = self._client.request(method, path, content=content, headers=headers)
        answer = self._runner.run(asked)
        return _fault(graph, graph.value(request, _HT.resp), answer)


def _fault(graph: rdflib.Graph, expected: Any, answer: Any) -> str | None:
    wanted = [str(e).rpartition("#")[2] for e in graph.objects(expected, _MF.expectedStatus)]
    if not any(answer.status_code in _STATUS[each] for each in wanted):
        return f"{answer.status_code}, expected {wanted}: {answer.text[:200]}"
    media_type = answer.headers["content-type"].partition(";")[0]
    form = graph.value(expected, _MF.expectedFormat)
    if form is not None and media_type not in _FORMATS[str(form)]:
        return f"{media_type}, expected {form}"
    boolean = graph.value(expected, _MF.expectedBoolean)
    if boolean is not None and answer.json()["boolean"] != boolean.toPython():
        return f"expected {boolean}"
    body = graph.value(expected, _HT.body)
    if body is not None:
        text = str(graph.value(body, _CNT.chars))
        told = rdflib.Graph().parse(data=answer.text, format=media_type)
        if not rdflib.compare.isomorphic(rdflib.Graph().parse(data=text), told):
            return f"another graph: {answer.text[:200]}"
    return None


def http_faults() -> dict[tuple[str, str], str | None]:
    """What is wrong with each test, by category and name."""
    server = ProtocolServer()
    try:
        found = {(each.category, each.name): server.fault(each) for each in http_cases()}
        described = server.description_faults()
        return found | {("service-description", name): why for name, why in described}
    finally:
        server.close()


def http_section(found: Mapping[tuple[str, str], str | None]) -> list[str]:
    """The section of the page."""
    columns = ("tests", "passed", "deviates", "failed")
    rows = (
        (category, ("tests", columns[1 if not why else 2 if name in HTTP_DEVIATIONS else 3]))
        for (category, name), why in found.items()
    )
    return [
        _INTRODUCTION,
        *counted("suite", columns, rows),
        *("", *reasons("deviates", HTTP_DEVIATIONS)),
        *("", "Not run:", "", *reasons("tests", NOT_RUN)),
    ]
