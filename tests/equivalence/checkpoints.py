"""Runs that are stopped and started again: what they leave behind is the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import partial

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.journal.registration import RegisterQuery
from sensorstream.settings.settings_file import load_settings
from sensorstream.testing import MemoryStore
from tests.app.pipelines import PEOPLE, WINDOWED, left_behind, running
from tests.equivalence.canonical import masked
from tests.equivalence.deployments import EXAMPLES, OF_SETTINGS, shipped
from tests.equivalence.items import Item, Tools


def checkpoints(tools: Tools) -> Iterator[Item]:
    """What is left behind by messages, at once, and with a restart in their midst."""
    streams = {"tracking": (shipped(tools, "tracking", "integer"), tracker_messages(60))}
    for name in OF_SETTINGS:
        files = sorted((EXAMPLES / name / "messages").glob("*.xml"))
        config = EXAMPLES / name / "sensorstream.toml"
        streams[name] = (config, (each.read_bytes() for each in files))
    for name, (config, contents) in streams.items():
        deployment, messages = read_deployment(load_settings(config, {})), [*map(bytes, contents)]
        for parts in sorted({1, 2, len(messages)}):
            yield Item(f"{name}/{parts}", partial(_left, deployment, messages, parts))


def _left(deployment: Deployment, messages: Sequence[bytes], parts: int) -> str:
    """What a run leaves behind that is stopped and started again so often."""
    store = MemoryStore()
    size = -(-len(messages) // parts)
    for begin in range(0, len(messages), size):
        with running(deployment, store) as run:
            if not begin and deployment.timeline.value == "integer":
                run.change(RegisterQuery("people", PEOPLE))
                run.change(RegisterQuery("windowed", WINDOWED))
            for content in messages[begin : begin + size]:
                run.send(content)
    return masked("\n".join(map(repr, map(_plain, left_behind(store)))))


def _plain(value: object) -> object:
    """A value without the names of classes, sets in an order."""
    if is_dataclass(value) and not isinstance(value, type):
        return [_plain(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, dict):
        return sorted(([_plain(k), _plain(v)] for k, v in value.items()), key=repr)
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=repr)
    return [*map(_plain, value)] if isinstance(value, list | tuple) else str(value)
