from textwrap import dedent

import pytest

from sensorstream.errors import LanguageError
from sensorstream.language import parse
from sensorstream.language.syntax import (
    XML_SCHEMA_INSTANCE,
    AlertAction,
    AskCondition,
    BlankValue,
    CountCondition,
    DeleteIndividual,
    DeletePattern,
    Every,
    ExistsCondition,
    ForEach,
    Hole,
    IndividualAction,
    LocalTime,
    MappingRule,
    OnChange,
    OnExpire,
    OnInsert,
    OnMessage,
    Prefix,
    PropertyValues,
    Reply,
    RuleVariable,
    SelectCondition,
    SemanticRule,
    Sparql,
    SparqlUpdate,
    TextTemplate,
    TextValue,
    When,
    WrittenDuration,
    WrittenName,
    WrittenNumber,
    XmlNamespace,
    XPathValue,
)

HEAD = "prefix : <http://example.org/t#>\n"


def semantic(text: str) -> SemanticRule:
    (rule,) = parse(HEAD + text).semantic_rules
    return rule


def mapping(text: str) -> MappingRule:
    (rule,) = parse(HEAD + text).mapping_rules
    return rule


def values(text: str) -> PropertyValues:
    rule = mapping(f"mapping m on message {{/a}} then insert individual :x ; :p {text} .")
    return rule.actions[0].properties[0]


def fails(text: str) -> str:
    with pytest.raises(LanguageError) as caught:
        parse(text, "city.rules")
    return str(caught.value)


def local(*parts: str | Hole) -> WrittenName:
    return WrittenName("", parts)


def test_declarations_stand_at_the_head() -> None:
    file = parse('prefix ex: <http://e/>\nxmlns m = "urn:m"\nprefix : <http://d/>', "f")
    assert file.prefixes == (Prefix("ex", "http://e/"), Prefix("", "http://d/"))
    assert file.xml_namespaces == (XmlNamespace("m", "urn:m"),)
    assert file.file == "f"
    assert file.prefix_map == {"ex": "http://e/", "": "http://d/"}
    assert file.namespace_map == {"xsi": XML_SCHEMA_INSTANCE, "m": "urn:m"}


def test_a_name_may_be_a_word_of_the_language() -> None:
    file = parse('xmlns a = "urn:a" rule rule on change then reply "x"')
    assert file.namespace_map == {"xsi": XML_SCHEMA_INSTANCE, "a": "urn:a"}
    assert [rule.name for rule in file.rules] == ["rule"]


def test_an_empty_file_has_no_rules() -> None:
    assert parse("# nothing yet\n").rules == ()


def test_a_mapping_rule_has_path_loops_guards_and_actions() -> None:
    rule = mapping(
        """
        mapping face-tracker            # the paper's
        on message {/Message/Event/Tracker[@type='FaceTracker']}
        for each $person in {person}
        for each $place in { $person/location2d }
        if {number($person/@certainty) >= 50} and {$place}
        then insert individual :human-{$person/@id} a :Human, :Actor at {TimeStamp/@value}
               ; :x {$place/@x} .
             update individual :room a :Room .
        """
    )
    assert rule == MappingRule(
        "face-tracker",
        Hole("/Message/Event/Tracker[@type='FaceTracker']"),
        (ForEach("person", Hole("person")), ForEach("place", Hole("$person/location2d"))),
        (Hole("number($person/@certainty) >= 50"), Hole("$place")),
        (
            IndividualAction(
                "insert",
                local("human-", Hole("$person/@id")),
                (local("Human"), local("Actor")),
                (PropertyValues(local("x"), (XPathValue(Hole("$place/@x")),)),),
                Hole("TimeStamp/@value"),
            ),
            IndividualAction("update", local("room"), (local("Room"),), ()),
        ),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{@x}", XPathValue(Hole("@x"))),
        ("{@x}^^:kind", XPathValue(Hole("@x"), datatype=local("kind"))),
        ("{@x}@en-GB", XPathValue(Hole("@x"), language="en-GB")),
        ("{'}'}", XPathValue(Hole("'}'"))),
        ('"Room {@n}, {{old}}"', TextValue(TextTemplate(("Room ", Hole("@n"), ", {old}")))),
        ('"{"a"}"', TextValue(TextTemplate((Hole('"a"'),)))),
        (r'"a\n\"\\"@el', TextValue(TextTemplate(('a\n"\\',)), language="el")),
        ('"""two\n"lines" """', TextValue(TextTemplate(('two\n"lines" ',)))),
        ('""', TextValue(TextTemplate(()))),
        ("12", WrittenNumber("12")),
        ("-7.4e3", WrittenNumber("-7.4e3")),
        ("true", WrittenNumber("true")),
        (":room-{@a}.{@b}", local("room-", Hole("@a"), ".", Hole("@b"))),
        ("<http://e/{@a}/b>", WrittenName(None, ("http://e/", Hole("@a"), "/b"))),
        (":", local()),
        (
            "[ a :C ; :q 1 ]",
            BlankValue((local("C"),), (PropertyValues(local("q"), (WrittenNumber("1"),)),)),
        ),
        (
            "[ :q [ a :C ] ]",
            BlankValue((), (PropertyValues(local("q"), (BlankValue((local("C"),), ()),)),)),
        ),
    ],
)
def test_a_value_is_read(text: str, expected: object) -> None:
    assert values(text).values == (expected,)


