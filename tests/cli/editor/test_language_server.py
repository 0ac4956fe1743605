"""The server as an editor sees it: a process that is spoken to on standard input and output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lsprotocol import types

from tests.cli.editor.conftest import Editor

HEAD = "prefix : <http://sensorstream.example/tracking#>\n"
Write = Callable[[str], Path]


def at(text: str) -> tuple[str, int, int]:
    """A text without its mark ``¦``, and the line and character of the mark, in UTF-16."""
    offset = text.index("¦")
    before = text[:offset]
    line = before.count("\n")
    character = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
    return text.replace("¦", ""), line, character


@pytest.fixture
def path(editor: Editor, folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    path = folder / "rules" / f"{request.node.name}.rules"
    path.write_text("")
    yield path
    editor.close(path)
    path.unlink()


def labels(items: list[types.CompletionItem]) -> list[str]:
    return [item.label for item in items]


def places(found: list[types.Diagnostic]) -> list[tuple[int, int, int, int]]:
    return [
        (r.start.line, r.start.character, r.end.line, r.end.character)
        for r in (each.range for each in found)
    ]


def test_it_says_what_it_can_do(editor: Editor) -> None:
    can = editor.capabilities
    assert can.hover_provider
    assert can.definition_provider
    assert can.document_symbol_provider
    assert can.document_formatting_provider
    assert can.completion_provider is not None


def test_a_fault_is_shown_at_its_place_and_goes_when_it_is_mended(
    editor: Editor, path: Path
) -> None:
    text = HEAD + 'rule a\non insert :Humann as ?x then reply "<x/>"\n'
    editor.open(path, text)
    (fault,) = editor.diagnostics(path)
    assert fault.message == "unknown class :Humann: did you mean :Human?"
    assert places([fault]) == [(2, 10, 2, 17)]
    assert fault.severity == types.DiagnosticSeverity.Error
    assert (fault.code, fault.source) == ("language", "sensorstream")
    editor.change(path, text.replace("Humann", "Human"))
    assert editor.diagnostics(path, lambda found: not found) == []


def test_columns_count_units_of_utf_16(editor: Editor, path: Path) -> None:
    editor.open(path, HEAD + 'rule a on message then\treply "<x>😀 {@no}</x>"\n')
    (fault,) = editor.diagnostics(path)
    line = 'rule a on message then\treply "<x>'
    assert places([fault])[0][:2] == (1, len(line) + 2 + 2)


def test_all_faults_of_a_file_are_shown(editor: Editor, path: Path) -> None:
    editor.open(
        path,
        HEAD + "mapping a on massage {/a} then\n"
        "rule b on change then alert info {x}\n"
        "mapping c on message {/a[} then insert individual :x a :Human .\n",
    )
    found = editor.diagnostics(path, lambda found: len(found) > 2)
    assert places(found) == [(1, 13, 1, 20), (2, 33, 2, 34), (3, 25, 3, 26)]


def test_notes_are_information(editor: Editor, path: Path) -> None:
    editor.open(
        path,
        HEAD + "rule late on change\n"
        "if select { SELECT ?p { ?p :hasTime ?t FILTER(?t < YEAR(NOW())) } }\n"
        'then alert info "{?p}"\n',
    )
    (note,) = editor.diagnostics(path)
    assert note.severity == types.DiagnosticSeverity.Information
    assert note.code == "evaluated-anew"


def test_the_text_in_the_editor_counts_not_that_on_disk(editor: Editor, path: Path) -> None:
    other = path.with_name("other.rules")
    other.write_text(HEAD + 'rule same on change then reply "<x/>"\n')
    try:
        editor.open(path, HEAD + 'rule same on change then reply "<x/>"\n')
        # The fault is in the later file, which is not open.
        (fault,) = editor.diagnostics(max(path, other))
        assert "there is a rule 'same' already" in fault.message
        editor.change(path, HEAD + 'rule mine on change then reply "<x/>"\n')
        editor.diagnostics(max(path, other), lambda found: not found)
    finally:
        other.unlink()


def test_a_query_is_checked_with_the_ontology(editor: Editor, folder: Path) -> None:
    path = folder / "late.rq"
    editor.open(path, HEAD.replace("prefix", "PREFIX") + "SELECT * { ?x a :Humann }", "sparql")
    (note,) = editor.diagnostics(path)
    assert "did you mean :Human?" in note.message
    assert note.severity == types.DiagnosticSeverity.Information
    editor.change(path, "SELECT * { ?x a }")
    (fault,) = editor.diagnostics(path, lambda found: found != [note])
    assert fault.severity == types.DiagnosticSeverity.Error
    assert places([fault]) == [(0, 16, 0, 17)]
    editor.close(path)


def test_classes_follow_a_and_properties_a_semicolon(editor: Editor, path: Path) -> None:
    rule = HEAD + "mapping a\non message {/Message}\nthen insert individual :x a "
    text, line, character = at(rule + ":Hu¦")
    editor.open(path, text)
    items = editor.completions(path, line, character)
    assert labels(items)[0] == ":Human"
    edit = items[0].text_edit
    assert isinstance(edit, types.TextEdit)
    assert (edit.range.start.character, edit.range.end.character) == (character - 3, character)
    text, line, character = at(rule + ":Human\n  ; ¦\n\nrule b on change then")
    editor.change(path, text)
    found = labels(editor.completions(path, line, character))
    assert ":hasXLocation" in found
    assert ":Human" not in found


def test_only_the_words_that_may_follow_are_offered(editor: Editor, path: Path) -> None:
    text, line, character = at(HEAD + "mapping a on message {/a} ¦")
    editor.open(path, text)
    assert labels(editor.completions(path, line, character)) == ["for", "if", "then", "let"]
    text, line, character = at(HEAD + "rule a on change then alert ¦")
    editor.change(path, text)
    assert labels(editor.completions(path, line, character)) == ["info", "warning", "critical"]
    text, line, character = at(HEAD + "rule a every s¦")
    editor.change(path, text)
    assert labels(editor.completions(path, line, character))[:2] == ["saturday", "sunday"]
    text, line, character = at(HEAD + 'rule a every sunday at "07:00" in "UTC" ¦')
    editor.change(path, text)
    assert labels(editor.completions(path, line, character)) == ["if", "then", "from"]


def test_xpath_is_completed_from_the_sample_messages(editor: Editor, path: Path) -> None:
    text, line, character = at(
        HEAD + "mapping a\non message {/Message/Event/Tracker}\nfor each $p in {person}\n"
        "then insert individual :human-{$p/@¦"
    )
    editor.open(path, text)
    items = {item.label: item for item in editor.completions(path, line, character)}
    assert {"@id", "@certainty"} <= set(items)
    assert items["@certainty"].detail is not None
    assert "in the sample messages" in items["@certainty"].detail
    text, line, character = at(HEAD + "mapping a\non message {/¦}\nthen")
    editor.change(path, text)
    assert labels(editor.completions(path, line, character)) == ["Message"]


def test_a_comment_names_other_samples(editor: Editor, path: Path) -> None:
    sample = path.with_name("mine.xml")
    sample.write_text("<Mine xmlns='urn:m'><part weight='5'/></Mine>")
    text, line, character = at(
        f'# sample: {sample.name}\nxmlns n = "urn:m"\n{HEAD}mapping a on message {{/n:Mine/¦}} then'
    )
    editor.open(path, text)
    assert labels(editor.completions(path, line, character)) == ["n:part"]
    sample.unlink()


def test_functions_follow_a_pipe_and_tables_lookup(editor: Editor, path: Path) -> None:
    start = (
        HEAD + 'table rooms from "r.csv" key "a" value "b"\n'
        "mapping a on message {/a} then insert individual :x ; :hasName {@a |> "
    )
    text, line, character = at(start + "¦")
    editor.open(path, text)
    assert {"trim", "lookup", "date"} <= set(labels(editor.completions(path, line, character)))
    text, line, character = at(start + "lookup ¦")
    editor.change(path, text)
    assert labels(editor.completions(path, line, character)) == ["rooms"]


def test_sparql_is_completed_in_rules_and_in_queries(editor: Editor, path: Path) -> None:
    text, line, character = at(
        HEAD + "rule a on insert :Human as ?who\nif select { SELECT ?x { ?who a :Hum¦"
    )
    editor.open(path, text)
    assert labels(editor.completions(path, line, character))[0] == ":Human"
    query = path.with_suffix(".rq")
    text, line, character = at("SELECT ?x FROM NAMED W¦")
    editor.open(query, text, "sparql")
    assert "WINDOW" in labels(editor.completions(query, line, character))
    editor.close(query)


def test_rules_over_time_are_checked_completed_and_outlined(editor: Editor, folder: Path) -> None:
    path = folder / "queries" / "again.dotr"
    text = """PREFIX : <http://sensorstream.example/tracking#>
