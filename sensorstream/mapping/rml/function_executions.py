"""The reader of expressions and function executions: value functions of rules, named by FnO.

Source: RML-Core, "Generating values with expressions"; RML-FNML (http://w3id.org/rml/fnml/spec),
and the ``fnml:functionValue`` before it. Some functions of GREL, which most mappings use, become
functions of rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.mapping.functions.function_definition import (
    FUNCTION,
    PARAMETER,
    VALUE,
    Definition,
)
from sensorstream.mapping.functions.function_registry import call_of, definition_of
from sensorstream.mapping.rml.rml_template import parse_template
from sensorstream.mapping.rml.rml_turtle import EXPRESSION, FUNCTIONS, Block, rml
from sensorstream.mapping.term_recipe import (
    ConstantTerm,
    Expression,
    FunctionValue,
    Reference,
    StringTemplate,
)
from sensorstream.model.terms import IRI, BlankNode, Literal, Term

_RESULT: Final = f"{PARAMETER}result"
_EXECUTES: Final = frozenset(
    f"{scheme}://w3id.org/function/ontology#executes" for scheme in ("http", "https")
)
_GREL: Final = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
# The names are in small letters, since the examples of the specification differ.
_GREL_FUNCTIONS: Final = {
    "touppercase": "upper",
    "tolowercase": "lower",
    "string_trim": "trim",
    "string_replace": "replace",
}
_GREL_PARAMETERS: Final = {
    "valueparam": VALUE,
    "valueparameter": VALUE,
    "param_find": "expression",
    "p_string_find": "expression",
    "param_replace": "replacement",
    "p_string_replace": "replacement",
}
_ESCAPES: Final[dict[str, Callable[[str], str]]] = {
    "expression": re.escape,
    "replacement": lambda text: text.replace("\\", "\\\\"),
}
_GREL_RESULTS: Final = frozenset(f"{_GREL}{name}" for name in ("stringOut", "stringOutput"))


ONE_EXPRESSION: Final = (
    "expected one of rml:constant, rml:reference, rml:template and rml:functionExecution"
)


class ExpressionReader(Block):
    """A reader of the expressions of one triples map, function executions among them."""

    def expression(self, node: Term, where: str) -> Expression | None:
        constant, reference, template = (self.graph.values(node, each) for each in EXPRESSION)
        executed = self._execution(node, where)
        if len(constant) + len(reference) + len(template) + (executed is not None) > 1:
            raise self.error(where, ONE_EXPRESSION)
        if executed is not None:
            return executed
        for term in constant:
            if isinstance(term, BlankNode):
                raise self.error(
                    where, "a blank node cannot be constant: expected rml:termType rml:BlankNode"
                )
            return ConstantTerm(term)
        for term in (*reference, *template):
            if not isinstance(term, Literal):
                shown = self.graph.shown(term)
                raise self.error(where, f"{shown}: expected an XPath or template in quotes")
            if reference:
                return Reference(self.hole(term.lexical))
            place = self.graph.position_of_text(term.lexical, self.node)
            try:
                return StringTemplate(parse_template(term.lexical, place))
            except LanguageError as error:
                raise LanguageError(f"{where}: {error.message}", position=error.position) from None
        return None

    def _execution(self, node: Term, where: str) -> FunctionValue | None:
        """The function-valued expression of a node; None if it has none."""
        executions, values = (self.graph.values(node, each) for each in FUNCTIONS[:2])
        if len(executions) + len(values) > 1:
            raise self.error(where, "expected one rml:functionExecution")
        for each in executions:
            inner = f"{where}, function execution"
            self.only(each, "function execution", inner)
            function = self._name(each, inner, "function")
            self._check_result(node, function, where)
            inputs = [
                self._input(given, f"{inner}, input {number}")
                for number, given in enumerate(self.graph.values(each, *rml("input")), 1)
            ]
            return self._call(function, inputs, inner)
        for each in values:
            return self._older(each, f"{where}, function value")
        return None

    def _call(self, name: str, inputs: list[tuple[str, Expression]], where: str) -> FunctionValue:
        is_grel = name.startswith(_GREL)
        try:
            definition = definition_of(_own_function(name), self.library, self.place)
            value: Expression | None = None
            given: dict[str, list[str]] = {}
            for iri, expression in inputs:
                parameter = self._parameter(iri, definition, where)
                if parameter == VALUE:
                    if value is not None:
                        raise self.error(where, f"two inputs for {iri}: expected one")
                    value = expression
                    continue
                match expression:
                    case ConstantTerm(term=Literal() as term):
                        text = term.lexical
                        if is_grel:  # its texts are no expressions
                            text = _ESCAPES.get(parameter, str)(text)
                        given.setdefault(parameter, []).append(text)
                    case _:
                        raise self.error(
                            where,
                            f"{iri}: only the value may come from the message: expected an "
                            "rml:inputValue in quotes",
                        )
            if value is None:
                raise self.error(where, f"no input for {PARAMETER}{VALUE}: expected one")
            call = call_of(definition, given, self.place)
        except LanguageError as error:
            if error.message.startswith(where):
                raise
            raise self.error(where, error.message) from None
        pairs = tuple((key, text) for key, texts in given.items() for text in texts)
        return FunctionValue(value, call, definition.iri, pairs)

    def _parameter(self, iri: str, definition: Definition, where: str) -> str:
        """The name of a parameter by its IRI."""
        if iri.startswith(PARAMETER):
            return iri.removeprefix(PARAMETER)
        if iri.startswith(_GREL):
            name = _GREL_PARAMETERS.get(iri.removeprefix(_GREL).lower())
            if name is not None:
                return name
        names = [VALUE, *(each.name for each in definition.parameters)]
        listed = ", ".join(f"{PARAMETER}{name}" for name in names)
        raise self.error(where, f"unknown parameter <{iri}>: expected one of {listed}")

    def _check_result(self, node: Term, function: str, where: str) -> None:
        graph = self.graph
        if not graph.values(node, *FUNCTIONS[2:]):
            return
        name = self._name(node, where, "return")
        known = name == _RESULT or (function.startswith(_GREL) and name in _GREL_RESULTS)
        if not known:
            raise self.error(where, f"rml:return <{name}>: expected {_RESULT}, or no rml:return")

    def _input(self, node: Term, where: str) -> tuple[str, Expression]:
        self.only(node, "input", where)
        name = self._name(node, where, "parameter")
        one = "expected one rml:inputValue or rml:inputValueMap"
        return name, self._given(node, "inputValue", where, "rml:inputValue", one)

    def _older(self, node: Term, where: str) -> FunctionValue:
        """``fnml:functionValue``: a triples map whose properties are the parameters."""
        graph = self.graph
        self.only(node, "function value", where)
        function = ""
        inputs: list[tuple[str, Expression]] = []
        for each in graph.values(node, *rml("predicateObjectMap")):
            self.only(each, "predicate-object map", where)
            name = self._name(each, where, "predicate")
            one = f"<{name}>: expected one object"
            expression = self._given(each, "object", where, f"<{name}>", one)
            if name in _EXECUTES:
                match expression:
                    case ConstantTerm(term=IRI() as term):
                        function = str(term)
                    case _:
                        raise self.error(where, "expected the IRI of a function")
            else:
                inputs.append((name, expression))
        if not function:
            raise self.error(where, "no fno:executes: expected the IRI of a function")
        return self._call(function, inputs, where)

    def _given(self, node: Term, what: str, where: str, told: str, one: str) -> Expression:
        """The value of an input, by a shortcut or a map; ``told`` and ``one`` are for errors."""
        constants, maps = self.either(node, what)
        if len(constants) + len(maps) != 1:
            raise self.error(where, one)
        for term in constants:
            if isinstance(term, BlankNode):
                raise self.error(where, f"{told}: expected a text in quotes")
            return ConstantTerm(term)
        self.only(maps[0], "input value map", where)
        expression = self.expression(maps[0], where)
        if expression is None:
            raise self.error(where, "a value without an expression")
        return expression

    def _name(self, node: Term, where: str, what: str) -> str:
        """A constant IRI, given by a shortcut or a map."""
        graph = self.graph
        constants, maps = self.either(node, what)
        named = [*constants, *(t for each in maps for t in graph.values(each, *rml("constant")))]
        if len(named) != 1 or not isinstance(named[0], IRI) or len(constants) + len(maps) != 1:
            raise self.error(where, f"expected one IRI as rml:{what}")
        return str(named[0])


def _own_function(iri: str) -> str:
    """The IRI of our function for one of GREL; any other is unchanged."""
    if iri.startswith(_GREL):
        own = _GREL_FUNCTIONS.get(iri.removeprefix(_GREL).lower())
        if own is not None:
            return f"{FUNCTION}{own}"
    return iri
