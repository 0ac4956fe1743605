"""XML Schemas of messages: read from a folder, applied by source."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from sensorstream.app.control.engine_settings import read_schemas
from sensorstream.errors import InvalidMessage, Overrun, SettingsError
from sensorstream.mapping import parse_document
from sensorstream.mapping.xml_schema import MessageSchemas
from sensorstream.model.events import Message
from sensorstream.settings.settings_file import load_settings

NUMBERS = count(1)
XS = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>"
MESSAGE = f"""{XS}
<xs:include schemaLocation='types/position.xsd'/>
<xs:element name='Message'><xs:complexType><xs:sequence>
<xs:element name='x' type='position' maxOccurs='unbounded'/>
</xs:sequence></xs:complexType></xs:element></xs:schema>"""
POSITION = f"""{XS}
<xs:simpleType name='position'><xs:restriction base='xs:integer'>
<xs:maxInclusive value='100'/></xs:restriction></xs:simpleType></xs:schema>"""
DOOR = f"{XS}<xs:element name='Door'/></xs:schema>"
GOOD = "<Message><x>5</x></Message>"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "xsd" / "types").mkdir(parents=True)
    (tmp_path / "xsd" / "message.xsd").write_text(MESSAGE)
    (tmp_path / "xsd" / "types" / "position.xsd").write_text(POSITION)
    (tmp_path / "door.xsd").write_text(DOOR)
    return tmp_path


def read(home: Path, settings: str, seconds: float | None = None) -> MessageSchemas | None:
    (home / "sensorstream.toml").write_text(settings)
    return read_schemas(load_settings(home / "sensorstream.toml", {}), seconds)


def violations(schemas: MessageSchemas | None, xml: str, source: str = "") -> str:
    assert schemas is not None
    try:
        message = Message(f"m{next(NUMBERS)}", xml.encode(), 1, source)
        schemas.check(parse_document(message.content, max_depth=9), message)
    except InvalidMessage as error:
        return error.message
    return ""


BOTH = "[messages]\nschema = 'xsd/message.xsd'\n[sources.door]\nschema = 'door.xsd'\n"


def test_a_source_has_its_own_schema_and_all_others_the_common_one(home: Path) -> None:
    schemas = read(home, BOTH)
    assert violations(schemas, GOOD) == violations(schemas, GOOD, "cam") == ""
    assert violations(schemas, "<Door/>", "door") == ""
    assert "Element 'Message'" in violations(schemas, GOOD, "door")
    assert "Element 'Door'" in violations(schemas, "<Door/>", "cam")


def test_without_a_schema_every_message_is_taken(home: Path) -> None:
    schemas = read(home, "[sources.door]\nschema = 'door.xsd'\n")
    assert violations(schemas, "<anything/>") == ""
    assert read(home, "") is None


def test_every_violation_is_told_with_its_line(home: Path) -> None:
    told = violations(read(home, BOTH), "<Message>\n<x>5</x>\n<x>many</x>\n<x>101</x>\n</Message>")
    assert told.startswith(
        "the message is not valid against its schema: line 3: Element 'x': 'many'"
    )
    assert "; line 4: Element 'x': [facet 'maxInclusive'] The value '101' is greater" in told


def test_a_flood_of_violations_is_cut(home: Path) -> None:
    told = violations(read(home, BOTH), f"<Message>{'<y/>' * 200}{'<x>a</x>' * 200}</Message>")
    assert told.count("line ") <= 50
    many = violations(read(home, BOTH), f"<Message>{'<x>a</x>' * 200}</Message>")
    assert many.count("line ") == 50
    assert many.endswith("more")


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("none.xsd", "messages.schema: cannot read"),
        ("<xs:schema", "is not well-formed XML: "),
        ("<a/>", "is not an XML Schema: "),
        (f"<!DOCTYPE a []>{XS}</xs:schema>", "has a DOCTYPE: expected a plain XML Schema"),
        (f"{XS}<xs:include schemaLocation='../door.xsd'/></xs:schema>", "is not a file of the"),
        (f"{XS}<xs:include schemaLocation='/etc/a.xsd'/></xs:schema>", "is not a file of the"),
        (f"{XS}<xs:import schemaLocation='http://e.org/a.xsd'/></xs:schema>", "is not a file of"),
        (f"{XS}<xs:redefine schemaLocation='//e.org/a.xsd'/></xs:schema>", "is not a file of the"),
        (f"{XS}<xs:include schemaLocation='gone.xsd'/></xs:schema>", "cannot read"),
    ],
)
def test_a_schema_that_cannot_be_used_is_an_error_of_the_settings(
    home: Path, schema: str, reason: str
) -> None:
    if schema != "none.xsd":
        (home / "xsd" / "message.xsd").write_text(schema)
    name = schema if schema == "none.xsd" else "xsd/message.xsd"
    with pytest.raises(SettingsError) as caught:
        read(home, f"[messages]\nschema = '{name}'\n")
    assert reason in str(caught.value)


def test_what_an_included_schema_includes_must_lie_in_the_folder_too(home: Path) -> None:
    inner = POSITION.replace(XS, f"{XS}<xs:include schemaLocation='../../door.xsd'/>")
    (home / "xsd" / "types" / "position.xsd").write_text(inner)
    with pytest.raises(SettingsError, match=r"position\.xsd, line 1: '\.\./\.\./door\.xsd' is not"):
        read(home, BOTH)


def test_schemas_may_include_each_other(home: Path) -> None:
    inner = POSITION.replace(XS, f"{XS}<xs:include schemaLocation='../message.xsd'/>")
    (home / "xsd" / "types" / "position.xsd").write_text(inner)
    assert violations(read(home, BOTH), GOOD) == ""


# A pattern as one finds it: libxml2 needs the square of a text's length, or more.
MAIL = f"""{XS}<xs:element name='Mail'><xs:simpleType><xs:restriction base='xs:string'>
<xs:pattern value='[a-z]+([.-]?[a-z]+)*@x'/></xs:restriction></xs:simpleType></xs:element>
</xs:schema>"""


def test_a_message_that_takes_long_to_validate_is_passed_over_and_the_next_one_validated(
    home: Path,
) -> None:
    (home / "mail.xsd").write_text(MAIL)
    schemas = read(home, "[messages]\nschema = 'mail.xsd'\n", seconds=1.0)
    assert violations(schemas, "<Mail>me.you@x</Mail>") == ""
    with pytest.raises(Overrun, match=r"by mail\.xsd took longer than 1 s \(limits\.mapping_sec"):
        violations(schemas, f"<Mail>{'a' * 100_000}!</Mail>")
    assert "line 1: Element 'Mail': " in violations(schemas, "<Mail>me</Mail>")


def test_a_process_finds_what_this_one_does(home: Path) -> None:
    here, apart = read(home, BOTH), read(home, BOTH, seconds=60)
    # The process has the texts that were read, whatever is in the files now.
    (home / "xsd" / "types" / "position.xsd").write_text("")
    bad = f"<Message>\n<x\n>5</x>\n<x>many</x>{'<x>101</x>' * 60}</Message>"
    for xml in (GOOD, bad, "<Door/>"):
        for source in ("", "door"):
            assert violations(apart, xml, source) == violations(here, xml, source)


def test_what_libxml2_gives_up_on_is_no_fault_of_the_server(home: Path) -> None:
    (home / "many.xsd").write_text(MAIL.replace("[a-z]+([.-]?[a-z]+)*@x", "(a{1,20}){1,20}"))
    schemas = read(home, "[messages]\nschema = 'many.xsd'\n")
    assert "can be matched in too many ways" in violations(schemas, f"<Mail>{'a' * 30}!</Mail>")
