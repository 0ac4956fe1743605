"""What a page of the console is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from sensorstream.client.clients import AsyncClient
from sensorstream.console.places import Place
from sensorstream.console.watches import Watch


@dataclass(frozen=True, slots=True)
class Visit:
    """One open page: what it asks the server with, and what its address asks for."""

    client: AsyncClient
    """It shows the key of who looks, and is closed when the page is left."""
    watch: Watch
    asked: Mapping[str, str]
    """The parts of the address in braces, and its query parameters."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its path, which may have parts in braces, and what builds its content.

    ``build`` is called when the browser shows the page; an error of the server that it raises is
    shown there.
    """

    path: str
    place: Place
    """Where it stands in the list of pages."""
    title: Callable[[Mapping[str, str]], str]
    """From what the address asks for."""
    build: Callable[[Visit], Awaitable[None]]


def page_of(place: Place, build: Callable[[Visit], Awaitable[None]]) -> Page:
    """The page that stands in the list of pages itself."""
    return Page(place.path, place, lambda asked: place.name, build)
