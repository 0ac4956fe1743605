"""The evidence of alerts as the history keeps it: JSON texts, with terms in N-Triples form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring as _quoted
from typing import Any

from sensorstream.model.evidence import Basis, Evidence, Matched
from sensorstream.model.terms import Term, term


def encoded(evidence: Evidence) -> str:
    """The text of an evidence."""
    # Written by hand: each alert has one, and the library takes twice as long.
    values = ",".join([f"{_quoted(name)}:{_quoted(value.n3)}" for name, value in evidence.bindings])
    rows = ",".join(map(_row, evidence.statements))
    return f'{{"d":"{evidence.digest}","b":{{{values}}},"s":[{rows}],"l":{evidence.left_out}}}'


def decoded(text: str) -> Evidence:
    """The evidence of a text."""
    return _evidence(json.loads(text))


def _row(matched: Matched) -> str:
    s, p, o = matched.triple
    told = f'[{_quoted(s.n3)},"{p.n3}",{_quoted(o.n3)},"{matched.basis.value}","{matched.message}"'
    if not matched.rule:
        return f"{told}]"
    because = "null" if matched.because is None else encoded(matched.because)
    return f"{told},{_quoted(matched.rule)},{because}]"


def _evidence(told: Mapping[str, Any]) -> Evidence:
    bindings = tuple((name, term(value)) for name, value in told["b"].items())
    statements = tuple(_matched(*each) for each in told["s"])
    return Evidence(told["d"], bindings, statements, told["l"])


def _matched(
    subject: str,
    predicate: str,
    value: str,
    basis: str,
    message: str,
    rule: str = "",
    because: Mapping[str, Any] | None = None,
) -> Matched:
    triple: tuple[Any, Any, Term] = (term(subject), term(predicate), term(value))
    before = None if because is None else _evidence(because)
    return Matched(triple, Basis(basis), message, rule, before)
