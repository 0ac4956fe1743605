"""The evidence of alerts as the history keeps it: JSON texts.

A term is its own text: that of an IRI begins with a letter, of a blank node with ``_:``, of a
literal with a quotation mark (:mod:`sensorstream.model.terms`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring as _quoted
from typing import Any

from sensorstream.model.events import Basis, Evidence, Matched, Since
from sensorstream.model.terms import IRI, Term, term


def encoded(evidence: Evidence) -> str:
    """The text of an evidence."""
    # Written by hand: each alert has one, and the library takes twice as long.
    values = ",".join([f'"{name}":{_quoted(value)}' for name, value in evidence.bindings])
    rows = ",".join(map(_row, evidence.statements))
    told = f'"d":"{evidence.digest}","b":{{{values}}},"s":[{rows}],"l":{evidence.left_out}'
    since = evidence.since
    if since is not None:
        told += f',"t":[{since.time},{_quoted(since.message)}]'
    return f"{{{told}}}"


def decoded(text: str) -> Evidence:
    """The evidence of a text."""
    return _evidence(json.loads(text))


def _row(matched: Matched) -> str:
    s, p, o = matched.triple
    told = f'[{_quoted(s)},{_quoted(p)},{_quoted(o)},"{matched.basis.value}","{matched.message}"'
    if not matched.rule:
        return f"{told}]"
    because = "null" if matched.because is None else encoded(matched.because)
    return f"{told},{_quoted(matched.rule)},{because}]"


def _term(text: str) -> Term:
    return term(text) if text.startswith(('"', "_:")) else IRI(text)


def _evidence(told: Mapping[str, Any]) -> Evidence:
    bindings = tuple((name, _term(value)) for name, value in told["b"].items())
    statements = tuple(_matched(*each) for each in told["s"])
    since = Since(*told["t"]) if "t" in told else None
    return Evidence(told["d"], bindings, statements, told["l"], since)


def _matched(
    subject: str,
    predicate: str,
    value: str,
    basis: str,
    message: str,
    rule: str = "",
    because: Mapping[str, Any] | None = None,
) -> Matched:
    triple: tuple[Any, Any, Term] = (_term(subject), IRI(predicate), _term(value))
    before = None if because is None else _evidence(because)
    return Matched(triple, Basis(basis), message, rule, before)
