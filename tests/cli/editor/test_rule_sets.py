"""Rule sets of the reasoner in an editor."""

from __future__ import annotations

from pathlib import Path

from sensorstream.cli.editor.open_document import symbols_of_rule_set
from tests.cli.editor.conftest import Editor
from tests.cli.editor.test_language_server import at, labels, places

HEAD = "PREFIX : <http://sensorstream.example/tracking#>\nPREFIX owl: <urn:owl#>\n\n"
NAMED = (
    HEAD
    + """# seen
# of my own
INSERT { ?x a :Actor }
WHERE { ?x a :Human } ;

INSERT { ?x a :Actor } WHERE { ?x :hasName ?y } ;
INSERT DATA { :a a :Human }
"""
)


def test_faults_are_shown_at_their_place(editor: Editor, folder: Path) -> None:
    path = folder / "mine.ru"
    editor.open(path, NAMED.replace("INSERT { ?x a :Actor } WHERE", "CLEAR ALL ; INSERT { } WHERE"))
    (fault,) = editor.diagnostics(path)
    assert places([fault]) == [(8, 0, 8, 5)]
    assert "CLEAR" in fault.message
    editor.change(path, NAMED)
    assert editor.diagnostics(path, lambda found: not found) == []
    editor.close(path)


def test_names_of_the_ontology_and_words_of_lists_are_completed(
    editor: Editor, folder: Path
) -> None:
    path = folder / "mine.ru"
    text, line, character = at(HEAD + "INSERT { ?x a :Actor } WHERE { ?x a :Hu¦")
    editor.open(path, text)
    assert labels(editor.completions(path, line, character))[0] == ":Human"
    body = HEAD + "INSERT { ?x a :Actor } WHERE { ?x owl:hasKey ?l . "
    for before, word in (("", "EACH"), ("EACH ?m ", "IN"), ("EACH ?m IN ?l ", "FROM"),
                         ("EACH ?m IN ?l FROM ?x ", "TO")):  # fmt: skip
        text, line, character = at(f"{body}{before}¦")
        editor.change(path, text)
        assert word in labels(editor.completions(path, line, character)), before
    query = folder / "q.rq"
    text, line, character = at("SELECT * { ?x ?p ?l . ¦")
    editor.open(query, text)
    assert "EACH" not in labels(editor.completions(query, line, character))
    editor.close(query)
    editor.close(path)


def test_a_word_shows_what_it_names_or_the_rule_around_it(editor: Editor, folder: Path) -> None:
    path = folder / "mine.ru"
    for marked, expected in (
        (NAMED.replace(":Human }", ":Hum¦an }", 1), "class"),
        (NAMED.replace("WHERE", "WH¦ERE", 1), "rule `seen`\n\nof my own"),
    ):
        text, line, character = at(marked)
        editor.open(path, text)
        found = editor.hover(path, line, character)
        assert found is not None
        assert expected in found
    text, line, character = at(NAMED.replace("hasName ?y }", "hasName ?¦y }"))
    assert editor.hover(path, line, character) is None
    editor.close(path)


def test_the_outline_has_the_rules_with_a_name() -> None:
    found = symbols_of_rule_set(NAMED)
    assert [each.name for each in found] == ["seen", "", ""]
    assert NAMED[found[0].whole.start : found[0].whole.end].splitlines()[-1].startswith("WHERE")
    assert NAMED[found[1].name_at.start : found[1].name_at.end] == "INSERT"
