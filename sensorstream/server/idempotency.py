"""``Idempotency-Key``: the same request again has the same answer, and no other effect.

Source: draft-ietf-httpapi-idempotency-key-header-07; any text of printable signs is a key here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from sensorstream.app.application import Application
from sensorstream.app.questions.message_questions import KnownOrigin
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import (
    Inconsistent,
    ReusedKey,
    SensorStreamError,
    Unavailable,
    error_of_data,
)
from sensorstream.journal.message import origin_of_key
from sensorstream.model.events import Message, Status
from sensorstream.server.access_rules import user_of
from sensorstream.server.operation_routes import TimingsBody, facts_answer, outcome_answer

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = {"Idempotency-Replayed": "true"}
"""The header of an answer that was given before."""
_LONGEST: Final = 255


def origin_of(
    request: Request, position: int | None = None, *, enclosed: Sequence[str] = ()
) -> str:
    """The origin of a request's message, or of one of its messages; "": it has no key. ``enclosed``
    are the keys that the body names; the same may stand in the header, too.

    Raises:
        HTTPException: the key is not one.
    """
    keys = request.headers.getlist(HEADER)
    if not keys or [each.strip() for each in keys] != [each.strip() for each in enclosed]:
        keys = [*keys, *enclosed]
    if not keys:
        return ""
    key = keys[0].strip()
    if len(keys) > 1 or not (key.isascii() and key.isprintable() and 0 < len(key) <= _LONGEST):
        raise HTTPException(
            400, f"expected one {HEADER} of 1 to {_LONGEST} printable ASCII signs, such as a UUID"
        )
    # A header cannot hold the sign between the two.
    return origin_of_key(str(user_of(request)), key if position is None else f"{key}\n{position}")


def again(
    application: Application,
    known: KnownOrigin | None,
    content: bytes,
    source: str,
    *,
    early: bool = False,
) -> Mapping[str, Any]:
    """The body of the answer that a message had when it came first: :class:`.OutcomeBody`.
    ``early``: it does not tell the outcome.

    Raises:
        ReusedKey: that was another message.
        Unavailable: the journal does not have it any more.
        SensorStreamError: the error that it was answered with.
    """
    if known is None:
        raise Unavailable(f"the message of this {HEADER} has just left the journal: send it again")
    message = known.message
    if known.digest != sha256(content).digest() or message.source != source:
        raise ReusedKey(
            f"this {HEADER} came with another message before, {message.id}: expected the same "
            "content and source, or another key"
        )
    facts, timeline = message.facts, application.timeline
    early = early or not application.here
    if early or facts is None:
        status = message.status if message.status is Status.SKIPPED else Status.JOURNALLED
        taken = Message(message.id, b"", message.received, message.source)
        warnings = (message.reason,) if message.reason else ()
        return outcome_answer(Outcome(taken, status, warnings=warnings), timeline)
    if facts["error"] is not None:
        raise _error(known)
    own = frozenset(facts["alerts"])
    alerts = [each.alert for each in known.alerts if each.id in own]
    timings = {phase: facts["timings"][phase] for phase in TimingsBody.model_fields}
    return facts_answer(message.id, {**facts, "timings": timings}, alerts, timeline)


def _error(known: KnownOrigin) -> SensorStreamError:
    assert known.message.facts is not None
    error = error_of_data(known.message.facts["error"])
    error.message_id = known.message.id
    if isinstance(error, Inconsistent):
        error.contradiction = known.message.contradiction
    return error
