"""Notes on mapping rules."""

from __future__ import annotations

from sensorstream.errors import Position
from sensorstream.language.rule_parser import parse
from sensorstream.mapping.mapping_notes import mapping_notes

RULE = "mapping {name}\non message {{{path}}}\nthen insert individual <urn:a> a <urn:C> .\n"


def rules(*paths: str) -> str:
    return "".join(RULE.format(name=f"r{n}", path=path) for n, path in enumerate(paths))


def test_a_path_that_cannot_be_looked_up_is_told_with_its_place() -> None:
    file = parse(rules("/M[@k='v']/E", "/M/E[position()=2]", "(//E)[1]"), "f")
    found = [(note.code, note.text, note.position) for note in mapping_notes([file])]
    assert found == [
        (
            "not-indexed",
            "rule r1: its path cannot be looked up whole, because of 'position()=2': "
            "it is tried on the messages that have the rest of it",
            Position("f", 5, 13),
        ),
        (
            "not-indexed",
            "rule r2: its path cannot be looked up whole, because of '(//E)[1]': "
            "it is tried on every one",
            Position("f", 8, 13),
        ),
    ]


def test_a_rule_that_is_not_linear_is_told_with_the_size_that_it_takes_at_once() -> None:
    file = parse(rules("/M").replace("a <urn:C>", 'a <urn:C> ; <urn:p> "{//a/..}"'), "f")
    (note,) = mapping_notes([file])
    assert (note.code, note.position) == ("not-linear", Position("f", 3, 54))
    assert "{//a/..} takes up to n^2 steps" in note.text
    assert "more than 3162 nodes" in note.text


def test_the_rules_of_a_file_that_are_not_linear_have_one_note_at_the_worst() -> None:
    text = rules("/M", "/M", "/M")
    for path in ("{//a}", "{//a/..}", "{count(//a/following::b)}"):
        text = text.replace("a <urn:C> .", f'a <urn:C> ; <urn:p> "{path}" .', 1)
    (note,) = mapping_notes([parse(text, "f")])
    assert note.text.startswith("rule r2: {count(//a/following::b)} takes up to n^3 steps")
    assert note.text.endswith("limits.mapping_seconds (not linear either: r1)")


def test_values_that_a_function_takes_by_place_are_not_in_the_order_of_a_union() -> None:
    def codes(hole: str) -> list[str]:
        text = rules("/M").replace("a <urn:C>", f"a <urn:C> ; <urn:p> {{{hole}}}")
        return [each.code for each in mapping_notes([parse(text, "f")])]

    assert codes('@lat | @lon |> join " " |> wkt lat lon') == ["document-order"]
    assert codes("concat(@lat, ' ', @lon) |> wkt lat lon") == []
    assert codes("p[@a = '|'] |> wkt lat lon") == []
    assert codes("@lat | @lon |> round") == []
