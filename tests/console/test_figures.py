from __future__ import annotations

import pytest

from sensorstream.console.page_visits import mean, rate, read

BEFORE = """
# TYPE sensorstream_messages_total counter
sensorstream_messages_total{status="accepted"} 10.0
sensorstream_messages_total{status="rejected"} 2.0
# TYPE sensorstream_phase_seconds histogram
sensorstream_phase_seconds_bucket{le="+Inf",phase="t_m"} 12.0
sensorstream_phase_seconds_count{phase="t_m"} 12.0
sensorstream_phase_seconds_sum{phase="t_m"} 0.12
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1024.0
"""
AFTER = BEFORE.replace('"accepted"} 10', '"accepted"} 18').replace("} 12.0", "} 20.0")
AFTER = AFTER.replace('_sum{phase="t_m"} 0.12', '_sum{phase="t_m"} 0.52')


def test_samples_are_found_by_their_names_and_labels() -> None:
    figures = read(BEFORE, 0.0)
    assert figures.value("messages_total", status="rejected") == 2.0
    assert figures.value("process_resident_memory_bytes") == 1024.0
    assert figures.value("messages_total") is None
    assert figures.total("messages_total") == 12.0
    assert figures.by("messages_total", "status") == {"accepted": 10.0, "rejected": 2.0}


def test_a_rate_is_the_growth_a_second_between_two_readings() -> None:
    before, after = read(BEFORE, 10.0), read(AFTER, 14.0)
    assert rate(before, after, "messages_total") == 2.0
    assert rate(None, after, "messages_total") is None
    assert rate(after, after, "messages_total") is None


def test_a_counter_that_began_anew_says_no_rate() -> None:
    assert rate(read(AFTER, 10.0), read(BEFORE, 14.0), "messages_total") is None


def test_two_readings_that_are_far_apart_say_no_rate() -> None:
    assert rate(read(BEFORE, 10.0), read(AFTER, 16.0), "messages_total") is None


def test_a_mean_is_of_what_came_between_two_readings() -> None:
    before, after = read(BEFORE, 10.0), read(AFTER, 14.0)
    assert mean(before, after, "phase_seconds", phase="t_m") == pytest.approx(0.05)
    assert mean(after, after, "phase_seconds", phase="t_m") is None
