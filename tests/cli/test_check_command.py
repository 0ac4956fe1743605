from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sensorstream.cli.init_command import TEMPLATES, make_workspace

Check = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_workspace(tmp_path, TEMPLATES["tracking"])
    return tmp_path


@pytest.fixture
def check(run: Callable[..., Result], folder: Path) -> Check:
    config = folder / "sensorstream.toml"
    return lambda *more, status=None: run("check", "-c", config, *more, status=status)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_is_ok(template: str, tmp_path: Path, run: Callable[..., Result]) -> None:
    result = run("check", "-c", make_workspace(tmp_path / template, TEMPLATES[template]), status=0)
    assert result.stdout.startswith("ok: ")


def test_ok_says_what_there_is(check: Check) -> None:
    assert check().stdout == ("ok: 31 classes, 10 properties, 1 mapping rule, 2 semantic rules\n")


def test_a_rule_that_is_evaluated_anew_is_noted(check: Check, folder: Path) -> None:
    file = folder / "rules" / "late.rules"
    file.write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        "rule late\non change\n"
        "if select { SELECT ?p { ?p :hasTime ?t FILTER(?t < YEAR(NOW())) } }\n"
        'then alert info "{?p}"\n'
    )
    result = check(status=0)
    first, second = result.stdout.splitlines()
    assert first == (
        f"{file}:2:6: note: rule late: a query is evaluated anew whenever the rule is tried: "
        "NOW() has another value each time"
    )
    assert second.endswith("3 semantic rules")
    (note,) = json.loads(check("--json").stdout)["notes"]
    assert (note["line"], note["column"]) == (2, 6)


def test_queries_of_rules_that_say_something_odd_are_noted(check: Check, folder: Path) -> None:
    file = folder / "rules" / "odd.rules"
    file.write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        "rule odd\non change\n"
        "if select { SELECT ?p { ?p a :Humann FILTER(1 > 2) } }\n"
        'then alert info "{?p}"\n'
    )
    result = check(status=0)
    assert result.stdout.splitlines()[:3] == [
        f"{file}:4:30: note: the ontology has no class :Humann: did you mean :Human?",
        f"{file}:4:38: note: this filter is never true: nothing passes the filter",
        f"{file}:4:4: note: rule odd cannot fire: this condition never holds",
    ]
    notes = json.loads(check("--json").stdout)["notes"]
    assert [note["code"] for note in notes] == [
        "unknown-class",
        "filter-never-true",
        "rule-never-fires",
    ]


def test_queries_and_rules_over_time_of_the_folder_are_checked(check: Check, folder: Path) -> None:
    place = folder / "queries"
    place.mkdir()
    prefix = "PREFIX : <http://sensorstream.example/tracking#>\n"
    (place / "seen.rq").write_text(f"{prefix}SELECT * {{ ?x a :Humann }}")
    (place / "near.dlog").write_text(f"{prefix}:near(?x, ?y) :- :hasSameLocation(?x, ?y).")
    rule = place / "again.dotr"
    rule.write_text(
        f"{prefix}rule again define {{ dotr_id1 a :Again }}\n"
        "from New(SELECT ?x { ?x :near ?y })\nand last Old(SELECT ?x { ?x a :Human }) within 5"
    )
    result = check(status=1)
    assert result.stdout.splitlines()[0] == (
        f"{rule}:4:48: unexpected '5': expected a length of time such as 5 min or PT5M"
    )
    rule.write_text(f"{rule.read_text()} s from New")
    result = check(status=0)
    told = result.stdout.splitlines()
    assert f"{place / 'seen.rq'}:2:17: note: the ontology has no class :Humann" in told[0]
    # Datalog rules of the folder are known.
    assert not any(":near" in each for each in told)
    assert told[-1].endswith("2 semantic rules, 3 query files")


