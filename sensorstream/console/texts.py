"""Short names for people; the whole ones stand in the tooltips."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

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


def moment(at: str | None) -> str:
    """A moment of the HTTP interface, to the second in UTC; "" for none."""
    if at is None:
        return ""
    return f"{datetime.fromisoformat(at).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def seconds(at: object) -> float:
    """A moment of the time line as a number: an integer as it is, a time in seconds since 1970."""
    if isinstance(at, int | float):
        return float(at)
    return (at if isinstance(at, datetime) else datetime.fromisoformat(str(at))).timestamp()


_DECLARED: Final = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def text_of(content: bytes) -> str:
    """The text, in the encoding that it declares; what cannot be read is replaced.

    Source: XML 1.0, section 4.3.3 and appendix F.
    """
    if content.startswith(_MARKS):
        return content.decode("utf-16", "replace")
    declared = _DECLARED.match(content)
    if declared is not None:
        with suppress(LookupError, UnicodeDecodeError):
            return content.decode(declared.group(1).decode())
    return content.decode("utf-8-sig", "replace")
