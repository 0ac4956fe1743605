from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sensorstream.cli.command_group import COMMANDS
from sensorstream.cli.editor.completion import WORDS
from sensorstream.errors import Position
from sensorstream.installation import bundled
from sensorstream.language import parse
from sensorstream.language.rule_lexer import KEYWORDS, LexedText, tokens
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.sparql.functions import FUNCTIONS
from sensorstream.sparql.query_lexer import AGGREGATES
from sensorstream.sparql.query_lexer import KEYWORDS as SPARQL_KEYWORDS
from tests.cli.editor.textmate import FOLDER, grammar, includes, read, regexes, scoped

RULES = "source.sensorstream-rules"
SPARQL = "source.sensorstream-sparql"
DOTR = "source.sensorstream-dotr"
ROOT = bundled("ontologies").parent
SAMPLES = [*(ROOT / "mapping_rules").glob("*.rules"), *(ROOT / "examples").rglob("*.rules")]


def last_scope(text: str, word: str, scope: str) -> str:
    """The innermost scope of the first piece that is, or holds, a word."""
    pieces = scoped(text, scope)
    exact = [piece for piece in pieces if piece.text == word]
    return (exact or [piece for piece in pieces if word in piece.text])[0].scopes[-1]


@pytest.mark.parametrize("scope", [RULES, SPARQL, DOTR])
def test_every_regular_expression_can_be_read_and_every_name_is_there(scope: str) -> None:
    rules = grammar(scope)
    found = list(regexes(rules))
    assert len(found) > 8
    for regex in found:
        re.compile(regex)
        # Oniguruma reads these otherwise than Python, or not at all.
        assert not re.search(r"\(\?P|\\Z|\(\?\(|\\p", regex)
    for name in includes(rules):
        assert name in (RULES, SPARQL, DOTR) or name[1:] in rules["repository"]


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_every_word_of_the_rule_language_is_a_keyword(word: str) -> None:
    scope = last_scope(f"{word} ", word, RULES)
    assert scope.startswith(("keyword.", "constant.language."))


@pytest.mark.parametrize("word", ["message", "lets", "in-a", "for_", "no", "Select"])
def test_no_other_word_is(word: str) -> None:
    if word not in KEYWORDS:
        assert last_scope(f"{word} ", word, RULES) == RULES


def test_every_word_of_stream_sparql_is_a_keyword_or_a_function() -> None:
    for word in (*SPARQL_KEYWORDS, word_a := "a"):
        scope = last_scope(word, word, SPARQL)
        assert scope.startswith(("keyword.", "constant.language.")), (word, word_a)
        assert last_scope(word.lower(), word.lower(), SPARQL) == scope
    for word in (*FUNCTIONS, *AGGREGATES):
        assert last_scope(word, word, SPARQL).startswith("support.function."), word


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_tokens_of_rule_files_get_the_scopes_of_their_kinds(path: Path) -> None:
    text = path.read_text("utf-8")
    assert parse(text).rules
    expected = {
        "VARIABLE": "variable.other.",
        "NODE_VARIABLE": "variable.other.",
        "NUMBER": "constant.numeric.",
        "IRI": "string.other.iri.",
        "TEXT": "string.quoted.",
        "LANGUAGE": "storage.type.language.",
    }
    pieces = iter(scoped(text, RULES))
    checked = 0
    for token in tokens(LexedText(text, "")):
        wanted = expected.get(token.type)
        if wanted is None and token.value not in KEYWORDS:
            continue
        # The pieces come in the order of the text.
        piece = next(p for p in pieces if p.text == token.value or token.value.startswith(p.text))
        scopes = piece.scopes[1:]
        starts = (wanted,) if wanted else ("keyword.", "constant.language.")
        if token.type != "NAME":
            assert any(scope.startswith(starts) for scope in scopes), (token, piece)
            checked += 1
    assert checked > 10


