"""From texts to rules, and what is refused, with its place and the way out."""

from __future__ import annotations

import pytest

from sensorstream.errors import Position, ProgramError, QueryError
from sensorstream.language import parse
from sensorstream.language.rule_printer import print_node
from sensorstream.language.syntax import AskCondition
from sensorstream.reasoning.rulesets import rule_set_reader
from sensorstream.reasoning.rulesets.rule_set import combined, renamed
from sensorstream.reasoning.rulesets.rule_set_reader import read
from tests.reasoning.rulesets.graphs import PREFIXES, graph

PROLOGUE = " ".join(PREFIXES.split("\n"))
DROPS = "DELETE { ?x :p 1 } WHERE "
MAKES = "INSERT { ?x a :C } WHERE "
LIST = "INSERT { ?y a ?c } WHERE { ?c owl:unionOf ?l . "


def test_the_comment_above_a_rule_is_its_name_and_its_source() -> None:
    found = read(
        f"# A set\n{PROLOGUE}\n\n# twin\n# first source\n#\n# second\n"
        "INSERT { ?y :twin ?x }\nWHERE { ?x :twin ?y } ;\n# not of the rule\n\n"
        "  INSERT { ?x a :Twin } WHERE { ?x :twin ?y }",
        "mine.ru",
    )
    assert [rule.name for rule in found.rules] == ["twin", "at 12:3"]
    assert found.notes["twin"].comment == "first source\nsecond"
    assert found.notes["twin"].position == Position("mine.ru", 8, 1)
    assert found.name == "mine.ru"


def test_what_is_inserted_as_data_holds_in_any_case() -> None:
    found = read(f"{PROLOGUE} INSERT DATA {{ :a :p 1, :b }}", "mine.ru")
    assert set(found.facts) == graph(":a :p 1, :b .")
    assert not found.rules


