from __future__ import annotations

import pytest

from sensorstream.history.view_definitions import snake_case, sql_names
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI

A = "http://example.org/a#"
B = "http://example.org/b#"


@pytest.mark.parametrize(
    ("local", "name"),
    [
        ("hasXLocation", "has_x_location"),
        ("Human", "human"),
        ("HTTPServer", "http_server"),
        ("location2d", "location2d"),
        ("location2D", "location2_d"),
        ("has-speed.max", "has_speed_max"),
        ("Übergröße", "ubergroe"),
        ("3DModel", "n3_d_model"),
        ("人", "unnamed"),
    ],
)
def test_a_local_name_becomes_lower_case_words(local: str, name: str) -> None:
    assert snake_case(local) == name


def test_classes_keep_the_plain_name_before_properties() -> None:
    schema = Schema(
        classes=frozenset({IRI(f"{A}Location"), IRI(f"{B}Location"), IRI(f"{A}Alerts")}),
        object_properties=frozenset({IRI(f"{A}location")}),
        datatype_properties=frozenset({IRI(f"{A}time"), IRI(f"{B}location"), IRI(f"{A}speed")}),
    )
    assert sql_names(schema) == {
        f"{A}Location": "location",
        f"{B}Location": "location_class",
        f"{A}Alerts": "alerts_class",
        f"{A}location": "location_property",
        f"{B}location": "location_property_2",
        f"{A}time": "time_property",
        f"{A}speed": "speed",
    }


def test_long_names_stay_apart_within_postgresqls_limit() -> None:
    long = "Very" * 30
    schema = Schema(classes=frozenset(IRI(f"{A}{long}{end}") for end in "ABC"))
    names = list(sql_names(schema).values())
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 63
