import pytest
from lxml import etree

from sensorstream.language import parse
from sensorstream.mapping import MappedMessage, compile_mapping, parse_document
from sensorstream.mapping.path_hint import why_nothing
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

RULES = """prefix : <http://e/>
xmlns c = "urn:city"
mapping faces on message {/Message/Event/Tracker[@type='Face']} then insert individual :i a :C .
mapping city on message {/c:Observation[@kind='traffic']} then insert individual :i a :C .
"""


def unmatched(xml: str, rules: str = RULES) -> MappedMessage:
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
        (
            "<Observation/>",
            "but there is no /c:Observation: Observation is here, but in no namespace: the sender "
            'has left out xmlns="urn:city", or the rule should say Observation',
        ),
        ("<Message/>", "but there is no /Message/Event: found nothing"),
        (
            "<Message><Event/><Event><Trackers/></Event></Message>",
            "but there is no /Message/Event/Tracker: did you mean Trackers?",
        ),
        (
            "<Message><Event><Tracker type='Motion'/></Event></Message>",
            "rule faces is the nearest: it expects /Message/Event/Tracker[@type='Face'], "
            "but /Message/Event/Tracker does not match Tracker[@type='Face']",
        ),
        (
            "<Observation xmlns='urn:city' kind='noise'/>",
            "rule city is the nearest: it expects /c:Observation[@kind='traffic'], "
            "but /c:Observation does not match c:Observation[@kind='traffic']",
        ),
    ],
)
def test_a_message_that_no_rule_matches_comes_with_the_likely_cause(xml: str, hint: str) -> None:
    mapped = unmatched(xml)
    assert mapped.matched == ()
    assert mapped.events == ()
    assert mapped.hint.endswith(hint)


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("person/@x", "there is no person/@x: did you mean @X?"),
        ("persom", "there is no persom: did you mean person?"),
        ("pesron/@id", "there is no pesron: did you mean person?"),
        ("person/@di", "there is no person/@di: did you mean @id?"),
        ("person/id", "there is no person/id: id is an attribute, write @id"),
        ("person/@name", "there is no person/@name: name is an element, not an attribute"),
        ("person[@id = '9']", "person does not match person[@id = '9']"),
        ("person[@id = '9']/name", "person does not match person[@id = '9']"),
        ("person/name/first", "there is no person/name/first: found nothing"),
        ("person/place", "there is no person/place: did you mean c:place?"),
        (
            "person/c:name",
            "there is no person/c:name: name is here, but in no namespace: the sender has left "
            'out xmlns="urn:city", or the rule should say name',
        ),
        (
            "person/room",
            "there is no person/room: it is in namespace urn:other: "
            'add xmlns m = "urn:other" and write m:room',
        ),
        ("$p/nmae", "there is no $p/nmae: found person"),
        ("/Massage/person", "there is no /Massage: did you mean Message?"),
        ("/Message/persons", "there is no /Message/persons: did you mean person?"),
        ("person/name", ""),
        ("//x", ""),
        ("x | y", ""),
        ("count(x)", ""),
        ("person/position()", ""),
    ],
)
def test_a_path_that_finds_nothing_comes_with_the_likely_cause(path: str, cause: str) -> None:
    root = etree.fromstring(
        "<Message><person id='1' X='7'><name>Ada</name><c:place xmlns:c='urn:city'/>"
        "<o:room xmlns:o='urn:other'/></person></Message>"
    )
    assert why_nothing(path, [root], {"c": "urn:city"}) == cause


def test_from_several_nodes_the_names_of_all_are_known() -> None:
    root = etree.fromstring("<a><b><x/></b><b><y z='1'/></b></a>")
    assert why_nothing("$b/w", list(root), {}) == "there is no $b/w: found x, y"
    assert why_nothing("$b/x/z", list(root), {}) == "there is no $b/x/z: found nothing"


def test_a_path_that_cannot_be_taken_apart_still_gives_a_hint() -> None:
    rules = "prefix : <http://e/>\nmapping m on message {//a | b} then insert individual :i a :C ."
    assert unmatched("<c/>", rules).hint == (
        "the message's root element is c, which no rule expects"
    )


def test_without_rules_the_hint_says_so() -> None:
    assert unmatched("<c/>", "").hint == "there are no mapping rules"


def test_a_message_that_matches_has_no_hint() -> None:
    assert unmatched("<Observation xmlns='urn:city' kind='traffic'/>").hint == ""
