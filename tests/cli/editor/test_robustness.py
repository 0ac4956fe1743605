"""Half a text, a wrong text, a large one: there is an answer, and never an exception."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.cli.editor.call_help import call_help
from sensorstream.cli.editor.completion import MOST, completions, hover
from sensorstream.cli.editor.language_server import diagnostics
from sensorstream.cli.editor.name_places import FUNCTION, TERM, definition, name_places, renaming
from sensorstream.cli.editor.open_document import OpenDocument, SourceText, symbols
from sensorstream.cli.editor.open_files import EditedOntologies, OpenFiles
from sensorstream.cli.editor.quick_fixes import quick_fixes
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.errors import LanguageError, Position
from sensorstream.installation import bundled
from sensorstream.settings.settings import OntologySettings

RULES = (bundled("mapping_rules") / "tracking.rules").read_text("utf-8") + (
    'table t from "t.csv" key "a" value "b"\n'
    'mapping more on message {/a/b[@c="d"]} for each $x in {e[f]/g} then\n'
    "insert individual :x-{$x/@y |> lookup t |> lower} ; :p [ :q ( {a} ) ] .\n"
)
QUERY = (bundled("ontologies").parent / "examples" / "citybench" / "Q1.rq").read_text("utf-8")
FILES = OpenFiles()
PIECES = st.text("{}[]()\"'<>@$?:;.,|/#\\ \n\taé😀", max_size=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deployment")
    make_workspace(folder, TEMPLATES["tracking"])
    return folder


@pytest.mark.parametrize(("name", "text"), [("a.rules", RULES), ("a.rq", QUERY)])
@settings(max_examples=80)
@given(start=st.integers(0, 4000), length=st.integers(0, 30), written=PIECES, data=st.data())
def test_every_place_of_a_damaged_text_has_an_answer(
    folder: Path, name: str, text: str, start: int, length: int, written: str, data: st.DataObject
) -> None:
    damaged = text[:start] + written + text[start + length :]
    path = FILES.put((folder / "rules" / name).as_uri(), damaged)
    document = FILES.document(path.as_uri())
    assert document is not None
    offset = data.draw(st.integers(0, len(damaged)) | st.just(min(start + 2, len(damaged))))
    for each in completions(document, offset):
        assert each.span.end == offset
        assert each.span.start >= 0
    hover(document, offset)
    definition(document, offset)
    help_there = call_help(document, offset)
    assert help_there is None or help_there.active >= 0
    with suppress(LanguageError):
        new, spans = renaming(document, offset, "fresh_name")
        assert new == "fresh_name"
        assert len({damaged[slice(*each)] for each in spans}) == 1
    assert symbols(damaged) is not None
    found = diagnostics(path, FILES.unsaved(), FILES.ontologies)
    assert path in found
    source = document.source
    for fault in found[path]:
        place = source.offset_of(fault.position)
        assert 0 <= place <= len(damaged)
        for fix in quick_fixes(document, fault.message, source.word_at(place), ()):
            assert 0 <= fix.span.start <= fix.span.end <= len(damaged)


def test_what_was_renamed_has_no_new_fault_and_can_be_renamed_back(folder: Path) -> None:
    for name, text in (("a.rules", RULES), ("a.rq", QUERY)):
        path = folder / "rules" / name
        document = OpenDocument(path, text, folder)
        before = len(diagnostics(path, {path: text}, FILES.ontologies)[path])
        keys = set()
        for place in name_places(document):
            if place.key in keys or place.kind in (TERM, FUNCTION):
                continue
            keys.add(place.key)
            renamed = text
            # The last one first, so that the places before it stay.
            new, spans = renaming(document, place.whole.start, "fresh_name")
            for start, end in reversed(spans):
                renamed = renamed[:start] + new + renamed[end:]
            found = diagnostics(path, {path: renamed}, FILES.ontologies)[path]
            assert len(found) == before, place
            old, spans = renaming(
                OpenDocument(path, renamed, folder), spans[0].start, place.name.rpartition(".")[2]
            )
            for start, end in reversed(spans):
                renamed = renamed[:start] + old + renamed[end:]
            assert renamed == text
        assert len(keys) > 5


@given(st.text("a\t\né😀\r\u2028", max_size=20), st.data())
def test_places_and_offsets_are_each_others_inverse(text: str, data: st.DataObject) -> None:
    source = SourceText(text)
    offset = data.draw(st.integers(0, len(text)))
    place = source.place(offset)
    assert place.line == text.count("\n", 0, offset)
    before = text[:offset].rpartition("\n")[2]
    assert place.character == len(before.encode("utf-16-le")) // 2
    if not before.endswith("\r"):
        assert source.offset(*place) == offset
        assert source.offset_of(Position("", place.line + 1, len(before) + 1)) == offset


def test_places_outside_a_text_are_the_nearest_inside() -> None:
    source = SourceText("ab\ncd")
    assert source.offset(0, 99) == 2
    assert source.offset(9, 9) == 5
    assert source.offset_of(Position("", 9, 9)) == 5
    assert source.offset_of(Position("", 1, 9)) == 2


def test_a_large_ontology_is_offered_in_parts(tmp_path: Path) -> None:
    lines = ["@prefix : <http://e/#> .", "@prefix owl: <http://www.w3.org/2002/07/owl#> ."]
    lines += [f":Class{number} a owl:Class ." for number in range(2000)]
    (tmp_path / "large.ttl").write_text("\n".join(lines))
    (tmp_path / "sensorstream.toml").write_text(
        '[ontology]\nfiles = ["*.ttl"]\n[rules]\nfiles = ["*.rules"]\n'
    )
    (tmp_path / "a.rules").touch()
    text = "prefix : <http://e/#>\nmapping a on message {/a} then insert individual :x a :class199"
    files = OpenFiles()
    path = files.put((tmp_path / "a.rules").as_uri(), text)
    document = files.document(path.as_uri())
    assert document is not None
    found = [each.text for each in completions(document, len(text))]
    assert sorted(found) == sorted([":Class199", *(f":Class{n}" for n in range(1990, 2000))])
    everything = completions(document, len(text) - len(":class199"))
    assert len(everything) == MOST


def test_a_file_of_a_thousand_rules_is_checked_and_completed(tmp_path: Path) -> None:
    rule = "mapping m{0} on message {{/a{0}}}\nthen insert individual :x-{{@id}} ; :p {{@v}} .\n"
    text = "prefix : <http://e/#>\n" + "".join(rule.format(number) for number in range(1000))
    broken = text + "mapping last on massage {/a} then\n"
    path = tmp_path / "a.rules"
    (fault,) = diagnostics(path, {path: broken}, EditedOntologies())[path]
    assert fault.position.line == 2002
    document = OpenDocument(path, text, tmp_path)
    end = text.rindex("then insert")
    assert [each.text for each in completions(document, end)] == ["for", "if", "then", "let"]


def test_an_ontology_with_a_fault_leaves_the_names_of_before(tmp_path: Path) -> None:
    ontology = tmp_path / "o.ttl"
    ontology.write_text("<http://e/#C> a <http://www.w3.org/2002/07/owl#Class> .")
    deployment = OntologySettings(files=(ontology,))
    ontologies = EditedOntologies()
    assert len(ontologies.names(deployment).names) == 1
    ontology.write_text("this is no Turtle")
    assert len(ontologies.names(deployment).names) == 1


def test_samples_that_are_no_messages_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "a.xml").write_text("<a")
    (tmp_path / "messages" / "b.xml").write_text("<b><c/></b>")
    (tmp_path / "messages" / "c.xml").write_text("<d>" + " " * (1 << 20) + "</d>")
    document = OpenDocument(tmp_path / "a.rules", "", tmp_path)
    assert [root.tag for root in document.samples] == ["b"]
