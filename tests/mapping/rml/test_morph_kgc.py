"""Exported RML runs as printed on another processor, morph-kgc, and gives the same triples."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sensorstream.installation import bundled
from sensorstream.language import parse
from sensorstream.mapping import compile_mapping
from sensorstream.mapping.rml.from_rules import from_rules, without_ancestors
from sensorstream.mapping.rml.rml_writer import print_rml
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from tests.mapping.rml.suite import canonical, quads

PYTHON = os.environ.get("TEST_MORPH_KGC", "")

pytestmark = pytest.mark.skipif(
    not PYTHON,
    reason="TEST_MORPH_KGC names no Python with morph-kgc 2.10: expected its path, such as "
    "/opt/morph/bin/python",
)

TRACKING = """<Message><Event id="9"><Tracker type="FaceTracker"><TimeStamp value="2678"/>
  <person id="1" certainty="100"><location2d x="72" y="8"/></person>
  <person id="2" certainty="40"><location2d x="7" y="80"/></person></Tracker>
  <Tracker type="FaceTracker"><TimeStamp value="2700"/>
  <person id="3" certainty="9"><location2d x="1" y="2"/></person></Tracker></Event></Message>"""

HEAD = "prefix : <http://e/>\nprefix xsd: <http://www.w3.org/2001/XMLSchema#>\n"
STATION = """<stations><line no="7" name="Ring"><stop id="a b"><label>Süd</label>
  <label>South</label><lift/></stop><stop id="c"><label>Nord</label></stop></line></stations>"""
STATION_RULES = """mapping stops on message {/stations}
for each $line in {line} for each $stop in {$line/stop}
then insert individual :stop-{$stop/@id} a :Stop
    ; :label {$stop/label}@de
    ; :line :line-{$line/@no}
    ; :text "stop {$stop/@id}"
    ; :kind "underground"
    ; :number {$line/@no}^^xsd:integer ."""
NAMED = """<n:m xmlns:n="urn:n"><n:item no="1"><n:of>2</n:of></n:item><n:item no="2"/></n:m>"""
NAMED_RULES = """xmlns n = "urn:n"
mapping items on message {/n:m} for each $i in {n:item}
then insert individual :item-{$i/@no} a :Item ; :of :item-{$i/n:of} ."""

EXAMPLES = {
    "tracking": ((bundled("mapping_rules") / "tracking.rules").read_text("utf-8"), TRACKING),
    "stations": (HEAD + STATION_RULES, STATION),
    "named": (HEAD + NAMED_RULES, NAMED),
}


def test_exports_run_on_morph_kgc_as_printed(tmp_path: Path) -> None:
    schema = Schema()
    expected: list[str] = []
    sections = ["[CONFIGURATION]", "output_format: N-QUADS", "output_file: out.nq"]
    for name, (rules, xml) in EXAMPLES.items():
        file = parse(rules, name)
        mapping, refused = from_rules(file, schema, f"{name}.xml")
        assert not refused
        (tmp_path / f"{name}.ttl").write_text(print_rml(without_ancestors(mapping)))
        (tmp_path / f"{name}.xml").write_text(xml)
        sections += [f"[{name}]", f"mappings: {name}.ttl"]
        expected += quads(compile_mapping([file], schema, Timeline.INTEGER), xml.encode())
    (tmp_path / "config.ini").write_text("\n".join(sections))
    ran = subprocess.run(
        [PYTHON, "-m", "morph_kgc", "config.ini"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = canonical((tmp_path / "out.nq").read_text("utf-8"))
    assert {str(each) for each in found} == {str(each) for each in canonical("\n".join(expected))}
