"""``POST /sql``: SQL over history, read-only."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from sensorstream.app.application import Application


class SqlBody(BaseModel):
    """One SQL statement over the views of schema ``history``."""

    query: str = Field(
        min_length=1, examples=["select * from history.individuals order by time desc limit 10"]
    )


class TableBody(BaseModel):
    """The answer; ``truncated``: the row limit was reached and rows are missing."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


def router(application: Application) -> APIRouter:
    """The SQL resource."""
    routes = APIRouter(tags=["history"])

    @routes.post("/sql", summary="Query history", responses={200: {"model": TableBody}})
    def run_sql(body: SqlBody) -> JSONResponse:
        """One read-only SQL statement over history.

        Times come as ISO 8601 text, numbers as numbers, bytes as text where they are UTF-8 and
        base64 where not; NaN and infinities as text.
        """
        table = application.sql(body.query)
        return JSONResponse(
            {
                "columns": list(table.columns),
                "rows": [[_plain(value) for value in row] for row in table.rows],
                "truncated": table.truncated,
            }
        )

    return routes


def _plain(value: object) -> Any:
    """A database value as a JSON value."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            if not value.is_finite():
                return str(value)
            return int(value) if value == value.to_integral_value() else float(value)
        case datetime() | date() | time():
            return value.isoformat().replace("+00:00", "Z")
        case bytes() | bytearray() | memoryview():
            return _text(bytes(value))
        case list() | tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case _:
            return str(value)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
