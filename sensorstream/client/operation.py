"""An operation of the API, written once: method, path, right, request and answer. Both clients have
it as a method, the server as a route and as a rule of access.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Self,
    TypeAlias,
    TypeVar,
    overload,
)
from urllib.parse import quote

from sensorstream.client.results import Results
from sensorstream.errors import (
    Position,
    RequestRefused,
    SensorStreamError,
    ServerUnreachable,
    errors_by_code,
)
from sensorstream.model.frozen import field, frozen

if TYPE_CHECKING:
    import httpx
    import pyarrow

Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Options: TypeAlias = dict[str, Any]
"""Arguments of httpx's ``request``."""
Needs: TypeAlias = Literal[
    "nothing", "ingest", "read", "ask", "start", "look", "operate", "inspect", "administer"
]
"""The right that an operation needs; the server has its roles (:mod:`.server.access_rules`)."""
LONG: Final = None
"""No timeout: a reasoner that is built anew may take longer than other requests."""
_PART: Final = re.compile(r"\{\w+\}")

_PROBLEM: Final = "urn:sensorstream:error:"
_REFUSED: Final = frozenset(
    {"bad-request", "invalid-request", "not-acceptable", "unsupported-media-type"}
)
ARROW: Final = "application/vnd.apache.arrow.stream"
SOLUTIONS: Final = "application/sparql-results+json"


@frozen
class PreparedRequest(Generic[Answer]):
    """A request, and the function that reads its answer."""

    method: str
    path: str
    read: Callable[[httpx.Response], Answer]
    options: Mapping[str, Any] = field(default_factory=dict)


class Blocking(ABC):
    """A client whose calls block until the answer is there."""

    @abstractmethod
    def _do(self, call: PreparedRequest[Answer]) -> Answer:
        """Send a request and return what its answer says."""


class Awaiting(ABC):
    """A client whose calls are awaited."""

    @abstractmethod
    async def _do(self, call: PreparedRequest[Answer]) -> Answer:
        """Send a request and return what its answer says."""


class Operation(Generic[Given, Answer]):
    """A method of both clients that sends a request and reads its answer. In :class:`.Client` it
    blocks and returns the answer, in :class:`.AsyncClient` it is awaited. Its first arguments are
    the parts of the path that are in braces.
    """

    def __init__(
        self,
        route: str,
        needs: Needs,
        read: Callable[[httpx.Response], Answer],
        options: Callable[Concatenate[Any, Given], Options | None],
    ) -> None:
        self.method, self.path = route.split(" ")
        self.needs = needs
        self._read = read
        self._options = options
        told = inspect.signature(options)
        own = [*told.parameters.values()][1:]
        self._signature = told.replace(parameters=own, return_annotation=told.empty)
        self.__doc__ = options.__doc__

    def call(self, *given: Given.args, **named: Given.kwargs) -> PreparedRequest[Answer]:
        """The request of these arguments, and the reader of its answer."""
        options = self._options(None, *given, **named) or {}
        path = options.pop("path", None)
        if path is None:
            told = iter(self._signature.bind(*given, **named).arguments.values())
            path = _PART.sub(lambda _: quote(str(next(told)), safe=""), self.path)
        return PreparedRequest(self.method, path, self._read, options)

    @overload
    def __get__(self, client: None, kind: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, kind: type) -> Callable[Given, Answer]: ...
    @overload
    def __get__(
        self, client: Awaiting, kind: type
    ) -> Callable[Given, Coroutine[Any, Any, Answer]]: ...
    def __get__(self, client: Blocking | Awaiting | None, kind: type) -> Any:
        if client is None:
            return self

        def send(*given: Given.args, **named: Given.kwargs) -> Any:
            return client._do(self.call(*given, **named))  # noqa: SLF001 - its own method

        method: Any = update_wrapper(send, self._options)
        method.__signature__ = self._signature
        return method


def operation(
    route: str, needs: Needs, read: Callable[[httpx.Response], Answer]
) -> Callable[[Callable[Concatenate[Any, Given], Options | None]], Operation[Given, Answer]]:
    """Make an operation of a function that gives the options of the request, or None."""
    return lambda options: Operation(route, needs, read, options)


def given(**values: Any) -> dict[str, Any]:
    """The values that are not None, as JSON and addresses have them: times in ISO 8601."""
    return {
        name: each.isoformat() if isinstance(each, datetime) else each
        for name, each in values.items()
        if each is not None
    }


def params(**values: Any) -> Options:
    """The parameters of an address; None is left out."""
    return {"params": given(**values)}


def check(response: httpx.Response) -> httpx.Response:
    """Return the response itself, whose body has been read, if it is a success.

    Raises:
        SensorStreamError: the error that the server names; ``problem`` is the document.
        ServerUnreachable: the answer is not from a SensorStream server.
    """
    if response.is_success:
        if media_type(response) == "text/html":
            # No operation answers with a page: this is another server, at the same port.
            raise ServerUnreachable(f"{response.url} is not an answer of a SensorStream server")
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
    # Other problems are HTTP's; an unknown path or method means that it is another server.
    otherwise = RequestRefused if code in _REFUSED else ServerUnreachable
    error = _BY_CODE.get(code, otherwise)(detail, position=position)
    error.problem = problem
    return error


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """A block in which a server that does not answer is reported as unreachable."""
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        told = f"no answer from {url}: {str(error) or type(error).__name__}"
        raise ServerUnreachable(told) from None


_BY_CODE: Final[Mapping[str, type[SensorStreamError]]] = errors_by_code()


def nothing(_: httpx.Response) -> None:
    """Read an answer without a body."""


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
    return Results.of_document(json_object(response))


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