def test_a_query_that_describes_a_class_is_a_fault_where_a_reasoner_knows_names_only(
    check: Check, folder: Path
) -> None:
    place = folder / "queries"
    place.mkdir()
    (place / "some.rq").write_text(
        "PREFIX : <http://sensorstream.example/tracking#>\n"
        "PREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
        "SELECT * { ?x a [ owl:complementOf :Human ] }"
    )
    result = check(status=1)
    assert f"{place / 'some.rq'}:3:17: the query describes a class" in result.stdout
    (place / "some.rq").unlink()
    (place / "some.dotr").write_text(
        "PREFIX : <http://sensorstream.example/tracking#>\n"
        "PREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
        "define { dotr_id1 :of ?x } from A(SELECT ?x { ?x a [ owl:complementOf :Human ] })\n"
        "with ?x = A.?x"
    )
    assert f"{place / 'some.dotr'}:3:52: the query describes a class" in check().stdout
    rules = folder / "rules" / "some.rules"
    rules.write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        "prefix owl: <http://www.w3.org/2002/07/owl#>\n"
        "rule some on change\n"
        'if ask { ASK { ?x a [ owl:complementOf :Human ] } } then alert info "x"\n'
    )
    assert f"{rules}:4:21: the query describes a class" in check().stdout
    settings = folder / "sensorstream.toml"
    told = settings.read_text()
    assert 'profile = "hermit"' in told
    settings.write_text(told.replace('profile = "hermit"', 'profile = "plain"'))
    assert check().exit_code == 0


def test_rules_over_time_among_the_rule_files_of_the_settings_are_refused(
    check: Check, folder: Path
) -> None:
    (folder / "rules" / "a.dotr").write_text(
        "define { dotr_id1 a <a> } from A(SELECT * { ?s ?p 1 })"
    )
    change(folder / "sensorstream.toml", "rules/*.rules", "rules/*.*")
    result = check(status=1)
    assert "rules/a.dotr has rules over time" in result.stdout
    assert "into the folder 'queries'" in result.stdout


def test_a_file_can_be_checked_by_itself(run: Callable[..., Result], tmp_path: Path) -> None:
    file, other = tmp_path / "a.dotr", tmp_path / "a.rules"
    file.write_text("define { dotr_id1 a <a> } from A(SELECT ?x { ?x a <b> }) with ?z = A.?x")
    other.write_text("")
    result = run("check", "-c", tmp_path / "sensorstream.toml", file)
    assert result.stdout == f"{file}:1:1: note: rule a: 'define' has no ?z\nok: 1 file\n"
    file.write_text("define { dotr_id1 a <a> } from A(SELECT ?x { ?x a <a> })")
    result = run("check", "-c", tmp_path / "sensorstream.toml", file, status=1)
    assert result.stdout.startswith(f"{file}:1:1: at one moment what a rule makes may be what")
    result = run("check", other, status=2)
    assert "rule files are checked together" in result.stderr


def test_a_fault_in_the_sparql_of_a_rule_has_its_place_in_the_file(
    check: Check, folder: Path
) -> None:
    file = folder / "rules" / "odd.rules"
    file.write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        "rule odd\non change\n"
        "if ask {\n  ASK { ?p a :Human .\n   ?p :hasTime } }\n"
        'then alert info "x"\n'
    )
    result = check(status=1)
    assert result.stdout.startswith(f"{file}:6:16: unexpected '}}': expected a term such as ?x")


def test_a_syntax_error_names_its_place(check: Check, folder: Path) -> None:
    rules = folder / "rules" / "tracking.rules"
    change(rules, "if exists :Human", "if exist :Human")
    line = rules.read_text().splitlines().index("if exist :Human and not exists :Action") + 1
    result = check(status=1)
    assert result.stdout.startswith(f"{rules}:{line}:4: ")


def test_faults_of_several_files_are_all_told(check: Check, folder: Path) -> None:
    (folder / "rules" / "a.rules").write_text("mapping broken on\n")
    (folder / "rules" / "b.rules").write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        "mapping strange\non message {/a}\nthen insert individual :x-{@id} a :Humam .\n"
        'rule odd\non change\nif select { SELECT ?x { ?x } }\nthen alert info "{?x}"\n'
    )
    told = check().stdout
    assert f"{folder}/rules/a.rules:1:" in told
    assert f"{folder}/rules/b.rules:4:" in told
    assert ":Human" in told
    assert f"{folder}/rules/b.rules:7:" in told


