"""The pages and the way to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BASE: Final = "/console"
"""The path of all pages."""
ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="6" fill="#1f5f8b"/><path d="M5 18h5l3-9 5 15 3-9h6" fill="none" stroke="#fff" '
    'stroke-width="2.5"/></svg>'
)
"""The picture that a browser shows for a page, as SVG."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page in the list of pages; ``letter`` with the browser's access key leads to it."""

    path: str
    name: str
    icon: str
    letter: str


PLACES: Final = (Place("/", "Overview", "schema", "o"),)
