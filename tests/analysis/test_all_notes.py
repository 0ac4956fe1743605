from __future__ import annotations

from dataclasses import replace

import pytest

from sensorstream.analysis import Note, QueryContext, query_notes
from sensorstream.errors import Position
from sensorstream.model import rdfs
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.xsd import XSD
from sensorstream.sparql.query_parser import parse_query, read_query, read_update

E = "http://example.org/"
SCHEMA = Schema(
    classes=frozenset((IRI(f"{E}Human"), IRI(f"{E}Room"))),
    object_properties=frozenset((IRI(f"{E}hasLocation"),)),
    datatype_properties=frozenset((IRI(f"{E}hasName"),)),
)
START = Position("query", 1, 1)


def notes(text: str, known: QueryContext | None = None) -> list[Note]:
    parsed = read_query(text, start=START, prefixes={"": E})
    return list(query_notes(parsed, known or QueryContext()))


def told(text: str, known: QueryContext | None = None) -> list[tuple[str, int, str]]:
    return [(note.code, note.position.column, note.text) for note in notes(text, known)]


# Names


def test_a_class_of_the_ontology_s_namespace_that_is_missing_is_told() -> None:
    assert told("ASK { ?x a :Humam }", QueryContext(SCHEMA)) == [
        ("unknown-class", 12, "the ontology has no class :Humam: did you mean :Human?")
    ]


def test_a_property_is_looked_for_in_paths_too() -> None:
    assert told("ASK { ?x :hasName/^:hasLocaton ?y }", QueryContext(SCHEMA)) == [
        (
            "unknown-property",
            20,
            "the ontology has no property :hasLocaton: did you mean :hasLocation?",
        )
    ]


def test_a_name_of_another_namespace_may_come_with_the_data() -> None:
    assert told("ASK { ?x <urn:other:q> ?y }", QueryContext(SCHEMA)) == [
        (
            "unknown-property",
            10,
            "the ontology does not declare the property <urn:other:q>, maybe data use it",
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?x a :Human ; :hasName ?y ; :hasLocation [ a :Room ] }",
        "ASK { ?x a ?class ; ?p ?o . ?x <http://www.w3.org/2000/01/rdf-schema#label> ?l }",
        "ASK { ?x a <http://www.w3.org/2002/07/owl#Thing> }",
        # A name that is a value is nobody's business.
        "ASK { ?x :hasLocation :kitchn }",
    ],
)
def test_known_names_and_those_of_rdf_need_no_note(text: str) -> None:
    assert told(text, QueryContext(SCHEMA)) == []


def test_without_an_ontology_all_names_are_allowed() -> None:
    assert told("ASK { ?x a :Anything ; :goes 1 }") == []


def test_the_templates_of_an_update_are_looked_at() -> None:
    parsed = read_update(
        "INSERT { ?x a :Humman } WHERE { ?x :hasNam ?y }", start=START, prefixes={"": E}
    )
    found = query_notes(parsed, QueryContext(SCHEMA))
    assert [(note.code, note.position.column) for note in found] == [
        ("unknown-class", 15),
        ("unknown-property", 36),
    ]


# Filters


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ('?x > "a" ^+ 1', "always fails with an error"),
        ('?x ^+ "a" > 1', "always fails with an error"),
        ('"a" ^< 5', "always fails with an error"),
        ("?x ^> <urn:x>", "always fails with an error"),
        ("!(?x ^> <urn:x>)", "always fails with an error"),
        ("^STRLEN(5) = 1", "always fails with an error"),
        ("1 = 2", "is never true"),
        ("?x > 1 && 1 > 2", "is never true"),
        ("false", "is never true"),
        ('""', "is never true"),
        ("1 IN (2, 3)", "is never true"),
        ("!BOUND(?x) && BOUND(?z)", "is never true"),
        ("1 > 2 || <urn:x> ^< ?x", "always fails with an error"),
        ("COALESCE(1/0, false)", "is never true"),
    ],
)
def test_a_filter_that_nothing_passes_is_told(condition: str, said: str) -> None:
    """The place is that of the filter, or of the operator after ``^``."""
    before, mark, after = condition.partition("^")
    ((code, column, text),) = told(f"ASK {{ ?s ?p ?x FILTER({before}{after}) }}")
    assert code == "filter-never-true"
    assert column == (23 + len(before) if mark else 16)
    assert said in text