def test_a_broken_ontology_is_told(check: Check, folder: Path) -> None:
    ontology = folder / "ontology" / "tracking.ttl"
    ontology.write_text("@prefix : <http://example.org/> .\n:a :b\n")
    result = check(status=1)
    assert str(ontology) in result.stdout


def test_an_unknown_setting_is_told_with_its_line(check: Check, folder: Path) -> None:
    settings = folder / "sensorstream.toml"
    change(settings, "[window]\n", '[window]\nsise = "7"\n')
    line = settings.read_text().splitlines().index('sise = "7"') + 1
    assert check().stdout == (
        f"{settings}:{line}:1: unknown setting window.sise: did you mean size?\n"
    )


def test_a_fault_of_the_settings_as_a_whole_stands_at_their_beginning(
    check: Check, folder: Path
) -> None:
    settings = folder / "sensorstream.toml"
    change(settings, 'size = "1000"', 'size = "PT10M"')
    result = check(status=1)
    assert result.stdout.startswith(f"{settings}:1:1: window.size: ")


def test_json_tells_the_same(check: Check, folder: Path) -> None:
    assert json.loads(check("--json").stdout) == {
        "ok": True,
        "faults": [],
        "notes": [],
        "edited": None,
        "functions": [],
    }
    rules = folder / "rules" / "tracking.rules"
    change(rules, "rule someone-is-there", "rul someone-is-there")
    result = check("--json")
    (fault,) = json.loads(result.stdout)["faults"]
    assert (fault["file"], fault["code"]) == (str(rules), "language")
    assert result.exit_code == 1


def test_a_value_function_that_does_not_fit_is_told_with_its_place(
    check: Check, folder: Path
) -> None:
    rules = folder / "rules" / "tracking.rules"
    change(
        rules,
        ":hasXLocation {$person/location2d/@x}",
        ":hasXLocation {$person/location2d/@x |> date iso}",
    )
    text = rules.read_text().splitlines()
    (line,) = [number for number, each in enumerate(text, 1) if "date iso" in each]
    column = text[line - 1].index("date iso") + 1
    assert check().stdout == (
        f"{rules}:{line}:{column}: date gives a time, which is not an xsd:integer\n"
    )


def test_tables_and_schemas_that_cannot_be_read_are_told_together(
    check: Check, folder: Path
) -> None:
    rules = folder / "rules" / "a.rules"
    rules.write_text('table rooms from "rooms.csv" key "code" value "room"\n')
    (folder / "rules" / "b.rules").write_text('table t from "t.csv" key "a" value "b"\n')
    (folder / "rules" / "t.csv").write_text("a,c\n")
    (folder / "message.xsd").write_text("<a/>")
    settings = folder / "sensorstream.toml"
    change(settings, '# schema = ""', 'schema = "message.xsd"')
    told = check().stdout.splitlines()
    assert len(told) == 3
    assert f"messages.schema: {folder}/message.xsd is not an XML Schema: " in told[0]
    assert told[1].startswith(f"{rules}:1:7: table rooms: cannot read {folder}/rules/rooms.csv: ")
    assert told[2] == (
        f"{folder}/rules/b.rules:1:7: table t, t.csv: there is no column 'b': expected one of a, c"
    )


def with_functions(folder: Path, text: str) -> Path:
    file = folder / "functions.py"
    file.write_text(text)
    settings = folder / "sensorstream.toml"
    settings.write_text(
        settings.read_text().replace("[functions]\n", '[functions]\nfiles = ["functions.py"]\n')
    )
    return file


