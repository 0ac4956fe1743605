"""The content of a window: individuals, their statements, and the owners of blank nodes.

Every change goes to a :class:`.WindowChange`, with its undo. This module does not decide when an
element enters or leaves.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from sensorstream.model.events import Ended, Event, Individual, Provenance
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.replaced_updates import IndividualUpdate, Latecomer, UpdatesBefore
from sensorstream.window.window_change import References, WindowChange
from sensorstream.window.window_partition import WindowCounters, owners_of

_NO_GRAPHS: Final[Mapping[Triple, tuple[IRI, ...]]] = {}


class Content:
    """Content of all partitions of a window; names, stays and arrivals are those of the whole."""

    __slots__ = ("counters", "individuals", "owners", "past", "touched")

    def __init__(self) -> None:
        self.counters = WindowCounters()
        self.individuals: dict[Subject, Individual] = {}
        self.owners: dict[BlankNode, Subject] = {}
        self.past = UpdatesBefore()
        self.touched: set[Subject] | None = None
        """Gets the individuals that are said, changed or leave, if anybody wants to know them."""

    def owner(self, subject: Subject) -> Subject:
        """The individual a subject's triples belong to: itself, or a blank node's owner."""
        if isinstance(subject, BlankNode):
            return self.owners.get(subject, subject)
        return subject

    def begin(self, time: Instant, record: WindowChange) -> Instant:
        """Let time pass; return application time."""
        counters = self.counters
        now = counters.now
        record.undo.append(partial(self._rewind, now, counters.arrivals, counters.stays))
        if now is None or time > now:
            counters.now = now = time
        self.past.trim(self.individuals, record)
        return now

    def enter(self, event: Event, record: WindowChange) -> list[Individual]:
        """Take an event's triples in; return the individuals that are new or became younger."""
        owners = owners_of(event, self.owners)
        names = dict.fromkeys(owners.values())
        renewed = [
            individual
            for name in names
            if (individual := self._appear(name, event, record)) is not None
        ]
        ended = len(record.ended)
        late: set[Subject] = set()
        if self.counters.now is not None and event.time < self.counters.now:
            # An update may be the latest of its individual, and still late: a rule may have removed
            # something.
            late = names.keys() - {
                each.name for each in renewed if not self.past.ends_after(each.stay, event.time)
            }
        placed = self._place_late(event, owners, late, record) if late else {}
        if event.replaces:
            self._replace(event, late, record)
            for name, pairs in self._replaced(event, owners).items():
                # Only the individual's own pairs: with those of all, n updates would hold n pairs
                # each.
                stay = self.individuals[name].stay
                its = self.past.shared(stay, frozenset(pairs))
                update = IndividualUpdate(stay, name, event.time, event.message, its)
                self.past.note_update(update, record)
        record.references.clear()
        provenance = plain = Provenance(event.message, event.time)
        graphs = event.named_graphs() if event.graphs else _NO_GRAPHS
        new: list[Triple] = []
        for triple in event.triples:
            if triple in placed:
                continue
            subject = triple[0]
            individual = self.individuals[owners[subject]]
            if isinstance(subject, BlankNode):
                record.resettled[subject] = None
                if subject != individual.name:
                    self._own(subject, individual.name, record)
            if graphs:
                named = graphs.get(triple)
                provenance = replace(plain, graphs=" ".join(sorted(named))) if named else plain
            known = individual.statements.get(triple)
            if known is not None:
                if known.graphs or provenance.graphs:
                    self._place_again(
                        individual, triple, known, event, provenance.graph_names, record
                    )
                continue
            individual.statements[triple] = provenance
            new.append(triple)
            if provenance.graphs:
                record.place(triple, (), provenance.graph_names)
        record.weigh(new, 1)
        record.undo.append(partial(self._unsay, new, owners))
        for old in record.ended[ended:]:
            if (bereft := self.individuals.get(old.name)) is not None:
                self._depart_empty(bereft, record)
        return renewed

    def retract(self, triples: Iterable[Triple], time: Instant, record: WindowChange) -> None:
        """Take statements out on request; an individual that loses its last one departs whole."""
        for individual, held in self._losses(triples):
            if len(held) == len(individual.statements):
                self.depart(individual, record)
            else:
                for triple in held:
                    self.supersede(individual, triple, time, record)
                self._depart_empty(individual, record)

    def expire(self, triples: Iterable[Triple], time: Instant, record: WindowChange) -> None:
        """Let triples leave by their age alone, even if their subject is still referred to."""
        for individual, held in self._losses(triples):
            if len(held) == len(individual.statements):
                self.depart(individual, record)
                continue
            for triple in held:
                self._take_out(individual, triple, time, record)
            for node in {node for t in held for node in (t[0], t[2])}:
                if isinstance(node, BlankNode) and node in self.owners:
                    left = self._references(individual, record)
                    if not left.refer_to(node) and not left.about(node):
                        self._disown(node, record)

    def supersede(
        self, individual: Individual, triple: Triple, time: Instant, record: WindowChange
    ) -> None:
        """Take one statement out; a blank node that loses its last reference goes with it."""
        # A chain of blank nodes may be longer than Python's stack.
        todo: list[Triple | BlankNode] = [triple]
        while todo:
            each = todo.pop()
            if isinstance(each, BlankNode):
                self._disown(each, record)
                continue
            if each not in individual.statements:
                continue
            self._take_out(individual, each, time, record)
            node = each[2]
            if not isinstance(node, BlankNode) or self.owners.get(node) != individual.name:
                continue
            left = self._references(individual, record)
            if not left.refer_to(node):
                todo.append(node)
                todo.extend(reversed(left.about(node)))

    @staticmethod
    def _references(individual: Individual, record: WindowChange) -> References:
        """The blank nodes of an individual, as its statements are now."""
        found = record.references.get(individual.stay)
        if found is None:
            found = record.references[individual.stay] = References(individual.statements)
        return found

    def depart(self, individual: Individual, record: WindowChange) -> None:
        """Let an individual leave with all it has."""
        name = individual.name
        if self.touched is not None:
            self.touched.add(name)
        del self.individuals[name]
        record.undo.append(partial(self.individuals.__setitem__, name, individual))
        record.weigh(individual.statements, -1)
        for triple, said in individual.statements.items():
            if said.graphs:
                record.place(triple, said.graph_names, ())
        if self.owners:
            for subject, _, value in individual.statements:
                for node in (subject, value):
                    if isinstance(node, BlankNode) and self.owners.get(node) == name:
                        self._disown(node, record)
        record.departures.append(individual)
        self.past.forget(individual.stay, record)

    def _depart_empty(self, individual: Individual, record: WindowChange) -> None:
        if not individual.statements:
            self.depart(individual, record)

    def _losses(self, triples: Iterable[Triple]) -> list[tuple[Individual, list[Triple]]]:
        """The triples that are held, by individual, in order."""
        losses: dict[Subject, dict[Triple, None]] = {}
        for triple in triples:
            losses.setdefault(self.owner(triple[0]), {})[triple] = None
        found = []
        for name, lost in losses.items():
            individual = self.individuals.get(name)
            if individual is not None:
                held = [triple for triple in lost if triple in individual.statements]
                if held:
                    found.append((individual, held))
        return found

    def _appear(self, name: Subject, event: Event, record: WindowChange) -> Individual | None:
        if self.touched is not None:
            self.touched.add(name)
        counters = self.counters
        counters.arrivals += 1
        known = self.individuals.get(name)
        if known is None:
            counters.stays += 1
            known = Individual(
                name, counters.stays, event.time, event.time, counters.arrivals, event.message
            )
            self.individuals[name] = known
            record.resettled[name] = None
            record.undo.append(partial(self.individuals.__delitem__, name))
        elif event.time >= known.time:
            record.undo.append(partial(_date, known, known.time, known.arrival, known.message))
            _date(known, event.time, counters.arrivals, event.message)
        else:
            return None
        return known

    def _place_late(
        self,
        event: Event,
        owners: Mapping[Subject, Subject],
        late: Container[Subject],
        record: WindowChange,
    ) -> dict[Triple, None]:
        """Put the part of an event that is late into the past of its individuals; return the
        triples that must not enter the window.
        """
        said: dict[Subject, list[Triple]] = {}
        for triple in event.triples:
            if (name := owners[triple[0]]) in late:
                said.setdefault(name, []).append(triple)
        replaces = self._replaced(event, owners)
        graphs = event.named_graphs() if event.graphs else _NO_GRAPHS
        placed: dict[Triple, None] = {}
        for name, its in said.items():
            one = self.individuals[name]
            latecomer = Latecomer(one, event, graphs, self.past, record, self.supersede)
            placed.update(latecomer.place(its, replaces.get(name, ())))
        return placed

    def _replaced(
        self, event: Event, owners: Mapping[Subject, Subject]
    ) -> dict[Subject, list[tuple[Subject, IRI]]]:
        """The pairs that an event replaces, by individual, for individuals that it speaks of."""
        names = set(owners.values())
        found: dict[Subject, list[tuple[Subject, IRI]]] = {}
        # Sorted, because the order of a set differs between processes.
        for pair in sorted(event.replaces):
            name = owners.get(pair[0]) or self.owner(pair[0])
            if name in names:
                found.setdefault(name, []).append(pair)
        return found

    def _replace(self, event: Event, late: Container[Subject], record: WindowChange) -> None:
        """Supersede the old values of an update, except of individuals for which it is late."""
        replaced: dict[Subject, set[IRI]] = {}
        # Sorted, because the order of a set differs between processes.
        for name, predicate in sorted(event.replaces):
            replaced.setdefault(name, set()).add(predicate)
        # The event is read once for all names: a message may be about thousands.
        new = {t for t in event.triples if t[1] in replaced.get(t[0], ())}
        for name, predicates in replaced.items():
            individual = self.individuals.get(self.owner(name))
            if individual is None or individual.name in late:
                continue
            for triple in list(individual.statements):
                if triple[0] == name and triple[1] in predicates and triple not in new:
                    self.supersede(individual, triple, event.time, record)

    def _take_out(
        self, individual: Individual, triple: Triple, time: Instant, record: WindowChange
    ) -> None:
        if self.touched is not None:
            self.touched.add(individual.name)
        said = individual.statements.pop(triple)
        if isinstance(triple[0], BlankNode):
            record.resettled[triple[0]] = None
        if (references := record.references.get(individual.stay)) is not None:
            references.drop(triple)
        record.undo.append(partial(individual.statements.__setitem__, triple, said))
        record.weigh((triple,), -1)
        if said.graphs:
            record.place(triple, said.graph_names, ())
        ended = Ended(individual.stay, individual.name, triple, said, max(time, said.time))
        self.past.note_ended(ended, record)

    @staticmethod
    def _place_again(
        individual: Individual,
        triple: Triple,
        known: Provenance,
        event: Event,
        graphs: tuple[IRI, ...],
        record: WindowChange,
    ) -> None:
        """Set the graphs of a repeated statement: an update's replace the old, others are added."""
        if (triple[0], triple[1]) not in event.replaces:
            graphs = tuple(sorted({*known.graph_names, *graphs}))
        elif event.time < known.time:
            return
        if graphs != known.graph_names:
            individual.statements[triple] = replace(known, graphs=" ".join(graphs))
            record.undo.append(partial(individual.statements.__setitem__, triple, known))
            record.place(triple, known.graph_names, graphs)

    def _unsay(self, said: Iterable[Triple], owners: Mapping[Subject, Subject]) -> None:
        for triple in said:
            del self.individuals[owners[triple[0]]].statements[triple]

    def _own(self, node: BlankNode, name: Subject, record: WindowChange) -> None:
        if node not in self.owners:
            self.owners[node] = name
            record.undo.append(partial(self.owners.__delitem__, node))

    def _disown(self, node: BlankNode, record: WindowChange) -> None:
        owner = self.owners.pop(node, None)
        if owner is not None:
            record.undo.append(partial(self.owners.__setitem__, node, owner))

    def _rewind(self, now: Instant | None, arrivals: int, stays: int) -> None:
        counters = self.counters
        counters.now, counters.arrivals, counters.stays = now, arrivals, stays


def _date(individual: Individual, time: Instant, arrival: int, message: str) -> None:
    individual.time, individual.arrival, individual.message = time, arrival, message
