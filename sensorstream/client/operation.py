"""An operation of the API, written once: method and path, who may, what it sends and reads.

Both clients have it as a method, the server as a route and as a rule of access.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
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

import httpx

from sensorstream.client.calls import Call

if TYPE_CHECKING:
    from sensorstream.client.asynchronous import AsyncClient
    from sensorstream.client.blocking import Client

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Options: TypeAlias = dict[str, Any]
"""Arguments of httpx's ``request``."""
Needs: TypeAlias = Literal[
    "nothing", "ingest", "read", "ask", "start", "look", "operate", "inspect", "administer"
]
"""Who may do an operation; the server says which roles these are (:mod:`.server.access`)."""
LONG: Final = httpx.Timeout(None)
"""A reasoner that is built anew may take longer than other requests."""
_PART: Final = re.compile(r"\{\w+\}")


class Operation(Generic[Given, Answer]):
    """A method of both clients that sends a request and reads its answer.

    Of :class:`.Client` the method blocks and gives the answer, of :class:`.AsyncClient` it is
    awaited. Its first arguments are the parts of the path that are in braces.
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

    def call(self, *given: Given.args, **named: Given.kwargs) -> Call[Answer]:
        """The request of these arguments, and the reader of its answer."""
        options = self._options(None, *given, **named) or {}
        path = options.pop("path", None)
        if path is None:
            told = iter(self._signature.bind(*given, **named).arguments.values())
            path = _PART.sub(lambda _: quote(str(next(told)), safe=""), self.path)
        return Call(self.method, path, self._read, options)

    @overload
    def __get__(self, client: None, kind: type) -> Self: ...
    @overload
    def __get__(self, client: Client, kind: type) -> Callable[Given, Answer]: ...
    @overload
    def __get__(
        self, client: AsyncClient, kind: type
    ) -> Callable[Given, Coroutine[Any, Any, Answer]]: ...
    def __get__(self, client: Client | AsyncClient | None, kind: type) -> Any:
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
    """An operation of a function that says what is sent; what it reads is None for nothing."""
    return lambda options: Operation(route, needs, read, options)


def given(**values: Any) -> dict[str, Any]:
    """Those that are not None, as JSON and addresses have them: times in ISO 8601."""
    return {
        name: each.isoformat() if isinstance(each, datetime) else each
        for name, each in values.items()
        if each is not None
    }


def params(**values: Any) -> Options:
    """The parameters of an address; what is None is left out."""
    return {"params": given(**values)}
