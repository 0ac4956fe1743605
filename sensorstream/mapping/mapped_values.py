"""The conversion of texts that an XPath found to RDF terms."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Final

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.terms import HAS_SCHEME, IRI, Literal, iri, literal
from sensorstream.model.vocabulary import RDF, RDFS, RESERVED
from sensorstream.model.xsd import RDF_LANG_STRING, XSD
from sensorstream.sparql.iris import resolve

# RFC 3987, section 2.2: all but iunreserved, which is what R2RML and RML encode in templates.
_ENCODED: Final = cache(
    partial(
        re.compile,
        r"[^A-Za-z0-9\-._~"
        "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
        "\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd\U000e1000-\U000efffd]",
    )
)
_NO_URI: Final = re.compile(r"[^A-Za-z0-9\-._~]+")
# Ranges that only require a literal.
_ANY_LITERAL: Final = frozenset((f"{RDFS}Literal", f"{RDF}PlainLiteral", RDF_LANG_STRING))
_TEXTS: Final = frozenset((xsd.STRING, f"{XSD}normalizedString"))
_SPACE: Final = " \t\n\r"
# Streams repeat their values: a term of this cache costs a tenth of a new one.
_CACHED_TERMS: Final = 4096
# Rules share the makers of a datatype or a base, and so their caches.
_SHARED_MAKERS: Final = 128


def encode_segment(text: str) -> str:
    """Text as part of an IRI: all but RFC 3987's iunreserved characters is percent-encoded.
    Different texts give different IRIs. This is the IRI-safe version of RML-Core (term maps, "IRI
    encoding"), so that rules and RML give an individual the same name.
    """
    return _ENCODED().sub(_percent, text)


def encode_uri(text: str) -> str:
    """The URI-safe version: like the IRI-safe one, with ASCII only (RFC 3986, unreserved)."""
    return _NO_URI.sub(_percent, text)


def _percent(match: re.Match[str]) -> str:
    # XML cannot contain a lone surrogate.
    return "".join(f"%{byte:02X}" for byte in match.group().encode())


@lru_cache(maxsize=_SHARED_MAKERS)
def iri_maker(base: str | None, join: Callable[[str, str], str] = resolve) -> Callable[[str], IRI]:
    """A function from text to absolute IRI, with a small cache; it raises ``TermError``. Relative
    texts are joined to ``base``, if there is one.
    """

    @lru_cache(maxsize=_CACHED_TERMS)
    def make(text: str) -> IRI:
        return iri(text if base is None else join(base, text))

    return make


def append(base: str, text: str) -> str:
    """A base followed by a text that is no absolute IRI, as in RML."""
    return text if HAS_SCHEME.match(text) else base + text


@lru_cache(maxsize=_SHARED_MAKERS)
def literal_maker(datatype: str | None, language: str | None) -> Callable[[str], Literal]:
    """A function from text to literal, with a small cache; it raises ``TermError``. Outer white
    space is no part of the lexical form, unless the XSD datatype is a text (XML Schema 1.1, part 2,
    section 4.3.6, whiteSpace: collapse).
    """
    kind = xsd.STRING if datatype is None or datatype in _ANY_LITERAL else datatype
    cut = kind.startswith(XSD) and kind not in _TEXTS

    @lru_cache(maxsize=_CACHED_TERMS)
    def make(text: str) -> Literal:
        return literal(text.strip(_SPACE) if cut else text, kind, language)

    return make


def check_graph_name(name: IRI) -> IRI:
    """The name, if a message may say statements in a graph of that name.

    Raises:
        TermError: the name is reserved for the graphs of the system.
    """
    if name.startswith(RESERVED):
        raise TermError(
            f"<{name}> cannot name a graph: names that begin with '{RESERVED}' are reserved"
        )
    return name
