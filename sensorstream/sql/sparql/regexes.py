"""REGEX and REPLACE: the patterns that mean the same in PostgreSQL (section 17.4.3.14).

SPARQL's patterns are those of XPath; PostgreSQL has its own. Only what both read alike is
translated: characters, classes, groups, alternatives, greedy quantifiers and anchors. What
REPLACE exchanges depends on which of several matches is taken (XPath: the first that is found,
PostgreSQL: the longest), so there only one character may have a quantifier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.model import xsd
from sensorstream.model.regex import xpath_regex
from sensorstream.model.terms import Literal
from sensorstream.model.xsd import RDF_LANG_STRING
from sensorstream.sparql.functions import fault_of_pattern
from sensorstream.sql.sparql.solution_relations import Frame
from sensorstream.sql.sparql.sql_terms import QueryConstant, SqlTerm, StringValue, Truth, said

# Not \w: it means other marks and signs in each language of patterns.
_ESCAPED: Final = frozenset("\\|.?*+(){}[]^$-dDsS")
_SPECIAL: Final = re.compile(r"[\\|.?*+(){}\[\]^$]")
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_MOST_REPEATS: Final = 255
_TOKEN: Final = re.compile(
    r"(?P<repeat>[?*+]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})|(?P<escape>\\.?)"
    r"|(?P<class>\[\^?(?:\\[nrtds\\|.?*+(){}\[\]^$-]|[^\\\[\]])*(?P<ended>\]?))|(?P<open>\((?:\?:?)?)"
    r"|(?P<close>\))|(?P<dot>\.)|(?P<end>[\^$])|(?P<either>\|)|(?P<bare>[\]{}])|(?P<plain>.)",
    re.DOTALL,
)
_SINGLE: Final = ("escape", "class", "dot", "plain")
"""The kinds of what is one character."""


def regex(frame: Frame, *arguments: SqlTerm) -> SqlTerm:
    """REGEX(text, pattern, flags)."""
    source = frame.light(arguments[0])
    written, flags = _constants("REGEX", arguments[1:], 2)
    made = _Translation("REGEX", written, flags).text()
    return Truth(said(':chars COLLATE "pg_unicode_fast" ~ :pattern', source, pattern=made))


def replace(frame: Frame, *arguments: SqlTerm) -> SqlTerm:
    """REPLACE(text, pattern, replacement, flags)."""
    source = frame.light(arguments[0])
    written, new, flags = _constants("REPLACE", arguments[1:], 3)
    translation = _Translation("REPLACE", written, flags)
    made = translation.text()
    if translation.quantifiers > 1 or translation.alternatives:
        raise translation.refusal("alternatives, or more than one quantifier")
    if xpath_regex(written, flags).search(""):
        # An error of the function (XPath and XQuery Functions 3.1, section 5.6.4).
        return StringValue(exp.cast(exp.null(), "TEXT"))
    return StringValue(
        said(
            "REGEXP_REPLACE(:chars COLLATE \"pg_unicode_fast\", :pattern, :new, 'g')",
            source,
            pattern=made,
            new=_replacement(new, translation.groups),
        ),
        said("CASE WHEN NOT :chars IS NULL THEN :language END", source),
    )


def _constants(name: str, values: Sequence[SqlTerm], count: int) -> list[str]:
    texts = []
    for value in values:
        if not isinstance(value, QueryConstant) or not isinstance(value.term, Literal):
            raise UnsupportedQuery(
                f"{name}(): its pattern, flags and replacement must be written in the query: "
                "expected texts in quotes when history is asked"
            )
        if value.term.datatype not in (xsd.STRING, RDF_LANG_STRING):
            raise UnsupportedQuery(f"{name}(): {value.term} is not a string")
        texts.append(value.term.lexical)
    texts += [""] * (count - len(texts))
    return texts


def _replacement(written: str, groups: int) -> str:
    """The replacement as PostgreSQL writes it: ``$1`` is a group, ``\\$`` a dollar."""

    def exchange(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1].replace("\\", "\\\\")
        number = int(match[2])
        return (rf"\{number}" if number else r"\&") if number <= groups else ""

    parts = re.split(r"(\\.|\$[0-9])", written)
    return "".join(
        re.sub(r"\\(.)|\$([0-9])", exchange, part) if place % 2 else part.replace("\\", "\\\\")
        for place, part in enumerate(parts)
    )


class _Translation:
    """The translation of one pattern, which is read from left to right."""

    def __init__(self, name: str, written: str, flags: str) -> None:
        self.name = name
        self.written = written
        self.flags = flags
        self.groups = 0
        self.quantifiers = 0
        self.alternatives = False

    def text(self) -> str:
        """The pattern of PostgreSQL, with its options."""
        if not set(self.flags) <= set("imsxq"):
            raise self._fault()
        made = self._made()
        if fault_of_pattern(self.written, self.flags):
            raise self._fault()
        return made

    def _fault(self) -> UnsupportedQuery:
        fault = fault_of_pattern(self.written, self.flags)
        return UnsupportedQuery(f"{self.name}(): '{self.written}' {fault}")

    def _made(self) -> str:
        options = "i" if "i" in self.flags else ""
        # w: ^ and $ match at lines; without it only at the ends. The dot also matches line feeds.
        options += "w" if "m" in self.flags else "s"
        if "q" in self.flags:
            return f"(?{options}){_SPECIAL.sub(lambda m: chr(92) + m[0], self.written)}"
        if "x" in self.flags and "#" in self.written:
            raise self.refusal("the flag x and the character #")
        return f"(?{options}){self._translated()}"

    def _translated(self) -> str:
        made: list[str] = []
        place, before = 0, ""
        while place < len(self.written):
            token = _TOKEN.match(self.written, place)
            assert token is not None, "some part matches any character"
            place, kind = token.end(), str(token.lastgroup)
            made.append(self._part(kind, token, before))
            # A part that is left out cannot be repeated.
            before = kind if made[-1] else ""
        return "".join(made)

    def _part(self, kind: str, token: re.Match[str], before: str) -> str:
        """A part of the pattern; ``before``: of which kind the one before it is."""
        text = token[0]
        match kind:
            case "repeat":
                return self._quantifier(token, before)
            case "escape":
                return self._escape(text[1:])
            case "class":
                return self._class(token)
            case "open" if text == "(?":
                raise self.refusal("a group that begins with (?")
            case "open":
                self.groups += text == "("
            case "dot":
                return "." if "s" in self.flags else "[^\n]"
            case "either":
                self.alternatives = True
            case "bare":
                raise self.refusal(f"a bare {text}")
            case "plain" if text in " \t\n\r" and "x" in self.flags:
                return ""
        return text

    def _quantifier(self, token: re.Match[str], before: str) -> str:
        self.quantifiers += 1
        if before not in _SINGLE:
            if before != "close":
                raise self.refusal("a quantifier after nothing")
            # A repeated group keeps its last match, and which one that is may differ.
            self.quantifiers += 1
        if self.written[token.end() : token.end() + 1] in {"?", "+", "*"}:
            raise self.refusal("a reluctant quantifier")
        if any(int(each) > _MOST_REPEATS for each in re.findall("[0-9]+", token[0])):
            raise self.refusal(f"more than {_MOST_REPEATS} repetitions")
        return token[0]

    def _escape(self, following: str) -> str:
        if following in _CONTROLS:
            return _CONTROLS[following]
        if following and following in _ESCAPED:
            return f"\\{following}"
        raise self.refusal(f"the escape \\{following}")

    def _class(self, token: re.Match[str]) -> str:
        text = token[0]
        if not token["ended"] and token.end() == len(self.written):
            raise self.refusal("a class without an end")
        if not token["ended"] or text in ("[]", "[^]"):
            raise self.refusal("a class within a class")
        return re.sub(r"\\(.)", lambda m: _CONTROLS.get(m[1], m[0]), text)

    def refusal(self, what: str) -> UnsupportedQuery:
        return UnsupportedQuery(
            f"{self.name}(): '{self.written}' has {what}, which PostgreSQL reads in another way: "
            "expected characters, classes such as [a-z], groups and greedy quantifiers"
        )
