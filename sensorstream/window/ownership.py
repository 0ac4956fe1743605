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
    places = {subject: place for place, subject in enumerate(owners)}
    decided: dict[Subject, Subject] = {}
    circling: set[Subject] = set()
    for node in blank:
        way: dict[Subject, None] = {}
        owner: Subject = node
        while isinstance(owner, BlankNode) and owner not in way and owner not in decided:
            way[owner] = None
            owner = referrer.get(owner) or known.get(owner, owner)
        back = list(way)
        circles = owner in way or owner in circling
        if owner in way:
            start = back.index(owner)
            back, circle = back[:start], back[start:]
            owner = min(circle, key=lambda each: places.get(each, len(places)))
            decided.update(dict.fromkeys(circle, owner))
            circling.update(circle)
        else:
            owner = decided.get(owner, owner)
        # Each blank node is walked over once, however long the chain to its individual is.
        for each in reversed(back):
            if circles:
                # A cycle that nothing outside refers to belongs, with its tails, to the first.
                owner = min(each, owner, key=lambda one: places.get(one, len(places)))
                circling.add(each)
            decided[each] = owner
        owners[node] = decided[node]
    return owners
