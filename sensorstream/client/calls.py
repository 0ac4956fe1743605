"""Requests and the readers of their answers, for both kinds of clients."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
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

if TYPE_CHECKING:
    import pyarrow

Answer = TypeVar("Answer")

TIMEOUT: Final = 60.0
_PROBLEM: Final = "urn:sensorstream:error:"
_REFUSED: Final = frozenset(
    {"bad-request", "invalid-request", "not-acceptable", "unsupported-media-type"}
)
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
    return f"/queries/{quote(name, safe='')}/results"


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


def nothing(_: httpx.Response) -> None:
    """What an answer without a body says."""


def text_of(response: httpx.Response) -> str:
    """The text of an answer."""
    return response.text


def listed(name: str) -> Callable[[httpx.Response], list[dict[str, Any]]]:
    """A reader of the list that the JSON object of an answer has by this name."""
    return lambda response: list(json_object(response)[name])


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
