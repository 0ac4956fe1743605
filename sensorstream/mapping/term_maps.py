"""The compiler of term maps, of mapping rules and of RML, to closures that return terms.

Source: RML-Core, "Generated RDF Term of a Term Map".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Final

from sensorstream.errors import InvalidValue, MappingError, TermError
from sensorstream.language.syntax import Hole, Part
from sensorstream.mapping.mapped_values import encode_segment, encode_uri, iri_maker, literal_maker
from sensorstream.mapping.mapping_expressions import HoleCompiler
from sensorstream.mapping.mapping_plan import Terms, Texts, Turn
from sensorstream.mapping.term_recipe import (
    ConstantTerm,
    Expression,
    FunctionValue,
    Missing,
    Reference,
    StringTemplate,
    TermMap,
)
from sensorstream.model.terms import IRI, Term
from sensorstream.sparql.walk import nodes

# The beginning of an IRI, up to somewhere behind its host.
_IN_PATH: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!//[^/?#]*\Z)")
_ENCODERS: Final[dict[str, Callable[[str], str]]] = {
    "IRI": encode_segment,
    "URI": encode_uri,
    "UnsafeIRI": str,
    "UnsafeURI": str,
}


class SkipIndividual(Exception):
    """A value is missing, and the rule then leaves the individual out."""


class TermCompiler:
    """A compiler of the term maps of one rule or triples map; its methods return closures.

    ``whole`` makes an IRI of a value that a reference finds, ``filled`` of a template; None: the
    texts of templates are absolute and have been checked. ``multiply``: if several references in a
    template find values, all combinations fill it, as in RML; otherwise each must have one. Errors
    without a hole name ``start``, the path of the rule.
    """

    def __init__(
        self,
        holes: HoleCompiler,
        start: Hole,
        whole: Callable[[str], IRI],
        filled: Callable[[str], IRI] | None,
        *,
        multiply: bool,
    ) -> None:
        self.holes = holes
        self._start = start
        self._whole = whole
        self._from_template = filled
        self._multiply = multiply

    def term(self, term_map: TermMap, check: Callable[[IRI], IRI] | None = None) -> Terms:
        """A function to the terms of a map; an IRI that ``check`` refuses is invalid."""
        what = "found nothing, but ss:missing says reject"
        return or_else(
            self._terms(term_map, check),
            term_map.missing,
            lambda turn: self.error(term_map, turn, what, ""),
        )

    def _terms(self, term_map: TermMap, check: Callable[[IRI], IRI] | None) -> Terms:
        expression = term_map.expression
        if isinstance(expression, ConstantTerm) and not (term_map.datatype or term_map.language):
            constant = (expression.term,)
            return lambda turn: constant
        if expression is None:
            return _new_node(term_map.where)
        if term_map.type == "Literal":
            return self._literals(term_map, expression)
        if term_map.type == "BlankNode":
            find = self.values(expression, valid=term_map.if_valid)
            return lambda turn: [turn.harvest.named_node(text) for text in find(turn)]
        return self._iris(term_map, expression, check)

    def _iris(
        self, term_map: TermMap, expression: Expression, check: Callable[[IRI], IRI] | None
    ) -> Terms:
        find = self.values(expression, _ENCODERS[term_map.type], valid=term_map.if_valid)
        made = self._whole
        if isinstance(expression, StringTemplate):
            checked = self._from_template is None and _IN_PATH.match(str(expression.parts[0]))
            if checked and check is None:
                # In that place no percent-encoded value can make an IRI invalid.
                return lambda turn: [IRI(text) for text in find(turn)]
            made = self._from_template or iri_maker(None)
        is_uri = term_map.type in ("URI", "UnsafeURI")
        if check is None and not is_uri:
            return self._made(term_map, find, made)

        def make(text: str) -> IRI:
            named = made(text)
            if is_uri and not named.isascii():
                raise TermError(f"'{named}' is not a URI: expected ASCII characters only")
            return named if check is None else check(named)

        return self._made(term_map, find, make)

    def _made(self, term_map: TermMap, find: Texts, make: Callable[[str], Term]) -> Terms:
        """The terms of the texts; an invalid one rejects the message or, if valid, is left out."""
        valid, error = term_map.if_valid, self.error

        def terms(turn: Turn) -> Sequence[Term]:
            made = []
            for text in find(turn):
                try:
                    made.append(make(text))
                except TermError as fault:
                    if not valid:
                        raise error(term_map, turn, fault.message, text) from None
            return made

        return terms

    # Literals

    def _literals(self, term_map: TermMap, expression: Expression) -> Terms:
        find = self.values(expression, valid=term_map.if_valid)
        kind, tag = term_map.datatype, term_map.language
        datatype = None if kind is None else kind.constant
        language = None if tag is None else tag.expression
        if (kind is None or datatype is not None) and isinstance(language, ConstantTerm | None):
            make = literal_maker(datatype, None if language is None else language.text)
            if isinstance(expression, ConstantTerm):
                constant = (make(expression.text),)
                return lambda turn: constant
            return self._made(term_map, find, make)
        kinds = _neither if kind is None else self.term(kind)
        tags = _neither if tag is None else self._tags(tag)

        def literals(turn: Turn) -> Sequence[Term]:
            texts = find(turn)
            pairs = product(kinds(turn), tags(turn)) if texts else ()
            makers = [literal_maker(*each) for each in pairs]
            return [
                term
                for text in texts
                for make in makers
                for term in self._made(term_map, partial(_itself, [text]), make)(turn)
            ]

        return literals

    def _tags(self, language: TermMap) -> Callable[[Turn], Sequence[str | None]]:
        """The languages that a message gives: for RML any number, for a rule one."""
        assert language.expression is not None
        find = self.values(language.expression)
        if self._multiply:
            return find

        def one(turn: Turn) -> Sequence[str]:
            found = find(turn)
            if len(found) > 1:
                hole = next(nodes(language, Hole))
                raise self.holes.not_one(turn, hole, found, "expected one language")
            try:
                return [tag for tag in found if literal_maker(None, tag)("") is not None]
            except TermError as error:
                raise self.error(language, turn, error.message, found[0]) from None

        return one

    # Texts

    def values(
        self,
        expression: Expression,
        change: Callable[[str], str] = str,
        *,
        valid: bool = False,
    ) -> Texts:
        """The texts of an expression; ``change`` is applied to the values in a template. With
        ``valid`` the values that a function refuses are left out.
        """
        match expression:
            case ConstantTerm(text=text):
                constant = [text]
                return lambda turn: constant
            case Reference(xpath=hole):
                return self.holes.texts(hole, valid=valid)
            case StringTemplate(parts=parts):
                return self._filled(parts, change, valid=valid)
            case FunctionValue(value=value, call=call):
                # Only templates encode their values.
                hole = next(nodes(value, Hole), self._start)
                return self.holes.called(
                    hole, self.values(value, valid=valid), (call,), valid=valid
                )

    def _filled(self, parts: Sequence[Part], change: Callable[[str], str], *, valid: bool) -> Texts:
        """A template's texts: none if a hole finds nothing, several if one hole finds several."""
        holes = [part for part in parts if isinstance(part, Hole)]
        if not holes:
            constant = ["".join(map(str, parts))]
            return lambda turn: constant
        texts = {hole: self.holes.texts(hole, valid=valid) for hole in holes}
        if len(holes) == 1:
            index, only = parts.index(holes[0]), texts[holes[0]]
            before, after = (
                "".join(map(str, each)) for each in (parts[:index], parts[index + 1 :])
            )
            return lambda turn: [f"{before}{change(text)}{after}" for text in only(turn)]
        # A reference that is written twice has one value at a time.
        numbers = {hole: number for number, hole in enumerate(texts)}
        pieces = tuple(part if isinstance(part, str) else numbers[part] for part in parts)
        finds, one = tuple(texts.items()), not self._multiply

        def filled(turn: Turn) -> list[str]:
            values = []
            for hole, find in finds:
                found = find(turn)
                if one and not found:
                    return []
                if one and len(found) > 1:
                    raise self.holes.not_one(
                        turn, hole, found, "expected one value beside another hole"
                    )
                values.append([change(text) for text in found])
            return [
                "".join(piece if isinstance(piece, str) else chosen[piece] for piece in pieces)
                for chosen in product(*values)
            ]

        return filled

    # Errors

    def error(self, term_map: TermMap, turn: Turn, what: str, found: str) -> MappingError:
        """The error of a term map, at the place in the message where it found a text."""
        hole = next(nodes(term_map.expression, Hole), self._start)
        _, comma, where = term_map.where.partition(", ")
        what = f"{where}: {what}" if comma else what
        return self.holes.error(turn, hole, what, found, InvalidValue)


def or_else(find: Terms, missing: Missing, rejection: Callable[[Turn], MappingError]) -> Terms:
    """The terms; if there are none, the effect of a policy."""
    if missing == "skip":
        return find

    def needed(turn: Turn) -> Sequence[Term]:
        if found := find(turn):
            return found
        if missing == "reject":
            raise rejection(turn)
        raise SkipIndividual

    return needed


def _new_node(where: str) -> Terms:
    """A node for each iteration, with a label that is the same at every evaluation."""

    def new(turn: Turn) -> Sequence[Term]:
        path = turn.context.getroottree().getpath(turn.context)
        return (turn.harvest.named_node(f"{where} {path}"),)

    return new


def _neither(turn: Turn) -> Sequence[None]:
    return (None,)


def _itself(texts: list[str], turn: Turn) -> list[str]:
    return texts