def test_datalog_means_the_same_as_updates() -> None:
    datalog = read(
        f"{PROLOGUE}\n# in\n# from a paper\n:in(?s, ?r) :- :equips(?s, ?o), :placed(?o, ?r), "
        "not :Broken(?s) .",
        "mine.dlog",
    )
    update = read(
        f"{PROLOGUE}\n# in\nINSERT {{ ?a :in ?b }} WHERE {{ ?a :equips ?c . ?c :placed ?b "
        "FILTER NOT EXISTS { ?a a :Broken } }",
        "mine.ru",
    )
    assert [renamed(rule) for rule in datalog.rules] == [renamed(rule) for rule in update.rules]
    assert datalog.rules[0].name == "in"
    assert datalog.notes["in"].comment == "from a paper"


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("", "1:1", "a rule set without a rule: expected INSERT"),
        (MAKES + "{ ?x :p ?y", "2:36", "the text ends here: expected .*EACH"),
        ("SELECT * { ?s ?p ?o }", "2:1", "unexpected 'SELECT': expected .*INSERT"),
        ("CLEAR ALL", "2:1", r"CLEAR is no rule: expected INSERT \{ … \} WHERE"),
        ("DELETE DATA { :x :p 1 }", "2:1", "DELETE DATA: what holds in any case cannot go"),
        (
            "DELETE { ?x :p 1 } INSERT { ?x :q [] } WHERE { ?x :p 1 }",
            "2:35",
            "makes no blank nodes",
        ),
        ("DELETE { ?x :p ?now } WHERE { ?x :p ?now }", "2:16", r"\?now is the time of the event"),
        (DROPS + "{ ?x :p 1 . SERVICE :s { ?x :q 1 } }", "2:38", "SERVICE: a rule"),
        (
            "DELETE { GRAPH :g { ?x :p 1 } } WHERE { ?x :p 1 }",
            "2:16",
            "GRAPH <.*g>: conclusions.*without GRAPH",
        ),
        (
            "DELETE { ?y a ?c } WHERE { ?c owl:unionOf ?l . EACH ?d IN ?l { ?y a ?d } }",
            "2:48",
            "EACH: a rule that deletes does not read lists so",
        ),
        ("WITH :g INSERT { ?x a :C } WHERE { ?x :p 1 }", "2:1", "WITH and USING: a rule reads all"),
        ("INSERT { ?x a :C } USING :g WHERE { ?x :p 1 }", "2:1", "WITH and USING"),
        (
            "INSERT { GRAPH :g { ?x a :C } } WHERE { ?x :p 1 }",
            "2:16",
            "GRAPH <.*g>: conclusions.*without GRAPH",
        ),
        (MAKES + "{ GRAPH ?g { ?x :p 1 } }", "2:28", r"GRAPH \?g: rules tell <urn:"),
        (MAKES + "{ SERVICE :s { ?x :p 1 } }", "2:28", "SERVICE: a rule sends no"),
        (MAKES + "{ WINDOW TYPE SLIDINGTRIPLES 5 { ?x :p 1 } }", "2:28", "WINDOW"),
        (MAKES + "{ { SELECT ?x { ?x :p 1 } LIMIT 3 } }", "2:30", "LIMIT and OFF"),
        (
            "INSERT { ?x :t ?n } WHERE { ?x :p 1 BIND(RAND() AS ?n) }",
            "2:42",
            r"RAND\(\) has another",
        ),
        (MAKES + "{ ?x :p ?y FILTER :f(?y) }", "2:44", "there is no such function"),
        (
            f"{LIST} EACH ?d IN ?l {{ ?y a ?d FILTER EXISTS {{ ?d :p ?n FILTER :f(?n) }} }} }}",
            "2:105",
            "no such function; those named by an IRI are the casts",
        ),
        (MAKES + '{ ?x :p ?y FILTER REGEX(?y, "(") }', "2:44", "no.* regular expr"),
        (":C(?x) :- :p(?x, ?y), FILTER(:f(?y)) .", "2:1", "no such function"),
        (MAKES + "{ { ?x :p 1 } SEQ { ?x :q 1 } }", "2:40", "SEQ: a rule knows no"),
        ("INSERT { } WHERE { ?x :p ?y }", "2:1", "a rule without a conclusion"),
        ("INSERT DATA { 1 :p 1 }", "2:1", "is no triple: expected a name as subject"),
        (f"# {'x' * 81}\nINSERT {{ ?x a :C }} WHERE {{ ?x :p 1 }}", "3:1", "81 characters: exp"),
        ("# a #2\nINSERT { ?x a :C } WHERE { ?x :p 1 }", "3:1", "expected one without ' #'"),
        (":in(?s, ?r) :- :equips(?s, ?o) .", "2:1", r"\?r of the head must stand"),
        (
            "INSERT { ?y a ?c } WHERE { ?c :list ?l . EACH ?d IN ?l { ?y a ?d } }",
            "2:37",
            r"\?l is a list, or .* that may stream.*expected a pattern with a property of RDF",
        ),
        (
            "INSERT { ?x :has ?m } WHERE { ?x :items/rdf:rest*/rdf:first ?m }",
            "2:1",
            "what a path goes along is a list, .* that may stream",
        ),
        (f"{LIST} EACH ?d IN ?l FROM ?u TO ?v {{ ?u ?d ?c }} }}", "2:74", r"EACH: expected \?v in"),
        (f"{LIST} EACH ?l IN ?l {{ ?y a ?d }} }}", "2:49", "EACH: expected different variables"),
        (f"{LIST} OPTIONAL {{ EACH ?d IN ?l {{ ?y a ?d }} }} }}", "2:60", "EACH within EACH, OPT"),
        (f"{LIST} EACH ?d IN ?l {{ EACH ?e IN ?d {{ ?y a ?e }} }} }}", "2:65", "EACH within EACH"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_place(text: str, place: str, told: str) -> None:
    with pytest.raises(QueryError, match=told) as refused:
        read(f"{PROLOGUE}\n{text}" if text else "", "mine.ru")
    assert str(refused.value.position) == f"mine.ru:{place}"


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (
            "# a\nINSERT { ?x :q ?z } WHERE { ?x :p 1 }",
            "3:1",
            r"rule a: the body does not bind \?z",
        ),
        (
            "# a\nINSERT { ?x :q [ :r 1 ] } WHERE { ?x :r 1 }",
            "3:1",
            r"rule a computes a blank node and feeds itself: a → a; .*FILTER\(!isBlank\(\?x\)\)",
        ),
        (
            "# a\nINSERT { ?x :q 1 } WHERE { ?x :p 1 } ;\n# a\nINSERT { :x :r 1 } WHERE {}",
            "5:1",
            r"a second rule named 'a' \(the first is at mine.ru:3:1\)",
        ),
        (
            "# a\nINSERT { ?x :q 1 } WHERE { ?x :p 1 FILTER NOT EXISTS { ?x :r 1 } } ;\n"
            "# b\nINSERT { ?x :r 1 } WHERE { ?x :q 1 }",
            "3:1",
            "rule a reads .* through EXISTS, but helps to derive it: a → b → a",
        ),
        (
            "# up\nINSERT { ?x :q ?n } WHERE { ?x :q ?y BIND(?y + 1 AS ?n) }",
            "3:1",
            r"rule up computes \?n and feeds itself",
        ),
    ],
)
def test_rules_without_a_result_are_refused_with_their_place(
    text: str, place: str, told: str
) -> None:
    with pytest.raises(ProgramError, match=told) as refused:
        read(f"{PROLOGUE}\n{text}", "mine.ru")
    assert str(refused.value.position) == f"mine.ru:{place}"