@pytest.mark.parametrize(
    "condition",
    [
        "?x > 1",
        "?x = <urn:x>",
        "?x != <urn:x>",
        '?x = "a" || ?x > 1',
        "BOUND(?x)",
        "!BOUND(?z)",
        "1 < 2",
        "COALESCE(?z, 1) = 1",
        "COALESCE(1/0, true)",
        "IF(?x, true, 1/0)",
        "NOW() > ?x",
        "RAND() < 0.5",
        "?x IN (1, 1/0)",
        "STR(?x) = 'a'",
        "EXISTS { ?x ?q ?x }",
        "NOT EXISTS { ?s ?q ?y FILTER(?y > ?x) }",
        "<urn:unknown:function>(?x)",
    ],
)
def test_a_filter_that_may_hold_needs_no_note(condition: str) -> None:
    assert told(f"ASK {{ ?s ?p ?x FILTER({condition}) }}") == []


def test_a_variable_that_no_pattern_binds_is_named() -> None:
    assert told("ASK { ?s ?p ?x FILTER(?y > 1) }") == [
        ("unbound-variable", 16, "?y has no value in this filter: no pattern of its group binds it")
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ASK { ?s ?p ?x { ?s ?q ?y FILTER(?y > ?x) } }", ["?x"]),
        ("ASK { ?s ?p ?x OPTIONAL { ?s ?q ?y FILTER(?y > ?x && ?z > ?v) } }", ["?v, ?z"]),
        ("ASK { ?s ?p ?x FILTER NOT EXISTS { ?s ?q ?y FILTER(?y > ?z) } }", ["?z"]),
        ("SELECT ?s { ?s ?p ?x } GROUP BY ?s HAVING (COUNT(?x) > ?limit)", ["?limit"]),
        ("SELECT ?s (?a + 1 AS ?b) { ?s ?p ?x }", ["?a"]),
        ("ASK { BIND(?a + 1 AS ?b) ?s ?p ?a }", ["?a"]),
    ],
)
def test_variables_are_looked_for_in_the_group_alone(text: str, names: list[str]) -> None:
    found = notes(text)
    assert [note.code for note in found] == ["unbound-variable"] * len(names)
    assert [note.text.partition(" ha")[0] for note in found] == names


def test_a_value_from_outside_counts_but_in_a_sub_select_that_does_not_return_it() -> None:
    known = QueryContext(given={"who": None})
    assert told("ASK { ?s ?p ?x FILTER(?x = ?who) }", known) == []
    assert told("ASK { { ?s ?p ?x FILTER(?x = ?who) } }", known) == []
    inside = "ASK { { SELECT %s { ?s ?p ?x FILTER(?x = ?who) } } }"
    assert told(inside % "?s ?who", known) == []
    assert [code for code, _, _ in told(inside % "?s", known)] == ["unbound-variable"]


def test_an_expression_that_always_fails_is_told() -> None:
    ((code, column, text),) = told('SELECT (?x * "a" AS ?y) { ?s ?p ?x }')
    assert (code, column) == ("expression-always-fails", 12)
    assert text.startswith("?y never has a value")


# Operations without a value

XSD_PREFIX = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
TYPED = Schema(
    datatype_properties=frozenset(IRI(f"{E}{name}") for name in ("at", "day", "age", "any")),
    ranges_of={
        IRI(f"{E}{name}"): frozenset((IRI(f"{XSD}{datatype}"),))
        for name, datatype in (("at", "dateTime"), ("day", "date"), ("age", "int"))
    },
)
LENGTH = '"PT1M"^^xsd:dayTimeDuration'
PATTERN = "?x :at ?t, ?u ; :day ?d ; :age ?n ; :any ?v OPTIONAL { ?v :age ?o }"


