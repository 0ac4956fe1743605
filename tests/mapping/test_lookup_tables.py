import pytest

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import LookupTable
from sensorstream.mapping.reference_data import parse_table

TABLE = LookupTable("rooms", "rooms.csv", "code", "room", position=Position("f", 2, 7))


def test_a_table_maps_its_key_column_to_its_value_column() -> None:
    text = '\ufeffroom, code ,floor\r\n hall ,A1,1\r\n"a ""big"" one",A2,1\r\n\r\n,A3,1\r\nx,,2\r\n'
    assert parse_table(TABLE, text) == {"A1": "hall", "A2": 'a "big" one'}


def test_a_key_may_come_again_with_the_same_value() -> None:
    assert parse_table(TABLE, "code,room\n1,a\n1,a\n") == {"1": "a"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no column 'code': expected one of nothing"),
        ("code,name\n", "there is no column 'room': expected one of code, name"),
        ("code,room,room\n", "several columns are called 'room': expected one"),
        ("code,room\n1,a,b\n", "line 2 has 3 columns, expected 2"),
        ("code,room\n1,a\n2,b\n1,c\n", "line 4: '1' has the value 'a' already, at line 2"),
        ('code,room\n1,"a', "line 2: not CSV: unexpected end of data"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_table(TABLE, text)
    assert str(caught.value) == f"f:2:7: table rooms, rooms.csv: {message}"


def test_of_a_file_that_is_no_table_nothing_is_repeated() -> None:
    table = LookupTable("rooms", "server.key", "code", "room", position=Position("f", 2, 7))
    with pytest.raises(LanguageError, match="there is no column 'code': expected a line") as caught:
        parse_table(table, "ssk_secret,b\n")
    assert "ssk_secret" not in str(caught.value)
