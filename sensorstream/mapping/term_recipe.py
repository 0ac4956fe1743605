"""The recipe of a term: the common description for mapping rules and RML, in the words of RML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal, TypeAlias

from sensorstream.language import syntax
from sensorstream.language.ontology_names import shown
from sensorstream.language.syntax import Hole, Part, SyntaxNode, ValueCall
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.terms import Literal as LiteralTerm

TermType: TypeAlias = Literal["IRI", "URI", "UnsafeIRI", "UnsafeURI", "BlankNode", "Literal"]
"""``rml:termType`` without its namespace."""


class ConstantTerm(SyntaxNode):
    """``rml:constant``: the same term for every iteration."""

    term: IRI | LiteralTerm

    @property
    def text(self) -> str:
        """The characters of the term."""
        return self.term.lexical if isinstance(self.term, LiteralTerm) else str(self.term)


class Reference(SyntaxNode):
    """``rml:reference``: every value that an XPath finds."""

    xpath: Hole


class StringTemplate(SyntaxNode):
    """``rml:template``: text with references."""

    parts: tuple[Part, ...]


class FunctionValue(SyntaxNode):
    """``rml:functionExecution``: the values of an expression, changed by a value function.

    ``arguments`` are names and texts of the other parameters, and ``function`` is its IRI, as
    written; ``call`` is their meaning. Rules have their functions in the holes.
    """

    value: Expression
    call: ValueCall
    function: str
    arguments: tuple[tuple[str, str], ...] = ()


Missing: TypeAlias = Literal["skip", "skip individual", "reject"]
"""The effect of a term map without a term: nothing, no subject, or a rejected message."""

Expression: TypeAlias = "ConstantTerm | Reference | StringTemplate | FunctionValue"


class TermMap(SyntaxNode):
    """A rule that makes terms.

    ``expression`` is None only for blank nodes: then each iteration has a new one. ``datatype`` and
    ``language`` belong to literals. ``if_valid`` treats an invalid value as a missing one.
    ``where`` names the map in errors: its surroundings, a comma, and the map itself.
    """

    expression: Expression | None
    type: TermType
    datatype: TermMap | None = None
    language: TermMap | None = None
    missing: Missing = "skip"
    if_valid: bool = False
    where: str = field(default="", compare=False)

    @property
    def constant(self) -> IRI | None:
        """The IRI that it always makes; None: it makes others."""
        expression = self.expression
        if isinstance(expression, ConstantTerm) and isinstance(expression.term, IRI):
            return expression.term
        return None


# Of mapping rules


LiteralValue: TypeAlias = syntax.XPathValue | syntax.TextValue | syntax.WrittenNumber


def name_map(
    file: syntax.RuleFile, name: syntax.WrittenName | syntax.BlankName, *, valid: bool = False
) -> TermMap:
    """The map from a name in a rule to an IRI or a blank node."""
    expression: Expression
    if isinstance(name, syntax.BlankName):
        expression = StringTemplate(_joined(name.parts))
    elif name.is_constant:
        expression = ConstantTerm(file.resolve(name))
    elif name.whole is not None:
        expression = Reference(name.whole)
    else:
        expression = StringTemplate(_joined(file.head(name)))
    kind: TermType = "BlankNode" if isinstance(name, syntax.BlankName) else "IRI"
    return TermMap(expression, kind, if_valid=valid)


def _joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of a template: none is empty, and no two texts are adjacent."""
    made: list[Part] = []
    for part in parts:
        if isinstance(part, str) and made and isinstance(made[-1], str):
            made[-1] += part
        elif part:
            made.append(part)
    return tuple(made)


def literal_map(
    file: syntax.RuleFile,
    name: IRI,
    value: LiteralValue,
    schema: Schema,
    *,
    valid: bool = False,
) -> TermMap:
    """The map from a value of the property ``name`` of a rule to literals."""
    kind = datatype_of(file, name, value, schema)
    language = None if isinstance(value, syntax.WrittenNumber) else value.language
    tag: TermMap | None = None
    if isinstance(language, Hole):
        kind, tag = None, TermMap(Reference(language), "Literal")
    elif language is not None:
        tag = TermMap(ConstantTerm(LiteralTerm(language)), "Literal")
    return TermMap(
        _expression(value),
        "Literal",
        None if kind is None else TermMap(ConstantTerm(IRI(kind)), "IRI"),
        tag,
        if_valid=valid,
        where=f"rule, {shown(file, name)}",
    )


def _expression(value: LiteralValue) -> Expression:
    match value:
        case syntax.XPathValue(xpath=hole):
            return Reference(hole)
        case syntax.WrittenNumber(text=text):
            return ConstantTerm(LiteralTerm(text))
        case syntax.TextValue(text=syntax.TextTemplate(parts=parts)):
            if any(isinstance(part, Hole) for part in parts):
                return StringTemplate(parts)
            return ConstantTerm(LiteralTerm("".join(map(str, parts))))


def datatype_of(
    file: syntax.RuleFile, name: IRI, value: LiteralValue, schema: Schema
) -> str | None:
    """The datatype of a property's value: the one written, else the range, else its own form."""
    if not isinstance(value, syntax.WrittenNumber) and value.datatype is not None:
        return file.resolve(value.datatype)
    told = schema.datatype_of(name)
    return value.datatype if told is None and isinstance(value, syntax.WrittenNumber) else told