@pytest.mark.parametrize(
    ("condition", "told_of"),
    [
        (f"?n ^> {LENGTH}", "a number and an xsd:dayTimeDuration: write both as numbers"),
        (f"?t ^<= {LENGTH}", "compare the difference of two times with a duration"),
        ("?t ^+ 60 > ?u", "'+' has no value for an xsd:dateTime and a number: write a length"),
        ("?t ^> 60", "never holds between an xsd:dateTime and a number: write a time for"),
        ("?t ^+ ?u > ?t", "'+' has no value for an xsd:dateTime and an xsd:dateTime: add a length"),
        ("?t ^< ?d", "cast the xsd:dateTime: xsd:date(…)"),
        ("?t ^= ?d", "'=' never holds between an xsd:dateTime and an xsd:date"),
        ('?t ^> "2024-01-01"', "a text: cast the text"),
        ('?t ^> "2024-02-30T00:00:00Z"^^xsd:dateTime', "expected the form of an xsd:dateTime"),
        (f"?t - ?u > 2 ^* {LENGTH}", "write the length itself"),
        ("^?d IN (?t, 1)", "an xsd:date is never IN a list of other types"),
        ("^HOURS(?d) > 22", "HOURS has no value for an xsd:date"),
        (
            "^xsd:date(?n) > ?d",
            "a number cannot be cast to <http://www.w3.org/2001/XMLSchema#date>",
        ),
        ("?t - ?u ^> ?o", "an xsd:dayTimeDuration and a number"),
        ("BOUND(?v) || ^- ?t = ?v", "within this filter, an xsd:dateTime has no sign '-'"),
        ("MAX(?t) ^> 7", "an xsd:dateTime and a number"),
    ],
)
def test_an_operation_without_a_value_is_told_with_the_way_out(
    condition: str, told_of: str
) -> None:
    """The place is that after ``^``."""
    before = f"{XSD_PREFIX}ASK {{ {PATTERN} FILTER("
    after = ") }"
    if condition.startswith("MAX"):
        before, after = f"{XSD_PREFIX}SELECT ?x {{ {PATTERN} }} GROUP BY ?x HAVING(", ")"
    start, _, rest = condition.replace("^^", "%").partition("^")
    text = f"{before}{start}{rest}{after}".replace("%", "^^")
    ((code, column, said),) = told(text, QueryContext(TYPED))
    assert code == ("expression-always-fails" if "BOUND" in condition else "filter-never-true")
    # An aggregate is computed before its HAVING, and IN has no place of its own.
    place = len(f"{before}{start}") + 1
    if " IN " in condition:
        place = text.index("FILTER") + 1
    assert column == (1 if condition.startswith("MAX") else place)
    assert told_of in said


@pytest.mark.parametrize(
    "condition",
    [
        *("?t - ?u <= PT1M", "?t > ?u - PT1M", "PT1M + ?t > ?u", "?v > PT1M", "?v - ?n > ?o"),
        *("?d = xsd:date(?t)", "HOURS(?t) >= 22", "?v > 5", "?v = ?t", "?n IN (1.0, ?o)"),
        *("COALESCE(?t + 1, ?n) > 2", "?t != ?d", "xsd:dateTime(STR(?v)) > ?t", "?missing > PT1M"),
        "EXISTS { ?x :any ?w FILTER(?w > PT1M) }",
    ],
)
def test_what_may_have_a_value_needs_no_note(condition: str) -> None:
    written = condition.replace("PT1M", LENGTH).replace("?missing", "?v")
    assert told(f"{XSD_PREFIX}ASK {{ {PATTERN} FILTER({written}) }}", QueryContext(TYPED)) == []


# Windows and graphs

WINDOWED = "SELECT * FROM NAMED WINDOW :w ON <urn:s:camera-1> [RANGE 5s] { WINDOW :w { ?s ?p ?o } }"


def test_a_window_on_a_stream_that_nobody_sends_is_told() -> None:
    known = QueryContext(streams=frozenset((IRI("urn:s:camera-2"),)))
    ((code, column, text),) = told(WINDOWED, known)
    assert (code, column) == ("silent-stream", 34)
    assert "<urn:s:camera-1>" in text
    assert text.endswith("did you mean <urn:s:camera-2>?")


def test_a_pattern_of_a_stream_that_nobody_sends_is_told_once() -> None:
    known = QueryContext(streams=frozenset((IRI("urn:s:a"),)))
    part = "{ STREAM <urn:s:%s> { ?x ?p ?y } }"
    text = f"SELECT ?x {{ {part % 'a'} EQUALS {part % 'b'} EQUALS {part % 'b'} }}"
    ((code, column, note),) = told(text, known)
    assert (code, column) == ("silent-stream", text.index("<urn:s:b>") + 1)
    assert "a query of that name" in note


def test_a_window_on_a_known_stream_or_on_all_needs_no_note() -> None:
    known = QueryContext(streams=frozenset((IRI("urn:s:camera-1"),)))
    assert told(WINDOWED, known) == []
    assert (
        told(WINDOWED.replace("ON <urn:s:camera-1> ", ""), QueryContext(streams=frozenset())) == []
    )
    assert told(WINDOWED, QueryContext(streams=None)) == []


