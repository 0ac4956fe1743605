import pytest

from sensorstream.errors import LanguageError
from sensorstream.language import parse, parse_with_faults
from sensorstream.language.wellformed import same_names

HEAD = "prefix : <http://example.org/t#>\n"
MAPPING = "mapping m on message {/a} then\n"
RULE = "rule r on change then\n"
SAYS = MAPPING + "insert individual "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SAYS + "x:a a :C .", "3:19: undeclared prefix 'x:': expected 'prefix"),
        (SAYS + ":a .", "3:1: the individual gets neither a class nor a pro"),
        (SAYS + "?a a :C .", "3:19: ?a belongs to semantic rules: expected an"),
        (SAYS + ":a ; :p {a}^^:C-{@x} .", "3:32: a datatype cannot have holes"),
        (SAYS + ":a ; :p-{@x} 1 .", "3:24: a property cannot have holes"),
        (SAYS + ":a ; :p {1}^^:{@x} .", "3:32: a datatype cannot have holes"),
        (
            "mapping m on message {/a} for each $x in {b} for each $x in {c} then "
            "insert individual :a a :C .",
            "2:55: $x is bound twice: expected another name",
        ),
        (RULE + "insert individual :a a :C at {1} .", "3:31: 'at' belongs to mapping rules"),
        (RULE + "insert individual :a ; :p [ a :C ] .", "3:27: '[' belongs to mapping rules"),
        (RULE + "insert individual :a ; :p {@x} .", "3:27: an XPath belongs to mapping rules"),
        (RULE + 'reply "{@x}"', "3:9: unexpected '@x' in the braces of a semantic rule: expected"),
        (
            "rule r on insert :{?x} as ?x then reply 1".replace("1", '"a"'),
            "2:18: a class cannot have holes",
        ),
        ('rule r on change then reply "a"\n' * 2, "3:6: there is a rule 'r' already, at f:2:6"),
        ("prefix : <http://other/>", "2:8: prefix ':' is declared twice"),
        ("prefix ex: <nothing>", "2:8: 'nothing' is not an absolute IRI: expected a scheme"),
        ('xmlns m = "urn:a"\nxmlns m = "urn:b"', "3:7: xmlns 'm' is declared twice"),
        ('xmlns m = ""', "2:7: xmlns 'm' is empty: expected a namespace"),
    ],
)
def test_what_no_rule_can_mean_is_refused(text: str, message: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(HEAD + text, "f")
    assert str(caught.value).startswith(f"f:{message}")


def test_a_name_used_in_two_files_is_found_across_them() -> None:
    one, two = (parse('rule r on change then reply "a"', file) for file in ("one", "two"))
    (fault,) = same_names([one, two])
    assert str(fault).startswith("two:1:6: there is a rule 'r' already, at one:1:6")


def test_all_faults_of_a_file_are_found_at_once() -> None:
    text = MAPPING + "insert individual x:a a y:C .\n" + MAPPING + "insert individual :a .\n"
    _, found = parse_with_faults(HEAD + text, "f")
    assert [str(fault).split(" ")[0] for fault in found] == [
        "f:3:19:",
        "f:3:25:",
        "f:4:9:",
        "f:5:1:",
    ]


def test_a_syntax_error_is_the_only_fault_and_leaves_no_tree() -> None:
    tree, found = parse_with_faults(HEAD + "mapping m on", "f")
    assert tree.rules == ()
    assert [str(fault).split(" ")[0] for fault in found] == ["f:2:13:"]
