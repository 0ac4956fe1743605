"""Requests and the readers of their answers, for both kinds of clients."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import quote

import httpx

from sensorstream.client.results import Results
from sensorstream.errors import (
    Position,
    RequestRefused,
    SensorStreamError,
    ServerUnreachable,
    SettingsError,
    errors_by_code,
)
from sensorstream.extras import require

if TYPE_CHECKING:
    import pyarrow

Answer = TypeVar("Answer")

TIMEOUT: Final = 60.0
_PROBLEM: Final = "urn:sensorstream:error:"
_REFUSED: Final = frozenset(
    {"bad-request", "invalid-request", "not-acceptable", "unsupported-media-type"}
)
_SPARQL: Final = "application/sparql-query"
ARROW: Final = "application/vnd.apache.arrow.stream"
SOLUTIONS: Final = "application/sparql-results+json"


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A request, and the function that reads its answer."""

    method: str
    path: str
    read: Callable[[httpx.Response], Answer]
    options: Mapping[str, Any] = field(default_factory=dict)


def credentials(key: str, ca: str | Path | None) -> dict[str, Any]:
    """The arguments of an HTTP client that shows a key and trusts the certificates of a file.

    Raises:
        SettingsError: the file cannot be read, or the key is not one line of plain characters.
    """
    found: dict[str, Any] = {}
    if key:
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise SettingsError("the key is not one line of plain characters: expected ssk_…")
        found["headers"] = {"Authorization": f"Bearer {key}"}
    if ca is not None:
        try:
            found["verify"] = ssl.create_default_context(cafile=ca)
        except OSError as error:  # of which ssl.SSLError is one
            raise SettingsError(f"cannot read certificates from {ca}: {error}") from None
    return found


def send(
    message: bytes | str, source: str | None = None, *, key: str | None = None
) -> Call[dict[str, Any]]:
    """Send one XML message of a source; its outcome.

    With an idempotency ``key`` it may be sent again: it is taken once.
    """
    return Call(
        "POST",
        "/messages",
        json_object,
        {
            "params": {} if source is None else {"source": source},
            "content": _bytes(message),
            "headers": {"Content-Type": _type_of(message), **_key(key)},
        },
    )


