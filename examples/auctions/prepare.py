"""Map auction messages to an event file: ``python examples/auctions/prepare.py MESSAGES OUT``.

MESSAGES is a folder of XML files, as ``sensorstream simulate auctions --out MESSAGES`` writes it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from sensorstream.app.control.wiring import read_deployment
from sensorstream.cli.send_command import sources
from sensorstream.mapping.xml_document import parse_document
from sensorstream.model.events import Message
from sensorstream.settings.settings_file import load_settings
from sensorstream.streams.event_lines import EventLines
from sensorstream.streams.processor import StreamEvent

CONFIGURATION = Path(__file__).parent / "sensorstream.toml"


def mapped(messages: Sequence[str]) -> Iterator[StreamEvent]:
    """What the example's mapping rules make of messages."""
    settings = load_settings(CONFIGURATION)
    plan = read_deployment(settings).mapping
    for number, source in enumerate(sources(messages), 1):
        content = source.read()
        # Each message says its own time, so that of arrival is not used.
        message = Message(f"m{number}", content, 0, source.name)
        document = parse_document(content, max_depth=settings.server.max_depth)
        for event in plan.apply(document, message).events:
            yield StreamEvent(event.time, event.triples)


def main() -> None:
    """Read the arguments, write the events."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("messages", help="a folder of XML files")
    parser.add_argument("out", type=Path, help="the event file")
    options = parser.parse_args()
    with options.out.open("w", encoding="utf-8") as file:
        file.writelines(map(EventLines(file.name, numbers=False).write, mapped([options.messages])))


if __name__ == "__main__":
    main()
