"""What rules, or others that are not in force, would make of one message; nothing is changed.

The message is taken in by an engine of its own, as in :mod:`.trials`, which holds nothing else, or
the last messages of the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sensorstream.app.file_texts import FileTexts
from sensorstream.app.mapping_files import single_maps
from sensorstream.app.rule_texts import mapping_paths, parse_texts
from sensorstream.app.trial import Trial
from sensorstream.app.wiring import Deployment, Machine
from sensorstream.engine.arrival import Arrived
from sensorstream.engine.outcome import Status
from sensorstream.errors import MessageError, SensorStreamError
from sensorstream.journal.effects import in_order
from sensorstream.mapping.document import parse_document
from sensorstream.mapping.rule_report import Explanation, explain
from sensorstream.model.events import Alert, Message
from sensorstream.model.terms import Triple

MOST_STATEMENTS: Final = 1000
"""Of each sort, in an answer."""
_ID: Final = "trial"
_PRECEDING_SECONDS: Final = 10.0
"""For the messages before it: someone waits for the answer."""
_EXPLAINED_BYTES: Final = 256 * 1024
_EXPLAINED_SECONDS: Final = 1.0
"""Explaining takes a few times as long as mapping, and has no limit of its own."""


@dataclass(frozen=True, slots=True)
class MessageTrial:
    """What would become of a message.

    If something is at fault with the rules, ``faults`` has all of it, and nothing was tried.
    ``statements`` are what the mapping rules made of it, ``added`` what semantic rules inserted,
    ``inferred`` what follows by the profile ``reasoner``. ``unexplained`` is why there are no
    ``explanations``, if that is so. So many messages (``preceding``) were taken in first.
    """

    faults: tuple[SensorStreamError, ...] = ()
    status: str = ""
    reason: str = ""
    matched: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    unexplained: str = ""
    statements: tuple[Triple, ...] = ()
    added: tuple[Triple, ...] = ()
    inferred: tuple[Triple, ...] = ()
    reasoner: str = ""
    alerts: tuple[Alert, ...] = ()
    preceding: int = 0


def try_message(
    deployment: Deployment,
    machine: Machine,
    content: bytes,
    source: str,
    now: int,
    counter: Callable[[], float],
    before: Sequence[Message] = (),
) -> MessageTrial:
    """Take a message in by ``machine``, which is new; ``now`` is when it arrives.

    The messages ``before`` are taken in first. If the message is one of them, these are those
    before it. What they say themselves is not told; what follows when one of them, which had to
    wait, is released with the message, is.
    """
    message = Message(_ID, content, now, source)
    first = set[Triple]()
    preceding = 0
    end = counter() + _PRECEDING_SECONDS
    for each in before:
        if (each.content, each.source) == (content, source) or counter() > end:
            break
        first.update(_take(machine, each))
        preceding += 1
    arrived = machine.mapper.map(message)
    trial = Trial(machine.engine)
    # A message may have to wait for others; here none come.
    traces = [trial.take(arrived), trial.finish()]
    outcomes = [each for trace in traces for each in in_order(trace.outcome)]
    told = [each for each in outcomes if each.message.id == _ID and each.status != Status.HELD]
    outcome = told[-1] if told else traces[0].outcome
    made = dict.fromkeys(traces[0].made)
    came = dict.fromkeys(triple for trace in traces for triple in trace.asserted)
    inferred = dict.fromkeys(triple for trace in traces for triple in trace.inferred)
    explanations, unexplained = _explained(deployment, message, arrived.seconds)
    return MessageTrial(
        status=outcome.status.value,
        reason="" if outcome.rejection is None else str(outcome.rejection),
        matched=outcome.matched,
        warnings=arrived.mapped.warnings if isinstance(arrived, Arrived) else (),
        explanations=explanations,
        unexplained=unexplained,
        statements=tuple(made),
        added=tuple(each for each in came if each not in made and each not in first),
        inferred=tuple(each for each in inferred if each not in made),
        reasoner=deployment.settings.reasoning.profile,
        alerts=tuple(alert for each in outcomes for alert in each.alerts),
        preceding=preceding,
    )


def _take(machine: Machine, message: Message) -> Iterator[Triple]:
    """Take a message in; what its mapping rules made of it."""
    arrived = machine.mapper.map(message)
    machine.engine.take(arrived)
    if isinstance(arrived, Arrived):
        for event in arrived.mapped.events:
            yield from event.triples


def _explained(
    deployment: Deployment, message: Message, seconds: float
) -> tuple[tuple[Explanation, ...], str]:
    """What each expression found, or why that cannot be told."""
    if len(message.content) > _EXPLAINED_BYTES or seconds > _EXPLAINED_SECONDS:
        return (), (
            f"what each expression found is told of messages of up to {_EXPLAINED_BYTES} bytes "
            f"that are mapped within {_EXPLAINED_SECONDS:g} s"
        )
    settings, schema = deployment.settings, deployment.ontology.schema
    timeline, reference = deployment.timeline, deployment.reference
    files = parse_texts(settings, deployment.texts)
    paths = mapping_paths(settings, deployment.texts)
    try:
        document = parse_document(message.content, max_depth=settings.server.max_depth)
    except MessageError:
        return (), "the message cannot be read"
    try:
        library = reference.library_of("")
        texts = FileTexts(paths)
        others = single_maps(tuple(paths), schema, timeline, settings.rules.base, library, texts)
        return explain(files, schema, timeline, document, message, reference, others), ""
    except SensorStreamError as error:
        return (), error.message
