"""The roles of every operation, and the check of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from anyio import CancelScope
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.access.audit import AuditedChange
from sensorstream.access.roles import NOBODY, Identity, Role
from sensorstream.app.life.access_control import Access
from sensorstream.client.operation import Needs
from sensorstream.client.operations import operations
from sensorstream.errors import LONGEST_PATH, Forbidden, Unauthenticated, Unavailable, shortened_key
from sensorstream.logs import concerning
from sensorstream.model.frozen import frozen, replace
from sensorstream.server.problems import http_problem, refusal, respond


class AuditTrace(Enum):
    """The trace of a request in the audit log."""

    NONE = "none"
    QUESTION = "question"
    """One line of the logger ``sensorstream.audit``."""
    CHANGE = "change"
    """The same, and a row of the audit log."""


@frozen
class AccessRule:
    """The roles that may use an operation; without roles, everybody may."""

    roles: tuple[Role, ...]
    trace: AuditTrace = AuditTrace.NONE


NO_UPDATE: Final = "updates are refused: the cache changes by messages and rules only"
_NEEDS: Final[Mapping[Needs, AccessRule]] = {
    "nothing": AccessRule(()),
    "ingest": AccessRule((Role.INGEST,)),
    "read": AccessRule((Role.QUERY,)),
    "ask": AccessRule((Role.QUERY,), AuditTrace.QUESTION),
    "start": AccessRule((Role.QUERY,), AuditTrace.CHANGE),
    "look": AccessRule((Role.OPERATOR,)),
    "operate": AccessRule((Role.OPERATOR,), AuditTrace.CHANGE),
    "inspect": AccessRule((Role.ADMIN,)),
    "administer": AccessRule((Role.ADMIN,), AuditTrace.CHANGE),
}
_OTHERS: Final[Mapping[tuple[str, str], Needs]] = {
    ("GET", "/"): "nothing",
    ("GET", "/docs"): "nothing",
    ("GET", "/openapi.json"): "nothing",
    ("GET", "/assets/{path:path}"): "nothing",
    # The pages ask the server with the credentials of their visitor.
    ("GET", "/console/{path:path}"): "nothing",
    ("POST", "/console/{path:path}"): "nothing",
    ("GET", "/soap"): "nothing",
    ("POST", "/soap"): "ingest",
    ("GET", "/sparql"): "ask",
    ("GET", "/sparql/plan"): "ask",
    ("GET", "/graphs"): "ask",
    ("GET", "/graphs/{name}"): "ask",
    ("GET", "/sensorthings/v1.1"): "read",
    ("GET", "/sensorthings/v1.1/{path}"): "ask",
    ("GET", "/alerts/stream"): "read",
    ("GET", "/individuals"): "read",
    ("GET", "/rules/{name}/versions"): "read",
    ("GET", "/rules/{name}/versions/{change}"): "read",
    ("PUT", "/queries/{name}"): "operate",
    ("GET", "/queries/{name}/versions"): "read",
    ("GET", "/queries/{name}/versions/{change}"): "read",
    ("PUT", "/webhooks/{webhook_id}"): "administer",
    ("GET", "/webhooks/{webhook_id}/versions"): "look",
    # It has the whole URL.
    ("GET", "/webhooks/{webhook_id}/versions/{change}"): "inspect",
    ("GET", "/ontology/versions"): "read",
    ("GET", "/ontology/versions/{change}"): "read",
}
"""What the clients have no operation for, or one for all that has versions."""

RULES: Final[Mapping[tuple[str, str], AccessRule]] = {
    **{(each.method, each.path): _NEEDS[each.needs] for each in operations()},
    **{named: _NEEDS[needs] for named, needs in _OTHERS.items()},
}
"""The rule of each operation; what is not here, nobody can reach where keys are needed."""


class RoutedOperations:
    """The operations by the path of a request."""

    def __init__(self, rules: Mapping[tuple[str, str], AccessRule]) -> None:
        known: dict[str, dict[str, AccessRule]] = {}
        for (method, path), rule in rules.items():
            known.setdefault(path, {})[method] = rule
        self._exact = {path: told for path, told in known.items() if "{" not in path}
        self._patterns = [
            # As the description has it; the route takes slashes, too.
            (compile_path(path.replace("{path}", "{path:path}"))[0], path, told)
            for path, told in known.items()
            if "{" in path
        ]

    def find(self, path: str) -> tuple[str, Mapping[str, AccessRule]]:
        """The path of :data:`RULES` for a path as the routes see it, and its rules by method; ""
        and none: there is no such path.
        """
        found = self._exact.get(path)
        if found is not None:
            return path, found
        matching = (
            (known, told) for pattern, known, told in self._patterns if pattern.fullmatch(path)
        )
        return next(matching, ("", {}))


class Guard:
    """The check of a client: ``scope["user"]`` is then its :class:`.Identity`. It answers 401
    without valid credentials, 403 without the role; 404 where there is no rule. It must see the
    paths as the routes see them.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    def sender(self, shown: bytes | None) -> Identity | None:
        """The client with this header ``Authorization``, if it is known that it may send."""
        try:
            user = self._access.known(credentials([] if shown is None else [shown]))
        except Unauthenticated:
            return None
        return user if user is not None and Role.INGEST in user.roles else None

    async def let_in(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through to an application, or answer it."""
        _, rules = OPERATIONS.find(scope["path"])
        rule = rules.get(scope["method"])
        try:
            user = await self._user(scope, rule)
        except (Unauthenticated, Unavailable) as error:
            if isinstance(error, Unauthenticated):
                self._access.note(self._change(scope, NOBODY, 401))
            await refusal(error)(scope, receive, send)
            return
        trace = AuditTrace.NONE if rule is None else rule.trace
        if not rules and self._access.needed:
            app = respond(http_problem(404))
        elif rules and rule is None and self._access.needed:
            # A path with a parameter, whose operations are others, might match, too.
            app = refused_method(scope["path"])
        elif rule is not None and rule.roles and not user.roles.intersection(rule.roles):
            has = ", ".join(sorted(user.roles)) or "none"
            needed = " or ".join(rule.roles)
            app = refusal(Forbidden(f"this needs the role {needed}; {user} has: {has}"))
            trace = trace if trace is AuditTrace.CHANGE else AuditTrace.QUESTION
        scope = {**scope, "user": user}
        facts = named(user)
        if trace is AuditTrace.NONE and not facts:
            # Nothing is logged, and there is no right that could end meanwhile.
            await app(scope, receive, send)
            return
        answer = _Answer(send, self._access, user, trace, self._change(scope, user))
        try:
            with concerning(**facts):
                await app(scope, receive, answer)
        except Exception:
            if not answer.broken_off:
                raise
        finally:
            await answer.end()

    def _change(self, scope: Scope, user: Identity, status: int = 500) -> AuditedChange:
        """The record for the audit log; the status is that of an answer that never began."""
        client = scope.get("client")
        address = client[0] if client else ""
        path = shortened_key(scope["path"], LONGEST_PATH)
        told = (user.kind, user.name, address, scope["method"], path)
        return AuditedChange(self._access.clock.now(), *told, status)

    async def _user(self, scope: Scope, rule: AccessRule | None) -> Identity:
        try:
            shown = [value for name, value in scope["headers"] if name == b"authorization"]
            return await self._access.identify(credentials(shown))
        except (Unauthenticated, Unavailable):
            if rule is None or rule.roles:
                raise
            return NOBODY


class _Answer:
    """An answer that is logged, and broken off when the rights of its client end."""

    def __init__(
        self, send: Send, access: Access, user: Identity, trace: AuditTrace, change: AuditedChange
    ) -> None:
        self._send = send
        self._access = access
        self._user = user
        self._trace = trace
        self._change = change
        self.broken_off = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._change = replace(self._change, status=message["status"])
        elif not message.get("more_body"):
            # First the log: a client that has its answer finds the change there.
            await self.end()
        elif not self._access.admits(self._user):
            # The client of an event stream would listen for ever. A response gets an OSError
            # from a connection that is closed.
            self.broken_off = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise OSError("the key is not valid any more")
        await self._send(message)

    async def end(self) -> None:
        """Write the logs of the request; a second call does nothing."""
        trace, self._trace = self._trace, AuditTrace.NONE
        if trace is AuditTrace.QUESTION:
            self._access.note(self._change)
        elif trace is AuditTrace.CHANGE:
            with CancelScope(shield=True):
                await run_sync(self._access.record, self._change)


def credentials(shown: Sequence[bytes]) -> str:
    """The credentials after ``Bearer`` in the headers ``Authorization`` of a request; "": none.

    Raises:
        Unauthenticated: the header is there twice, or says something else.
    """
    if not shown:
        return ""
    scheme, _, value = shown[0].decode("latin-1").strip().partition(" ")
    if len(shown) > 1 or scheme.lower() != "bearer" or not value.strip():
        raise Unauthenticated("expected one header 'Authorization: Bearer <key>'")
    return value.strip()


def named(user: Identity) -> dict[str, str]:
    """The facts that the log adds about a client with a key or token."""
    return {user.kind: user.name} if user.kind in ("key", "token") else {}


def user_of(request: Request) -> Identity:
    """The client that makes a request."""
    user = request.scope["user"]
    assert isinstance(user, Identity)
    return user


def check_source(request: Request, source: str) -> None:
    """Check that messages may come from this source.

    Raises:
        Forbidden: the key is limited to other sources.
    """
    user = user_of(request)
    if user.sources is not None and source not in user.sources:
        raise Forbidden(
            f"{user} may send as {', '.join(sorted(user.sources))}, not as '{source}': name the "
            "source in the request (?source=…)"
        )


def security_of(document: dict[str, Any], issuer: str) -> None:
    """Write into an OpenAPI document the ways of authentication and the roles of each operation."""
    schemes: dict[str, Any] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "A key of `sensorstream keys create`; needed where `http.keys` is true.",
        }
    }
    if issuer:
        schemes["token"] = {
            "type": "openIdConnect",
            "openIdConnectUrl": f"{issuer}/.well-known/openid-configuration",
        }
    document["components"]["securitySchemes"] = schemes
    for path, described in document["paths"].items():
        for method, operation in described.items():
            rule = RULES[method.upper(), path]
            operation["security"] = [
                {scheme: [role.value]} for role in rule.roles for scheme in schemes
            ]


def read_methods(path: str) -> tuple[str, ...]:
    """The methods of a path by which the role query reads and asks, or everybody reads."""
    found = [
        method
        for method, rule in OPERATIONS.find(path)[1].items()
        if rule.roles in ((), (Role.QUERY,))
        and (method == "GET" or rule.trace is AuditTrace.QUESTION)
    ]
    return (*found, "HEAD") if "GET" in found else tuple(found)


def refused_method(path: str) -> Response:
    """The answer to a method that none of the operations of a path has."""
    known = set(OPERATIONS.find(path)[1]) or {"GET"}
    allowed = ", ".join(sorted(known | ({"HEAD"} if "GET" in known else set())))
    why = NO_UPDATE if path.startswith(("/graphs", "/sparql")) else ""
    return respond(http_problem(405, why), {"Allow": allowed})


OPERATIONS: Final = RoutedOperations(RULES)
"""Those of the server."""
