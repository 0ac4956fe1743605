"""Routes of the table of operations, and what they take.

What an operation does not know is refused: a slip in a name must not change what is done.

``DELETE /quarantine?stauts=…`` would dismiss everything, and ``PUT /rules?dryrun`` put the rules
in force.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, field_validator

from sensorstream.client.operation import Operation

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

# Whose clients add parameters of their own: SPARQL's (format, output, ...), and those that ask
# for health and numbers.
_OPEN: Final = frozenset({"/sparql", "/soap", "/healthz", "/readyz", "/metrics"})


def routed(
    routes: APIRouter, operation: Operation[..., Any], **told: Any
) -> Callable[[Endpoint], Endpoint]:
    """The function answers an operation, at its path; ``told`` is what FastAPI is told of it."""
    return routes.api_route(operation.path, methods=[operation.method], **told)


def _in_utc(time: datetime) -> datetime:
    """PostgreSQL takes no zone beyond 15:59, which RFC 3339 allows."""
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is before the year 1 or after 9999 in UTC") from None


Moment: TypeAlias = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time of the calendar that a request asks for."""


ASKED: Final = ConfigDict(extra="forbid")
"""The JSON of a request has no other members."""
TOLD: Final = ConfigDict(json_schema_serialization_defaults_required=True)
"""The JSON of an answer has all members of its values."""


def storable(value: Any) -> Any:
    """A value itself; refuses a text with a character that PostgreSQL cannot hold."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("the character U+0000 cannot be stored")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("half a character (a lone surrogate) cannot be stored") from None
    return value


class AskedBody(BaseModel):
    """The JSON of a request: no other members, and no character that PostgreSQL cannot hold."""

    model_config = ASKED
    _storable = field_validator("*")(storable)


class KnownParameters:
    """A dependency of every route: its query has no other parameters than those described.

    ``described`` gives the OpenAPI document.
    """

    def __init__(self, described: Callable[[], dict[str, Any]]) -> None:
        self._described = described
        self._names: dict[tuple[str, str], frozenset[str]] = {}

    async def __call__(self, request: Request) -> None:
        """Raises RequestValidationError for the first parameter that is unknown."""
        if not request.scope["query_string"]:
            return
        route = request.scope["route"]
        if not isinstance(route, APIRoute) or route.path in _OPEN or not route.include_in_schema:
            return
        known = self._known(route.path_format, request.method)
        for name in request.query_params:
            if name not in known:
                expected = ", ".join(sorted(known)) if known else "none"
                message = f"this operation has no such parameter: expected {expected}"
                raise RequestValidationError(
                    [{"type": "unknown", "loc": ("query", name), "msg": message}]
                )

    def _known(self, path: str, method: str) -> frozenset[str]:
        names = self._names.get((path, method))
        if names is None:
            operation = self._described()["paths"][path][method.lower()]
            names = frozenset(
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"
            )
            self._names[path, method] = names
        return names
