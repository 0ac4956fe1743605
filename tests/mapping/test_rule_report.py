"""What an explanation says of rules and messages."""

from __future__ import annotations

from sensorstream.language import parse
from sensorstream.mapping import parse_document
from sensorstream.mapping.rule_report import Explanation, ExpressionReport, Unmapped, explain
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

RULES = """prefix : <http://e/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
xmlns c = "urn:city"
mapping people
on message {/Message[@version='1']}
for each $p in {person}
if {$p/@certain > 50}
then
  insert individual :h-{$p/@id} a :Human at {time}
    ; :x {$p/@x |> * 2}^^xsd:integer
    ; :name {$p/nme}
    ; :at [ :label {$p/c:place} ] .
mapping doors
on message {/Door}
then insert individual :d-{@id} a :Door .
"""
MESSAGE = """<Message version='1' kind='k' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'
 xmlns:c='urn:city' xsi:schemaLocation='a b'>
<time>5</time>
<person id='1' certain='60' x='7'><name>Ada</name><c:place><b>hall</b></c:place></person>
<person id='2' certain='70' x='8'><name>Bo</name></person>
<person id='3' certain='7'/>
<note>n <b>m</b></note>
</Message>"""


def explanations(xml: str, rules: str = RULES) -> tuple[Explanation, ...]:
    content = xml.encode()
    document = parse_document(content, max_depth=9)
    message = Message("m1", content, 0)
    return explain([parse(rules, "f")], Schema(), Timeline.INTEGER, document, message)


def explained(xml: str = MESSAGE, rules: str = RULES) -> Explanation:
    (explanation,) = explanations(xml, rules)
    return explanation


def test_every_expression_tells_what_it_found() -> None:
    people, _ = explained().rules
    assert people.matched
    assert people.cause == ""
    missing = "there is no $p/nme: did you mean name?"
    assert people.expressions == (
        ExpressionReport("on message", "{/Message[@version='1']}", 1, 1, 0, (), ""),
        ExpressionReport("for each $p", "{person}", 1, 3, 0, (), ""),
        ExpressionReport("if", "{$p/@certain > 50}", 3, 2, 1, (), ""),
        ExpressionReport("name", "{$p/@id}", 2, 2, 0, ("1", "2"), ""),
        ExpressionReport("at", "{time}", 2, 2, 0, ("5",), ""),
        ExpressionReport(":x", "{$p/@x |> * 2}", 2, 2, 0, ("14", "16"), ""),
        ExpressionReport(":name", "{$p/nme}", 2, 0, 2, (), missing),
        ExpressionReport(":label", "{$p/c:place}", 2, 1, 1, ("hall",), ""),
    )


def test_what_no_path_found_is_listed_once_for_each_place() -> None:
    assert explained().unmapped == (
        Unmapped("/Message/@kind", 1, "k", 2),
        Unmapped("/Message/person/name", 2, "Ada", 4),
        # The condition kept the rule from this one.
        Unmapped("/Message/person/@id", 1, "3", 6),
        Unmapped("/Message/note", 1, "n m", 7),
    )


def test_a_rule_that_matches_nothing_comes_with_the_likely_cause() -> None:
    _, doors = explained().rules
    assert not doors.matched
    assert doors.cause.endswith("it expects /Door, but there is no /Door: found Message")
    assert {each.tried for each in doors.expressions} == {0}


def test_a_condition_that_never_holds_leaves_the_actions_untried() -> None:
    people, _ = explained("<Message version='1'><person certain='1'/></Message>").rules
    tried = {each.role: (each.tried, each.found) for each in people.expressions}
    assert tried["if"] == (1, 0)
    assert tried["name"] == (0, 0)


def test_a_message_that_is_rejected_is_explained_up_to_its_error() -> None:
    explanation = explained("<Message version='1'><person certain='60' id='1'/></Message>")
    assert "{time}, message line 1: found nothing, expected a time" in explanation.error
    people, _ = explanation.rules
    assert people.matched
    (time,) = [each for each in people.expressions if each.role == "at"]
    assert (time.missed, time.cause) == (1, "there is no time: found person")


def test_text_beside_elements_and_attributes_in_a_text_are_looked_for_too() -> None:
    rules = "prefix : <http://e/> mapping m on message {/a} then insert individual :i ; :p {b} ."
    assert explained("<a>loose<b>x<c d='1'>y</c></b></a>", rules).unmapped == (
        Unmapped("/a/text()", 1, "loose", 1),
        Unmapped("/a/b/c/@d", 1, "1", 1),
    )


def test_each_message_of_a_document_is_explained_by_itself() -> None:
    rules = f"message each {{/Messages/Message}}\n{RULES.partition('mapping doors')[0]}"
    one, two = explanations(f"<Messages>\n<Message/>\n{MESSAGE}</Messages>", rules)
    assert (one.line, two.line) == (2, 4)
    assert not one.rules[0].matched
    assert one.rules[0].cause.endswith("/Message does not match Message[@version='1']")
    assert two.rules[0].matched
    assert two.unmapped[0].path == "/Message/@kind"
