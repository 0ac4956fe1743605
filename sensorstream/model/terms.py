"""RDF 1.1 terms as strings.

A term *is* a string: an IRI its own text, a blank node ``_:label``, a literal its canonical
N-Triples form. The three forms differ in the first character (a letter, ``_`` and ``"``), so
Python's own cached string hash and C comparison give RDF term equality (RDF 1.1 Concepts, section
3) without a dictionary of terms that would grow.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import pyoxigraph as ox

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.xsd import DATATYPES, RDF_LANG_STRING, Value

_BAD_IRI = re.compile(r'[\x00-\x20<>"{}|\\^`]|%(?![0-9A-Fa-f]{2})')
HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# RFC 5646, section 2.1, without the tags that were grandfathered in.
_LANGUAGE = re.compile(
    r"(?:(?:[a-z]{2,3}(?:-[a-z]{3}){0,3}|[a-z]{4,8})(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(?:-[0-9a-wyz](?:-[a-z0-9]{2,8})+)*"
    r"(?:-x(?:-[a-z0-9]{1,8})+)?|x(?:-[a-z0-9]{1,8})+)\Z",
    re.IGNORECASE | re.ASCII,
)
_of_text = str.__new__
_ESCAPED = re.compile(r'["\\\n\r]')
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})


class IRI(str):
    """An absolute IRI. The constructor trusts its text; :func:`iri` checks it."""

    __slots__ = ()

    @property
    def n3(self) -> str:
        return f"<{self}>"


class BlankNode(str):
    """A blank node; its text is ``_:label``."""

    __slots__ = ()

    @property
    def n3(self) -> str:
        return str(self)


class Literal(str):
    """A literal. Its text is its N-Triples form; its parts are attributes.

    ``Literal("72", XSD_INTEGER).value == 72``. The value is parsed once, at its first use.
    Language tags are kept in lower case, their value space (RDF 1.1 Concepts, section 3.3).
    """

    __slots__ = ("_value", "datatype", "language")

    datatype: str
    language: str | None
    _value: Value | None

    def __new__(
        cls, lexical: str, datatype: str = xsd.STRING, language: str | None = None
    ) -> Literal:
        text = f'"{lexical}"'
        if _ESCAPED.search(lexical) is not None:
            text = f'"{lexical.translate(_ESCAPES)}"'
        if language is not None:
            datatype = RDF_LANG_STRING
            language = language.lower()
            text = f"{text}@{language}"
        elif datatype != xsd.STRING:
            text = f"{text}^^<{datatype}>"
        self = super().__new__(cls, text)
        self.datatype = datatype
        self.language = language
        self._value = None
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Literal, (self.lexical, self.datatype, self.language)

    @property
    def lexical(self) -> str:
        """The lexical form; it is in the text already, and a window holds many literals."""
        end = -1
        if self.language is not None:
            end -= len(self.language) + 1
        elif self.datatype != xsd.STRING:
            end -= len(self.datatype) + 4
        text = self[1:end]
        return _UNESCAPE.sub(_unescape, text) if "\\" in text else text

    @property
    def n3(self) -> str:
        return str(self)

    @property
    def value(self) -> Value:
        """The Python value.

        Raises:
            TermError: the lexical form is not in the datatype's lexical space.
        """
        if self._value is None:
            self._value = xsd.parse(self.lexical, self.datatype)
        return self._value

    @property
    def known(self) -> Value | None:
        """The Python value; None: the lexical form is not in the datatype's lexical space."""
        if self._value is not None:
            return self._value
        try:
            return self.value
        except TermError:
            return None


def valued(lexical: str, datatype: str, value: Value) -> Literal:
    """A literal whose value is known already; the caller vouches that they agree."""
    made = _of_text(Literal, f'"{lexical}"^^<{datatype}>')
    made.datatype = datatype
    made.language = None
    made._value = value  # noqa: SLF001
    return made


Subject: TypeAlias = IRI | BlankNode
Term: TypeAlias = IRI | BlankNode | Literal
Triple: TypeAlias = tuple[Subject, IRI, Term]


def statement_text(triple: Triple) -> str:
    """A statement as N-Triples, without the full stop."""
    return " ".join(each.n3 for each in triple)


def iri(text: str) -> IRI:
    """An absolute IRI, checked.

    Raises:
        TermError: ``text`` has no scheme, a character RFC 3987 forbids, or is not an IRI otherwise.
    """
    if not HAS_SCHEME.match(text):
        raise TermError(f"'{text}' is not an absolute IRI: expected a scheme such as http:")
    if bad := _BAD_IRI.search(text):
        raise TermError(f"'{text}' is not an IRI: {bad.group()!r} must be percent-encoded")
    try:
        ox.NamedNode(text)
    except ValueError as error:
        raise TermError(f"'{text}' is not an IRI: {error}") from None
    return IRI(text)


def literal(lexical: str, datatype: str = xsd.STRING, language: str | None = None) -> Literal:
    """A literal, checked against its datatype (and its language tag against BCP 47).

    Raises:
        TermError: the lexical form is not in the datatype's lexical space.
    """
    if language is not None and not _LANGUAGE.match(language):
        raise TermError(f"'{language}' is not a language tag: expected a form such as en or en-GB")
    made = Literal(lexical, datatype, language)
    made._value = xsd.parse(lexical, made.datatype, strictly=True)  # noqa: SLF001
    return made


def is_of(term: Literal, datatype: str) -> bool:
    """Whether the value of a literal is in a datatype; one without a value is in none.

    Raises:
        TermError: the values of the datatype are not known here, or those of the literal's own.
    """
    if datatype not in DATATYPES:
        raise TermError(f"<{datatype}> is no datatype whose values are known")
    if term.datatype not in DATATYPES:
        raise TermError(f"{term.n3} is of a datatype whose values are not known")
    tagged = term.language is not None
    if tagged != (term.datatype == RDF_LANG_STRING) or not xsd.is_valid(
        term.lexical, term.datatype
    ):
        return False
    value = Fraction(term.value) if isinstance(term.value, int | Decimal) else term.value
    return xsd.is_among(value, xsd.primitive_of(term.datatype), datatype)


_NTRIPLES_LITERAL = re.compile(
    r'"(?P<lexical>(?:[^"\\]|\\.)*)"(?:\^\^<(?P<datatype>[^>]*)>|@(?P<language>[\w-]+))?\Z', re.S
)
_UNESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.S)
_SINGLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2)
    if code:
        return chr(int(code, 16))
    return _SINGLE.get(match.group(3), match.group(3))


def term(n3: str) -> Term:
    """The term of an N-Triples text: ``<iri>``, ``_:label`` or ``"literal"…``.

    Raises:
        TermError: the text is not an IRI, a blank node or a literal.
    """
    if n3.startswith("<") and n3.endswith(">"):
        return IRI(n3[1:-1])
    if n3.startswith("_:"):
        return BlankNode(n3)
    if match := _NTRIPLES_LITERAL.match(n3):
        lexical = _UNESCAPE.sub(_unescape, match["lexical"])
        return Literal(lexical, match["datatype"] or xsd.STRING, match["language"])
    raise TermError(f"'{n3}' is not an N-Triples term: expected <iri>, _:label or \"literal\"")
