"""Stories in Markdown: what holds passes, what does not is told with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sensorstream.cli import main
from sensorstream.cli.stories.story_reader import blocks, stories_of
from sensorstream.errors import StoryError
from tests.prefixes import TURTLE

Play = Callable[..., Result]

ONTOLOGY = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Thing a owl:Class . :Reading a owl:Class ; rdfs:subClassOf :Thing .
:Cold a owl:Class ; owl:disjointWith :Hot . :Hot a owl:Class ; owl:equivalentClass
  [ a owl:Restriction ; owl:onProperty :value ; owl:hasValue 9 ] .
:value a owl:DatatypeProperty ; rdfs:range xsd:integer . :part a owl:ObjectProperty ."""
RULES = """prefix : <http://example.org/>
mapping reading
on message {/r}
then insert individual :r-{@id} a :Reading at {@t} ; :value {@v} ; :part [ :value {p} ] .
rule high
on insert :Reading as ?r
if select { SELECT ?v { ?r :value ?v FILTER(?v > 8) } }
then alert warning "{?r} has {?v}" key "{?r}"
     reply "<Off to='{?r}'><now/></Off>"
"""
QUERY = """PREFIX : <http://example.org/>
REGISTER QUERY :sums AS SELECT (SUM(?v) AS ?sum) REPORT ON WINDOW CLOSE
FROM NAMED WINDOW :w ON <urn:sensorstream:source:rest> [RANGE PT10S STEP PT10S]
WHERE { WINDOW :w { ?r :value ?v } }"""


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Runs ``sensorstream test`` in a deployment whose one document has this text."""
    for name, text in (
        ("o.ttl", ONTOLOGY),
        ("r.rules", RULES),
        ("q.rq", QUERY),
        ("high.xml", "<r id='b' t='4' v='9'/>"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "stories").mkdir()
    monkeypatch.chdir(tmp_path)

    def play(*stories: str, settings: str = "", options: tuple[str, ...] = ()) -> Result:
        (tmp_path / "sensorstream.toml").write_text(
            f"[ontology]\nfiles=['o.ttl']\n[rules]\nfiles=['r.rules']\n{settings}"
        )
        text = "".join(f"# Story {n}\n```story\n{each}\n```\n" for n, each in enumerate(stories, 1))
        (tmp_path / "stories" / "s.md").write_text(text)
        return CliRunner().invoke(main, ["test", *options])

    return play


LOW = "message <r id='a' t='3' v='5'><p>1</p></r>"


@pytest.mark.parametrize(
    "expected",
    [
        "then asserted :r-a a :Reading ; :value 5",
        "then asserted :r-a :part [ :value 1 ] .",
        "then only asserted :r-a a :Reading ; :value 5 ; :part [ :value 1 ]",
        "then only inferred\n  :r-a a :Thing .\n",
        "then inferred :r-a a :Thing",
        "then not inferred :r-a a :Reading, :Hot",
        "then not asserted :r-a :part [ :value 2 ]",
        "then no alert\nthen no reply\nthen no report",
        "then ask { ASK { ?x :part/:value 1 } }\nthen not ask { ASK { ?x a :Hot } }",
        "then accepted\nthen not rejected",
    ],
)
def test_what_is_so_passes(play: Play, expected: str) -> None:
    result = play(f"{LOW}\n{expected}")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("1 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ("then asserted :r-a :value 6", "expected   :r-a :value 6 .\n    got        :r-a :part"),
        ("then asserted :r-a a :Thing", ":r-a a :Thing .  # this one is inferred"),
        ("then asserted :r-a :part [ :value 2 ]", "expected   :r-a :part _:"),
        ("then only asserted :r-a a :Reading ; :value 5", "unexpected :r-a :part _:"),
        ("then only inferred :r-a a :Hot", "expected   :r-a a :Hot .\n    unexpected :r-a a :Th"),
        ("then no inferred", "unexpected :r-a a :Thing ."),
        ("then not asserted :r-a a :Reading, :Hot", "unexpected :r-a a :Reading .\n"),
        ('then alert "hot"', 'expected   "hot"\n    got        nothing of the kind\n'),
        ("then reply <Off/>", "expected   <Off/>"),
        ("then report sums = ?sum 3", "expected   sums = ?sum 3"),
        ("then ask { ASK { ?x a :Hot } }", "got        the answer false"),
        ("then rejected", "expected   rejected\n    got        m1 accepted"),
        ("then not accepted", "unexpected m1 accepted"),
    ],
)
def test_what_is_not_so_is_told_with_its_place(play: Play, expected: str, told: str) -> None:
    result = play(f"{LOW}\n{expected}")
    assert result.exit_code == 1
    assert "s.md:2: FAILED: Story 1\n" in result.stdout
    assert "s.md:4:1: then " in result.stdout
    assert told in result.stdout
    assert result.stdout.endswith("0 passed, 1 failed\n")


def test_alerts_and_replies_of_rules(play: Play) -> None:
    alert = 'warning "http://example.org/r-b has 9" key "http://example.org/r-b"'
    reply = '<Off to="http://example.org/r-b">\n  <now/>\n  </Off>'
    result = play(
        f"message high.xml\nthen only alert {alert}\nthen only reply {reply}\n"
        f"{LOW}\nthen no alert\nthen no reply",
        f"{LOW}\nmessage high.xml\nthen alert {alert}\nthen alert info {alert[8:]}",
        "message high.xml\nthen no alert\nthen not reply <Off to='http://example.org/r-b'><now/>"
        "</Off>",
    )
    assert result.exit_code == 1
    assert result.stdout.count(": passed") == 1
    # In the second story one alert cannot meet two expectations, and its severity is another.
    assert f"then alert\n    expected   info {alert[8:]}\n" in result.stdout
    assert f"then only alert\n    unexpected {alert}\n" in result.stdout
    assert "then not reply\n    unexpected <Off to='http" in result.stdout


def test_events_queries_and_time(play: Play) -> None:
    result = play(
        "query q.rq\n"
        "event from rest at 1 :a :value 1 .\n"
        "message high.xml\n"
        "then no report\n"
        "advance to 11\n"
        "then report :sums + ?sum 10\n"
        "then report <http://example.org/sums> + ?sum 10\n"
        "then not report :sums + ?sum 11\n"
        "event from rest at 12 :c :value 3 .\n"
        "finish\n"
        "then report :sums + ?sum 3\n"
    )
    assert result.exit_code == 0, result.output


def test_each_story_starts_from_nothing_and_names_are_the_same_in_each(play: Play) -> None:
    story = f"{LOW}\nthen only asserted :r-a a :Reading ; :value 5 ; :part [ :value 1 ]"
    assert play(story, story).stdout.endswith("2 passed, 0 failed\n")


def test_the_reasoner_of_the_profile_serves_all_stories(play: Play) -> None:
    story = "message high.xml\nthen inferred :r-b a :Hot\n"
    result = play(
        story,
        f"{LOW}\nthen only inferred :r-a a :Thing .",
        "event at 1 :r-b a :Cold .\nthen no inferred\nmessage high.xml\n"
        "then rejected inconsistent\nthen no asserted",
        story,
        settings="[reasoning]\nprofile = 'hermit'\n",
    )
    assert result.exit_code == 0, result.output


def test_a_message_that_is_not_accepted_fails_a_story_that_does_not_say_so(play: Play) -> None:
    result = play(
        "message <r\nthen rejected malformed-message",
        "message <r id='a' t='x'/>\nthen rejected mapping",
        "message <q/>\nthen unmatched",
        "message <r\nthen no alert",
        "message <r\nthen rejected mapping",
        "message <q/>\nthen no alert",
    )
    assert result.stdout.endswith("3 passed, 3 failed\n")
    assert result.stdout.count("was not accepted, and no step expects that") == 2
    assert "m1 rejected malformed-message: not well-formed XML" in result.stdout


def test_what_waits_is_taken_in_when_its_time_has_come(play: Play) -> None:
    result = play(
        "message at 1 high.xml\nthen held\nthen no alert\n"
        "message at 2 <r id='c' t='9' v='1'/>\n"
        'then alert "http://example.org/r-b has 9"\nthen asserted :r-b :value 9\n'
        "message <r id='d' t='1' v='9'/>\nthen late\nthen no alert",
        settings="[time]\nlateness = '5'\n",
    )
    assert result.exit_code == 0, result.output


def test_a_document_may_bring_its_own_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text(
        "# One\n```rules\nprefix : <http://example.org/>\n"
        'rule one on insert :A as ?x then alert info "one"\n```\n\n'
        '```story\nevent at 2020-01-01T00:00:00Z :x a :A\nthen alert "one"\n```\n'
        "text\n```story\nevent :x a :A\nthen no alert\n```\n"
        "```rules\nprefix : <http://example.org/>\n\nrule two on on\n```\n"
    )
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["test", "a.md"])
    # The second has no rules, so the prefix is unknown.
    assert "a.md:7: passed: One\n" in result.stdout
    assert "a.md:12: FAILED: One (2)\n" in result.stdout
    assert "not Turtle" in result.stdout
    (tmp_path / "b.md").write_text(
        "```rules\nprefix : <http://example.org/>\n\nrule two on on\n```\n"
        "```story\nevent :x a :A\nthen no alert\n```\n"
    )
    faulty = CliRunner().invoke(main, ["test", "b.md"])
    assert faulty.exit_code == 1
    assert "b.md:4:13: unexpected" in faulty.stderr


def test_a_document_may_bring_its_own_query(play: Play) -> None:
    query = (
        "PREFIX e: <http://example.org/>\n"
        'SELECT ?r ?v ALERT info "{?v}" KEY "{?r}" WHERE { ?r e:value ?v }'
    )
    story = (
        'event at 1 e:a e:value 7\nfinish\nthen only alert info "7" key "http://example.org/a"\n'
        "then report query + ?v 7"
    )
    document = f"{LOW}\nthen no alert\n```\n```sparql\n%s\n```\n```story\n{story}"
    result = play(document % query)
    assert result.stdout.endswith("2 passed, 0 failed\n"), result.output
    faulty = play(document % f"{query} LIMIT x")
    assert faulty.exit_code == 1
    assert "s.md:8:73: unexpected 'x'" in faulty.stderr, faulty.output


@pytest.mark.parametrize(
    ("story", "told"),
    [
        ("then no alert", "2:1: nothing has come in yet: expected message or event"),
        ("message a.xml", "1:1: a story that expects nothing"),
        ("  message a.xml", "2:1: an indented line continues a step"),
        ("massage a.xml\nthen no alert", "2:1: unexpected 'massage': expected message, event"),
        ("message\nthen no alert", "2:1: expected 'message [from SOURCE] [at TIME]' and XML"),
        ("message at 1 at 2 a\nthen no alert", "2:1: 'at' is written twice"),
        ("message a.xml\n\n# why\nthen", "5:1: 'then ': expected one of asserted"),
        ("message a.xml\nthen alerts", "3:1: 'then alerts': expected one of asserted"),
        ("message a.xml\nthen no ask", "3:1: expected 'then no asserted|inferred|"),
        ("message a.xml\nthen only late", "3:1: 'only' goes with asserted"),
        ("message a.xml\nthen alert", "3:1: 'then alert': expected what it is"),
        ("message a.xml\nthen late 5", "3:1: unexpected '5' after 'late'"),
        ("advance 5\nthen no alert", "2:1: expected 'advance to TIME'"),
        ("finish now\nthen no alert", "2:1: unexpected 'now' after 'finish'"),
        ("prefix x <a:b>", "2:1: expected 'prefix name: <iri>'"),
        ("query", "2:1: expected 'query FILE'"),
    ],
)
def test_a_step_that_cannot_be_read_is_told_with_its_line(story: str, told: str) -> None:
    with pytest.raises(StoryError) as caught:
        stories_of(f"```story\n{story}\n```", "s.md")
    assert f"s.md:{told}" in str(caught.value)


@pytest.mark.parametrize(
    ("story", "told"),
    [
        ("message none.xml\nthen no alert", "s.md:3:1: message: cannot read"),
        ("query none.rq\nmessage high.xml\nthen no alert", "s.md:3:1: query: cannot read"),
        ("event :x a\nthen no alert", "s.md:3:1: not Turtle"),
        ("event at soon :x a :A\nthen no alert", "s.md:3:1: 'soon'"),
        (f"{LOW}\nthen alert hot", "s.md:4:1: 'hot': expected [info|warning|critical]"),
        (f'{LOW}\nthen alert "a\\q"', "s.md:4:1: "),
        (f"{LOW}\nthen reply <a", "s.md:4:1: reply: not XML"),
        (f"{LOW}\nthen report q", "s.md:4:1: expected 'report QUERY + ?variable VALUE"),
        (f"{LOW}\nthen report q + x", "s.md:4:1: 'x': expected '?variable VALUE"),
        (f"{LOW}\nthen report q + ?x 1, 2", "s.md:4:1: ?x: expected one value"),
        (f"{LOW}\nthen ask {{ ASK {{ ?x }} }}", "s.md:4:1: ask: "),
        (f"{LOW}\nthen inferred :x a", "s.md:4:1: not Turtle"),
    ],
)
def test_a_step_that_cannot_be_played_fails_its_story_alone(
    play: Play, story: str, told: str
) -> None:
    result = play(story, f"{LOW}\nthen no alert")
    assert result.exit_code == 1
    assert told in result.stdout
    assert result.stdout.endswith("1 passed, 1 failed\n")


def test_the_result_as_json(play: Play) -> None:
    result = play(f"{LOW}\nthen no alert", f"{LOW}\nthen alert 'x'", options=("--json",))
    data = json.loads(result.stdout)
    assert (data["passed"], data["failed"]) == (1, 1)
    assert [each["passed"] for each in data["stories"]] == [True, False]
    assert data["stories"][1]["differences"][0]["line"] == 9


SHAPED = "[shapes]\nfiles = ['s.ttl']\n"


def test_violations_of_shapes_begin_and_end(play: Play, tmp_path: Path) -> None:
    (tmp_path / "s.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        ":S a sh:NodeShape ; sh:targetClass :Reading ; sh:property [ sh:path :value ;\n"
        '  sh:maxCount 1 ; sh:message "two values" ] , [ sh:path :part ; sh:minCount 1 ] .'
    )
    two = "message <r id='a' t='4' v='6'><p>1</p></r>\nadvance to 5"
    begins = 'then only violation + :r-a "two values"\nthen alert critical '
    begins += '"http://example.org/r-a http://example.org/value: two values (shape '
    begins += 'http://example.org/S)" key "http://example.org/r-a"\n'
    other = "event at 5 :x a :Reading .\nadvance to 6\nthen violation + :x\n"
    ends = "event at 7 :x :part :y .\nfinish\nthen only violation - :x\nthen no report"
    story = f"{LOW}\nthen no violation\n{two}\n{begins}{other}{ends}"
    result = play(story, settings=SHAPED + "[window]\nkind = 'landmark'\nsize = ''\n")
    assert result.exit_code == 0, result.output
    result = play(
        f"{LOW}\n{two}\nthen not violation + :r-a",
        f"{LOW}\n{two}\nthen violation - :r-a",
        f"{LOW}\nthen violation :r-a",
        settings=SHAPED,
    )
    assert result.exit_code == 1
    assert result.output.count('+ :r-a "two values"') == 2
    assert "expected + or -, a focus node" in result.output


def test_no_story_at_all_is_an_error(play: Play, tmp_path: Path) -> None:
    result = play()
    assert result.exit_code == 1
    assert "no stories in" in result.stderr
    missing = CliRunner().invoke(main, ["test", "nowhere"])
    assert "there is no file or folder 'nowhere'" in missing.stderr
    (tmp_path / "sensorstream.toml").unlink()
    assert "there is no sensorstream.toml here" in CliRunner().invoke(main, ["test"]).stderr


def test_blocks_are_found_as_in_commonmark() -> None:
    text = "# A #\n~~~ story x\n```\n~~~\n\n```` rules\n```\n````\nno ``` fence\n## B\n```\nopen"
    found = [(b.language, b.lines, b.line, b.heading, b.after) for b in blocks(text)]
    assert found == [
        ("story", ("```",), 3, "A", False),
        ("rules", ("```",), 7, "A", True),
        ("", ("open",), 12, "B", False),
    ]


OWN = """PREFIX : <http://example.org/>
# warm
INSERT { ?r a :Warm } WHERE { ?r :value ?v FILTER(?v > 8) } ;
# cooled
DELETE { ?r :value ?v } INSERT { ?r :value 3 } WHERE { ?r a :Hot ; :value ?v } ;
# off
DELETE { ?r :part ?p } WHERE { ?r a :Warm ; :part ?p } ;
"""


def test_rule_sets_infer_and_switch_state_in_stories(play: Play, tmp_path: Path) -> None:
    (tmp_path / "own.ru").write_text(OWN)
    result = play(
        "message <r id='a' t='3' v='10'><p>1</p></r>\n"
        "then inferred :r-a a :Warm, :Thing\n"
        "then asserted :r-a :value 10\n"
        "then not asserted :r-a :part [ :value 1 ]\n"
        "message <r id='b' t='4' v='9'/>\n"
        "then asserted :r-b :value 3\n"
        "then not asserted :r-b :value 9\n"
        "then not inferred :r-b a :Warm\n"
        'then alert warning "http://example.org/r-b has 9" key "http://example.org/r-b"',
        settings="[reasoning]\nprofile='owl2rl, own.ru'\n",
    )
    assert result.exit_code == 0, result.output
