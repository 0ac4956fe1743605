from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import LanguageError
from sensorstream.installation import bundled
from sensorstream.language import parse_with_faults, print_rules
from sensorstream.language import syntax as s
from sensorstream.language.rule_layout import format_rules
from sensorstream.language.rule_lexer import SPARQL_SKIP, LexedText, tokens
from sensorstream.sparql.walk import nodes
from tests.language.test_rule_printer import files

ROOT = bundled("mapping_rules").parent
FILES = sorted(
    path
    for folder in ("mapping_rules", "examples", "benchmarks", "tests")
    for path in (ROOT / folder).rglob("*.rules")
)
BLOCKS = [
    block
    for page in ("mapping-rules.md", "semantic-rules.md")
    for block in re.findall(
        r"^```rules\n(.*?)^```$", (ROOT / "docs" / "use" / page).read_text("utf-8"), re.S | re.M
    )
]


def spaced(sparql: str) -> str:
    """SPARQL with one space for every run of it outside strings, IRIs and comments."""
    pieces = []
    done = 0
    for kept in SPARQL_SKIP.finditer(sparql):
        pieces += [re.sub(r"\s+", " ", sparql[done : kept.start()]), kept.group().rstrip()]
        done = kept.end()
    return "".join((*pieces, re.sub(r"\s+", " ", sparql[done:])))


def meaning(text: str) -> Any:
    """The tree, without the space of its SPARQL."""

    def plain(node: Any) -> Any:
        if isinstance(node, s.Sparql):
            return spaced(node.text)
        if isinstance(node, tuple):
            return tuple(map(plain, node))
        if is_dataclass(node):
            return type(node), *(
                plain(getattr(node, field.name)) for field in fields(node) if field.compare
            )
        return node

    return plain(parse_with_faults(text)[0])


def comments(text: str) -> list[str]:
    found, done = [], 0
    for token in tokens(LexedText(text, "")):
        found += re.findall(r"#[^\n]*", text[done : token.start_pos])
        done = (token.start_pos or 0) + len(token.value)
    return [each.rstrip() for each in (*found, *re.findall(r"#[^\n]*", text[done:]))]


def gaps(text: str) -> Iterator[int]:
    """The offsets behind tokens."""
    for token in tokens(LexedText(text, "")):
        yield (token.start_pos or 0) + len(token.value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_rule_file_of_the_project_keeps_its_meaning(path: Path) -> None:
    text = path.read_text("utf-8")
    formatted = format_rules(text)
    assert meaning(formatted) == meaning(text)
    assert comments(formatted) == comments(text)
    assert format_rules(formatted) == formatted


def test_the_bundled_rules_are_laid_out_already() -> None:
    for path in (ROOT / "mapping_rules").glob("*.rules"):
        assert format_rules(path.read_text("utf-8")) == path.read_text("utf-8")


def test_the_examples_of_the_reference_keep_their_meaning() -> None:
    formatted = 0
    for text in BLOCKS:
        try:
            made = format_rules(text)
        except LanguageError:  # an example of an error
            continue
        formatted += 1
        assert meaning(made) == meaning(text)
        assert format_rules(made) == made
    assert formatted >= 15


spaces = st.sampled_from(
    ["\n", "\n\n", " # why\n", "\n# a {comment}\n", "\t\n\n  # two\n\n\n", "  "]
)


@settings(max_examples=60)
@given(files, st.data())
def test_comments_and_line_breaks_anywhere_are_kept_and_change_nothing(
    file: s.RuleFile, data: st.DataObject
) -> None:
    text = print_rules(file)
    places = list(gaps(text))
    chosen = data.draw(st.sets(st.sampled_from(places), max_size=6)) if places else set()
    for offset in sorted(chosen, reverse=True):
        text = text[:offset] + data.draw(spaces) + text[offset:]
    if data.draw(st.booleans()):
        text += "# the end"
    formatted = format_rules(text)
    assert meaning(formatted) == meaning(text)
    assert comments(formatted) == comments(text)
    assert format_rules(formatted) == formatted


@settings(max_examples=40)
@given(files)
def test_the_printer_writes_the_same_layout(file: s.RuleFile) -> None:
    def flat(rule: s.Rule) -> bool:
        return not any("\n" in q.text or "#" in q.text for q in nodes(rule, s.Sparql))

    file = replace(file, rules=tuple(filter(flat, file.rules)))
    text = print_rules(file)
    assert format_rules(text) == text


def test_rules_on_one_line_get_the_layout_that_people_write() -> None:
    text = """\
# The head.
prefix : <http://example.org/t#>   # ours
message   each { /Batch/Message }


mapping a on message { /a/b } for each $p in {p} if {$p/@x}   and {@y} then insert individual
:h-{ @id } a :Human,:Actor at {@t|>date iso} ; :x {@x} ^^ xsd:int, "a  {b}" @en ; :y [ a :P;:z {z}
; :w 1 ] or skip individual. update individual :k ; :l (1 2) .
  # The last words of a.
# About b.
rule b on change if not exists :A and select {
      SELECT ?x {
        ?x :p \"\"\"two
lines\"\"\" # why
      }
} and ask { ASK {} } then alert info "x" key "y"
 for "1" delete { ?s ?p ?o . # all
 }
"""
    assert (
        format_rules(text)
        == """\
# The head.
prefix : <http://example.org/t#>  # ours
message each {/Batch/Message}

mapping a
on message {/a/b}
for each $p in {p}
if {$p/@x} and {@y}
then
  insert individual
    :h-{ @id } a :Human, :Actor at {@t |> date iso}
    ; :x {@x}^^xsd:int, "a  {b}"@en
    ; :y [ a :P ; :z {z}
        ; :w 1 ] or skip individual .
  update individual :k
    ; :l ( 1 2 ) .
  # The last words of a.

# About b.
rule b
on change
if not exists :A and select {
  SELECT ?x {
    ?x :p \"\"\"two
lines\"\"\" # why
  }
} and ask { ASK {} }
then
  alert info "x" key "y"
    for "1"
  delete { ?s ?p ?o . # all
  }
"""
    )


def test_lines_end_as_they_did() -> None:
    text = 'rule a on change\r\nif select {\r\n SELECT *\r\n {} }\r\nthen reply """a\r\nb"""\r\n'
    assert format_rules(text) == (
        "rule a\r\non change\r\nif select {\r\n  SELECT *\r\n  {} }\r\nthen\r\n"
        '  reply """a\r\nb"""\r\n'
    )
    assert format_rules("") == ""
    assert format_rules("  # only this") == "# only this\n"


def test_a_file_with_a_syntax_error_is_refused_with_its_place() -> None:
    with pytest.raises(LanguageError, match=r"x\.rules:2:6: unexpected 'chance'"):
        format_rules("rule a\n  on chance", "x.rules")


def test_names_that_nobody_declared_are_no_obstacle() -> None:
    assert format_rules("rule a on insert no:C as ?x then reply 'x'".replace("'", '"')) == (
        'rule a\non insert no:C as ?x\nthen\n  reply "x"\n'
    )