def test_values_are_parted_by_commas() -> None:
    assert values("1, {@x}").values == (WrittenNumber("1"), XPathValue(Hole("@x")))


def test_numbers_have_the_datatypes_of_sparql() -> None:
    kinds = [
        WrittenNumber(text).datatype.rpartition("#")[2] for text in ("1", "1.0", "1e0", "true")
    ]
    assert kinds == ["integer", "decimal", "double", "boolean"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on change", OnChange()),
        ("on message", OnMessage()),
        ("on insert :C as ?x", OnInsert(local("C"), RuleVariable("x"))),
        ("on expire :C as ?x", OnExpire(local("C"), RuleVariable("x"))),
        ('every "PT10S"', Every(WrittenDuration("PT10S"))),
        ('every friday at "07:00" in "UTC"', Every(LocalTime("friday", "07:00", "UTC"))),
        (
            'every "PT1H" from history select { SELECT * {} }',
            Every(WrittenDuration("PT1H"), Sparql("SELECT * {}")),
        ),
        ("when exists :C becomes true", When(ExistsCondition(local("C")))),
        (
            'when not exists :C becomes true for "PT1M" until exists :D',
            When(
                ExistsCondition(local("C"), negated=True),
                WrittenDuration("PT1M"),
                ExistsCondition(local("D")),
            ),
        ),
    ],
)
def test_a_trigger_is_read(text: str, expected: object) -> None:
    assert semantic(f'rule r {text} then reply "x"').trigger == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exists :C", ExistsCondition(local("C"))),
        ("not exists :C", ExistsCondition(local("C"), negated=True)),
        ("count :C > 20", CountCondition(local("C"), ">", 20)),
        ("count :C<20", CountCondition(local("C"), "<", 20)),
        ("not count :C = 0", CountCondition(local("C"), "=", 0, negated=True)),
        ("select { SELECT * {?s ?p ?o} }", SelectCondition(Sparql("SELECT * {?s ?p ?o}"))),
        ("not ask { ASK {} }", AskCondition(Sparql("ASK {}"), negated=True)),
    ],
)
def test_a_condition_is_read(text: str, expected: object) -> None:
    rule = semantic(f'rule r on change if exists :D and {text} then reply "x"')
    assert rule.conditions == (ExistsCondition(local("D")), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('alert info "a"', AlertAction("info", TextTemplate(("a",)))),
        (
            'alert critical "{?n} people" key "{?room}" for "PT1M"',
            AlertAction(
                "critical",
                TextTemplate((Hole("?n"), " people")),
                TextTemplate((Hole("?room"),)),
                WrittenDuration("PT1M"),
            ),
        ),
        (
            "insert individual :a-{new} a :A ; :in ?room .",
            IndividualAction(
                "insert",
                local("a-", Hole("new")),
                (local("A"),),
                (PropertyValues(local("in"), (RuleVariable("room"),)),),
            ),
        ),
        (
            "update individual ?x a :A .",
            IndividualAction("update", RuleVariable("x"), (local("A"),), ()),
        ),
        ("delete individual ?x .", DeleteIndividual(RuleVariable("x"))),
        ("delete { ?s :p ?o . }", DeletePattern(Sparql("?s :p ?o ."))),
        (
            "sparql { DELETE {?a ?b ?c} WHERE {} }",
            SparqlUpdate(Sparql("DELETE {?a ?b ?c} WHERE {}")),
        ),
        ("reply \"<on room='{?r}'/>\"", Reply(TextTemplate(("<on room='", Hole("?r"), "'/>")))),
    ],
)
def test_an_action_is_read(text: str, expected: object) -> None:
    assert semantic(f"rule r on change then {text}").actions == (expected,)


