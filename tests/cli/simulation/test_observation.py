from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from sensorstream.cli.simulation.city_messages import NAMESPACE, Observation, merge, read_time

EIGHT = read_time("2014-08-01T08:00:00")


def at(sensor: str, minute: int) -> Observation:
    return Observation("traffic", sensor, f"{sensor}-{minute}", EIGHT.replace(minute=minute), ())


def test_traffic_is_written_with_units() -> None:
    fields = (("vehicleCount", "11"), ("avgSpeed", "54"), ("avgMeasuredTime", "34"))
    assert Observation("traffic", "182955", "20746942", EIGHT, fields).xml() == (
        b'<Observation xmlns="http://sensorstream.example/city/message" kind="traffic"'
        b' sensor="182955" id="20746942" time="2014-08-01T08:00:00">'
        b'<vehicleCount>11</vehicleCount><avgSpeed unit="km/h">54</avgSpeed>'
        b'<avgMeasuredTime unit="s">34</avgMeasuredTime></Observation>'
    )


def test_a_missing_value_stays_as_an_empty_element() -> None:
    xml = Observation("weather", "0", "w", EIGHT, (("hum", "56"), ("wspdm", ""))).xml()
    assert b"<hum>56</hum><wspdm/>" in xml


def test_a_place_is_an_element_with_two_attributes() -> None:
    xml = Observation("pollution", "7", "p", EIGHT, (), ("10.13", "56.15")).xml()
    assert xml.endswith(b'<location longitude="10.13" latitude="56.15"/></Observation>')


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")))
def test_any_text_survives_the_way_through_xml(text: str) -> None:
    root = etree.fromstring(Observation(text, text, text, EIGHT, (("a", text),)).xml())
    assert root.get("sensor") == text
    assert root.findtext(f"{{{NAMESPACE}}}a") == text


def test_several_sensors_are_merged_in_time_order() -> None:
    merged = merge([[at("a", 0), at("a", 10)], [at("b", 5), at("b", 10)]])
    assert [each.id for each in merged] == ["a-0", "b-5", "a-10", "b-10"]


def test_a_row_delivered_late_stays_late() -> None:
    merged = merge([[at("a", 0), at("a", 30), at("a", 5)], [at("b", 20), at("b", 40)]])
    assert [each.id for each in merged] == ["a-0", "b-20", "a-30", "a-5", "b-40"]


def test_a_time_may_have_a_space_or_a_zone() -> None:
    expected = datetime(2014, 8, 1, 0, 5, tzinfo=UTC)
    for text in ("2014-08-01T00:05:00", "2014-08-01 00:05:00", "2014-08-01T02:05:00+02:00"):
        assert read_time(text) == expected
