"""Drafts for messages of published standards: what a reader would have written first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sensorstream.app.control.wiring import read_deployment
from sensorstream.cli import main
from sensorstream.cli.init_command import make_from
from sensorstream.mapping.xml_document import parse_document
from sensorstream.model import rdf
from sensorstream.model.events import Message
from sensorstream.settings.settings_file import load_settings
from sensorstream.shapes.shape_compiler import compile_shapes
from sensorstream.shapes.shape_graph import read_shapes
from sensorstream.shapes.validation import Validator

SIRI = """<Siri xmlns="http://www.siri.org.uk/siri" version="2.0"><ServiceDelivery>
<ResponseTimestamp>2024-05-01T10:00:00Z</ResponseTimestamp><ProducerRef>AVL</ProducerRef>
<VehicleMonitoringDelivery><VehicleActivity><RecordedAtTime>2024-05-01T09:59:55Z</RecordedAtTime>
<MonitoredVehicleJourney><LineRef>4A</LineRef><DirectionRef>1</DirectionRef>
<VehicleLocation><Longitude>10.2</Longitude></VehicleLocation><VehicleRef>17</VehicleRef>
</MonitoredVehicleJourney></VehicleActivity><VehicleActivity>
<RecordedAtTime>2024-05-01T09:59:57Z</RecordedAtTime><MonitoredVehicleJourney>
<LineRef>4A</LineRef><DirectionRef>2</DirectionRef>
<VehicleLocation><Longitude>10</Longitude></VehicleLocation><VehicleRef>18</VehicleRef>
</MonitoredVehicleJourney></VehicleActivity></VehicleMonitoringDelivery></ServiceDelivery></Siri>"""
CAP = """<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>KSTO1</identifier>
<sender>KSTO@NWS.NOAA.GOV</sender><sent>2003-06-17T14:57:00-07:00</sent><status>Actual</status>
<info><language>en</language><event>STORM</event><parameter><valueName>HAIL</valueName>
<value>0.75</value></parameter><parameter><valueName>WIND</valueName><value>60</value></parameter>
<area><areaDesc>EXTREME NORTH</areaDesc><polygon>38.47,-120.14 38.34,-119.95</polygon></area></info>
<info><language>da</language><event>STORM</event></info></alert>"""
OM = """<om:OM_Observation xmlns:om="http://www.opengis.net/om/2.0"
 xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:xlink="http://www.w3.org/1999/xlink"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" gml:id="obs-1"
 xsi:schemaLocation="http://www.opengis.net/om/2.0 observation.xsd"><om:phenomenonTime>
