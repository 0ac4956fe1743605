"""What does not depend on a loop's variable is found once, not in each turn."""

from __future__ import annotations

from pathlib import Path

from sensorstream.app.control.wiring import read_deployment
from sensorstream.engine.message_reading import Arrived, Mapper
from sensorstream.installation import bundled
from sensorstream.model.events import Message
from sensorstream.model.terms import IRI, Literal
from sensorstream.settings.settings import (
    FunctionSettings,
    OntologySettings,
    RuleSettings,
    Settings,
)

NAME = IRI("http://sensorstream.example/tracking#hasName")
FUNCTIONS = """from pathlib import Path

def noted(value: str) -> str:
    with (Path(__file__).parent / "calls").open("a") as file:
        file.write(f"{value} ")
    return value
"""
RULES = """prefix : <http://sensorstream.example/tracking#>
mapping seen
on message {/Seen}
for each $person in {person}
let $hall = {room/@name |> noted}
if {room/@name |> noted}
then
  insert individual :human-{$person/@id} a :Human at {time/@at |> noted}
    ; :hasName {concat($hall, ' ', $person/@id)}
    ; :hasXLocation {$person/@x |> noted} .
"""


def test_each_path_that_only_the_message_decides_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "seen.rules").write_text(RULES)
    deployment = read_deployment(
        Settings(
            path=tmp_path / "sensorstream.toml",
            ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
            rules=RuleSettings((tmp_path / "seen.rules",)),
            functions=FunctionSettings((tmp_path / "functions.py",)),
        )
    )
    people = "".join(f"<person id='{n}' x='{n}'/>" for n in range(3))
    content = f"<Seen><time at='7'/><room name='hall'/>{people}</Seen>".encode()
    mapper = Mapper(deployment.mapping)
    for turn in ("m1", "m2"):
        (tmp_path / "calls").unlink(missing_ok=True)
        arrived = mapper.map(Message(turn, content, 0))
        assert isinstance(arrived, Arrived)
        assert (tmp_path / "calls").read_text().split() == ["hall", "hall", "7", "0", "1", "2"]
        (event,) = arrived.mapped.events
        names = [o.lexical for _, p, o in event.triples if isinstance(o, Literal) and p == NAME]
        assert names == ["hall 0", "hall 1", "hall 2"]
        assert len(event.triples) == 9
