"""Whatever rules and messages come: an error with its place, or statements that are RDF."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.message_reading import TermCheck
from sensorstream.errors import LanguageError, MalformedMessage, MappingError, SensorStreamError
from sensorstream.installation import bundled
from sensorstream.language import parse, print_rules
from sensorstream.language.rule_layout import format_rules
from sensorstream.language.rule_lexer import DEEPEST
from sensorstream.mapping import MappedMessage, check, compile_mapping, parse_document
from sensorstream.mapping.rml.from_rules import from_rules
from sensorstream.mapping.rule_report import explain
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline

E: Final = "http://e.org/"
SCHEMA: Final = Schema(
    classes=frozenset({IRI(f"{E}C"), IRI(f"{E}D")}),
    object_properties=frozenset({IRI(f"{E}to")}),
    datatype_properties=frozenset({IRI(f"{E}p"), IRI(f"{E}n")}),
    ranges_of={IRI(f"{E}n"): frozenset({IRI("http://www.w3.org/2001/XMLSchema#integer")})},
)
RULES: Final = """base <http://e.org/things/>
prefix : <http://e.org/>
prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
xmlns m = "urn:m"
message each {/Batch/m:Message}

mapping one
on message {/m:Message[@id]}
for each $p in {person[@x > 0]}
let $name = {$p/name |> trim |> lower}
let $n = {count($p/name)}
if {$n > 0} and {$name |> match "[a-z]+"}
then
  insert individual :i-{@id}-{$p/@x} a :C, :{@kind} in graph <{@graph}> at {@t}
    ; :n {$p/@x} if valid or {$n} or 5
    ; :p "{$name} in {../Header/@room}"@{@lang}, {$name}@en if valid
    ; :to <{$p/@href}> if valid or :none-{$name}, [ a :D ; :n {$p/@y |> + 1 |> round} ] .
  update individual <{concat('urn:x:', @id)}> ; rdf:type :{@kind} ; :to ( :a _:b-{@id} ) .
  insert individual _:b-{@id} ; :p {string(//name[1])}^^xsd:date if valid or skip individual .
"""
MESSAGE: Final = """<Batch xmlns:m='urn:m' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'>
<Header room='R 1'/>
<m:Message id='1' kind='D' t='5' lang='en' graph='urn:g'>
  <person x='1' y='2.5' href='../a'><name> Ada </name></person>
  <person x='2' href='not one'><name xsi:nil='true'/><name>Bo</name></person>
</m:Message>
<m:Message id='2' kind='D' t='6' lang='de' graph='urn:h'><person x='9'><name>C</name></person>
</m:Message></Batch>"""
FILES: Final = [RULES] + [
    path.read_text("utf-8") for path in sorted(Path(bundled("mapping_rules")).glob("*.rules"))
]
PIECES: Final = st.sampled_from(
    [
        *("{", "}", '"', "'", "<", ">", "<{", "}>", "#", "\\", "@", "@{", "$", "$n", ";", ","),
        *(".", "[", "]", "(", ")", "|>", "|", "/", "//", "..", "*", "-", "1", "-1", "1e999"),
        *("not(", "count(", "ancestor::", "self::", "text()", ":", "_:", "^^", "xsd:integer"),
        *("then", "true", "%", "%zz", "\u00e9", "\0", "\ue000", "id('x')", "lang('en')"),
        *("string-length()", "{.}", "{/}", " or ", " if valid", " a ", " in graph "),
        *("let $z = {1}\n", "for each $q in {$p}\n", " - ", "|> round 99", "|> default ''"),
        *("|> split ''"),
    ]
)
VALUES: Final = st.sampled_from(
    [
        *("x", "0", "-1", "1e400", "NaN", "INF", "\u00a0", "\u00e9", "\U0001f600", "\ue000", "%"),
        *("%zz", "{", "<", "http://h:x/", "..", "//", "en_GB", "true", "urn:sensorstream:window"),
        *("2014-02-30", "9999-12-31T24:00:00Z", "00:00", "\u0661", "_", ":", "#", "?", "", " "),
        *("a b", "\t", "9" * 400),
    ]
)


@st.composite
def damaged(draw: st.DrawFn, text: str, pieces: st.SearchStrategy[str], most: int = 3) -> str:
    """A text with a few pieces put in, or in place of others."""
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 3, 10]))
        text = text[:start] + draw(pieces) + text[start + length :]
    return text


def escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&apos;")


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """The message with other values, or damaged."""
    pieces = MESSAGE.split("'")
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(2, len(pieces) // 2 - 1)) * 2 + 1
        pieces[place] = escaped(draw(VALUES))
    text = "'".join(pieces)
    if draw(st.integers(0, 4)) == 0:
        text = draw(damaged(text, PIECES | VALUES))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-16"])), "replace")


def map_with(rules: str, content: bytes) -> MappedMessage | SensorStreamError:
    """What commands make of a rule file and a message, or the error that they tell."""
    try:
        file = parse(rules, "f")
        assert parse(print_rules(file), "f") == file
        assert parse(format_rules(rules), "f") == file
        faults = check([file], SCHEMA)
        for fault in faults:
            assert fault.position is not None
        schema = Schema() if faults else SCHEMA
        plan = compile_mapping([file], schema, Timeline.INTEGER)
    except LanguageError as error:
        return error
    from_rules(file, schema)
    message = Message("m1", content, 1)
    try:
        document = parse_document(content, max_depth=9)
    except MalformedMessage as error:
        return error
    explain([file], schema, Timeline.INTEGER, document, message)
    try:
        mapped = plan.apply(document, message)
    except MappingError as error:
        return error
    TermCheck().check(mapped.events)
    return mapped


def told_or_works(result: MappedMessage | SensorStreamError) -> bool:
    """There is an error, the name of a rule that matched, or a hint why none did."""
    if isinstance(result, SensorStreamError):
        return bool(result.message)
    return bool(result.matched or result.hint)


def test_what_is_to_be_damaged_is_whole() -> None:
    file = parse(RULES, "f")
    assert check([file], SCHEMA) == []
    plan = compile_mapping([file], SCHEMA, Timeline.INTEGER)
    mapped = plan.apply(parse_document(MESSAGE.encode(), max_depth=9), Message("m1", b"", 1))
    assert mapped.warnings == ()
    assert [len(event.triples) for event in mapped.events] != []


@settings(max_examples=40)
@given(st.sampled_from(FILES).flatmap(lambda text: damaged(text, PIECES)))
def test_damaged_rules_are_told_or_work(rules: str) -> None:
    assert told_or_works(map_with(rules, MESSAGE.encode()))


@settings(max_examples=40)
@given(messages())
def test_odd_messages_are_told_or_work(content: bytes) -> None:
    assert told_or_works(map_with(RULES, content))


DEEP: Final = {
    "nodes": ("[ :p ", "1", " ]"),
    "lists": ("( ", "1", " )"),
    "alternatives": ("{@none} or ", "1", ""),
}


@pytest.mark.parametrize("shape", DEEP)
def test_values_may_be_nested_but_not_endlessly(shape: str) -> None:
    before, middle, after = DEEP[shape]
    head = "prefix : <http://e.org/>\nmapping m on message {/m} then insert individual :i ; :q "

    def rules(depth: int) -> str:
        return f"{head}{before * depth}{middle}{after * depth} ."

    map_with(rules(DEEPEST), b"<m/>")
    assert parse(rules(DEEPEST)).rules
    for depth in (DEEPEST + 1, 20_000):
        with pytest.raises(LanguageError, match=r"f:2:\d+: values are nested deeper than 64"):
            parse(rules(depth), "f")
