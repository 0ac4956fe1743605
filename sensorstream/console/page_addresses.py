"""The pages and the way to them; short names for people, the whole ones stand in the tooltips."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

from sensorstream.model.frozen import frozen

BASE: Final = "/console"
"""The path of all pages."""
ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="6" fill="#1f5f8b"/><path d="M5 18h5l3-9 5 15 3-9h6" fill="none" stroke="#fff" '
    'stroke-width="2.5"/></svg>'
)
"""The picture that a browser shows for a page, as SVG."""


@frozen
class ListedPage:
    """A page in the list of pages; ``letter`` with the browser's access key leads to it."""

    path: str
    name: str
    icon: str
    letter: str


OVERVIEW: Final = ListedPage("/", "Overview", "schema", "o")
QUERIES: Final = ListedPage("/queries", "Queries", "polyline", "q")
ASK: Final = ListedPage("/ask", "Ask", "help_outline", "k")
ALERTS: Final = ListedPage("/alerts", "Alerts", "notifications", "a")
RULES: Final = ListedPage("/rules", "Rules", "rule", "r")
BENCH: Final = ListedPage("/bench", "Bench", "construction", "b")
ONTOLOGY: Final = ListedPage("/ontology", "Ontology", "account_tree", "t")
SHAPES: Final = ListedPage("/shapes", "Shapes", "fact_check", "p")
QUARANTINE: Final = ListedPage("/quarantine", "Quarantine", "report", "n")
SETTINGS: Final = ListedPage("/settings", "Settings", "settings", "s")
MESSAGES: Final = ListedPage("/messages", "Messages", "mail", "m")
INDIVIDUALS: Final = ListedPage("/individuals", "Individuals", "category", "i")
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
    SHAPES,
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


def query(name: str, tab: str | None = None, **more: object) -> str:
    """The address of a continuous query's page, with the tab and the step that it shows (``at`` and
    ``operator``), and the ``key`` of the engine that it shows.
    """
    return address("/query", name=name, tab=tab, **more)


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


_IRI: Final = re.compile(r"<([^<>\s]*)>")
_TYPED: Final = re.compile(r'("(?:[^"\\]|\\.)*")\^\^<[^<>\s]*>')
TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def local_name(iri: str) -> str:
    """The end of an IRI, by which people know it; "a" for the type of something."""
    if iri == TYPE:
        return "a"
    return iri.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1] or iri


def short(statement: str) -> str:
    """A statement or term in N-Triples, with local names and without datatypes."""
    return _IRI.sub(lambda found: local_name(found[1]), _TYPED.sub(r"\1", statement))


def seconds(at: object) -> float:
    """A moment of the time line as a number: an integer as it is, a time in seconds since 1970."""
    if isinstance(at, int | float):
        return float(at)
    return (at if isinstance(at, datetime) else datetime.fromisoformat(str(at))).timestamp()


_DECLARED: Final = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def text_of(content: bytes) -> str:
    """The text, in the encoding that it declares (XML 1.0, section 4.3.3 and appendix F); what
    cannot be read is replaced.
    """
    if content.startswith(_MARKS):
        return content.decode("utf-16", "replace")
    declared = _DECLARED.match(content)
    if declared is not None:
        with suppress(LookupError, UnicodeDecodeError):
            return content.decode(declared.group(1).decode())
    return content.decode("utf-8-sig", "replace")
