"""The pages and the way to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

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


OVERVIEW: Final = Place("/", "Overview", "schema", "o")
QUERIES: Final = Place("/queries", "Queries", "polyline", "q")
ASK: Final = Place("/ask", "Ask", "help_outline", "k")
ALERTS: Final = Place("/alerts", "Alerts", "notifications", "a")
RULES: Final = Place("/rules", "Rules", "rule", "r")
BENCH: Final = Place("/bench", "Bench", "construction", "b")
ONTOLOGY: Final = Place("/ontology", "Ontology", "account_tree", "t")
QUARANTINE: Final = Place("/quarantine", "Quarantine", "report", "n")
SETTINGS: Final = Place("/settings", "Settings", "settings", "s")
MESSAGES: Final = Place("/messages", "Messages", "mail", "m")
INDIVIDUALS: Final = Place("/individuals", "Individuals", "category", "i")
PLACES: Final = (
    OVERVIEW,
    MESSAGES,
    INDIVIDUALS,
    QUERIES,
    ASK,
    ALERTS,
    RULES,
    BENCH,
    ONTOLOGY,
    QUARANTINE,
    SETTINGS,
)


def address(path: str, **asked: object) -> str:
    """The address of a page on this server, with what it is asked for; None is left out."""
    said = {name: value for name, value in asked.items() if value is not None}
    return f"{BASE}{path}" + (f"?{urlencode(said)}" if said else "")


def individual(iri: str) -> str:
    """The address of an individual's page."""
    return address("/individual", iri=iri)


def members(iri: str) -> str:
    """The address of the list of a class's members."""
    return address("/individuals", **{"class": iri})


def message(message_id: str) -> str:
    """The address of a message's page."""
    return address(f"/messages/{quote(message_id, safe='')}")


def alert(alert_id: str) -> str:
    """The address of an alert's page."""
    return address(f"/alerts/{quote(alert_id, safe='')}")


def query(name: str, tab: str | None = None, at: object = None, operator: int | None = None) -> str:
    """The address of a continuous query's page, with the tab and the step that it shows."""
    return address("/query", name=name, tab=tab, at=at, operator=operator)


def preset(name: str) -> str:
    """The address of the page where queries are written, with one to begin with."""
    return address(QUERIES.path, preset=name)


def rule_file(name: str) -> str:
    """The address of a rule file's page."""
    return address(f"/rules/{quote(name, safe='')}")


def bench(message: object = None, rule: object = None) -> str:
    """The address of the mapping bench with a message and a rule file."""
    return address(BENCH.path, message=message, rule=rule)


def twin(path: str) -> str:
    """The address at which a browser reads an answer of the HTTP interface as it is."""
    return f"{BASE}/api{path}"
