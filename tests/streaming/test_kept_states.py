"""Engines that earlier versions left in Spark's state go on with this one.

``states`` has the state of some keys as each format keeps it. Where a later version changes the
format, it adds a file: ``python -m tests.streaming.test_kept_states FILE.json``.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.history.journal_rows import JournalRow
from sensorstream.journal.entry_effects import merged
from sensorstream.settings.settings import WindowSettings
from sensorstream.streaming.worker_messages import EnginePlace
from tests.streaming.conftest import START, write_deployment
from tests.streaming.test_keyed_engines import Keys, rows_of, told

LEFT: Final = sorted((Path(__file__).parent / "states").glob("*.json"))
_PATTERN: Final = b"""PREFIX : <http://example.org/t#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?x (COUNT(*) AS ?n) WHERE { { ?p :x ?y } SEQ { ?q :x ?x } FILTER(?y < ?x) }
GROUP BY ?x HAVING(getDURATION() < "PT9S"^^xsd:duration)"""


def deployment_in(folder: Path) -> Deployment:
    """A deployment with rules and a window by time, whose engines are kept as checkpoints often."""
    settings = write_deployment(folder)
    often = replace(settings.history, checkpoint_every=6)
    window = WindowSettings(unit="time", size="9", partition="source")
    return read_deployment(replace(settings, history=often, window=window))


def journal() -> tuple[list[list[JournalRow]], list[list[JournalRow]]]:
    """A query and the messages of three keys: those before the state was left, and those after."""
    query: JournalRow = (1, "m1", "rising", START, 1, _PATTERN, None, "query", False, "")
    said = [
        [(source, 1, [(n % 4, 13 * n % 101)]) for source in ("north", "south", "")[: 1 + n % 3]]
        for n in range(16)
    ]
    later = [[(r[0] + 1, f"m{r[0] + 1}", *r[2:]) for r in rows] for rows in rows_of(said)]
    return [[query], *later[:10]], later[10:]


def leave(file: Path) -> None:
    """Write what Spark keeps of the engines after the first messages."""
    with TemporaryDirectory(prefix="sensorstream-left-") as folder:
        keys = Keys(deployment_in(Path(folder)))
        for rows in journal()[0]:
            keys.take(rows)
        keys.host.close()
    kept = {
        key: {
            "place": [place.first, place.last, place.since],
            "checkpoint": checkpoint and [checkpoint[0], b64encode(checkpoint[1]).decode()],
            "entries": [b64encode(each).decode() for each in entries],
        }
        for key, (place, checkpoint, entries) in keys._state.items()
    }
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    return {
        key: (
            EnginePlace(*of_key["place"]),
            of_key["checkpoint"] and (of_key["checkpoint"][0], b64decode(of_key["checkpoint"][1])),
            [b64decode(each) for each in of_key["entries"]],
        )
        for key, of_key in json.loads(file.read_text(encoding="utf-8")).items()
    }


@pytest.mark.parametrize("file", LEFT, ids=lambda each: each.stem)
def test_engines_of_an_earlier_version_go_on(file: Path, tmp_path: Path) -> None:
    before, after = journal()
    left = _read(file)
    kinds = {(checkpoint is not None, bool(kept)) for _, checkpoint, kept in left.values()}
    assert {(True, True), (False, True)} <= kinds, "with a checkpoint and without one"
    deployment = deployment_in(tmp_path)
    said: list[dict[str, object]] = []
    for known in (left, {}):
        keys = Keys(deployment)
        keys._state.update(known)
        if known:
            keys._rows += (row for rows in before for row in rows)
        else:
            for rows in before:
                keys.take(rows)
        effects = [each for rows in after for each in keys.take(rows)]
        keys.host.close()
        said.append(told(merged(effects)))
        assert merged(effects).alerts
        assert merged(effects).reports
    assert said[0] == said[1]


if __name__ == "__main__":
    leave(Path(sys.argv[1]))
