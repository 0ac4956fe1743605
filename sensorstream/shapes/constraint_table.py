"""The constraint components of SHACL Core as patterns of SPARQL: one table.

A pattern finds the violations. In it stand, after a dollar sign:

- ``domain``: a group that binds the focus node; ``this`` is its variable
- ``values``: a group that binds the value nodes as well; ``value`` is their variable
- ``p``: the parameter as a term; ``terms``, ``rows`` and ``other``: its members, as terms, as rows
  of VALUES, and joined by the ``each`` of the entry
- ``shape``, ``members``: groups that bind ``value`` to the nodes that violate the shape of the
  parameter, or each shape of its list; "" if none can
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sensorstream.model.frozen import frozen
from sensorstream.model.vocabulary import RDF, RDFS
from sensorstream.model.xsd import INTEGER, INTEGER_BOUNDS
from sensorstream.sparql.functions import CASTS

IS_A: Final = f"<{RDF}type>/<{RDFS}subClassOf>*"


@frozen
class CoreComponent:
    """A constraint component: its pattern, the message, and the variables of a violation."""

    pattern: str
    message: str
    shown: tuple[str, ...] = ("this", "value")
    value: str = "value"
    """The variable of what is at fault."""


def _test(condition: str, message: str) -> CoreComponent:
    """A component that value nodes meet for which a condition is true, and has no error."""
    return CoreComponent(f"$values FILTER(!COALESCE({condition}, false))", message)


def _range(operator: str, message: str) -> CoreComponent:
    return _test(f"?$value {operator} $p", f"{message} $p")


def _length(operator: str, message: str) -> CoreComponent:
    return _test(f"STRLEN(STR(?$value)) {operator} $p", message)


def _pair(operator: str, message: str) -> CoreComponent:
    pattern = f"$values ?$this $p ?other FILTER(!COALESCE(?$value {operator} ?other, false))"
    return CoreComponent(pattern, f"not {message} each value of $p", ("this", "value", "other"))


def _count(operator: str, message: str) -> CoreComponent:
    pattern = (
        "{ SELECT ?$this (COUNT(DISTINCT ?$value) AS ?n) { $domain OPTIONAL { $values } } "
        f"GROUP BY ?$this HAVING (COUNT(DISTINCT ?$value) {operator} $p) }}"
    )
    return CoreComponent(pattern, message, ("this",))


def _qualified(operator: str, message: str) -> CoreComponent:
    pattern = _count(operator, message).pattern
    return CoreComponent(pattern.replace("{ $values }", "{ $conforming }"), message, ("this",))


CORE: Final[Mapping[str, CoreComponent]] = {
    "class": CoreComponent(
        f"$values FILTER NOT EXISTS {{ ?$value {IS_A} $p }}", "no instance of $p"
    ),
    "datatype": _test("DATATYPE(?$value) = $p$valid", "no valid literal of $p"),
    "nodeKind": _test("$kind", "not of the kind $p"),
    "minCount": _count("<", "fewer than $p values"),
    "maxCount": _count(">", "more than $p values"),
    "minExclusive": _range(">", "not more than"),
    "minInclusive": _range(">=", "less than"),
    "maxExclusive": _range("<", "not less than"),
    "maxInclusive": _range("<=", "more than"),
    "minLength": _length(">=", "shorter than $p characters"),
    "maxLength": _length("<=", "longer than $p characters"),
    "pattern": _test("REGEX(STR(?$value), $p, $flags)", "does not match $p"),
    "languageIn": _test("$languages", "in none of the languages $terms"),
    "uniqueLang": CoreComponent(
        "{ SELECT ?$this ?language (COUNT(DISTINCT ?$value) AS ?n) "
        '{ $values BIND(LANG(?$value) AS ?language) FILTER(?language != "") } '
        "GROUP BY ?$this ?language HAVING (COUNT(DISTINCT ?$value) > 1) }",
        "several values in the language {?language}",
        ("this", "language"),
    ),
    "equals": CoreComponent(
        "{ $values MINUS { ?$this $p ?$value } } UNION "
        "{ $domain ?$this $p ?$value MINUS { $values } }",
        "not the same values as $p",
    ),
    "disjoint": CoreComponent("$values ?$this $p ?$value", "also a value of $p"),
    "lessThan": _pair("<", "less than"),
    "lessThanOrEquals": _pair("<=", "at most"),
    "hasValue": CoreComponent(
        "$domain MINUS { $values FILTER(SAMETERM(?$value, $p)) }", "no value $p", ("this",)
    ),
    "in": CoreComponent("$values MINUS { VALUES ?$value { $terms } }", "none of $terms"),
    "closed": CoreComponent(
        "$values ?$value ?path ?object FILTER(?path NOT IN ($allowed))",
        "{?path} is not a property of the shape",
        ("this", "path", "object"),
        "object",
    ),
    "not": CoreComponent("$values MINUS { $shape }", "conforms to $p"),
    "node": CoreComponent("$values $shape", "does not conform to $p"),
    "and": CoreComponent("$values { $any }", "does not conform to all of $terms"),
    "or": CoreComponent("$values $all", "conforms to none of $terms"),
    "xone": CoreComponent(
        "$values { SELECT ?$value (COUNT(DISTINCT ?k) AS ?n) { $values OPTIONAL { $numbered } } "
        "GROUP BY ?$value HAVING (COUNT(DISTINCT ?k) != $others) }",
        "does not conform to exactly one of $terms",
    ),
    "qualifiedMinCount": _qualified("<", "fewer than $p values that conform to $qualified"),
    "qualifiedMaxCount": _qualified(">", "more than $p values that conform to $qualified"),
}
"""The components by their parameter."""

KINDS: Final[Mapping[str, str]] = {
    "IRI": "ISIRI(?$value)",
    "BlankNode": "ISBLANK(?$value)",
    "Literal": "ISLITERAL(?$value)",
    "BlankNodeOrIRI": "(ISBLANK(?$value) || ISIRI(?$value))",
    "BlankNodeOrLiteral": "(ISBLANK(?$value) || ISLITERAL(?$value))",
    "IRIOrLiteral": "(ISIRI(?$value) || ISLITERAL(?$value))",
}
"""The conditions of sh:nodeKind."""


def validity(datatype: str) -> str:
    """The condition, after "&&", that a literal of a datatype is well-formed; "" if unknown."""
    if datatype in CASTS:
        return f" && DATATYPE(<{datatype}>(STR(?$value))) = <{datatype}>"
    if datatype not in INTEGER_BOUNDS:
        return ""
    bounds = zip((">=", "<="), INTEGER_BOUNDS[datatype], strict=True)
    told = [f" && <{INTEGER}>(STR(?$value)) {sign} {n}" for sign, n in bounds if n is not None]
    return "".join(told)


NOT_COMPILED: Final = ("js", "target", "expression")
"""Properties of shapes beyond SHACL Core and SHACL-SPARQL."""
