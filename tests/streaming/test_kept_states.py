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
from tests.streaming.conftest import often, write_deployment
from tests.streaming.stand_in import Keys, registered, told
from tests.streaming.test_keyed_engines import RISING, rows_of

LEFT: Final = sorted((Path(__file__).parent / "states").glob("*.json"))


def deployment_in(folder: Path) -> Deployment:
    """A deployment with rules and a window by time, whose engines are kept as checkpoints often."""
    settings = often(write_deployment(folder), 6)
    window = WindowSettings(unit="time", size="9", partition="source")
    return read_deployment(replace(settings, window=window))


def journal() -> tuple[list[list[JournalRow]], list[list[JournalRow]]]:
    """A query and the messages of three keys: those before the state was left, and those after."""
    said = [
        [(source, 1, [(n % 4, 13 * n % 101)]) for source in ("north", "south", "")[: 1 + n % 3]]
        for n in range(16)
    ]
    later = [[(r[0] + 1, f"m{r[0] + 1}", *r[2:]) for r in rows] for rows in rows_of(said)]
    return [[registered(1, "rising", RISING)], *later[:10]], later[10:]


def leave(file: Path) -> None:
    """Write what Spark keeps of the engines after the first messages."""
    with TemporaryDirectory(prefix="sensorstream-left-") as folder:
        keys = Keys(deployment_in(Path(folder)))
        for rows in journal()[0]:
            keys.take(rows)
        keys.host.close()
    kept = {
        key: {
            "place": keys.state[key, "place"],
            "checkpoint": checkpoint and [checkpoint[0], b64encode(checkpoint[1]).decode()],
            "entries": [b64encode(each).decode() for (each,) in keys.state[key, "entries"]],
        }
        for key in keys.standings
        for checkpoint in (keys.state.get((key, "checkpoint")),)
    }
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _read(file: Path) -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], Any] = {}
    for key, of_key in json.loads(file.read_text(encoding="utf-8")).items():
        found[key, "place"] = tuple(of_key["place"])
        found[key, "entries"] = [(b64decode(each),) for each in of_key["entries"]]
        if of_key["checkpoint"] is not None:
            last, state = of_key["checkpoint"]
            found[key, "checkpoint"] = last, b64decode(state)
    return found


@pytest.mark.parametrize("file", LEFT, ids=lambda each: each.stem)
def test_engines_of_an_earlier_version_go_on(file: Path, tmp_path: Path) -> None:
    before, after = journal()
    left = _read(file)
    kinds = {
        (left.get((key, "checkpoint")) is not None, bool(left[key, "entries"])) for key, _ in left
    }
    assert {(True, True), (False, True)} <= kinds, "with a checkpoint and without one"
    deployment = deployment_in(tmp_path)
    said: list[dict[str, object]] = []
    for known in (left, {}):
        keys = Keys(deployment)
        keys.state |= known
        if known:
            keys.rows += (row for rows in before for row in rows)
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