def test_a_rule_that_deletes_is_one_of_the_rule_language() -> None:
    found = read(
        f"{PROLOGUE}\nBASE <http://base.org/>\n# on\n# from a paper\n"
        "DELETE { ?l :lit <off> } # a comment }\nINSERT { ?l :lit <on> } WHERE { ?l :of '}' } ;\n"
        "PREFIX : <http://other.org/> DELETE WHERE { :a :p 1 }",
        "mine.ru",
    )
    assert found.state_names == ("on", "at 7:30")
    assert found.notes["on"].comment == "from a paper"
    on, at = found.state_rules
    (rule,) = on.semantic_rules
    assert rule.position == Position("mine.ru", 5, 1)
    assert print_node(rule) == print_node(
        parse(
            "rule x when select { SELECT * { ?l :of '}' } } becomes true\n"
            "then sparql { DELETE { ?l :lit <off> } # a comment }\n"
            "INSERT { ?l :lit <on> } WHERE {} }".replace(":", "x:"),
            "x.rules",
        ).semantic_rules[0]
    ).replace("x:", ":").replace("rule x", "rule on")
    assert (on.base, on.prefix_map[""]) == ("http://base.org/", "http://example.org/")
    assert at.prefix_map[""] == "http://other.org/"
    assert isinstance(at.semantic_rules[0].trigger.condition, AskCondition)  # type: ignore[union-attr]


def test_a_rule_that_deletes_has_a_name_of_its_own() -> None:
    text = "# a\nINSERT { ?x :q 1 } WHERE { ?x :p 1 } ;\n# a\nDELETE WHERE { ?x :p 2 }"
    with pytest.raises(ProgramError, match="a second rule named 'a'"):
        read(f"{PROLOGUE}\n{text}", "mine.ru")


def test_recursion_along_lists_is_allowed() -> None:
    rule = "INSERT { ?c rdf:rest ?d } WHERE { ?c owl:unionOf ?l . ?l rdf:rest*/rdf:first ?d }"
    assert read(f"{PROLOGUE}\n{rule}", "mine.ru").rules


def test_a_text_has_a_bounded_number_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_set_reader, "MOST_RULES", 20)
    rules = "\n".join(f"INSERT {{ ?x :q{n} 1 }} WHERE {{ ?x :p 1 }} ;" for n in range(21))
    with pytest.raises(QueryError, match="more than 20 rules") as refused:
        read(f"{PROLOGUE}\n{rules}", "mine.ru")
    assert str(refused.value.position) == "mine.ru:22:1"


def test_sets_together_have_each_rule_once_and_a_name_for_each() -> None:
    same = "# up\nINSERT {{ ?{0} a :D }} WHERE {{ ?{0} a :C }} ;\n"
    other = "# up\nINSERT { ?x a :E } WHERE { ?x a :C } ;\n"
    sets = [
        read(f"{PROLOGUE}\n{text}", name)
        for name, text in (("a", same.format("x")), ("b", same.format("y")), ("c", other))
    ]
    together = combined(sets)
    assert [rule.name for rule in together.rules] == ["up", "up (c)"]
    assert together.notes["up (c)"].position.file == "c"
    assert together.name == "a + b + c"
