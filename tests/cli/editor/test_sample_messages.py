from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.cli.editor.completion import completions, hover
from sensorstream.cli.editor.open_document import OpenDocument

BATCH = """\
<Batch sent="5"><head><from>a</from></head>
  <Position id="1"><at x="72"/></Position>
  <Position id="2"><at y="6"/></Position>
</Batch>
"""
HEAD = "prefix : <http://e/>\nmessage each {/Batch/Position}\n"


def offered(folder: Path, text: str) -> list[str]:
    """What is offered at the mark ``¦``, without functions."""
    offset = text.index("¦")
    document = OpenDocument(folder / "a.rules", text.replace("¦", ""), folder)
    return [each.text for each in completions(document, offset) if not each.text.endswith("(")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "batch.xml").write_text(BATCH)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("message each {/¦}", ["Batch"]),
        ("message each {/Batch/¦}", ["head", "Position", "@sent"]),
        (HEAD + "mapping a on message {/¦} then", ["Position"]),
        (HEAD + "mapping a on message {/Position} if {¦", ["at", "@id"]),
        (HEAD + "mapping a on message {/Position} if {at/@¦", ["@x", "@y"]),
        (HEAD + "mapping a on message {/Position} if {../¦", ["head", "Position", "@sent"]),
        (HEAD + "mapping a on message {/Position} if {/Position/¦", ["at", "@id"]),
        (HEAD + "mapping a on message {/Position[@¦", ["@id"]),
        (
            HEAD + "mapping a on message {/Position} for each $a in {at} let $x = {$a/@x} if {¦",
            ["$a", "$x", "at", "@id"],
        ),
        (HEAD + "mapping a on message {/Position} for each $a in {at} if {$a/¦", ["@x", "@y"]),
        (
            HEAD + 'mapping a on message {/Position} then insert individual :x ; :p "a"@{¦',
            ["at", "@id"],
        ),
        (
            HEAD + "mapping a on message {/Position} then insert individual :x a <{at/¦",
            ["@x", "@y"],
        ),
    ],
)
def test_paths_begin_where_the_rule_begins(folder: Path, text: str, names: list[str]) -> None:
    assert offered(folder, text) == names


def test_a_path_without_prefix_of_its_namespace_offers_nothing(folder: Path) -> None:
    (folder / "messages" / "batch.xml").write_text("<Batch xmlns='urn:b'/>")
    assert offered(folder, "mapping a on message {/¦") == []
    assert offered(folder, 'xmlns b = "urn:b"\nmapping a on message {/¦') == ["b:Batch"]


def test_hovering_a_step_tells_what_the_path_up_to_it_finds(folder: Path) -> None:
    text = HEAD + "mapping a on message {/Position} if {at/@x}"
    document = OpenDocument(folder / "a.rules", text, folder)
    found = hover(document, text.index("@x") + 1)
    assert found is not None
    assert found.text == "`at/@x` finds 1 in the sample messages, such as\n\n- `72`"
    found = hover(document, text.rindex("at/") + 1)
    assert found is not None
    assert found.text.startswith("`at` finds 2 ")
