"""What the clients were told and the receivers got: what a server must stand by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import Any


@dataclass
class Witness:
    """Filled by many threads; each holds ``lock`` while it writes."""

    sent: set[int] = field(default_factory=set)
    """The numbers of all messages that were sent, answered or not."""
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The answers 200, by the number of the message."""
    early: dict[int, str] = field(default_factory=dict)
    """The ids of messages whose answer was 202, by the number of the message."""
    keyed: set[int] = field(default_factory=set)
    """Messages with an idempotency key, that were sent again until there was an answer."""
    repeated: int = 0
    """Answers with ``Idempotency-Replayed``."""
    unanswered: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    """The statuses of the other answers."""
    received: Counter[str] = field(default_factory=Counter)
    """How often the receiver got each event, by its id."""
    events: dict[str, Any] = field(default_factory=dict)
    """What the event said, without the time of its raising."""
    reports: dict[str, Any] = field(default_factory=dict)
    """The reports that the follower of the query got, by their ids."""
    missed: int = 0
    """The reports of which the follower was told that they are kept no more."""
    asked: int = 0
    """Answers of /sparql."""
    changes: list[str] = field(default_factory=list)
    """The ids of the changes of rules that were acknowledged; who puts what is in force already is
    told that change again."""
    seen_to: set[tuple[str, str, str]] = field(default_factory=set)
    """What was done with alerts, and answered: the open alert, the change and its text."""
    faults: list[str] = field(default_factory=list)
    """What no server may do; the comparison wants none of it."""
    lock: Lock = field(default_factory=Lock)

    @property
    def acknowledged(self) -> int:
        """How many messages were acknowledged."""
        return len(self.answers) + len(self.early)

    def note(self, fault: str) -> None:
        """Note something that no server may do."""
        with self.lock:
            self.faults.append(fault)

    def event(self, name: str, said: Any) -> None:
        """Note an event that a receiver got."""
        with self.lock:
            self.received[name] += 1
            if self.events.setdefault(name, said) != said:
                self.faults.append(f"the event {name} came with two contents")

    def report(self, name: str, said: Any) -> None:
        """Note a report that a follower of the query got."""
        with self.lock:
            if self.reports.setdefault(name, said) != said:
                self.faults.append(f"the report {name} came with two contents")


def plain_report(data: dict[str, Any]) -> dict[str, Any]:
    """A report whose rows are in an order of their own: that of the server has no meaning."""
    rows = sorted(data["bindings"], key=lambda row: sorted(map(str, row.items())))
    return {**data, "bindings": rows}
