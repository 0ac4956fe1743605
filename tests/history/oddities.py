"""Statements with odd literals, and questions to them: one corpus for all engines.

Each question must have one answer, whoever answers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.xsd import INTEGER_TYPES, XSD

EX: Final = "http://example.org/odd#"
PREFIXES: Final = f"PREFIX : <{EX}> PREFIX xsd: <{XSD}> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n"
_FORMS: Final = {
    "integer": "0 1 01 +1 -0 -7 007 9223372036854775807 9223372036854775808 "
    "123456789012345678901234567890 -123456789012345678901234567890 x 1.0",
    "decimal": "0 1 1.0 01.50 -0.0 .5 5. +2.25 0.333333333333333333333333333 "
    "123456789012345678901234567890.123456789 1e3",
    "double": "0 -0.0 1 1.0 1E0 1.5e3 0.1 NaN INF -INF +INF 1e308 1e400 1e-400 4.9E-324 inf",
    "float": "0 -0.0 1 1.5 0.1 NaN INF -INF",
    "boolean": "true false 1 0 TRUE",
    "dateTime": "2014-08-01T00:00:00Z 2014-07-31T24:00:00Z 2014-08-01T02:00:00+02:00 "
    "2014-08-01T00:00:00 2014-08-01T00:00:00.000Z 2014-08-01T00:00:00-00:00 "
    "2014-08-01T00:00:00.1234567Z 2014-02-30T00:00:00Z 2014-08-01T24:00:01Z "
    "2014-08-01T13:00:00 2014-08-01T00:00:00-14:00 0044-03-15T00:00:00Z",
    "dateTimeStamp": "2014-08-01T00:00:00Z 2014-07-31T24:00:00Z 2014-08-01T00:00:00",
    "date": "2014-08-01 2014-08-01Z 2014-08-01+02:00 2014-07-31-10:00 2014-02-29",
    "time": "00:00:00 24:00:00 00:00:00Z 23:59:59.5 02:00:00+02:00 25:00:00",
    "duration": "P1Y P12M P1D PT24H PT0S P0M -P1D P1Y1D P1DT P1M",
    "dayTimeDuration": "P1D PT24H PT1.50S -PT0S P1Y",
    "yearMonthDuration": "P1Y P12M P0M P1D",
    "gYear": "2014 2014Z 02014",
    "gYearMonth": "2014-08",
    "gMonth": "--08 --08Z",
    "gDay": "---01",
    "gMonthDay": "--08-01",
    "string": "a 1 é true",
    "normalizedString": "a",
    "token": "a",
    "anyURI": "urn:a",
    "hexBinary": "ff FF",
    "base64Binary": "AA== AA",
    "language": "en",
}
_ROUNDABLE: Final = ("0", "07", "127", "300", "-1", "x")


def _literals() -> Iterator[Literal]:
    for name, forms in _FORMS.items():
        for form in forms.split():
            yield Literal(form, XSD + name)
    for name in sorted(INTEGER_TYPES - {f"{XSD}integer"}):
        for form in _ROUNDABLE:
            yield Literal(form, name)
    for form in ("", " ", " 1", "1 "):
        yield Literal(form)
        yield Literal(form, f"{XSD}integer")
    for text, language in (("a", "en"), ("a", "en-GB"), ("b", "EN"), ("a", "de"), ("", "en")):
        yield Literal(text, language=language)
    yield Literal("1", f"{EX}own")
    yield Literal("01", f"{EX}own")


LITERALS: Final = tuple(dict.fromkeys(_literals()))
NODES: Final[tuple[Subject, ...]] = (IRI(EX + "node"), IRI("urn:a"), BlankNode("_:b1"))
SPREAD: Final = tuple(
    Literal(form, XSD + name)
    for name, form in (
        ("integer", "1"),
        ("integer", "01"),
        ("byte", "1"),
        ("integer", "9223372036854775807"),
        ("decimal", "1.0"),
        ("decimal", "2.50"),
        ("double", "1.0E0"),
        ("double", "NaN"),
        ("double", "-0.0"),
        ("float", "0.1"),
        ("boolean", "1"),
        ("boolean", "true"),
        ("string", "1"),
        ("dateTime", "2014-07-31T24:00:00Z"),
        ("dateTime", "2014-08-01T00:00:00Z"),
        ("dateTime", "2014-08-01T00:00:00"),
        ("date", "2014-08-01"),
        ("date", "2014-08-01Z"),
        ("time", "24:00:00"),
        ("time", "00:00:00"),
        ("duration", "P1Y"),
        ("yearMonthDuration", "P12M"),
        ("dayTimeDuration", "PT24H"),
        ("integer", "x"),
        ("gYear", "2014"),
    )
)
"""A few of each kind, to be compared with each other."""


def triples() -> list[Triple]:
    """The statements: each literal is the value of an individual of its own, and more."""
    p, few, many, q = (IRI(EX + name) for name in ("p", "few", "many", "q"))
    found: list[Triple] = []
    for number, value in enumerate((*LITERALS, *NODES)):
        found.append((IRI(f"{EX}s{number:03}"), p, value))
    found += ((IRI(f"{EX}f{number:02}"), few, value) for number, value in enumerate(SPREAD))
    groups: dict[str, tuple[Term, ...]] = {
        "whole": tuple(Literal(form, f"{XSD}integer") for form in ("1", "01", "2", "4")),
        "thirds": tuple(Literal(form, f"{XSD}decimal") for form in ("1", "0", "0.00")),
        "huge": (
            Literal("9223372036854775807", f"{XSD}integer"),
            Literal("9223372036854775806", f"{XSD}long"),
        ),
        "doubles": tuple(Literal(form, f"{XSD}double") for form in ("0.1", "0.2", "0.3", "1e16")),
        "nan": tuple(Literal(form, f"{XSD}double") for form in ("NaN", "1", "INF")),
        "mixed": (Literal("1", f"{XSD}integer"), Literal("a"), IRI(EX + "node")),
        "kinds": (
            Literal("1", f"{XSD}byte"),
            Literal("1.0", f"{XSD}decimal"),
            Literal("1", f"{XSD}float"),
        ),
        "ill": (Literal("x", f"{XSD}integer"), Literal("2", f"{XSD}integer")),
        "times": (
            Literal("2014-07-31T24:00:00Z", f"{XSD}dateTime"),
            Literal("2014-08-01T00:00:00Z", f"{XSD}dateTime"),
            Literal("2014-08-01T02:00:00+02:00", f"{XSD}dateTime"),
        ),
        "texts": (Literal("b"), Literal("a", language="en"), Literal("a")),
        "iri": (IRI(EX + "node"),),
    }
    for name, values in groups.items():
        found += ((IRI(EX + name), many, value) for value in values)
    found += [
        (IRI(f"{EX}{name}"), q, Literal(form, f"{XSD}integer"))
        for name, form in (("a", "1"), ("a", "01"), ("b", "1"), ("c", "2"), ("whole", "01"))
    ]
    found += [
        (IRI(EX + one), IRI(EX + "r"), IRI(EX + other))
        for one, other in (("a", "b"), ("b", "c"), ("c", "a"), ("a", "whole"))
    ]
    return found


_OF_VALUE: Final = (
    "STR(?v)",
    "DATATYPE(?v)",
    "LANG(?v)",
    "isLITERAL(?v)",
    "isIRI(?v)",
    "isNUMERIC(?v)",
    "?v = ?v",
    "?v < ?v",
    "?v <= ?v",
    "?v != ?v",
    "?v = 1",
    "?v != 1",
    "?v > 1.0",
    "?v < 1e0",
    "?v = 1e0",
    "1 IN (?v)",
    '?v IN (1, "a", true)',
    "?v NOT IN (1, 0)",
    "?v + 1",
    "?v - 0.5",
    "?v * 3",
    "?v * 1e0",
    "?v * ?v",
    "?v / 3",
    "?v / 0",
    "1 / ?v",
    "-?v",
    "+?v",
    "!?v",
    "?v && true",
    "?v || false",
    "IF(?v, 1, 2)",
    "COALESCE(?v + 1, ?v)",
    "COALESCE(?v / 0, ?nothing, 7)",
    "ABS(?v)",
    "ROUND(?v)",
    "CEIL(?v)",
    "FLOOR(?v)",
    "xsd:integer(?v)",
    "xsd:decimal(?v)",
    "xsd:double(?v)",
    "xsd:float(?v)",
    "xsd:boolean(?v)",
    "xsd:string(?v)",
    "xsd:dateTime(?v)",
    "xsd:date(?v)",
    "YEAR(?v)",
    "MONTH(?v)",
    "DAY(?v)",
    "HOURS(?v)",
    "MINUTES(?v)",
    "SECONDS(?v)",
    "TIMEZONE(?v)",
    "TZ(?v)",
    'xsd:dateTime("2014-08-01T00:00:00Z") = ?v',
    'xsd:dateTime("2014-08-01T00:00:00") < ?v',
    '?v = "2014-08-01"^^xsd:date',
    '?v >= "PT24H"^^xsd:dayTimeDuration',
    '?v + "PT1H"^^xsd:dayTimeDuration',
    '?v - "P1M"^^xsd:yearMonthDuration',
    '?v - "2014-08-01T00:00:00Z"^^xsd:dateTime',
    "sameTerm(?v, 1)",
    "sameTerm(?v, ?v)",
    "UCASE(?v)",
    "STRLEN(STR(?v))",
    "STRLEN(?v)",
    'CONCAT(?v, "x")',
    'CONCAT(STR(?v), "x")',
    'REGEX(?v, "1")',
    'REGEX(STR(?v), "^0")',
    'CONTAINS(?v, "a")',
    'STRBEFORE(?v, "a")',
    "SUBSTR(STR(?v), 1, 2)",
    'LANGMATCHES(LANG(?v), "*")',
    "STRDT(STR(?v), xsd:integer)",
    "STRDT(STR(?v), xsd:integer) + 1",
    'STRLANG(STR(?v), "en")',
    "MD5(STR(?v))",
    "IRI(?v)",
    "BOUND(?v)",
    '?v = "a"',
    '?v = "a"@en',
    '?v < "b"',
    "?v = true",
    "?v = <urn:a>",
    "(?v = ?v) = true",
    "EXISTS { ?x :q ?v }",
)
_OF_TWO: Final = (
    "?a = ?b",
    "?a != ?b",
    "?a < ?b",
    "?a >= ?b",
    "sameTerm(?a, ?b)",
    "?a + ?b",
    "?a - ?b",
    "?a * ?b",
    "?a / ?b",
    "?a IN (?b, 5)",
    "COALESCE(?a < ?b, 7)",
)
_AGGREGATES: Final = (
    *(f"{name}({mark}?v)" for name in ("COUNT", "SUM", "MIN", "MAX") for mark in ("", "DISTINCT ")),
    "AVG(?v)",
)
_ALONE: Final = (
    "1/3",
    "2/3",
    "10/3.0",
    "1/3*3",
    "9223372036854775807 * 2",
    "9223372036854775807 + 1",
    "-9223372036854775808 - 1",
    "123456789012345678901234567890 * 123456789012345678901234567890",
    "0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1 * 0.1",
    "0.1e0 + 0.2e0",
    "1e0/3",
    '"NaN"^^xsd:double = "NaN"^^xsd:double',
    '"NaN"^^xsd:double != "NaN"^^xsd:double',
    '"NaN"^^xsd:double < 1',
    '"NaN"^^xsd:float >= "NaN"^^xsd:double',
    '"INF"^^xsd:double = "INF"^^xsd:float',
    '"-0.0"^^xsd:double = 0',
    "1 / -0.0e0",
    "-0.0e0",
    "0.0e0 * -1",
    'sameTerm("01"^^xsd:integer, 1)',
    "?none",
    "BOUND(?none)",
    "COALESCE(?none, 1/0, 3)",
    "IF(?none, 1, 2)",
    "?none || true",
    "?none && true",
    "!?none",
    '"2014-07-31T24:00:00Z"^^xsd:dateTime',
    '"2014-07-31T24:00:00Z"^^xsd:dateTime = "2014-08-01T00:00:00Z"^^xsd:dateTime',
    '"0000-01-01T00:00:00Z"^^xsd:dateTime < "2014-08-01T00:00:00Z"^^xsd:dateTime',
    '"-0044-03-15T00:00:00Z"^^xsd:dateTime < "0044-03-15T00:00:00Z"^^xsd:dateTime',
    '"12014-08-01T00:00:00Z"^^xsd:dateTime > "2014-08-01T00:00:00Z"^^xsd:dateTime',
    'YEAR("-0044-03-15T00:00:00Z"^^xsd:dateTime)',
    "ROUND(2.5)",
    "ROUND(-2.5)",
    "ROUND(0.5e0)",
    "ROUND(-0.5e0)",
    "xsd:integer(1e30)",
    "xsd:integer(1e400)",
    'xsd:decimal("1e3")',
    "xsd:string(1.0)",
    "xsd:string(100000000e0)",
    "xsd:string(01)",
    "STR(01)",
    "xsd:float(0.1) + 0.1e0",
    "xsd:float(0.1) = 0.1e0",
    "1 = 1.0",
    '1 = "1"',
    '1 = "x"^^xsd:integer',
    '"x"^^xsd:integer = "x"^^xsd:integer',
    '"1"^^:own = "01"^^:own',
    '"a"@en = "a"@EN',
)
OF_OUTSIDE: Final = (
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :r ?z MINUS { ?x :q ?v } } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { { } MINUS { ?x :r ?y } } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?x :r ?y OPTIONAL { ?y :q ?v } FILTER(BOUND(?v)) } }",
)
"""EXISTS that Oxigraph and SQL understand differently: the cache refuses it."""
QUESTIONS: Final[tuple[str, ...]] = (
    *OF_OUTSIDE,
    "SELECT * { ?s :p ?v }",
    "SELECT DISTINCT ?v { ?s ?p ?v }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?v }",
    "SELECT (COUNT(DISTINCT ?v) AS ?n) { ?s ?p ?v }",
    "SELECT (COUNT(DISTINCT xsd:string(?unbound)) AS ?n) { ?s :p ?v }",
    "SELECT (COUNT(xsd:string(?unbound)) AS ?n) { ?s :p ?v }",
    "SELECT (COUNT(DISTINCT ?v + 0) AS ?n) { ?s :p ?v }",
    "SELECT ?s { ?s :p 1 }",
    'SELECT ?s { ?s :p "01"^^xsd:integer }',
    'SELECT ?s { ?s :p "1"^^xsd:byte }',
    'SELECT ?s { ?s :p "2014-07-31T24:00:00Z"^^xsd:dateTime }',
    "SELECT ?s ?v { ?s :p ?v FILTER(?v = 1) }",
    "SELECT ?s ?v { ?s :p ?v FILTER(?v > 0) }",
    "SELECT ?s ?v { ?s :p ?v FILTER(?v < 5e0) }",
    "SELECT ?s ?v { ?s :p ?v FILTER(?v >= 1.0) }",
    "SELECT ?s ?v { ?s :p ?v FILTER(?v != 1) }",
    "SELECT ?s ?v { ?s :p ?v FILTER(?v) }",
    "SELECT ?s ?v { ?s :p ?v FILTER(!?v) }",
    'SELECT ?s ?v { ?s :p ?v FILTER(?v < "2014-08-01T00:00:00Z"^^xsd:dateTime) }',
    'SELECT ?s ?v { ?s :p ?v FILTER(?v = "2014-08-01T00:00:00Z"^^xsd:dateTime) }',
    'SELECT ?s ?v { ?s :p ?v FILTER(?v >= "P1D"^^xsd:dayTimeDuration) }',
    'SELECT ?s ?v { ?s :p ?v FILTER(?v = "a") }',
    'SELECT ?s ?v { ?s :p ?v FILTER(LANG(?v) = "en") }',
    "SELECT ?s ?v { ?s :p ?v FILTER(DATATYPE(?v) = xsd:byte) }",
    "SELECT ?x ?y ?v { ?x :q ?v . ?y :many ?v }",
    "SELECT ?x ?y ?v { ?x :q ?v . ?y :few ?v }",
    "SELECT ?x ?y { ?x :q ?v . ?y :few ?w FILTER(?v = ?w) }",
    "SELECT ?x { VALUES ?v { 1 01 1.0 } ?x :q ?v }",
    "SELECT ?x ?v { VALUES ?v { 1 01 1.0 UNDEF } OPTIONAL { ?x :q ?v } }",
    "SELECT ?a ?b { { SELECT ?a { ?x :q ?a } } { SELECT ?b { ?x :many ?b } } FILTER(?a < ?b) }",
    "SELECT ?w { ?x :q ?v BIND(?v + 0 AS ?w) }",
    "SELECT ?y { ?x :q ?v BIND(?v + 0 AS ?w) ?y :many ?w }",
    # EXISTS, MINUS, OPTIONAL within each other.
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?x :r ?y MINUS { ?y :q ?v } } }",
    "SELECT ?x { ?x :q ?v FILTER NOT EXISTS { ?x :r ?y MINUS { ?y :q ?v } } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :r ?x MINUS { ?x :q 2 } } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :q ?w MINUS { ?y :q ?v } } }",
    "SELECT ?x ?v { ?x :q ?v MINUS { ?x :r ?y FILTER EXISTS { ?y :q ?v } } }",
    "SELECT ?x ?v { ?x :q ?v MINUS { ?y :r ?x MINUS { ?y :q 1 } } }",
    "SELECT ?x ?v { ?x :q ?v MINUS { ?a :q ?b } }",
    "SELECT ?x ?v { ?x :q ?v MINUS { OPTIONAL { ?x :none ?v } } }",
    "SELECT ?x ?y ?w { ?x :q ?v OPTIONAL { ?x :r ?y OPTIONAL { ?y :q ?w FILTER(?w = ?v) } } }",
    "SELECT ?x ?y ?w { ?x :q ?v OPTIONAL { ?x :r ?y MINUS { ?y :q ?v } } OPTIONAL { ?y :q ?w } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :q ?w FILTER(?w > ?v) } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { SELECT ?x { ?x :r ?y } } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { SELECT ?v { ?x :r ?y . ?y :q ?v } } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { BIND(?v AS ?w) ?y :many ?w } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { VALUES ?v { 01 2 } } }",
    "SELECT ?x ?e { ?x :q ?v BIND(EXISTS { ?x :r/:q ?v } AS ?e) }",
    "SELECT ?x { ?x :q ?v FILTER(NOT EXISTS { ?x :r ?y } || ?v = 2) }",
    "SELECT ?x ?y { ?x :r ?y FILTER NOT EXISTS { ?y :q ?a . ?x :q ?b FILTER(?a = ?b) } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?y :q ?w MINUS { ?y :q ?u FILTER(?u = ?v) } } }",
    "SELECT ?x { ?x :q ?v FILTER EXISTS { ?x :r ?y FILTER EXISTS { ?y :q ?w FILTER(?w = ?v) } } }",
    "SELECT ?x { ?x :q ?v FILTER NOT EXISTS { ?x :r ?y FILTER NOT EXISTS { ?y :q ?v } } }",
    # Groups.
    *(f"SELECT ?s ({each} AS ?n) {{ ?s :many ?v }} GROUP BY ?s" for each in _AGGREGATES),
    *(f"SELECT ({each} AS ?n) {{ ?s :none ?v }}" for each in _AGGREGATES[:-1]),
    *(f"SELECT ({each} AS ?n) {{ ?s :none ?v }} GROUP BY ?s" for each in _AGGREGATES[:4]),
    "SELECT (GROUP_CONCAT(?v) AS ?n) { ?s :none ?v }",
    "SELECT (SAMPLE(?v) AS ?n) { ?s :none ?v }",
    'SELECT ?s (GROUP_CONCAT(?v; separator="|") AS ?n) { ?s :q ?v } GROUP BY ?s',
    'SELECT ?s (GROUP_CONCAT(STR(?v); separator="|") AS ?n) { ?s :many ?v } GROUP BY ?s',
    'SELECT ?s (GROUP_CONCAT(DISTINCT ?v; separator="|") AS ?n) { ?s :many ?v } GROUP BY ?s',
    "SELECT (COUNT(*) AS ?n) (SUM(?v) AS ?m) { ?s :q ?v } GROUP BY ?v",
    "SELECT ?w (COUNT(*) AS ?n) { ?s :q ?v } GROUP BY (?v + 0 AS ?w)",
    "SELECT ?v (COUNT(*) AS ?n) { ?s :many ?v } GROUP BY ?v HAVING(?v = 1)",
    "SELECT ?s (SUM(?v) / COUNT(?v) AS ?n) { ?s :q ?v } GROUP BY ?s HAVING(SUM(?v) < 3)",
    "SELECT (SUM(?v * ?v) AS ?n) (SUM(?v / 3) AS ?m) { ?s :q ?v }",
    "SELECT (SUM(?n) AS ?m) { { SELECT (COUNT(*) AS ?n) { ?s :none ?v } } }",
    "SELECT (MAX(?v) AS ?m) { ?s :few ?v FILTER(isNUMERIC(?v)) }",
    "SELECT (MIN(?v) AS ?m) { ?s :few ?v FILTER(isNUMERIC(?v)) }",
    "SELECT (COUNT(?v) AS ?n) { ?s :q ?x OPTIONAL { ?s :none ?v } }",
    "SELECT (MIN(?v) AS ?n) (MAX(?v) AS ?m) { ?s :q ?x OPTIONAL { ?s :few ?v } }",
    "SELECT (SUM(?v) AS ?n) { ?s :q ?x OPTIONAL { ?s :none ?v } }",
    "SELECT ?s (?v = ?v AS ?e) (?v < ?v AS ?f) (?v >= 1 AS ?g) { ?s :p ?v }",
    "ASK { ?s :p 1.0 }",
    "ASK { ?s :p ?v FILTER(?v > 1e307) }",
    "CONSTRUCT { ?s :copy ?v } { ?s :p ?v }",
    "CONSTRUCT { ?s :sum ?w } { ?s :q ?v BIND(?v + 1 AS ?w) }",
    "DESCRIBE :a",
    "SELECT ?a ?b { ?a :r+ ?b }",
    "SELECT ?a ?b { ?a :r/:q ?b }",
    "SELECT ?a ?b { ?a (:q|:few) ?b }",
    "SELECT ?a { ?a :q/^:many :whole }",
    "SELECT ?a { ?a :r* :nowhere }",
    "SELECT ?a ?s { ?a :r? :nowhere . ?s :q 01 }",
    "SELECT ?b { 01 :r* ?b }",
    "ASK { :nowhere :r* :nowhere }",
    "SELECT ?b { :nowhere (:r?|:q?) ?b }",
    "SELECT ?b { :nowhere :r?/:q? ?b }",
    "SELECT ?b { ?b ^(:r?|:q*) :nowhere }",
    "SELECT ?b { 01 (:r?|^:q?) ?b }",
    "SELECT ?b { :a (:r?|:q?)/:q? ?b }",
    "SELECT ?b { :a (:r?|:q?)/:r ?b }",
    "SELECT ?a ?b { ?a :q?|:r? ?b . ?a :q ?v }",
    "SELECT (COUNT(*) AS ?n) { :a (:q?|:r*) :a }",
)
ORDERED: Final[tuple[str, ...]] = (
    "SELECT ?v { ?s :p ?v FILTER(isNUMERIC(?v) && ?v = ?v) } ORDER BY ?v ?s STR(?v)",
    "SELECT ?v ?s { ?s :few ?v } ORDER BY ?v ?s STR(?v)",
    "SELECT ?v ?s { ?s :few ?v } ORDER BY DESC(?v) ?s",
    "SELECT ?v ?s { ?s :p ?v } ORDER BY ?v ?s STR(?v)",
    "SELECT ?v ?s { ?s :p ?v } ORDER BY DESC(?v) DESC(?s) LIMIT 40",
    "SELECT ?v ?s { { ?s :q ?v } UNION { ?s :r ?o } } ORDER BY ?v ?s STR(?v) ?o",
    "SELECT ?v { { SELECT ?v ?s { ?s :q ?v } ORDER BY ?v ?s LIMIT 3 } } ORDER BY ?v STR(?v)",
    "SELECT ?s { ?s :q ?v } GROUP BY ?s ORDER BY DESC(SUM(?v)) ?s",
    "SELECT ?s ?v { ?s :q ?v } ORDER BY (?v * -1) DESC(?s) STR(?v) OFFSET 1 LIMIT 3",
    "SELECT ?s { ?s :few ?v } ORDER BY DESC(?v / 3) ?s STR(?v)",
)


def questions(together: int = 1) -> list[str]:
    """All questions, with their prefixes; each expression is one, or some of them are one."""
    found = [*QUESTIONS, *ORDERED]
    found += _asked("?s", _OF_VALUE, "?s :p ?v", together)
    found += _asked("?x ?y", _OF_TWO, "?x :few ?a . ?y :few ?b", together)
    found += _asked("", _ALONE, "", together)
    return [PREFIXES + each for each in found]


def _asked(names: str, expressions: Sequence[str], pattern: str, together: int) -> Iterator[str]:
    for first in range(0, len(expressions), together):
        some = expressions[first : first + together]
        told = " ".join(f"({each} AS ?e{n})" for n, each in enumerate(some))
        yield f"SELECT {names} {told} {{ {pattern} }}"
