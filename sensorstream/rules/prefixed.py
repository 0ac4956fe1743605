"""Terms and texts of queries as people write them: with the prefixes of their file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sensorstream.model.terms import Literal, Term
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.model.xsd import RDF_LANG_STRING, XSD_STRING
from sensorstream.rules.conditions import Solution

_IRI: Final = re.compile(r"<([^<>\s]*)>")
_LOCAL: Final = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(slots=True)
class Names:
    """Writes terms and texts of queries with the prefixes of a rule file."""

    prefixes: Mapping[str, str]

    def short(self, text: str) -> str:
        """The text with prefixes instead of IRIs."""
        return _IRI.sub(self._short, text)

    def term(self, term: Term) -> str:
        """A term; a number or a time by its text alone."""
        if isinstance(term, Literal) and term.datatype not in (XSD_STRING, RDF_LANG_STRING):
            return term.lexical
        return self.short(term.n3)

    def solution(self, solution: Solution) -> str:
        """A solution as ``?x = :ann, ?v = 31``."""
        told = (
            f"?{n} = {self.term(v)}" for n, v in sorted(solution.items()) if not n.startswith("__")
        )
        return ", ".join(told)

    def _short(self, match: re.Match[str]) -> str:
        if match[1] == RDF_TYPE:
            return "a"
        for prefix, start in self.prefixes.items():
            local = match[1].removeprefix(start)
            if local != match[1] and _LOCAL.fullmatch(local):
                return f"{prefix}:{local}"
        return match[0]