def test_a_graph_that_a_continuous_query_does_not_read_is_told() -> None:
    text = "SELECT * FROM <urn:sensorstream:window> FROM <urn:file> { ?s ?p ?o }"
    assert [(code, column) for code, column, _ in told(text, QueryContext(continuous=True))] == [
        ("from-without-effect", 15),
        ("from-without-effect", 46),
    ]
    # Where FROM chooses a graph there is nothing to note.
    assert told(text) == []


TWO_WINDOWS = """SELECT * FROM NAMED WINDOW :v [RANGE 3] FROM NAMED WINDOW :w [RANGE 2 STEP 2]
{{ {} }}"""


@pytest.mark.parametrize(
    ("where", "unused"),
    [
        ("WINDOW :v { ?s ?p ?o }", [":w"]),
        ("?s ?p ?o", [":v", ":w"]),
        ("?s ?p ?o FILTER EXISTS { WINDOW :w { ?o ?q ?s } }", [":v"]),
        ("WINDOW :v { ?s ?p ?o } OPTIONAL { WINDOW :w { ?o ?q ?s } }", []),
        ("WINDOW ?any { ?s ?p ?o }", []),
    ],
)
def test_a_window_that_no_group_matches_is_told(where: str, unused: list[str]) -> None:
    text = TWO_WINDOWS.format(where)
    found = [(code, column) for code, column, _ in told(text, QueryContext(continuous=True))]
    assert found == [("unused-window", text.index(f"{name} [") + 1) for name in unused]
    merged = told(text.replace("FROM NAMED", "FROM"), QueryContext(continuous=True))
    assert not merged


def test_notes_come_in_the_order_of_the_text() -> None:
    text = "ASK { ?x :hasNam ?n\nFILTER(1 > 2) FILTER(?z)\n?x a :Roam }"
    assert [note.code for note in notes(text, QueryContext(SCHEMA))] == [
        "unknown-property",
        "filter-never-true",
        "unbound-variable",
        "unknown-class",
    ]


# Patterns in time

CONTINUOUS = QueryContext(continuous=True)


def pattern(where: str) -> str:
    return f"PREFIX xsd: <{XSD}> SELECT * {{ {where} FILTER(getENDTIME() > 2) }}"


@pytest.mark.parametrize(
    ("where", "remembered", "bound"),
    [
        ("{ ?x :p ?y } SEQ { ?x :q ?z }", "SEQ remembers its left side", "getDURATION() <"),
        ("{ ?x :p ?y } SEQ RECENT { ?x :q ?z }", "SEQ remembers", "in the group of the SEQ"),
        ("?x :p ?y . ?x :q ?z", "a join remembers ?x ?y and ?x ?z", "getDURATION() <"),
        ("?x :p ?y OPTIONAL { ?x :q ?z }", "OPTIONAL remembers", "getDURATION() <"),
        ("{ ?x :p ?y } OPTIONALSEQ { ?x :q ?z }", "OPTIONALSEQ remembers", "getDURATION() <"),
        ("{ SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x }", "GROUP BY", "HAVING("),
        ("?x :p ?y MINUS { ?x :q ?z }", "MINUS remembers each ?x", "EQUALSOPTIONAL"),
        ("?x :p ?y FILTER NOT EXISTS { ?x :q ?y }", "EXISTS remembers each ?x, ?y", "EQUALS"),
    ],
)
def test_a_pattern_that_no_length_bounds_is_told_with_what_would_bound_it(
    where: str, remembered: str, bound: str
) -> None:
    ((code, _, text),) = told(pattern(where), CONTINUOUS)
    assert code == "unbounded-state"
    assert remembered in text
    assert bound in text


@pytest.mark.parametrize(
    "where",
    [
        '{ ?x :p ?y } SEQ { ?x :q ?z } FILTER(getDURATION() < "PT1H"^^xsd:duration)',
        '{ { ?x :p ?y } SEQ { ?x :q ?z } } FILTER(getDURATION() <= "P1M"^^xsd:duration)',
        '?x :p ?y OPTIONAL { ?x :q ?z } FILTER(getDURATION() < "PT1H"^^xsd:duration)',
        "{ SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x "
        'HAVING(getDURATION() < "PT1H"^^xsd:duration) }',
        "{ ?x :p ?y } EQUALS { ?x :q ?z }",
        "?x :p ?y . VALUES ?x { :a :b }",
        "?x :p ?y",
        "{ SELECT * { ?x :p ?y } LIMIT 3 }",
    ],
)
def test_a_pattern_that_a_length_bounds_needs_no_note(where: str) -> None:
    assert told(pattern(where), CONTINUOUS) == []


