from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import IRI
from sensorstream.rules.rule_memory import RuleMemory, RuleMemoryChange, SolutionKey, WaitingRule

KEYS: list[SolutionKey] = [(("x", IRI(f"http://example.org/{each}")),) for each in "abc"]


def test_what_has_run_out_is_forgotten() -> None:
    memory = RuleMemory({("r", "old"): 10, ("r", "held"): 30})
    memory.keep(10, RuleMemoryChange({("r", "new"): 20}))
    assert memory.quiet == {("r", "held"): 30, ("r", "new"): 20}


def test_a_copy_stays_as_it_is() -> None:
    memory = RuleMemory({("r", "k"): 10}, {"t": 1}, {"w": {KEYS[0]: WaitingRule(1, 5)}})
    copy = memory.copy()
    memory.keep(5, RuleMemoryChange({("r", "k"): 15}, {"t": 2}, {"w": {KEYS[0]: None}}))
    assert (copy.quiet, copy.ticks, copy.due) == ({("r", "k"): 10}, {"t": 1}, 5)
    assert (memory.quiet, memory.ticks, memory.due) == ({("r", "k"): 15}, {"t": 2}, None)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("r", "s")),
            st.sampled_from(KEYS),
            st.none() | st.builds(WaitingRule, st.integers(0, 9), st.none() | st.integers(0, 9)),
            st.integers(0, 9),
        )
    )
)
def test_the_first_that_is_due_is_that_of_all_that_waits(
    steps: list[tuple[str, SolutionKey, WaitingRule | None, int]],
) -> None:
    memory = RuleMemory()
    for rule, key, holding, time in steps:
        memory.keep(0, RuleMemoryChange(held={rule: {key: holding}}))
        waiting = {
            (name, held): each.due
            for name, all_held in memory.held.items()
            for held, each in all_held.items()
            if each.due is not None
        }
        assert memory.due == min(waiting.values(), default=None)
        due = {held for (name, held), at in waiting.items() if name == rule and at <= time}
        assert set(memory.due_by(rule, time)) == due