def test_holes_texts_and_queries_have_their_own_scopes() -> None:
    text = """\
# let me
mapping for-all on message {/m:A[@k='then']/b}
then insert individual :x-{$p/@id |> lower}.y a <http://e/{@a}> ; :p "if {@q} {{ \\n"@en .
rule b on change if select { SELECT ?x { ?x a :C . FILTER(?x > 5) {} } } and exists :D
then alert info "x" delete individual ?x .
"""
    pieces = scoped(text, RULES)
    scopes = {piece.text: piece.scopes for piece in pieces}
    assert scopes["# let me"][-1].startswith("comment.")
    assert scopes["for-all"][-1] == "entity.name.function.sensorstream"
    assert scopes["'then'"][-1].startswith("string.quoted.other.xpath")
    assert scopes["@k"][-1].startswith("entity.other.attribute-name")
    assert scopes["lower"][-1] == "support.function.value.sensorstream"
    assert scopes[".y"][-1].startswith("entity.name.type")
    assert scopes["{{"][-1].startswith("constant.character.escape")
    assert "string.quoted.double.sensorstream" in scopes["@q"]
    assert scopes["FILTER"][-1] == "keyword.other.sensorstream-sparql"
    assert scopes["info"][-1].startswith("constant.language.severity")
    # After the query, and after every hole, the text is in the rule language again.
    assert scopes["exists"] == (RULES, "keyword.other.sensorstream")
    assert scopes["individual"] == (RULES, "keyword.other.sensorstream")


def test_every_word_of_rules_over_time_is_a_keyword() -> None:
    for word in WORDS[: WORDS.index("count")]:
        for written in (word, word.upper()):
            scope = last_scope(f"{written} ", written, DOTR)
            assert scope.startswith(("keyword.", "constant.numeric.")), word
    for word in ("count", "sum", "avg", "min", "max"):
        assert last_scope(f"{word}(E(", word, DOTR).startswith("support.function."), word


def test_rules_over_time_have_scopes_for_labels_lengths_and_their_queries() -> None:
    text = """\
:p(?x, ?y) :- :q(?y), not :r(?x). # so
rule fire define { dotr_id1 a :Fire } from Smoke(SELECT ?r { ?r a :S FILTER(?r != :x) })
and last High(SELECT ?v { ?v :within :y }) within 5 min from Smoke
where High.?v = 3 consuming High
"""
    # The first place of each counts.
    scopes = {piece.text: piece.scopes for piece in reversed(scoped(text, DOTR))}
    assert scopes["# so"][-1].startswith("comment.")
    assert scopes[":-"][-1].startswith("keyword.operator.")
    assert scopes["fire"][-1].startswith("entity.name.function.")
    assert scopes["dotr_id1"][-1].startswith("variable.other.identifier.")
    assert scopes["Smoke"][-1].startswith("entity.name.type.label.")
    assert "meta.embedded.sparql.sensorstream-dotr" in scopes["FILTER"]
    assert scopes["5 min"][-1].startswith("constant.numeric.duration.")
    # The brackets of the filter do not end the query; behind it are rules over time again.
    assert scopes["consuming"] == (DOTR, "keyword.other.sensorstream-dotr")
    assert scopes["High"][-1].startswith("entity.name.type.label.")
    assert scopes["?v"][-1].startswith("variable.other.")


def test_the_snippets_are_rules_over_time() -> None:
    for name, snippet in read(FOLDER / "snippets" / "dotr.json").items():
        text = re.sub(r"\$\{\d+\|(\w+)[^}]*\|\}", r"\1", "\n".join(snippet["body"]))
        text = re.sub(r"\$\{\d+:([^{}]*)\}", r"\1", text)
        program = read_program(f"PREFIX : <http://e/>\n{text}", name="r", start=Position("r", 1, 1))
        assert len(program.rules) == 1, name


def test_the_extension_names_files_that_are_there() -> None:
    package = read(FOLDER / "package.json")
    contributed = package["contributes"]
    paths = [
        package["main"],
        *(each["configuration"] for each in contributed["languages"]),
        *(each["path"] for each in contributed["grammars"] + contributed["snippets"]),
    ]
    for path in paths:
        assert (FOLDER / path).is_file()
    for each in contributed["grammars"]:
        assert read(FOLDER / each["path"])["scopeName"] == each["scopeName"]
    for path in FOLDER.glob("*.json"):
        read(path)
    assert "language-server" in COMMANDS
    assert 'args: ["language-server"]' in (FOLDER / "extension.js").read_text("utf-8")


def test_the_snippets_are_rules() -> None:
    for name, snippet in read(FOLDER / "snippets" / "rules.json").items():
        text = "\n".join(snippet["body"])
        text = re.sub(r"\$\{\d+\|(\w+)[^}]*\|\}", r"\1", text)
        text = re.sub(r"\$\{\d+:([^{}]*)\}", r"\1", text).replace("\\$", "$")
        assert len(parse(f"prefix : <http://e/>\n{text}").rules) == 1, name


@pytest.mark.skipif(
    shutil.which("node") is None, reason="node, which reads JavaScript, is not installed"
)
def test_the_extension_is_javascript() -> None:
    checked = subprocess.run(
        ["node", "--check", str(FOLDER / "extension.js")], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
