from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.app.control.mapping_files import read_reference
from sensorstream.errors import LanguageError
from sensorstream.language import parse

RULES = 'table rooms from "tables/rooms.csv" key "code" value "room"\n'


def test_a_table_stands_beside_the_rule_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "rooms.csv").write_text("code,room\nA1,hall\n")
    file = str(tmp_path / "a.rules")
    reference = read_reference([parse(RULES, file)], ())
    assert reference.library_of(file).tables == {"rooms": {"A1": "hall"}}
    assert reference.library_of("another").tables == {}


def test_a_table_that_is_not_there_is_a_fault_of_its_declaration(tmp_path: Path) -> None:
    file = str(tmp_path / "a.rules")
    with pytest.raises(LanguageError) as caught:
        read_reference([parse(RULES, file)], ())
    assert str(caught.value).startswith(f"{file}:1:7: table rooms: cannot read {tmp_path}")
