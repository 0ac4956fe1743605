"""References, renaming, quick fixes, signatures and units, as an editor asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.cli.editor.conftest import Editor
from tests.cli.editor.test_language_server import HEAD, at, labels
from tests.cli.editor.test_language_server import path as path

MAPPING = (
    HEAD + 'prefix x: <urn:x#>\nxmlns n = "urn:n"\ntable rooms from "r.csv" key "a" value "b"\n'
    "mapping a\non message {/n:Message}\nfor each $p in {n:person[@n:id]}\n"
    "then insert individual :h-{$p/@id} a :Human, x:Human\n"
    '  ; :hasName "{$p/@id |> lookup rooms}" .\n\n'
    "mapping b\non message {/Message}\nfor each $p in {person}\n"
    "then insert individual :h-{$p/@id} a :Human .\n\n"
    "rule c on insert :Human as ?h\n"
    "if select { PREFIX x: <urn:own#> SELECT ?n { ?h x:name ?n ; a :Human } }\n"
    'then alert info "{?h} is {?n}"\n'
)
OVER_TIME = """PREFIX : <http://sensorstream.example/tracking#>
rule again define { dotr_id1 a :Again ; :at ?t }
from New(SELECT ?x ?t { ?x a :Human ; :hasTime ?t })
and last Old(SELECT ?x { ?x a :Human }) within 5 min from New
where Old.?x != New.?x with ?t = New.?t
"""


def written(path: Path, text: str, found: list[types.Location]) -> list[tuple[int, str]]:
    """The lines of the places in a file, and the words there."""
    lines = text.splitlines()
    return [
        (r.start.line, lines[r.start.line][r.start.character : r.end.character])
        for r in (each.range for each in found if each.uri == path.as_uri())
    ]


def renamed(editor: Editor, path: Path, marked: str, new: str) -> str:
    """The text after the name at the mark was renamed."""
    text, line, character = at(marked)
    editor.open(path, text)
    edit = editor.ask("rename", path, line, character, new_name=new)
    lines = text.splitlines(keepends=True)
    edits = edit.changes[path.as_uri()]
    for each in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character))[
        ::-1
    ]:
        place = each.range
        assert place.start.line == place.end.line
        row = lines[place.start.line]
        lines[place.start.line] = (
            row[: place.start.character] + each.new_text + row[place.end.character :]
        )
    return "".join(lines)


def test_references_are_found_in_a_rule_a_file_and_a_deployment(
    editor: Editor, path: Path, folder: Path
) -> None:
    text, line, character = at(MAPPING.replace("$p/@id} a :H", "$¦p/@id} a :H", 1))
    editor.open(path, text)
    context = types.ReferenceContext(include_declaration=True)

    def refer(word: str, shift: int, nth: int = 0) -> list[tuple[int, str]]:
        row = [n for n, each in enumerate(text.splitlines()) if word in each][nth]
        column = text.splitlines()[row].index(word) + shift
        return written(path, text, editor.ask("references", path, row, column, context=context))

    found = editor.ask("references", path, line, character, context=context)
    assert written(path, text, found) == [(6, "$p"), (7, "$p"), (8, "$p")]
    without = editor.ask("references", path, line, character, context=types.ReferenceContext(False))
    assert written(path, text, without) == [(7, "$p"), (8, "$p")]
    assert refer("rooms", 1) == [(3, "rooms"), (8, "rooms")]
    assert refer("xmlns n", 6) == [(2, "n"), (5, "n"), (6, "n"), (6, "n")]
    assert refer("prefix x", 7) == [(1, "x"), (7, "x")]
    assert refer("{?h}", 1) == [(15, "?h"), (16, "?h"), (17, "?h")]
    assert refer("x:name", 0) == [(16, "x"), (16, "x")]
    query = folder / "humans.rq"
    query.write_text("PREFIX t: <http://sensorstream.example/tracking#>\nSELECT * { ?x a t:Human }")
    found = editor.ask(
        "references", path, 15, text.splitlines()[15].index(":Hu") + 2, context=context
    )
    query.unlink()
    assert written(path, text, found) == [
        (n, ":Human")
        for n, row in enumerate(text.splitlines())
        for _ in range(row.count(" :Human"))
    ]
    assert {"tracking.rules", query.name} <= {Path(each.uri).name for each in found}
    assert not editor.ask("references", path, 4, 0, context=context)


def test_a_name_is_renamed_wherever_it_means_the_same(editor: Editor, path: Path) -> None:
    mapping = MAPPING.replace("$p/@id} a :H", "$¦p/@id} a :H", 1)
    assert renamed(editor, path, mapping, "$person") == MAPPING.replace("$p", "$person", 3)
    rule = MAPPING.replace("?h x:name", "¦?h x:name")
    assert renamed(editor, path, rule, "who") == MAPPING.replace("?h", "?who")
    head = MAPPING.replace("prefix :", "prefix ¦:")
    expected = (
        MAPPING.replace("prefix :", "prefix t:").replace(" :h", " t:h").replace(" :H", " t:H")
    )
    assert renamed(editor, path, head, "t:") == expected
    again = renamed(editor, path.with_suffix(".dotr"), OVER_TIME.replace("w.?x", "w.?¦x"), "y")
    assert again == OVER_TIME.replace("New(SELECT ?x ?t { ?x", "New(SELECT ?y ?t { ?y").replace(
        "New.?x", "New.?y"
    )
    label = renamed(editor, path.with_suffix(".dotr"), OVER_TIME.replace("Old(", "O¦ld("), "Gone")
    assert label == OVER_TIME.replace("Old", "Gone")
    rules = (
        "PREFIX : <urn:e#>\nINSERT { ?x a :A } WHERE { ?¦x a :B } ;\n"
        "INSERT { ?x a :C } WHERE { ?x a :D }"
    )
    one = rules.replace("¦", "")
    assert renamed(editor, path.with_suffix(".ru"), rules, "y") == one.replace("?x", "?y", 2)


_REFUSED = (
    (HEAD + "rule a on insert :Hu¦man as ?x then", "Man", "name of the ontology is not renamed"),
    (MAPPING.replace("|> look", "|> lo¦ok"), "find", "value function is not renamed"),
    (HEAD + "rule a on insert :Human as ?¦x then alert info 'x'", "y", "a fault hides names"),
    (HEAD + "rule a ¦ on change", "y", "here is no name"),
    (MAPPING.replace("?h x:name", "?¦h x:name"), "?n", "'n' names another variable"),
    (MAPPING.replace("?h x:name", "?¦h x:name"), "a-b", "'a-b' cannot name a variable"),
)


def test_a_name_that_cannot_be_renamed_says_why(editor: Editor, path: Path) -> None:
    for number, (marked, new, why) in enumerate(_REFUSED):
        text, line, character = at(marked)
        editor.open(path, text)
        with pytest.raises(JsonRpcException, match=why):
            editor.ask("rename", path, line, character, new_name=new)
        if number < 4:
            with pytest.raises(JsonRpcException, match=why):
                editor.ask("prepare_rename", path, line, character)


def test_declarations_are_found_in_queries_too(editor: Editor, folder: Path) -> None:
    path = folder / "some.rq"
    editor.open(path, "PREFIX t: <urn:t#>\nSELECT ?x { ?x a t:C }", "sparql")
    for column, line in ((13, 1), (18, 0)):
        found = editor.definition(path, 1, column)
        assert found is not None
        assert found.range.start == types.Position(line, 7)
    shown = editor.ask("prepare_rename", path, 1, 8)
    assert (shown.placeholder, shown.range.start.character) == ("x", 8)
    editor.close(path)


CALLS = HEAD + "mapping m on message {/a}\nthen insert individual :x ; :hasName {@a |> trum} .\n"


def test_faults_have_quick_fixes(editor: Editor, path: Path, folder: Path) -> None:
    query = folder / "wrong.rq"
    sample = path.with_name("spaces.xml")
    sample.write_text("<m:Message xmlns:m='urn:m'/>")
    sosa, rdfs = "<http://www.w3.org/ns/sosa/>", "<http://www.w3.org/2000/01/rdf-schema#>"
    for file, text, told, new in (
        (path, CALLS, "unknown function trum", "trim"),
        (path, CALLS.replace("trum", 'unit "metr" to "km"'), "'metr'", '"metre"'),
        (path, CALLS.replace("@a |> trum", "numbr(@a)"), "numbr", "number"),
        (path, CALLS.replace("{@a |> trum}", "'x'"), "double quotes", '"x"'),
        (path, CALLS[len(HEAD) :], "prefix ':'", HEAD),
        (path, CALLS.replace(" :x", " sosa:x"), "'sosa:'", f"prefix sosa: {sosa}\n"),
        (
            path,
            f"# sample: spaces.xml\n{CALLS.replace('/a', '/n:a')}",
            "'n'",
            'xmlns n = "urn:m"\n',
        ),
        (query, "SELECT * { ?x a rdfs:Class }", "rdfs:", f"PREFIX rdfs: {rdfs}\n"),
        (query, HEAD + "SELECT * { ?x a :Humann }", ":Humann", ":Human"),
    ):

        def is_told(found: list[types.Diagnostic], told: str = told) -> bool:
            return any(told in each.message for each in found)

        editor.open(file, text)
        faults = editor.diagnostics(file, is_told)
        fault = next(each for each in faults if told in each.message)
        assert new in editor.fixes(file, fault), fault.message
    editor.close(query)
    sample.unlink()


def test_signatures_tell_the_argument_that_is_written(editor: Editor, path: Path) -> None:
    query = path.with_suffix(".rq")
    mapping = HEAD + "mapping m on message {/a}\nthen insert individual :x ; :hasName {"
    geo = "PREFIX geof: <http://www.opengis.net/def/function/geosparql/>\nSELECT * { ?x ?y ?z "
    for file, text, label, parameter in (
        (path, mapping + '@a |> unit "km" to "¦', 'unit "FROM" to "TO"', '"TO"'),
        (path, mapping + '@a |> replace "¦', 'replace "EXPRESSION" by "TEXT"', '"EXPRESSION"'),
        (path, mapping + "substring(concat(@a, 'b,(c'), ¦", "substring(text, first", "first"),
        (path, mapping + "concat(@a, @b, ¦", "concat(text, text, …)", "…"),
        (query, "SELECT * { ?x ?y ?z FILTER(REGEX(STR(?x), ¦", "REGEX(source, pattern", "pattern"),
        (query, "SELECT (IF((?x > 1) && (2 < ¦", "IF(condition, then, else)", "condition"),
        (query, geo + "FILTER(geof:distance(?x, ?y, ¦", "geof:distance(place, place, u", "unit"),
    ):
        text, line, character = at(text)
        editor.open(file, text)
        found = editor.ask("signature_help", file, line, character)
        (shown,) = found.signatures
        assert shown.label.startswith(label)
        start, end = shown.parameters[found.active_parameter].label
        assert shown.label[start:end] == parameter
    for file in (path, query):
        editor.open(file, HEAD)
        assert editor.ask("signature_help", file, 0, 3) is None
    editor.close(query)


def test_units_are_completed(editor: Editor, path: Path) -> None:
    query = path.with_suffix(".rq")
    mapping = HEAD + "mapping m on message {/a}\nthen insert individual :x ; :hasName {@a |> unit "
    geo = "PREFIX geof: <http://www.opengis.net/def/function/geosparql/>\nSELECT * { ?x ?y ?z "
    for file, text, some, no in (
        (path, mapping + '"k¦', {"km", "km/h", "kW"}, "m"),
        (path, mapping + '"km/h" to "¦', {"m/s", "mph", "knot"}, "km"),
        (path, mapping + 'to "deg¦', {"degC", "degF"}, "km"),
        (query, "SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 10¦", {"10s", "10m", "10h"}, "km"),
        (query, geo + "FILTER(geof:distance(?x, ?y, ¦", {"<http://qudt.org/vocab/unit/M>"}, "km"),
    ):
        text, line, character = at(text)
        editor.open(file, text)
        found = labels(editor.completions(file, line, character))
        assert some <= set(found)
        assert no not in found
    editor.close(query)
