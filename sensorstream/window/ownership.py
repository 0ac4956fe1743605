"""Which individual a triple belongs to: its subject, or the owner of a blank-node subject."""

from __future__ import annotations

from collections.abc import Mapping

from sensorstream.model.events import Event
from sensorstream.model.terms import BlankNode, Subject


def owners_of(event: Event, known: Mapping[BlankNode, Subject]) -> dict[Subject, Subject]:
    """Map each subject of an event to its individual, in order of first appearance.

    A blank node belongs to the individual that refers to it, directly or through other blank
    nodes; the first reference counts. A blank node without any reference is an individual itself.
    ``known`` holds the owners of blank nodes that are in the window already.
    """
    owners: dict[Subject, Subject] = {triple[0]: triple[0] for triple in event.triples}
    blank = [subject for subject in owners if isinstance(subject, BlankNode)]
    if not blank:
        return owners
    referrer: dict[BlankNode, Subject] = {}
    for subject, _, value in event.triples:
        if isinstance(value, BlankNode) and value in owners and value != subject:
            referrer.setdefault(value, subject)
    for node in blank:
        owner: Subject = node
        seen: set[Subject] = set()
        while isinstance(owner, BlankNode) and owner not in seen:
            seen.add(owner)
            owner = referrer.get(owner) or known.get(owner, owner)
        # A cycle of blank nodes that nothing outside refers to belongs to its first member.
        owners[node] = next(o for o in owners if o in seen) if owner in seen else owner
    return owners