def test_a_path_of_any_length_is_told_to_follow_nothing_that_happens() -> None:
    ((code, column, text),) = told(pattern("?x :p ?y . ?y :q+ ?z"), CONTINUOUS)
    assert (code, "CONSTRUCT" in text) == ("path-in-background", True)
    assert pattern("?x :p ?y . ?y :q+ ?z")[column - 1 :].startswith(":q+")


MAKES = "CONSTRUCT { ?x :fell ?w } WHERE { ?x :value ?v ; :before ?w FILTER(?v < ?w) }"
FELL = "SELECT * { { ?x :fell ?v } SEQ { ?x :fell ?w } FILTER(getDURATION() < 'PT1H') }"


def beside(text: str) -> QueryContext:
    return QueryContext(continuous=True, beside={"other": parse_query(f"PREFIX : <{E}> {text}")})


@pytest.mark.parametrize(
    ("making", "reading"),
    [
        (MAKES, FELL),
        (MAKES, FELL.replace(":fell ?v", ":other|^:fell ?v")),
        (MAKES, FELL.replace(":fell ?v", "?any ?v")),
        (MAKES.replace(":fell", "?v"), FELL),
        (MAKES.replace("?x :fell ?w", "?x a :Fallen"), FELL.replace(":fell ?v", "a :Fallen")),
        (MAKES.replace("WHERE", "FROM NAMED WINDOW :w [RANGE 3] WHERE"), FELL),
    ],
)
def test_what_a_pattern_in_time_reads_in_vain_is_told_on_both_sides(
    making: str, reading: str
) -> None:
    ((_, text),) = [n for n in coded(making, beside(reading)) if n[0] == "feeds-nothing"]
    assert text.startswith("this CONSTRUCT query adds nothing to the stream")
    assert "BIND(getENDTIME() AS ?when)" in text
    ((_, text),) = [n for n in coded(reading, beside(making)) if n[0] == "feeds-nothing"]
    assert text.startswith("the CONSTRUCT query other adds nothing to the stream")
    cured = making.replace("FILTER(?v", "BIND(getENDTIME() AS ?when) FILTER(?v")
    assert "feeds-nothing" not in dict(coded(cured, beside(reading)))
    assert "feeds-nothing" not in dict(coded(reading, beside(cured)))


@pytest.mark.parametrize(
    ("making", "reading"),
    [
        (MAKES, FELL.replace(":fell", ":rose")),
        (MAKES, MAKES),
        (MAKES.replace("CONSTRUCT { ?x :fell ?w }", "SELECT *"), FELL),
        (MAKES.replace("?x :fell ?w", "?x a :Fallen"), FELL.replace(":fell", "a")),
        (MAKES, "SELECT * { ?x :fell ?w }"),
    ],
)
def test_what_no_pattern_in_time_reads_is_not_told(making: str, reading: str) -> None:
    if ":Fallen" in making:
        reading = reading.replace("?v }", ":Other }").replace("?w }", ":Other }")
    assert "feeds-nothing" not in dict(coded(making, beside(reading)))
    assert "feeds-nothing" not in dict(coded(reading, beside(making)))


@pytest.mark.parametrize(
    ("axiom", "read", "told"),
    [
        (
            ("fell", rdfs.SUBPROPERTY_OF, "moved"),
            "?x :moved ?v",
            ":moved, which follows from :fell,",
        ),
        (("fell", rdfs.DOMAIN, "Sinking"), "?x a :Sinking", ":Sinking, which follows from :fell,"),
        (("moved", rdfs.SUBPROPERTY_OF, "fell"), "?x :moved ?v", ""),
    ],
)
def test_what_a_pattern_in_time_reads_by_inference_is_told_too(
    axiom: tuple[str, IRI, str], read: str, told: str
) -> None:
    schema = Schema.of([(IRI(E + axiom[0]), axiom[1], IRI(E + axiom[2]))])
    reading = FELL.replace("?x :fell ?v", read).replace("?x :fell ?w", read.replace("?v", "?w"))
    known = replace(beside(MAKES), schema=schema)
    notes = [text for code, text in coded(reading, known) if code == "feeds-nothing"]
    assert [told in text for text in notes] == [True] * bool(told)
    making = coded(MAKES, replace(beside(reading), schema=schema))
    assert [told in text for code, text in making if code == "feeds-nothing"] == [True] * bool(told)


def coded(text: str, known: QueryContext) -> list[tuple[str, str]]:
    return [(note.code, note.text) for note in notes(text, known)]