def test_functions_of_your_own_are_listed(check: Check, folder: Path) -> None:
    code = (
        'def plate(text: str, country: str = "DK") -> str:\n    """A plate."""\n    return text\n'
    )
    file = with_functions(folder, f"\n{code}")
    result = check()
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0,
        f'{file}:2:1: function: plate ["TEXT"]',
    )
    assert json.loads(check("--json").stdout)["functions"] == [
        {
            "file": str(file),
            "line": 2,
            "name": "plate",
            "usage": 'plate ["TEXT"]',
            "meaning": "A plate.",
            "iri": "urn:sensorstream:function#plate",
        }
    ]


def test_faults_of_functions_are_listed_with_those_of_rules(check: Check, folder: Path) -> None:
    file = with_functions(folder, "def plate(text): return text\n")
    rules = next((folder / "rules").glob("*.rules"))
    rules.write_text(rules.read_text() + "\nmapping m on message {/m} then insert")
    result = check(status=1)
    places = [line.split(": ")[0] for line in result.stdout.splitlines()]
    assert f"{file}:1:1" in places
    assert any(place.startswith(str(rules)) for place in places)


def test_a_syntax_error_hides_no_fault_of_another_rule(check: Check, folder: Path) -> None:
    file = folder / "rules" / "more.rules"
    file.write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        'rule one\non chance then reply "<x/>"\n'
        'rule two\non insert :Humann as ?x then reply "<x/>"\n'
    )
    first, second = check().stdout.splitlines()
    assert first.startswith(f"{file}:3:4: unexpected 'chance': expected ")
    assert second == f"{file}:5:11: unknown class :Humann: did you mean :Human?"


def test_a_path_that_cannot_be_looked_up_whole_is_noted(check: Check, folder: Path) -> None:
    rules = folder / "rules" / "tracking.rules"
    path = "/Message/Event/Tracker[@type='FaceTracker']"
    change(rules, path, f"{path}[1]")
    result = check(status=0)
    assert "note: rule face-tracker: its path cannot be looked up whole" in result.stdout


def test_reasoning_tells_a_contradiction_and_what_joins_individuals(
    check: Check, folder: Path
) -> None:
    file = next(folder.rglob("*.ttl"))
    result = check("--reasoning", status=0)
    assert "reasoning: consistent: hermit finds a model of the ontology\n" in result.stdout
    assert "reasoning: all axioms have rules" in result.stdout
    assert "reasoning: measured here: a" in result.stdout
    file.write_text(
        file.read_text()
        + "\n:nobody a :Human , <urn:x#Never> . <urn:x#Never> a owl:Class ;"
        + " rdfs:subClassOf [ a owl:Class ; owl:intersectionOf ( :Human owl:Nothing ) ] ."
    )
    unseen = check(status=0)
    assert "not looked at: contradictions" in unseen.stderr
    refused = check("--reasoning", status=1)
    assert "contradicts itself" in refused.stdout


def test_costs_are_measured_as_the_sample_messages_link_individuals(
    check: Check, folder: Path
) -> None:
    rules = folder / "rules" / "tracking.rules"
    rules.write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        "mapping seen\non message {/seen}\n"
        "then insert individual <urn:p{@who}> a :Human ; :hasLocation <urn:room{@at}> .\n"
    )
    (folder / "messages").mkdir(exist_ok=True)
    for who in (1, 2):
        (folder / "messages" / f"{who}.xml").write_text(f"<seen who='{who}' at='hall'/>")
    (folder / "messages" / "other.xml").write_text("<other/>")
    told = [line for line in check("--reasoning").stdout.splitlines() if "measured" in line]
    assert told[0] == (
        "reasoning: measured as the sample messages link individuals; others may cost more"
    )
    way = "a <http://sensorstream.example/tracking#Human> that links to another by "
    assert told[1].startswith(
        f"reasoning: measured here: {way}<http://sensorstream.example/tracking#hasLocation> costs "
    )
    assert all(way in line for line in told[1:] if "here" in line)


