"""Sends many messages to a server, at a rate, and counts the outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import click

from sensorstream.cli.client import Client
from sensorstream.cli.terminal import print_json, progress
from sensorstream.clock import SystemClock
from sensorstream.errors import MessageError


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to send.

    ``due`` is in seconds after the first message, ``None`` means immediately. ``source`` is its
    source in REST; with ``None`` the server chooses it.
    """

    name: str
    read: Callable[[], bytes]
    due: float | None = None
    source: str | None = None


@dataclass(slots=True)
class Tally:
    """The outcomes of the messages; ``rejected`` holds (name, code, reason).

    ``unmatched`` holds (name, likely cause).

    ``held``, ``late`` and ``journalled`` are also counted as accepted.
    """

    sent: int = 0
    accepted: int = 0
    held: int = 0
    late: int = 0
    journalled: int = 0
    unmatched: list[tuple[str, str]] = field(default_factory=list)
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    individuals: int = 0
    alerts: int = 0
    expired: int = 0
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether every message was accepted."""
        return not (self.unmatched or self.rejected)

    def count(self, name: str, facts: dict[str, Any]) -> None:
        """Add one answer of the server."""
        journalled = facts["status"] == "journalled"
        if facts["matched"] or journalled:
            self.accepted += 1
        else:
            self.unmatched.append((name, "; ".join(facts["warnings"])))
        self.held += facts["status"] == "held"
        self.late += facts["status"] == "late"
        self.journalled += journalled
        self.individuals += len(facts["individuals"])
        self.alerts += len(facts["alerts"])
        self.expired += facts["expired"]
        for phase, seconds in facts["timings"].items():
            self.phases[phase] = self.phases.get(phase, 0.0) + seconds


def numbered(messages: Iterable[bytes]) -> Iterator[Outgoing]:
    """Messages without names, to send immediately."""
    for number, content in enumerate(messages, 1):
        yield Outgoing(f"message {number}", partial(bytes, content))


def at_rate(messages: Iterable[Outgoing], rate: float) -> Iterator[Outgoing]:
    """The same messages, ``rate`` a second."""
    for number, message in enumerate(messages):
        yield replace(message, due=number / rate)


def deliver(
    client: Client,
    messages: Iterable[Outgoing],
    total: int | None,
    *,
    soap: bool = False,
    what: str = "sending",
    answered: Callable[[str, Mapping[str, Any]], None] = lambda _name, _answer: None,
) -> Tally:
    """Send every message in order, one at a time; a refused message does not stop the others.

    ``answered`` is called with the name of each message that was taken, and with the answer.

    Raises:
        ServerUnreachable: the server stopped answering.
    """
    counter = SystemClock().counter
    tally, start = Tally(), counter()
    with progress(what, total) as advance:
        for message in messages:
            if message.due is not None:
                time.sleep(max(0.0, start + message.due - counter()))
            try:
                content = message.read()
                answer = client.post_soap(content) if soap else client.send(content, message.source)
                tally.count(message.name, answer)
                answered(message.name, answer)
            except MessageError as error:
                tally.rejected.append((message.name, error.code, str(error)))
            tally.sent += 1
            advance()
    tally.seconds = counter() - start
    return tally


def end(tally: Tally, *, as_json: bool, answers: Sequence[Mapping[str, Any]] | None = None) -> None:
    """Print the tally; the command exits with 1 if a message was not accepted."""
    report(tally, as_json=as_json, answers=answers)
    if not tally.clean:
        raise click.exceptions.Exit(1)


def report(
    tally: Tally, *, as_json: bool, answers: Sequence[Mapping[str, Any]] | None = None
) -> None:
    """Print the tally; each message that was not accepted is a line on stderr.

    ``answers`` are those of the server, for JSON.
    """
    if as_json:
        print_json(
            {
                "sent": tally.sent,
                "accepted": tally.accepted,
                "unmatched": [name for name, _ in tally.unmatched],
                "rejected": [
                    {"message": name, "code": code, "reason": reason}
                    for name, code, reason in tally.rejected
                ],
                "held": tally.held,
                "late": tally.late,
                "journalled": tally.journalled,
                "individuals": tally.individuals,
                "alerts": tally.alerts,
                "expired": tally.expired,
                "seconds": round(tally.seconds, 3),
                **({} if answers is None else {"messages": answers}),
            }
        )
        return
    for name, cause in tally.unmatched:
        click.echo(f"{name}: {cause or 'no mapping rule matched'}", err=True)
    for name, code, reason in tally.rejected:
        click.echo(f"{name}: {code}: {reason}", err=True)
    states = {
        "held": tally.held,
        "late": tally.late,
        "journalled for the pipeline on Spark": tally.journalled,
    }
    told = ", ".join(f"{count} {state}" for state, count in states.items() if count)
    waiting = f" ({told})" if told else ""
    rate = tally.sent / tally.seconds if tally.seconds else 0.0
    click.echo(
        f"sent {tally.sent} in {tally.seconds:.1f} s ({rate:.0f}/s): "
        f"{tally.accepted} accepted{waiting}, {len(tally.unmatched)} unmatched, "
        f"{len(tally.rejected)} rejected; "
        f"{tally.individuals} individuals, {tally.alerts} alerts, {tally.expired} expired"
    )