def send_batch(
    messages: Sequence[str], source: str | None = None, *, key: str | None = None
) -> Call[list[dict[str, Any]]]:
    """Send many XML messages in order; each has an ``outcome`` or a ``problem``.

    With an idempotency ``key`` they may be sent again: each is taken once.
    """
    return Call(
        "POST",
        "/messages/batch",
        lambda response: list(json_object(response)["results"]),
        {
            "params": {} if source is None else {"source": source},
            "json": list(messages),
            "headers": _key(key),
        },
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """What a query asks: ``on`` is ``cache``, ``history``, ``all`` or ``archive``.

    Of history: what held at a time (``at``) or at any time of ``start/end`` (``during``), as the
    deployment's time line writes them; None: what ever held.
    """

    on: str = "cache"
    at: str | None = None
    during: str | None = None

    def parameters(self) -> dict[str, str]:
        """Those of the request."""
        given = {"on": self.on, "at": self.at, "during": self.during}
        return {name: value for name, value in given.items() if value is not None}


def query(
    text: str, *, on: str = "cache", at: str | None = None, during: str | None = None
) -> Call[Results]:
    """The solutions of a SELECT query over the knowledge base; see :class:`Scope`."""
    return _sparql(text, SOLUTIONS, Scope(on, at, during), read_solutions)


def ask(
    text: str, *, on: str = "cache", at: str | None = None, during: str | None = None
) -> Call[bool]:
    """The answer to an ASK query over the knowledge base; see :class:`Scope`."""
    scope = Scope(on, at, during)
    return _sparql(text, SOLUTIONS, scope, lambda answer: bool(json_object(answer)["boolean"]))


def construct(
    text: str,
    accept: str = "application/n-triples",
    *,
    on: str = "cache",
    at: str | None = None,
    during: str | None = None,
) -> Call[str]:
    """The graph of a CONSTRUCT or DESCRIBE query, in a format; see :class:`Scope`."""
    return _sparql(text, accept, Scope(on, at, during), lambda response: response.text)


def sparql(text: str, accept: str, scope: Scope) -> Call[tuple[str, str]]:
    """Any query: the media type of the answer, and its text."""
    return _sparql(text, accept, scope, lambda response: (media_type(response), response.text))


def plan(
    text: str, *, on: str = "cache", at: str | None = None, during: str | None = None
) -> Call[dict[str, Any]]:
    """How a query would be answered: ``algebra``, ``sql`` and ``plan``, each of lines."""
    headers = {"Content-Type": _SPARQL}
    params = Scope(on, at, during).parameters()
    sent = {"content": text.encode(), "params": params, "headers": headers}
    return Call("POST", "/sparql/plan", json_object, sent)


def sql(text: str, *, on: str = "history") -> Call[Results]:
    """The rows of an SQL query over ``history`` or its ``archive``."""
    return Call("POST", "/sql", read_table, {"json": {"query": text}, "params": {"on": on}})


def sql_arrow(text: str, *, on: str = "history") -> Call[pyarrow.Table]:
    """All rows of an SQL query over history, as an Arrow table (extra "frames").

    Raises:
        MissingExtra: the extra "frames" is not installed.
    """
    require("frames", "an Arrow table")
    sent = {"json": {"query": text}, "params": {"on": on}, "headers": {"Accept": ARROW}}
    return Call("POST", "/sql", read_arrow, sent)


def register(text: str, name: str | None = None) -> Call[dict[str, Any]]:
    """Start a continuous query; its name and present state."""
    params = {} if name is None else {"name": name}
    headers = {"Content-Type": _SPARQL}
    options = {"params": params, "content": text.encode(), "headers": headers}
    return Call("POST", "/queries", json_object, options)


def unregister(name: str) -> Call[None]:
    """Stop a continuous query."""
    return Call("DELETE", _query_path(name), lambda _: None)


def queries() -> Call[list[dict[str, Any]]]:
    """All continuous queries, in the order of their registration."""
    return Call("GET", "/queries", lambda response: list(json_object(response)["queries"]))


def query_state(name: str) -> Call[dict[str, Any]]:
    """A continuous query as it is now."""
    return Call("GET", _query_path(name), json_object)


def query_graph(name: str) -> Call[dict[str, Any]]:
    """The operators of a continuous query with their counters."""
    return Call("GET", f"{_query_path(name)}/graph", json_object)


def results(name: str) -> Call[Results]:
    """The whole result of a continuous SELECT query as it is now."""
    return Call("GET", _results_path(name), read_solutions, {"headers": {"Accept": SOLUTIONS}})


def answer(name: str, accept: str) -> Call[tuple[str, str]]:
    """The result of a continuous query as it is now: the media type and the text."""
    headers = {"headers": {"Accept": accept}}
    return Call("GET", _results_path(name), lambda each: (media_type(each), each.text), headers)


def steps(name: str, last: int = 10) -> Call[list[dict[str, Any]]]:
    """The last recorded instants of a query, operator by operator; the first call begins it."""
    path = f"{_query_path(name)}/step"
    return Call(
        "GET",
        path,
        lambda response: list(json_object(response)["instants"]),
        {"params": {"last": last}},
    )


def end_steps(name: str) -> Call[None]:
    """End the record of instants of a query."""
    return Call("DELETE", f"{_query_path(name)}/step", lambda _: None)


def events(path: str, after: str | None) -> dict[str, Any]:
    """The arguments of a request that follows server-sent events."""
    headers = {"Accept": "text/event-stream"}
    if after is not None:
        headers["Last-Event-ID"] = after or "0"
    return {"method": "GET", "url": path, "headers": headers, "timeout": httpx.Timeout(None)}


def alerts_path(changes: bool) -> str:
    """The path of the event stream of alerts, or of their changes."""
    return "/alerts/stream?changes=true" if changes else "/alerts/stream"


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
    # All other problems are those of HTTP; another path or method is that of another server.
    otherwise = RequestRefused if code in _REFUSED else ServerUnreachable
    error = _BY_CODE.get(code, otherwise)(detail, position=position)
    error.problem = problem
    return error


def unreachable(url: str, error: Exception) -> ServerUnreachable:
    """The error for a server that does not answer."""
    return ServerUnreachable(f"no answer from {url}: {str(error) or type(error).__name__}")


_BY_CODE: Final[Mapping[str, type[SensorStreamError]]] = errors_by_code()


def _sparql(
    text: str, accept: str, scope: Scope, read: Callable[[httpx.Response], Answer]
) -> Call[Answer]:
    headers = {"Content-Type": _SPARQL, "Accept": accept}
    options = {"params": scope.parameters(), "content": text.encode(), "headers": headers}
    return Call("POST", "/sparql", read, options)


def json_object(response: httpx.Response) -> dict[str, Any]:
    """The JSON object of an answer.

    Raises:
        ServerUnreachable: the answer is not from a SensorStream server.
    """
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ServerUnreachable(f"{response.url} is not an answer of a SensorStream server")
    return answer


def read_solutions(response: httpx.Response) -> Results:
    """The answer to a SPARQL query in JSON."""
    document = json_object(response)
    return Results.of_bindings(document["head"].get("vars", ()), document["results"]["bindings"])


def read_table(response: httpx.Response) -> Results:
    """The answer to SQL in JSON."""
    answer = json_object(response)
    rows = tuple(tuple(row) for row in answer["rows"])
    return Results(tuple(answer["columns"]), rows, bool(answer["truncated"]))


def read_arrow(response: httpx.Response) -> pyarrow.Table:
    """An answer as an Arrow stream."""
    import pyarrow as pa

    return pa.ipc.open_stream(response.content).read_all()


def media_type(response: httpx.Response) -> str:
    """The media type of an answer, without its parameters."""
    return str(response.headers.get("content-type", "")).split(";")[0]


def _bytes(message: bytes | str) -> bytes:
    return message.encode() if isinstance(message, str) else message


def _type_of(message: bytes | str) -> str:
    """The encoding of a text is ours, whatever its XML declaration says."""
    return "application/xml" if isinstance(message, bytes) else "application/xml; charset=utf-8"


def _key(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def _query_path(name: str) -> str:
    return f"/queries/{quote(name, safe='')}"


def _results_path(name: str) -> str:
    return f"{_query_path(name)}/results"
