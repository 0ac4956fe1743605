"""The server's log: lines of text or JSON, with what each line concerns, without secrets.

Code that works on a request or a message names it by :func:`concerning`; all lines that are written
meanwhile, by any module, carry these names.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from typing import Any, Final

from sensorstream.errors import LONGEST_PATH, shortened_key

FORMATS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")

_NOTHING: Final[Mapping[str, str]] = {}
_concerned: ContextVar[Mapping[str, str]] = ContextVar("concerned", default=_NOTHING)

_SECRETS: Final = (
    # The password of a URL, and that of a connection string.
    # In bounds: clients choose what stands in lines, and a search must stay linear in it.
    (
        re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://[^\s/@:]{0,300}):[^\s]{0,300}@", re.IGNORECASE),
        r"\1:***@",
    ),
    (re.compile(r"\b(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE), r"\1***"),
    # API keys, the secrets of webhooks, tokens.
    (re.compile(r"\b(ssk_|whsec_)[\w+/=-]+"), r"\1***"),
    (re.compile(r"\b(bearer\s+)[\w.~+/=-]+", re.IGNORECASE), r"\1***"),
)
_MOST: Final = 16_384
"""Characters of a traceback and its line that are written."""
_LINE: Final = 2_000
"""Characters of a line that are written; what a client has sent may stand in it."""
_MARGIN: Final = 1000
_CONTROL: Final = {
    each: f"\\x{each:02x}" for each in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
}


class Concerning:
    """The block of :func:`concerning`. It is used for each message: a generator would cost more."""

    __slots__ = ("_facts", "_token")

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = facts
        self._token: Token[Mapping[str, str]] | None = None

    def __enter__(self) -> None:
        self._token = _concerned.set({**_concerned.get(), **self._facts})

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _concerned.reset(self._token)


def concerning(**facts: str) -> Concerning:
    """Add facts to each line that is written in the block, beside those of the blocks around it."""
    return Concerning(facts)


def concerned() -> Mapping[str, str]:
    """The facts that the present work concerns, for another thread that goes on with it."""
    return _concerned.get()


_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)


def trace_facts(traceparent: str) -> dict[str, str]:
    """The facts by which a line names a span, of a ``traceparent``; none, if it is not valid.

    Source: W3C Trace Context, section 3.2; OpenTelemetry, "Trace Context in non-OTLP Log Formats".
    """
    found = _TRACEPARENT.fullmatch(traceparent)
    # Only later versions than 00 may have more.
    if found is None or (found[4] and traceparent.startswith("00")):
        return {}
    return dict(zip(("trace_id", "span_id", "trace_flags"), found.groups(), strict=False))


def without_secrets(text: str) -> str:
    """The text with each password, key and token in it replaced by ``***``."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def _written(text: str, most: int) -> str:
    """The text without secrets, and not longer than it may be in a log."""
    if len(text) <= most:
        return without_secrets(text)
    # A secret that is cut in two might not be recognised.
    return f"{without_secrets(text[: most + _MARGIN])[:most]}… ({len(text)} characters)"


class TextFormatter(logging.Formatter):
    """``2026-01-01 00:00:00,000 WARNING sensorstream.app: what happened [message_id=m7]``.

    A traceback follows on lines of its own; no message can forge a line.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        facts = " ".join(f"{name}={value}" for name, value in _concerned.get().items())
        told = _written(super().formatMessage(record), _LINE)
        line = f"{told}{f' [{facts}]' if facts else ''}"
        return line.translate(_CONTROL)

    def format(self, record: logging.LogRecord) -> str:
        return _written(super().format(record), _MOST)


class JsonFormatter(logging.Formatter):
    """A formatter of JSON objects, one a line: ``time`` (RFC 3339, UTC), ``level``, ``logger``,
    ``message``, the facts it concerns, and ``error``, the traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _moment(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_concerned.get(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        told = {n: _written(value, _MOST if n == "error" else _LINE) for n, value in line.items()}
        return json.dumps(told, ensure_ascii=False)


def set_up(form: str, level: str) -> None:
    """Write the log to stderr in a form of :data:`FORMATS`: from a level of :data:`LEVELS` on. That
    is the level of SensorStream's lines and of uvicorn's; other libraries log from "warning" on,
    since their lines about ordinary work have addresses with secrets in them (httpx).
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("sensorstream", "uvicorn"):
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger("uvicorn.access").addFilter(_forget_query)
    logging.captureWarnings(True)


def _forget_query(record: logging.LogRecord) -> bool:
    """Cut the query, which may hold anything, off the path in uvicorn's line of a request, and
    bound the length of the path.
    """
    if isinstance(record.args, tuple) and len(record.args) == 5:
        client, method, path, version, status = record.args
        told = shortened_key(str(path).partition("?")[0], LONGEST_PATH)
        record.args = (client, method, told, version, status)
    return True


def _moment(created: float) -> str:
    moment = datetime.fromtimestamp(created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
