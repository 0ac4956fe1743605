from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.installation import bundled
from sensorstream.language import parse, parse_with_faults
from sensorstream.language.rule_parser import parse_with_recovery, rule_starts

TEXT = """\
prefix : <http://example.org/t#>

mapping first
on message {/a}
then insert individual :x a :C

mapping second
on message {/b}
then insert individual :y a no:C .

rule third
on chance
then reply "x"

# The only good one.
rule fourth on change
then reply "{?x}"

mapping fifth
on message {/b
"""


def test_every_rule_with_a_fault_is_reported_and_the_others_are_read() -> None:
    tree, faults = parse_with_recovery(TEXT, "f")
    assert tree is not None
    assert [rule.name for rule in tree.rules] == ["fourth"]
    assert [str(fault).split(": expected")[0] for fault in faults] == [
        "f:7:1: unexpected 'mapping'",
        "f:9:29: undeclared prefix 'no:'",
        "f:12:4: unexpected 'chance'",
        "f:20:12: '{' is never closed",
    ]


def test_a_fault_of_the_head_leaves_no_tree() -> None:
    for head in ("prefix <x>", "prefix a: <u:x>\nprefix a: <u:y>"):
        tree, faults = parse_with_recovery(f"{head}\n{TEXT}")
        assert tree is None
        assert faults[0].position is not None
        assert faults[0].position.line <= 3


CITY = (bundled("mapping_rules") / "city.rules").read_text("utf-8")
STARTS = rule_starts(CITY)


@settings(max_examples=60)
@given(st.integers(0, len(CITY)), st.integers(0, 40), st.text('{}"<#;.[\n', max_size=3))
@example(STARTS[2] + 1, 0, ";")
def test_a_damage_costs_only_the_rules_that_it_touches(
    start: int, length: int, written: str
) -> None:
    damaged = CITY[:start] + written + CITY[start + length :]
    _, expected = parse_with_faults(damaged, "f")
    tree, faults = parse_with_recovery(damaged, "f")
    assert bool(faults) == bool(expected)
    rules = zip(STARTS, [*STARTS[1:], len(CITY)], parse(CITY).rules, strict=True)
    seen = rule_starts(damaged)
    # A rule before the damage ends where the next one is seen to begin.
    untouched = [rule for a, b, rule in rules if (b < start and b in seen) or a > start + length]
    if tree is None:
        # Damage that hides where the first rule begins is damage of the head.
        assert start <= STARTS[0] or STARTS[0] not in seen
    elif start >= STARTS[0]:  # all rules depend on the head
        assert [rule for rule in untouched if rule not in tree.rules] == []
