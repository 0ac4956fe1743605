"""A deployment on a machine that has the package, and none of the deployment's files."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sensorstream.app.control.wiring import read_deployment, shipped, unpacked
from sensorstream.history.journal_rows import row_of
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.records import Record
from sensorstream.model.events import Status
from sensorstream.settings.settings_file import load_settings
from sensorstream.streaming.host_client import HostClient
from sensorstream.streaming.worker_messages import HostTask, Work
from tests.streaming.conftest import ONTOLOGY, RULES, SETTINGS, seen
from tests.streaming.stand_in import of_one_engine, parts, told

SPACE = "http://example.org/t#"
XS = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>"
FILES = {
    "sensorstream.toml": SETTINGS.replace('["t.rules"]', '["t.rules", "met.ttl"]').replace(
        "plain", "owl2rl, own.ru"
    )
    + '[functions]\nfiles = ["own.py"]\n[shapes]\nfiles = ["shapes.ttl"]\nat_the_door = "reject"\n'
    '[messages]\nschema = "xsd/seen.xsd"\n[sources.door]\nschema = "door.xsd"\n',
    "t.ttl": ONTOLOGY.replace(
        "a owl:Ontology .",
        "a owl:Ontology ; owl:imports <http://example.org/more> . :Human rdfs:comment <relative> .",
    ),
    "catalog-v001.xml": "<catalog xmlns='urn:oasis:names:tc:entity:xmlns:xml:catalog'>"
    "<uri name='http://example.org/more' uri='lib/more.ttl'/></catalog>",
    "lib/more.ttl": "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    f"<http://example.org/more> a owl:Ontology .\n<{SPACE}room> a owl:DatatypeProperty .\n"
    f"<{SPACE}with> a owl:ObjectProperty .\n",
    "t.rules": RULES.replace(
        "mapping seen", 'table rooms from "rooms.csv" key "id" value "room"\n\nmapping seen'
    ).replace(
        ":x {$person/@x} .", ":x {$person/@x |> halved} ; :room {/seen/@by |> lookup rooms} ."
    ),
    "rooms.csv": "id,room\nnorth,hall\n",
    "met.ttl": f"@prefix rml: <http://w3id.org/rml/> .\n@prefix : <{SPACE}> .\n"
    ':people rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/seen" ] ;\n'
    f'  rml:subjectMap [ rml:template "{SPACE}at-{{@at}}" ;'
    ' <urn:sensorstream:mapping#at> "@at" ] ;\n'
    "  rml:predicateObjectMap [ rml:predicate :with ; rml:objectMap [ rml:parentTriplesMap :file ;"
    ' rml:joinCondition [ rml:child "@by" ; rml:parent "id" ] ] ] .\n'
    ':file rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:path "met.xml" ] ;\n'
    '    rml:referenceFormulation rml:XPath ; rml:iterator "/met/m" ] ;\n'
    f'  rml:subjectMap [ rml:template "{SPACE}{{whom}}" ] .\n',
    "met.xml": "<met><m><id>north</id><whom>Ada</whom></m></met>",
    "own.py": "def halved(x: str) -> str:\n    return str(int(x) // 2)\n",
    "own.ru": f"PREFIX : <{SPACE}>\n# far\n"
    "INSERT { ?p a :Far } WHERE { ?p :x ?x FILTER(?x > 40) } ;\n",
    "shapes.ttl": f"@prefix : <{SPACE}> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    "<#S> a sh:NodeShape ; sh:targetClass :Human ;"
    " sh:property [ sh:path :x ; sh:maxInclusive 90 ] .",
    "xsd/seen.xsd": f"{XS}<xs:include schemaLocation='types/who.xsd'/>"
    "<xs:element name='seen' type='who'/></xs:schema>",
    "xsd/types/who.xsd": f"{XS}<xs:complexType name='who'><xs:sequence>"
    "<xs:element name='person' maxOccurs='unbounded'/></xs:sequence>"
    "<xs:attribute name='by'/><xs:attribute name='at'/></xs:complexType></xs:schema>",
    "door.xsd": f"{XS}<xs:element name='Door'/></xs:schema>",
}


def test_a_worker_needs_none_of_the_deployments_files(
    tmp_path: Path, folder: Path, record: Callable[..., Record]
) -> None:
    # As a volume of Kubernetes has them: each file is a link into another folder.
    real, home = tmp_path / "..1", tmp_path / "home"
    for name, text in FILES.items():
        for place in (real, home):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
        (real / name).write_text(text)
        (home / name).symlink_to(os.path.relpath(real / name, (home / name).parent))
    settings = load_settings(home / "sensorstream.toml", {})
    deployment = read_deployment(settings)
    records = [
        record(1, seen("north", 1, (1, 160), (2, 20)), "north"),
        record(2, b"<seen by='north' at='2'/>", "north"),
        record(3, seen("door", 3, (1, 20)), "door"),
        record(4, seen("north", 4, (3, 200)), "north"),
        *(record(n, seen("north", n, (n, 20)), "north") for n in range(5, 12)),
    ]
    expected = of_one_engine(deployment, records)
    statuses = {each.seq: each.status for each in expected.statuses}
    assert {seq for seq, each in statuses.items() if each is not Status.ACCEPTED} == {2, 3, 4}
    for text in ("hall", "Ada", "#Far"):
        assert text in repr(expected.departures), text
    content = shipped(deployment)
    for place in (home, real):
        shutil.rmtree(place)
    there = unpacked(content)
    assert (there.ontology, there.texts) == (deployment.ontology, deployment.texts)
    # From here on by a process of its own.
    task = HostTask(settings, "", b"secret", shipped=content)
    with closing(HostClient(folder, 0, task)) as client:
        done = client.work(Work("", None, 0, [pickle.dumps([row_of(each) for each in records])]))
    assert told(merged(parts(done))) == told(expected)
