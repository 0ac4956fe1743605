import pytest

from sensorstream.language import parse
from sensorstream.mapping import Mapped, compile_mapping, parse_document
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

RULES = """prefix : <http://e/>
xmlns c = "urn:city"
mapping faces on message {/Message/Event/Tracker[@type='Face']} then insert individual :i a :C .
mapping city on message {/c:Observation[@kind='traffic']} then insert individual :i a :C .
"""


def unmatched(xml: str, rules: str = RULES) -> Mapped:
    content = xml.encode()
    plan = compile_mapping([parse(rules)], Schema(), Timeline.INTEGER)
    return plan.apply(parse_document(content, max_depth=9), Message("m1", content, 0))


@pytest.mark.parametrize(
    ("xml", "hint"),
    [
        (
            "<Message xmlns='urn:other'/>",
            "the message's elements are in namespace urn:other, which no rule file declares: "
            'add xmlns m = "urn:other" and write /m:Message',
        ),
        ("<Mesage/>", "but there is no /Message: did you mean Mesage?"),
        ("<zebra/>", "but there is no /Message: found zebra"),
        ("<Observation/>", "but there is no /c:Observation: did you mean Observation?"),
        ("<Message/>", "but there is no /Message/Event: found nothing"),
        (
            "<Message><Event/><Event><Trackers/></Event></Message>",
            "but there is no /Message/Event/Tracker: did you mean Trackers?",
        ),
        (
            "<Message><Event><Tracker type='Motion'/></Event></Message>",
            "rule faces is the nearest: it asks for /Message/Event/Tracker[@type='Face'], "
            "but /Message/Event/Tracker is not as in Tracker[@type='Face']",
        ),
        (
            "<Observation xmlns='urn:city' kind='noise'/>",
            "rule city is the nearest: it asks for /c:Observation[@kind='traffic'], "
            "but /c:Observation is not as in c:Observation[@kind='traffic']",
        ),
    ],
)
def test_a_message_that_no_rule_matches_comes_with_the_likely_cause(xml: str, hint: str) -> None:
    mapped = unmatched(xml)
    assert mapped.matched == ()
    assert mapped.events == ()
    assert mapped.hint.endswith(hint)


def test_a_path_that_cannot_be_taken_apart_still_gives_a_hint() -> None:
    rules = "prefix : <http://e/>\nmapping m on message {//a | b} then insert individual :i a :C ."
    assert unmatched("<c/>", rules).hint == (
        "the message's root element is c, which no rule asks for"
    )


def test_without_rules_the_hint_says_so() -> None:
    assert unmatched("<c/>", "").hint == "there are no mapping rules"


def test_a_message_that_matches_has_no_hint() -> None:
    assert unmatched("<Observation xmlns='urn:city' kind='traffic'/>").hint == ""
