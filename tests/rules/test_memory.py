from __future__ import annotations

from sensorstream.rules.memory import RuleMemory


def test_what_has_run_out_is_forgotten() -> None:
    memory = RuleMemory({("r", "old"): 10, ("r", "held"): 30})
    assert memory.after(10, {("r", "new"): 20}, {}, {}, {}).quiet == {
        ("r", "held"): 30,
        ("r", "new"): 20,
    }


def test_news_do_not_change_the_memory_before() -> None:
    memory = RuleMemory({("r", "k"): 10}, {"t": 1})
    later = memory.after(5, {("r", "k"): 15}, {"t": 2}, {}, {})
    assert (memory.quiet, memory.ticks) == ({("r", "k"): 10}, {"t": 1})
    assert (later.quiet, later.ticks) == ({("r", "k"): 15}, {"t": 2})


def test_no_news_is_the_same_memory() -> None:
    memory = RuleMemory({("r", "k"): 10}, {"t": 1})
    assert memory.after(99, {}, {}, {}, {}) is memory
