"""Whatever text comes, the answer is a tree or an error of the language with its place."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.installation import bundled
from sensorstream.language import parse_with_faults
from sensorstream.mapping import check
from sensorstream.model.schema import Schema

HEAD = """table rooms from "rooms.csv" key "code" value "room"
message each {/Batch/Message}
"""
EVERYTHING = """
mapping everything
on message {/Message}
if {@a |> extract "^[a-z]+"}
then
  insert individual _:node-{@a |> lower} a :Room
    ; :x {@x |> number decimal ',' |> * 2.5 |> round 1} if valid or {@y} or reject
    ; :y ( :a {@b |> date "%Y-%m-%d" or iso in "Europe/Athens"} [ :z "{@c |> default '}'}" ] )
    ; :at known :Room with :code {@code |> lookup rooms} or known :room-{@r} or skip individual .
"""
RULES = HEAD + (bundled("mapping_rules") / "city.rules").read_text("utf-8") + EVERYTHING
PIECES = st.sampled_from(
    ["{", "}", '"', "'", "<", ">", "#", "\\", "@", "$", ";", "\n", "[", "then", "|>", "(", "or"]
)


def test_the_file_to_be_damaged_is_whole() -> None:
    _, found = parse_with_faults(RULES, "f")
    assert found == ()


@settings(max_examples=60)
@given(
    st.integers(0, len(RULES)),
    st.integers(0, 40),
    st.lists(PIECES | st.text(max_size=3), max_size=4),
)
def test_a_damaged_file_is_an_error_with_a_place_inside_it(
    start: int, length: int, pieces: list[str]
) -> None:
    damaged = RULES[:start] + "".join(pieces) + RULES[start + length :]
    tree, found = parse_with_faults(damaged, "f")
    for fault in found or check([tree], Schema()):
        assert fault.position is not None
        assert 1 <= fault.position.line <= damaged.count("\n") + 1
        assert fault.position.column >= 1
