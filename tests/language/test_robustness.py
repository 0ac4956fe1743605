"""Whatever text comes, the answer is a tree or an error of the language with its place."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.language import parse_with_faults
from sensorstream.mapping import check
from sensorstream.model.schema import Schema
from sensorstream.resources import bundled

RULES = (bundled("mapping_rules") / "city.rules").read_text("utf-8")
PIECES = st.sampled_from(
    ["{", "}", '"', "'", "<", ">", "#", "\\", "@", "$", ";", "\n", "[", "then"]
)


@settings(max_examples=60, deadline=None)
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