rule again define { dotr_id1 a :Again ; :at ?t }
from New(SELECT ?x ?t { ?x a :Humann ; :hasTime ?t })
and last Old(SELECT ?y { ?y a :Hum¦an }) within 5 min from New
where Old.?y != New.?x
"""
    text, line, character = at(text)
    editor.open(path, text)
    (fault,) = editor.diagnostics(path)
    assert fault.severity == types.DiagnosticSeverity.Error
    assert fault.message.startswith("?t has no value")
    assert places([fault]) == [(1, 0, 1, 4)]
    editor.change(path, f"{text}with ?t = New.?t")
    (note,) = editor.diagnostics(path, lambda found: [fault] != found != [])
    assert note.message == "the ontology has no class :Humann: did you mean :Human?"
    assert places([note])[0][:2] == (2, 29)
    # Inside of a selector SPARQL is completed, outside the words and labels of the rule.
    inside = labels(editor.completions(path, line, character))
    assert ":Human" in inside
    assert "within" not in inside
    outside = labels(editor.completions(path, 4, len("where O")))
    assert {"Old", "consuming"} <= set(outside)
    told = editor.hover(path, line, character)
    assert told is not None
    assert "class" in told
    (rule,) = editor.outline(path)
    assert (rule.name, rule.range.start.line) == ("again", 1)
    editor.close(path)


def test_hovering_tells_what_a_word_means(editor: Editor, path: Path) -> None:
    text = (
        HEAD + "mapping a\non message {/Message/Event/Tracker}\nfor each $p in {person}\n"
        "then\n  insert individual :h a :Human\n    ; :hasXLocation {$p/@id |> trim} .\n"
    )
    editor.open(path, text)
    lines = text.splitlines()

    def hover(line: int, word: str) -> str:
        return editor.hover(path, line, lines[line].index(word) + 1) or ""

    assert "class" in hover(5, ":Human")
    assert "<http://sensorstream.example/tracking#Human>" in hover(5, ":Human")
    location = hover(6, ":hasXLocation")
    assert "range" in location
    assert "trim" in hover(6, "trim")
    assert "in the sample messages, such as" in hover(6, "@id")
    assert "`person` finds" in hover(3, "person")
    assert editor.hover(path, 4, 0) is None


def test_declarations_are_found(editor: Editor, path: Path) -> None:
    text = (
        HEAD + "mapping a\non message {/Message}\nfor each $p in {person}\n"
        "then insert individual :h-{$p/@id} a :Human .\n"
    )
    editor.open(path, text)
    line = text.splitlines()[4]
    found = editor.definition(path, 4, line.index("$p") + 1)
    assert found is not None
    assert (found.range.start.line, found.range.start.character) == (3, 9)
    found = editor.definition(path, 4, line.index(":Human") + 2)
    assert found is not None
    assert found.range.start.line == 0


def test_a_file_is_laid_out(editor: Editor, path: Path) -> None:
    editor.open(path, "rule a on change # 😀\nthen   reply '<x/>'".replace("'", '"'))
    (edit,) = editor.format(path) or []
    assert edit.new_text == 'rule a\non change  # 😀\nthen\n  reply "<x/>"\n'
    assert (edit.range.start.line, edit.range.start.character) == (0, 0)
    assert (edit.range.end.line, edit.range.end.character) == (1, 19)
    editor.change(path, edit.new_text)
    assert editor.format(path) == []
    editor.change(path, "rule a on")
    assert editor.format(path) is None


def test_the_outline_has_the_rules_also_those_with_faults(editor: Editor, path: Path) -> None:
    editor.open(path, "mapping a on\n\nrule b on change then x\n")
    first, second = editor.outline(path)
    assert (first.name, first.detail, second.name) == ("a", "mapping", "b")
    assert second.range.start.line == 2
    assert second.selection_range.start.character == 5


def test_a_file_without_settings_is_checked_by_itself(editor: Editor, tmp_path: Path) -> None:
    alone = tmp_path / "alone.rules"
    editor.open(alone, "rule a on chance")
    (fault,) = editor.diagnostics(alone)
    assert "unexpected 'chance'" in fault.message
    editor.close(alone)


def test_a_file_that_the_settings_do_not_name_says_so(editor: Editor, folder: Path) -> None:
    other = folder / "other.rules"
    editor.open(other, HEAD + "rule a on insert :Humann as ?x then reply '<x/>'".replace("'", '"'))
    fault, note = editor.diagnostics(other, lambda found: len(found) > 1)
    assert "unknown class" in fault.message
    assert "does not name this file" in note.message
    editor.close(other)


def test_wrong_settings_are_a_fault_of_their_file(editor: Editor, tmp_path: Path) -> None:
    config, rules = tmp_path / "sensorstream.toml", tmp_path / "a.rules"
    config.write_text("[rules]\nfils = []\n")
    editor.open(rules, 'rule a on change then reply "<x/>"\n')
    (fault,) = editor.diagnostics(config)
    assert "fils" in fault.message
    config.write_text('[ontology]\nfiles = ["no.ttl"]\n')
    editor.change(rules, 'rule b on change then reply "<x/>"\n')
    editor.diagnostics(config, lambda found: found != [fault])
    editor.close(rules)


def test_functions_of_the_users_own_are_known_and_may_print(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "print('Content-Length: 3')\n\n"
        'def plate(text: str) -> str:\n    """The plate of a vehicle."""\n    return text\n'
    )
    rules = tmp_path / "a.rules"
    rules.touch()
    (tmp_path / "sensorstream.toml").write_text(
        '[rules]\nfiles = ["*.rules"]\n[functions]\nfiles = ["mine.py"]\n'
    )
    text, line, character = at(
        HEAD + "mapping a on message {/a}\nthen insert individual :x ; :p {@a |> pla¦te} .\n"
    )
    editor.open(rules, text)
    assert labels(editor.completions(rules, line, character))[0] == "plate"
    assert "The plate of a vehicle." in (editor.hover(rules, line, character) or "")
    editor.change(rules, text.replace("plate", "plat"))
    (fault,) = editor.diagnostics(rules)
    assert "did you mean plate?" in fault.message
    editor.close(rules)


def test_a_change_on_disk_counts_when_the_editor_says_so(editor: Editor, tmp_path: Path) -> None:
    ontology = tmp_path / "o.ttl"
    ontology.write_text("<http://e/#C> a <http://www.w3.org/2002/07/owl#Class> .")
    (tmp_path / "sensorstream.toml").write_text(
        '[rules]\nfiles = ["*.rules"]\n[ontology]\nfiles = ["*.ttl"]\n'
    )
    rules = tmp_path / "a.rules"
    rules.write_text('prefix : <http://e/#>\nrule a on insert :D as ?x then reply "<x/>"\n')
    editor.open(rules, rules.read_text())
    (fault,) = editor.diagnostics(rules)
    assert fault.message.startswith("unknown class :D")
    ontology.write_text("<http://e/#D> a <http://www.w3.org/2002/07/owl#Class> .")
    editor.changed_on_disk(ontology)
    editor.diagnostics(rules, lambda found: fault.message not in [f.message for f in found])
    editor.close(rules)