def test_hermit_is_asked_for_the_plain_profile_too(check: Check, folder: Path) -> None:
    change(folder / "sensorstream.toml", 'profile = "hermit"', 'profile = "plain"')
    assert check("--reasoning").stdout.splitlines()[:2] == [
        "reasoning: consistent: hermit finds a model of the ontology",
        "reasoning: the profile plain asks no reasoner about messages",
    ]


def test_imports_and_undeclared_names_are_noted(check: Check, folder: Path) -> None:
    file = next(folder.rglob("*.ttl"))
    file.write_text(
        f"{file.read_text()}\n<urn:o> a owl:Ontology ; owl:imports <urn:a> , <urn:b> .\n"
        ":Mobile rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :moves ;"
        " owl:someValuesFrom :Room ] ."
    )
    assert f"{file}: imports <urn:a>, <urn:b>, which are not" in check().stdout
    (folder / "b.ttl").write_text("<urn:b> a <http://www.w3.org/2002/07/owl#Ontology> .")
    (file.parent / "catalog-v001.xml").write_text(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        '<uri name="urn:b" uri="../b.ttl"/></catalog>'
    )
    settings = folder / "sensorstream.toml"
    change(settings, "[ontology]", '[ontology]\nleave_out = ["urn:a"]')
    assert "a restriction is on <http://sensorstream.example/tracking#moves>" in check().stdout
    change(settings, "[ontology]", '[ontology]\nundeclared = "infer"')
    mapped, left_out, undeclared, ok = check().stdout.splitlines()
    assert mapped.startswith(f"{file}:1:1: note: the import of <urn:b> is {folder / 'b.ttl'}:")
    assert left_out.startswith(f"{file}:1:1: note: the import of <urn:a> is left out")
    assert undeclared.endswith("declared: <http://sensorstream.example/tracking#moves>")
    assert ok.startswith("ok: 31 classes, 11 properties")


@pytest.mark.parametrize(("profile", "code"), [("hermit", 1), ("plain", 0)])
def test_a_contradiction_that_is_stated_outright_needs_no_reasoner(
    check: Check, folder: Path, profile: str, code: int
) -> None:
    file = next(folder.rglob("*.ttl"))
    file.write_text(
        f"{file.read_text()}\n:nobody a :Human , :Never . :Never a owl:Class ;"
        " owl:disjointWith :Human ."
    )
    change(folder / "sensorstream.toml", 'profile = "hermit"', f'profile = "{profile}"')
    result = check()
    assert result.exit_code == code
    assert (
        "the ontology contradicts itself: <http://sensorstream.example/tracking#nobody> is in"
        in (result.stdout)
    )
    assert ("note: the ontology contradicts" in result.stdout) is (code == 0)


def test_a_path_that_no_sample_has_is_noted_with_the_likely_slip(
    check: Check, folder: Path
) -> None:
    file = folder / "rules" / "tracking.rules"
    change(file, "{$person/@certainty}", "{$person/@certanty} or {location2d/@x}")
    result = check(status=0)
    *notes, ok = result.stdout.splitlines()
    assert ok.startswith("ok: ")
    (written,) = [
        n for n, line in enumerate(file.read_text().splitlines(), 1) if "certanty" in line
    ]
    assert [note.partition("nothing in any sample message")[0] for note in notes] == [
        f"{file}:{written}:{column}: note: rule face-tracker: {hole} (:hasCertainty) finds "
        for column, hole in ((22, "{$person/@certanty}"), (45, "{location2d/@x}"))
    ]
    assert "@certainty" in notes[0]
    # It is enough that one sample has one of them, whatever the others have.
    (folder / "messages" / "z.xml").write_text(
        "<Message><Event><Tracker type='FaceTracker'><TimeStamp value='1'/>"
        "<person id='1' certanty='3'/></Tracker></Event></Message>"
    )
    assert check().stdout.startswith("ok: ")
    # A rule that no sample is for has nothing to compare with.
    change(file, "/Message/Event/", "/Message/Evnt/")
    (folder / "messages" / "z.xml").unlink()
    assert check().stdout.startswith("ok: ")
