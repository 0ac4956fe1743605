"""Roles, and the identities that have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from sensorstream.errors import SettingsError
from sensorstream.model.frozen import frozen


class Role(StrEnum):
    """A permission; docs/use/http-api.md lists the roles of each operation."""

    INGEST = "ingest"
    """Send messages."""
    QUERY = "query"
    """Read all there is, and ask questions."""
    OPERATOR = "operator"
    """Register and remove continuous queries, look into webhooks; and all of QUERY."""
    ADMIN = "admin"
    """Change the ontology and the webhooks, read the audit log; and all of OPERATOR."""


_IMPLIED: Final[Mapping[Role, frozenset[Role]]] = {
    Role.INGEST: frozenset({Role.INGEST}),
    Role.QUERY: frozenset({Role.QUERY}),
    Role.OPERATOR: frozenset({Role.OPERATOR, Role.QUERY}),
    Role.ADMIN: frozenset({Role.ADMIN, Role.OPERATOR, Role.QUERY}),
}


def all_of(roles: Iterable[Role]) -> frozenset[Role]:
    """The roles, with those that they include. INGEST is included in no other role."""
    return frozenset().union(*(_IMPLIED[each] for each in roles))


@frozen
class Identity:
    """A client; ``roles`` holds the included ones too. ``kind`` says what ``name`` is: the name of
    a key, or the subject of a token. ``sources`` are those that its messages may come from; None:
    any. ``key`` is the visible beginning of a key, ``until`` the time when a token expires.
    """

    kind: Literal["anonymous", "key", "token", "command"]
    name: str
    roles: frozenset[Role] = frozenset()
    sources: frozenset[str] | None = None
    key: str = ""
    until: datetime | None = None

    def __str__(self) -> str:
        return self.name if self.kind == "anonymous" else f"{self.kind} {self.name}"


NOBODY: Final = Identity("anonymous", "anonymous")
"""A client without a key, where one is needed."""
ANYBODY: Final = Identity("anonymous", "anonymous", frozenset(Role))
"""A client without a key, where none is needed."""


def role_mapping(texts: Iterable[str]) -> Mapping[str, Role]:
    """The role of each value of a token's claim, from texts such as ``sensor-team = operator``.
    Without texts, the values are the names of the roles.

    Raises:
        SettingsError: a text is not a value, "=" and a role.
    """
    found: dict[str, Role] = {}
    for text in texts:
        value, sign, role = (each.strip() for each in text.rpartition("="))
        if not sign or not value or role not in list(Role):
            raise SettingsError(
                f"http.roles: expected a value of the claim, '=' and one of {', '.join(Role)}, "
                f"not '{text}'"
            )
        found[value] = Role(role)
    return found or {each.value: each for each in Role}