def test_several_actions_follow_each_other() -> None:
    rule = semantic('rule r on change then reply "a" delete individual :x . alert info "b"')
    assert [type(action) for action in rule.actions] == [Reply, DeleteIndividual, AlertAction]


@pytest.mark.parametrize(
    "inside",
    [
        "SELECT * { ?x :p '}' }",
        'SELECT * { ?x :p "}\\"}" }',
        "SELECT * { ?x :p '''}'}''' }",
        "SELECT * { ?x <http://e/#a> 1 # }\n }",
        "SELECT * { FILTER(?a < 1 && ?b > 2) { { } } }",
    ],
)
def test_braces_in_sparql_are_balanced_past_strings_iris_and_comments(inside: str) -> None:
    rule = semantic(f'rule r on change if select {{ {inside} }} then reply "x"')
    assert rule.conditions == (SelectCondition(Sparql(inside)),)


def test_nodes_know_their_place() -> None:
    text = dedent(
        """\
        prefix : <http://e/>
        rule r on change
        if select {
          SELECT * {}
        }
        then reply "a {?b}"
        """
    )
    rule = parse(text, "f").semantic_rules[0]
    assert str(rule.position) == "f:2:6"
    condition, action = rule.conditions[0], rule.actions[0]
    assert isinstance(condition, SelectCondition)
    assert str(condition.query.position) == "f:4:3"
    assert isinstance(action, Reply)
    hole = action.text.parts[1]
    assert isinstance(hole, Hole)
    assert str(hole.position) == "f:6:16"


def daily(time: str) -> str:
    return f'rule r every day at {time} then reply "a"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map", "1:1: unexpected 'map': expected 'base', 'mapping', 'message', 'prefix', "),
        (
            "mapping m on message {/a} insert",
            "1:27: unexpected 'insert': expected 'for', 'if', 'let' or",
        ),
        (
            "mapping m on message {/a}\n",
            "1:26: the file ends here: expected 'for', 'if', 'let' or 'then'",
        ),
        ("mapping m\n  on {/a}", "2:6: unexpected '{/a}': expected 'message'"),
        ("mapping :m", "1:9: unexpected ':m': expected a word"),
        ("mapping on message", "1:12: unexpected 'message': expected 'on'"),
        ("mapping m on message {/a then", "1:22: '{' is never closed: expected '}' after the XPa"),
        (
            "mapping m on message { } then insert individual <a:a> a <a:b> .",
            "1:23: the braces are empty: expected an expression",
        ),
        ("rule r on change if ask { ASK {", "1:25: '{' is never closed: expected '}' after the S"),
        (
            'rule r on change if ask { } then reply "a"',
            "1:26: the braces are empty: expected SPARQL",
        ),
        ("rule r on change then reply 'a'", "1:29: unexpected character ''': write names with d"),
        ('rule r on change then reply "a', "1:29: the text is never closed or holds a lone brace"),
        ('rule r on change then reply "}"', "1:29: the text is never closed or holds a lone bra"),
        (r'rule r on change then reply "\q"', r"1:30: unknown escape '\q': expected one of \n"),
        ('rule r on change then alert bad "a"', "1:29: unknown severity 'bad': expected info, w"),
        (
            'rule r on change if count :C > 1.5 then reply ""',
            "1:32: '1.5' is not a count: expected digits",
        ),
        ('rule r every "{?x}" then reply "a"', "1:14: a length of time has no holes"),
        (
            'rule r every dy at "07:00" in "UTC" then reply "a"',
            "1:14: unknown day 'dy': expected day, monday",
        ),
        (daily('"7:00" in "UTC"'), "1:21: '7:00' is not a time of day: expected one"),
        (daily('"24:00" in "UTC"'), "1:21: '24:00' is not a time of day"),
        (daily('"07:00" in "Wien"'), "1:32: there is no time zone 'Wien': expected"),
        (daily('"07:00" in "../x"'), "1:32: there is no time zone '../x'"),
        ("prefix ex: <http://e/{@x}>", "1:12: a prefix's IRI has no holes"),
        ('xmlns m = "{@x}"', "1:11: a namespace has no holes"),
    ],
)
def test_a_syntax_error_says_where_what_and_what_was_expected(text: str, message: str) -> None:
    assert fails(text).startswith(f"city.rules:{message}")