<gml:TimeInstant gml:id="t1"><gml:timePosition>2024-05-01T08:00:00Z</gml:timePosition>
</gml:TimeInstant></om:phenomenonTime><om:procedure xlink:href="http://example.org/sensor/7"/>
<om:result xsi:type="gml:MeasureType" uom="Cel">21.5</om:result></om:OM_Observation>"""
RSS = """<rss version="2.0"><channel><title>News &amp; more</title><item><title>One</title>
<guid isPermaLink="false">a-1</guid><description>A <b>bold</b> word</description></item>
<item><title>Two</title><guid isPermaLink="false">a-2</guid><description>x</description></item>
</channel></rss>"""
LATIN = "<?xml version='1.0' encoding='ISO-8859-1'?><m id='1'>ø</m>"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def drafted(tmp_path: Path, message: bytes) -> tuple[str, str, str]:
    """The rules, the ontology, and what they make of the message; the story passes."""
    sample = tmp_path / "message.xml"
    sample.write_bytes(message)
    made = run("init", "--from", sample, tmp_path / "new")
    assert made.exit_code == 0, made.output
    config = tmp_path / "new" / "sensorstream.toml"
    checked = run("check", "-c", config)
    assert checked.exit_code == 0, checked.output
    notes = [line for line in checked.stdout.splitlines() if "note:" in line]
    # A part is named by its place among its siblings, for each of which they are counted.
    assert all("takes up to n^2 steps" in each for each in notes)
    mapped = run("map", "-c", config, "--explain", sample)
    assert mapped.exit_code == 0, mapped.output
    tested = run("test", "-c", config)
    assert tested.stdout.endswith("1 passed, 0 failed\n"), tested.stdout
    rules = (tmp_path / "new" / "rules" / "draft.rules").read_text("utf-8")
    ontology = (tmp_path / "new" / "ontology" / "draft.ttl").read_text("utf-8")
    return rules, ontology, mapped.stdout


def test_vehicles_are_named_by_their_own_reference(tmp_path: Path) -> None:
    rules, ontology, mapped = drafted(tmp_path, SIRI.encode())
    assert "mapping vehicle-activity\non message {/m:Siri}\nfor each $vehicleActivity in {" in rules
    assert ":vehicle-activity-17 a :VehicleActivity ;" in mapped
    assert ":longitude a owl:DatatypeProperty ; rdfs:range xsd:decimal ." in ontology
    assert ":vehicleRef a owl:DatatypeProperty ; rdfs:range xsd:string ." in ontology
    assert "time 2024-05-01T09:59:55Z, 2024-05-01T09:59:57Z, 2024-05-01T10:00:00Z" in mapped
    assert "not mapped" not in mapped


def test_a_warning_and_its_parts(tmp_path: Path) -> None:
    rules, _, mapped = drafted(tmp_path, CAP.encode())
    assert ":alert-KSTO1 a :Alert ;" in mapped
    assert "insert individual :info-{m:identifier}-{count($info/preceding-sibling::*) + 1}" in rules
    assert "at {m:sent}" in rules
    assert ':polygon "38.47,-120.14 38.34,-119.95"' in mapped
    assert "not mapped" not in mapped


def test_an_observation_keeps_its_namespaces_and_links(tmp_path: Path) -> None:
    rules, _, mapped = drafted(tmp_path, OM.encode())
    assert 'xmlns om = "http://www.opengis.net/om/2.0"' in rules
    assert 'xmlns gml = "http://www.opengis.net/gml/3.2"' in rules
    assert "# Left out:\n#   /om:OM_Observation/@schemaLocation\n" in rules
    assert ':href "http://example.org/sensor/7"' in mapped
    assert ":result 21.5 " in mapped or ":value 21.5 " in mapped


def test_mixed_content_gives_each_text(tmp_path: Path) -> None:
    _, _, mapped = drafted(tmp_path, RSS.encode())
    for text in ("News & more", "A", "bold", "word", "a-2"):
        assert f'"{text}"' in mapped
    assert "not mapped" not in mapped


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    assert '"7"' in drafted(tmp_path, f"<ø å='x'>7{'<b/>'}</ø>".encode(encoding))[2]


def test_latin_1(tmp_path: Path) -> None:
    assert '"ø"' in drafted(tmp_path, LATIN.encode("latin-1"))[2]


def test_a_counted_time_makes_the_line_integer(tmp_path: Path) -> None:
    rules, _, mapped = drafted(
        tmp_path, b"<M><TimeStamp value='2678'/><p id='1' x='2'/><p id='2' x='3'/></M>"
    )
    assert "a :P at {TimeStamp/@value}" in rules
    assert "time 2678" in mapped


def test_deep_and_large_messages_are_bounded(tmp_path: Path) -> None:
    kinds = "".join(f"<k{n} id='{n}'><v>{n}</v></k{n}>" for n in range(400))
    (tmp_path / "wide.xml").write_text(f"<r>{kinds}</r>")
    made = run("init", "--from", tmp_path / "wide.xml", tmp_path / "wide")
    assert made.exit_code == 0
    assert "left out: /r/k399, 2 elements" in made.stderr
    rules = (tmp_path / "wide" / "rules" / "draft.rules").read_text()
    assert rules.count("\nmapping ") < 301
    assert "# Left out:\n" in rules
    assert "/r/k399 (2 elements)" in rules
    (tmp_path / "deep.xml").write_text("<a>" * 60 + "x" + "</a>" * 60)
    deep = run("init", "--from", tmp_path / "deep.xml", tmp_path / "deep")
    assert deep.exit_code == 0
    (tmp_path / "deeper.xml").write_text("<a>" * 65 + "</a>" * 65)
    deeper = run("init", "--from", tmp_path / "deeper.xml", tmp_path / "deeper")
    assert deeper.exit_code == 1
    assert "deeper than 64" in deeper.stderr
    assert not (tmp_path / "deeper").exists()


def test_many_elements_of_one_kind_are_one_rule(tmp_path: Path) -> None:
    sample = tmp_path / "many.xml"
    element = f"<p><v>{'x' * 300}</v><t>2</t></p>"
    sample.write_text(f"<r>{element * 4000}</r>")
    made = run("init", "--from", sample, tmp_path / "new")
    assert made.exit_code == 0
    assert (tmp_path / "new" / "rules" / "draft.rules").read_text().count("\nmapping ") == 2
    # Larger than the server would take without the setting.
    assert "\nmax_message_bytes = 2" in (tmp_path / "new" / "sensorstream.toml").read_text()


def test_what_is_no_message_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text("<x")
    result = run("init", "--from", tmp_path / "x.xml", tmp_path / "new")
    assert result.exit_code == 1
    assert "error[malformed-message]" in result.stderr
    assert not (tmp_path / "new").exists()


def readings(folder: Path) -> list[Path]:
    """Nine readings of three stations at four times."""
    times = ("08:00", "08:00", "08:00", "09:00", "09:00", "09:00", "10:00", "10:00", "11:00")
    found = []
    for number, time in enumerate(times):
        file = folder / f"m{number}.xml"
        file.write_text(
            f"<Reading station='{'ABC'[number % 3]}' at='2024-05-01T{time}:00Z'>"
            f"<temp>{20 + number / 7}</temp></Reading>"
        )
        found.append(file)
    return found


def mapped_names(config: Path, files: list[Path]) -> set[str]:
    mapped = run("map", "-c", config, "--json", *files)
    assert mapped.exit_code == 0, mapped.output
    return {name for each in json.loads(mapped.stdout) for name in each["individuals"]}


@pytest.mark.parametrize("samples", [1, 9])
def test_messages_of_several_stations_stay_apart(tmp_path: Path, samples: int) -> None:
    files = readings(tmp_path)
    made = run("init", tmp_path / "new", "--from", *files[:samples])
    assert made.exit_code == 0, made.output
    config = tmp_path / "new" / "sensorstream.toml"
    assert len(mapped_names(config, files)) == 9
    why = {1: "one message does not show", 9: "it tells the 9 messages apart"}[samples]
    told = f"named by @station and @at: {why}"
    assert f"a guess: rule reading: {told}" in made.stderr
    assert f"# A guess: {told}" in (tmp_path / "new" / "rules" / "draft.rules").read_text()
    assert run("test", "-c", config).exit_code == 0


def test_several_messages_show_what_their_names_are_made_of(tmp_path: Path) -> None:
    files = []
    for number, (room, kind) in enumerate([("1", "t"), ("1", "h"), ("2", "t")]):
        files.append(tmp_path / f"{number}.xml")
        files[-1].write_text(
            f"<M sent='2024-05-01T08:00:00Z'><device>d</device><room>{room}</room>"
            f"<kind>{kind}</kind><v>{number}.5</v></M>"
        )
    # DIR may stand behind the messages, too.
    made = run("init", "--from", *files, tmp_path / "new")
    assert "it gives 3 messages 1 names: some would be one" in made.stderr
    files.pop(0)
    made = run("init", "--from", files[0], "--from", files[1], tmp_path / "two")
    assert "named by device and room and @sent: it tells the 2 messages apart" in made.stderr
    assert len(list((tmp_path / "two" / "messages").iterdir())) == 2


def test_messages_of_several_kinds_have_a_rule_each(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<A id='1'><v>1</v></A>")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.xml").write_text("<b:B xmlns:b='urn:b' id='1'><b:v>2</b:v></b:B>")
    files = [tmp_path / "a.xml", tmp_path / "b" / "a.xml"]
    made = run("init", "--from", *files, tmp_path / "new")
    assert made.exit_code == 0, made.output
    assert {each.name for each in (tmp_path / "new" / "messages").iterdir()} == {"a.xml", "a2.xml"}
    assert len(mapped_names(tmp_path / "new" / "sensorstream.toml", files)) == 2
    tested = run("test", "-c", tmp_path / "new" / "sensorstream.toml")
    assert tested.exit_code == 0, tested.output


@pytest.mark.parametrize("message", [SIRI, CAP, OM, RSS])
def test_the_drafted_shapes_fit_their_messages_and_notice_others(
    tmp_path: Path, message: str
) -> None:
    sample = tmp_path / "m.xml"
    sample.write_text(message)
    config, told = make_from(tmp_path / "new", [sample])
    assert "a guess: all in shapes/draft.ttl: it is in use once shapes.files names it" in told
    shapes = read_shapes([tmp_path / "new" / "shapes" / "draft.ttl"])
    assert compile_shapes(shapes)
    mapping = read_deployment(load_settings(config, {})).mapping
    document = parse_document(message.encode(), max_depth=64)
    mapped = mapping.apply(document, Message("m1", b"", 0, "rest"))
    said = [triple for event in mapped.events for triple in event.triples]
    assert Validator(shapes).report(said).violations == ()
    kinds = [triple for triple in said if triple[1] == rdf.TYPE]
    assert Validator(shapes).report(kinds).violations


def test_ranges_are_written_as_a_guess(tmp_path: Path) -> None:
    make_from(tmp_path / "new", readings(tmp_path))
    text = (tmp_path / "new" / "shapes" / "draft.ttl").read_text()
    assert "  ; sh:property [ sh:path :temp ; sh:datatype xsd:decimal ; sh:minCount 1" in text
    assert "      # ; sh:minInclusive 20.0 ; sh:maxInclusive 21.142857142857142\n    ]" in text
    assert "guessed from m0.xml and 8 more" in text


def test_one_new_folder_is_expected(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<A/>")
    for names in ([], [tmp_path / "x", tmp_path / "y"]):
        result = run("init", "--from", tmp_path / "a.xml", *names)
        assert result.exit_code == 2
    assert "expected one new DIR, and messages after --from" in result.stderr
    assert run("init", tmp_path / "a.xml").exit_code == 2


HL7 = """<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="2.16.840" extension="{id}"/>
<recordTarget><patient><name>Ada</name><birthTime value="19751209103000"/></patient></recordTarget>
<effectiveTime value="20240501140500+0200"/><observation><value value="7.3" unit="mmol/L"/>
</observation></ClinicalDocument>"""


def test_a_document_is_not_of_the_time_of_a_birth(tmp_path: Path) -> None:
    rules, _, mapped = drafted(tmp_path, HL7.format(id="d-1").encode())
    assert 'at {m:effectiveTime/@value |> date "%Y%m%d%H%M%S%z"}' in rules
    assert "time 2024-05-01T12:05:00Z" in mapped
    assert ":clinical-document-d-1 a :ClinicalDocument" in mapped


def test_of_several_times_one_is_a_guess(tmp_path: Path) -> None:
    rules, _, mapped = drafted(
        tmp_path,
        b"<R id='1' installed='2001-01-01T00:00:00Z' until='2024-05-02T00:00:00Z'"
        b" measuredAt='2024-05-01T00:00:00Z'/>",
    )
    assert "# A guess: its time is @measuredAt; there is @until, too." in rules
    assert "time 2024-05-01T00:00:00Z" in mapped


def test_a_sum_of_doubles_is_no_time_of_a_message(tmp_path: Path) -> None:
    rules, ontology, _ = drafted(tmp_path, b"<R id='1' time='0.30000000000000004'/>")
    assert " at {" not in rules
    assert ":time a owl:DatatypeProperty ; rdfs:range xsd:decimal ." in ontology
