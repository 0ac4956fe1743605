"""The text of a rule file: read, and put in force if nobody else has changed it meanwhile."""

from __future__ import annotations

from sensorstream.client.asynchronous import AsyncClient
from sensorstream.errors import SensorStreamError, UnknownRules


async def text_of(client: AsyncClient, name: str) -> str | None:
    """The text in force; None: there is no such file."""
    try:
        return await client.rule_file(name)
    except UnknownRules:
        return None


async def put_over(client: AsyncClient, name: str, text: str, before: str | None) -> str:
    """Put a text in force in place of one that was read before; the id of the change.

    Raises:
        SensorStreamError: it was changed meanwhile, or cannot be put.
    """
    if await text_of(client, name) != before:
        told = "it was changed meanwhile: read it anew, or compare it with the versions"
        raise SensorStreamError(told)
    return await client.put_rule_file(name, text)
