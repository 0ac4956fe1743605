"""Which rules are not linear in the message, and up to which size they are run at once."""

from __future__ import annotations

import pytest

from sensorstream.installation import bundled
from sensorstream.language.rule_parser import parse
from sensorstream.mapping.rml import read_rml
from sensorstream.mapping.rml.rml_compiler import steep_of_map
from sensorstream.mapping.rule_cost import STEPS, largest, size_of, steep_of

RULE = "mapping r\non message {head} then insert individual <urn:i> a <urn:C> ; <urn:p> {value} .\n"


def steep(head: str, value: str, *, in_parts: bool = False) -> dict[str, int]:
    (rule,) = parse(RULE.format(head=head, value=value), "f").mapping_rules
    return {each.hole.text: each.degree for each in steep_of(rule, {"own"}, in_parts=in_parts)}


EACH = "{/M}\nfor each $a in {a}\n"


@pytest.mark.parametrize(
    ("head", "value", "found"),
    [
        ("{/M}", "{a/b/@c}", {}),
        ("{/M}", "{//a}", {}),
        ("{/M/a}", "{b/@c}", {}),
        ("{/M/a}", "{/M/@t}", {"/M/@t": 2}),
        ("{/M/a}", "{../@t}", {"../@t": 2}),
        ("{/M}\nlet $t = {/M/@t}\n", "{$t}", {}),
        (EACH, "{$a/b/@c}", {}),
        (EACH, "{/M/h/@t}", {}),
        (EACH, "{@t}", {}),
        (EACH, "{//b}", {}),
        (EACH, "{$a/../@t}", {"$a/../@t": 2}),
        (EACH, "{concat(@t, $a/@id)}", {"concat(@t, $a/@id)": 2}),
        (EACH + "for each $b in {$a/b}\n", "{$b/@c}", {}),
        (EACH + "for each $b in {$a/b}\n", "{$a/@c}", {"$a/@c": 2}),
        (EACH + "for each $b in {//b}\n", "{$b/@c}", {"$b/@c": 3}),
        (EACH + "let $t = {$a/@t}\nif {$t > 3}\n", "{$t}", {}),
        (EACH + "let $h = {/M/h}\n", "{$h/@t}", {"$h/@t": 2}),
        (EACH, "{//a/..}", {"//a/..": 2}),
        ("{/M}", "{@a |> own}", {"@a": 2}),
        ("{//a//b}", "{@c}", {"//a//b": 2}),
    ],
)
def test_loops_multiply_what_is_looked_at_in_each_turn(
    head: str, value: str, found: dict[str, int]
) -> None:
    assert steep(head, value) == found


def test_a_message_in_a_document_looks_at_what_is_around_it_again() -> None:
    assert steep("{/M}", "{../@t}") == {}
    assert steep("{/M}", "{../@t}", in_parts=True) == {"../@t": 2}
    assert steep("{/M}", "{/M/a/@t}", in_parts=True) == {}


def test_sizes_keep_the_steps_of_all_expressions_together_below_the_limit() -> None:
    assert largest([]) is None
    assert largest([1, 1]) is None
    for degrees in ([2], [3], [2] * 50, [2, 3, 4]):
        size = largest(degrees)
        assert size is not None
        assert sum(size**each for each in degrees) <= STEPS
        assert sum((size + 1) ** each for each in degrees) > STEPS


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "cp037"])
def test_a_size_is_at_least_the_number_of_nodes(encoding: str) -> None:
    text = "<M>" + "<a b='1'/>" * 100 + "</M>"
    assert size_of(text.encode(encoding)) >= 201
    assert size_of(b"<M>" + b"x" * 6400 + b"</M>") >= 100


def test_values_of_rml_that_multiply_are_counted() -> None:
    head = (
        "@prefix rml: <http://w3id.org/rml/> . @prefix : <urn:> ."
        " :m a rml:TriplesMap ; rml:logicalSource [ rml:referenceFormulation rml:XPath ;"
        " rml:iterator '/M/a' ] ; rml:subjectMap [ rml:template 'urn:x-{@id}' ] ;"
        " rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ %s ] ] ."
    )
    for written, degrees in (
        ("rml:reference '@c'", []),
        ("rml:reference 'b/c'", []),
        ("rml:template '{b}-{c}'", [2]),
        ("rml:template '{b}-{c}-{d}'", [3]),
        ("rml:reference '../@t'", [2]),
    ):
        mapping = read_rml(head % written, "f.ttl", "urn:base:")
        (map_,) = mapping.maps
        assert [each.degree for each in steep_of_map(map_, mapping, ())] == degrees


def test_the_rules_of_the_examples_are_linear() -> None:
    for file in bundled("mapping_rules").iterdir():
        if file.suffix == ".rules":
            for rule in parse(file.read_text(), str(file)).mapping_rules:
                assert steep_of(rule, ()) == (), rule.name
