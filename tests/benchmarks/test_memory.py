"""The memory benchmark, at a tiny size."""

from __future__ import annotations

import re

import pytest

from benchmarks.memory import Sample, crowd, run, summary


def test_it_samples_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    samples = run(50)
    assert [sample.messages for sample in samples] == list(range(1, 51))
    assert all(sample.megabytes > 0 for sample in samples)
    assert samples[-1].individuals > 20
    assert "50 messages in" in capsys.readouterr().out


def test_half_of_the_crowd_is_new_and_no_name_comes_back_after_its_time() -> None:
    people = [int(re.findall(rb"person id='(\d+)'", each)[0]) for each in crowd(5000)]
    newest = max(people)
    assert 0.4 < newest / len(people) < 0.6
    front = 0
    for person in people:
        front = max(front, person)
        assert front - person <= 500


def test_the_summary_compares_the_first_tenth_with_the_last() -> None:
    samples = [Sample(n, n / 10, 60 + n, 5, 7) for n in range(1, 21)]
    assert "first tenth 61.5 MB, last tenth 79.5 MB, most 80.0 MB" in summary(samples)
