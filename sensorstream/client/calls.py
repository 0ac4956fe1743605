"""Requests and the readers of their answers, for both kinds of clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import httpx

from sensorstream import errors
from sensorstream.client.results import Results
from sensorstream.errors import Position, SensorStreamError, ServerUnreachable

Answer = TypeVar("Answer")

TIMEOUT: Final = 60.0
_PROBLEM: Final = "urn:sensorstream:error:"
_SPARQL: Final = "application/sparql-query"
_SOLUTIONS: Final = "application/sparql-results+json"


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A request, and the function that reads its answer."""

    method: str
    path: str
    read: Callable[[httpx.Response], Answer]
    options: Mapping[str, Any] = field(default_factory=dict)


def send(message: bytes | str, source: str | None) -> Call[dict[str, Any]]:
    """One XML message."""
    return Call(
        "POST",
        "/messages",
        _object,
        {
            "params": {} if source is None else {"source": source},
            "content": _bytes(message),
            "headers": {"Content-Type": "application/xml"},
        },
    )


def send_batch(messages: Sequence[str], source: str | None) -> Call[list[dict[str, Any]]]:
    """Many XML messages, in order; each has an ``outcome`` or a ``problem``."""
    return Call(
        "POST",
        "/messages/batch",
        lambda response: list(_object(response)["results"]),
        {"params": {} if source is None else {"source": source}, "json": list(messages)},
    )


def query(text: str) -> Call[Results]:
    """A SELECT query over the knowledge base."""
    return _sparql(text, _SOLUTIONS, _solutions)


def ask(text: str) -> Call[bool]:
    """An ASK query over the knowledge base."""
    return _sparql(text, _SOLUTIONS, lambda response: bool(_object(response)["boolean"]))


def construct(text: str, accept: str) -> Call[str]:
    """A CONSTRUCT or DESCRIBE query over the knowledge base; the graph in a format."""
    return _sparql(text, accept, lambda response: response.text)


def sparql(text: str, accept: str) -> Call[tuple[str, str]]:
    """Any query: the media type of the answer, and its text."""
    return _sparql(text, accept, lambda response: (_media_type(response), response.text))


def sql(text: str) -> Call[Results]:
    """An SQL query over history."""
    return Call("POST", "/sql", _table, {"json": {"query": text}})


def register(text: str, name: str | None) -> Call[dict[str, Any]]:
    """Start a continuous query."""
    params = {} if name is None else {"name": name}
    headers = {"Content-Type": _SPARQL}
    options = {"params": params, "content": text.encode(), "headers": headers}
    return Call("POST", "/queries", _object, options)


def unregister(name: str) -> Call[None]:
    """Stop a continuous query."""
    return Call("DELETE", _query_path(name), lambda _: None)


def queries() -> Call[list[dict[str, Any]]]:
    """All continuous queries."""
    return Call("GET", "/queries", lambda response: list(_object(response)["queries"]))


def query_state(name: str) -> Call[dict[str, Any]]:
    """The present state of one continuous query."""
    return Call("GET", _query_path(name), _object)


def query_graph(name: str) -> Call[dict[str, Any]]:
    """The operators of a continuous query."""
    return Call("GET", f"{_query_path(name)}/graph", _object)


def results(name: str) -> Call[Results]:
    """The whole result of a continuous SELECT query as it is now."""
    return Call("GET", _results_path(name), _solutions, {"headers": {"Accept": _SOLUTIONS}})


def webhook(url: str) -> Call[dict[str, Any]]:
    """Register a webhook for alerts."""
    return Call("POST", "/webhooks", _object, {"json": {"url": url}})


def alerts(limit: int) -> Call[list[dict[str, Any]]]:
    """The newest alerts, newest first."""
    read: Callable[[httpx.Response], list[dict[str, Any]]]
    read = lambda response: list(_object(response)["alerts"])  # noqa: E731
    return Call("GET", "/alerts", read, {"params": {"limit": limit}})


def events(path: str, after: str | None) -> dict[str, Any]:
    """The arguments of a request that follows server-sent events."""
    headers = {"Accept": "text/event-stream"}
    if after is not None:
        headers["Last-Event-ID"] = after or "0"
    return {"method": "GET", "url": path, "headers": headers, "timeout": httpx.Timeout(None)}


def reports_path(name: str) -> str:
    """The path of the event stream of a query's reports."""
    return _results_path(name)


def check(response: httpx.Response) -> httpx.Response:
    """The response itself, if it is a success; its body has been read.

    Raises:
        SensorStreamError: the error that the server names in its answer; ``problem`` is the
            document.
        ServerUnreachable: the answer is not from a SensorStream server.
    """
    if response.is_success:
        return response
    try:
        problem = response.json()
        code, detail = str(problem["type"]), str(problem.get("detail") or problem.get("title"))
        place = problem.get("position")
        position = None if place is None else Position(**place)
    except (ValueError, LookupError, TypeError):
        raise ServerUnreachable(
            f"{response.url} answered {response.status_code}: expected a SensorStream server"
        ) from None
    raise error_of(code, detail, problem, position)


def error_of(
    problem_type: str,
    detail: str,
    problem: Mapping[str, Any] | None = None,
    position: Position | None = None,
) -> SensorStreamError:
    """The error of :mod:`sensorstream.errors` that a problem names."""
    code = problem_type.removeprefix(_PROBLEM)
    # All other problems are those of HTTP: not found, not allowed, internal.
    error = _BY_CODE.get(code, ServerUnreachable)(detail, position=position)
    error.problem = problem
    return error


def unreachable(url: str, error: Exception) -> ServerUnreachable:
    """The error for a server that does not answer."""
    return ServerUnreachable(f"no answer from {url}: {str(error) or type(error).__name__}")


def _kinds() -> Iterator[type[SensorStreamError]]:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, SensorStreamError):
            yield kind


_BY_CODE: Final[Mapping[str, type[SensorStreamError]]] = {kind.code: kind for kind in _kinds()}


def _sparql(text: str, accept: str, read: Callable[[httpx.Response], Answer]) -> Call[Answer]:
    headers = {"Content-Type": _SPARQL, "Accept": accept}
    return Call("POST", "/sparql", read, {"content": text.encode(), "headers": headers})


def _object(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ServerUnreachable(f"{response.url} is not an answer of a SensorStream server")
    return answer


def _solutions(response: httpx.Response) -> Results:
    document = _object(response)
    return Results.of_bindings(document["head"].get("vars", ()), document["results"]["bindings"])


def _table(response: httpx.Response) -> Results:
    answer = _object(response)
    rows = tuple(tuple(row) for row in answer["rows"])
    return Results(tuple(answer["columns"]), rows, bool(answer["truncated"]))


def _media_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).split(";")[0]


def _bytes(message: bytes | str) -> bytes:
    return message.encode() if isinstance(message, str) else message


def _query_path(name: str) -> str:
    return f"/queries/{quote(name, safe='')}"


def _results_path(name: str) -> str:
    return f"{_query_path(name)}/results"
