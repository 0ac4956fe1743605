"""The operators of all queries, and the instants at which they settle."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import count

from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.budget import NO_LIMITS, Budget, EngineLoad, Limits, Meter
from sensorstream.network.copies import Copies
from sensorstream.network.dispatch import Dispatcher, Watched
from sensorstream.network.node import Node
from sensorstream.network.rows import Row

_LOG = logging.getLogger(__name__)

Listener = Callable[[list[Row], list[Row]], None]
"""Gets the rows added to an operator's output, and those removed; the two may overlap."""
Observer = Callable[[Sequence[Node]], None]
"""Gets the operators that an instant has changed, while their changes can still be read."""


class Network:
    """A graph of operators over triple indexes.

    Call :meth:`settle` after changes of an index: that ends one instant. A change costs the work of
    the operators that it concerns, however many others there are.
    """

    def __init__(
        self,
        limits: Limits = NO_LIMITS,
        budget: Budget | None = None,
        now: Callable[[], Instant | None] = lambda: None,
    ) -> None:
        """Make a network, perhaps with the ``budget`` of another; ``now``: the present instant."""
        self.now = now
        self.budget = Budget(limits) if budget is None else budget
        self.load = EngineLoad(limits)
        self.agenda = Agenda()
        """Entries that are due at a time; the processor takes them out."""
        self.observers: list[Observer] = []
        self.faults: dict[Node, Exception] = {}
        """Operators that a bug has broken, and its error: their output must not be used."""
        self._nodes: dict[Hashable, Node] = {}
        self._dispatchers: dict[int, tuple[Watched, Dispatcher]] = {}
        self._listeners: dict[Node, list[Listener]] = {}
        self._queue: list[tuple[int, int, Node]] = []
        self._numbers = count(1)

    @cached_property
    def copies(self) -> Copies:
        return Copies()

    def __len__(self) -> int:
        return len(self._nodes)

    def dispatcher(self, index: Watched) -> Dispatcher:
        found = self._dispatchers.get(id(index))
        if found is None:
            found = self._dispatchers[id(index)] = index, Dispatcher(index, self.wake, self.load)
        return found[1]

    def share(self, key: Hashable, make: Callable[[], Node]) -> Node:
        """Return the operator of a key; it is made, filled and connected if it does not exist yet.

        Its consumers and listeners use it; :meth:`drop` removes one without a user.
        """
        node = self._nodes.get(key)
        if node is not None:
            return node
        node = make()
        node.key = key
        node.number = next(self._numbers)
        node.meter = Meter(self.budget)
        node.look = self.budget.next_look(0)
        try:
            self.budget.check_time()
            if type(node).load is not Node.load:
                # Loading it visits all rows of its inputs.
                self.budget.check_expected(sum(each.expected() for each in node.inputs))
            node.load()
        except BaseException:
            node.release()
            raise
        self._nodes[key] = node
        for source in node.inputs:
            source.consumers.append(node)
            source.users += 1
        return node

    def listen(self, node: Node, listener: Listener) -> None:
        """Call a listener at every instant that changes an operator's output."""
        node.users += 1
        self._listeners.setdefault(node, []).append(listener)

    def leave(self, node: Node, listener: Listener) -> None:
        """Remove a listener, and operators that have no user then."""
        listeners = self._listeners[node]
        listeners.remove(listener)
        if not listeners:
            del self._listeners[node]
        node.users -= 1
        self.drop(node)
        self._rest()

    def drop(self, node: Node) -> None:
        """Remove an operator, and those below it, unless they have another user."""
        if node.users or self._nodes.get(node.key) is not node:
            return
        del self._nodes[node.key]
        self.faults.pop(node, None)
        if node.queued:
            self._queue[:] = [each for each in self._queue if each[2] is not node]
            heapq.heapify(self._queue)
        try:
            node.release()
        except Exception as error:
            # A broken operator may leave something behind; the others are dropped all the same.
            _LOG.error("a fault of our own in '%s'", type(node).__name__, exc_info=error)
        for source in node.inputs:
            source.consumers.remove(node)
            source.users -= 1
            self.drop(source)

    def sweep(self) -> None:
        """Remove operators without a user: those of a query that failed to compile."""
        for node in sorted(self._nodes.values(), key=lambda each: -each.depth):
            self.drop(node)
        self._rest()

    def _rest(self) -> None:
        """Stop watching indexes that no operator reads."""
        idle = [key for key, (_, dispatcher) in self._dispatchers.items() if dispatcher.idle]
        for key in idle:
            self._dispatchers.pop(key)[1].close()

    @property
    def is_settled(self) -> bool:
        """Whether no operator has anything to take in."""
        return not self._queue

    def settle(self) -> None:
        """End an instant: every operator concerned takes in what has changed below it."""
        queue = self._queue
        if not queue and not self.observers:
            self.budget.end()
            return
        changed: list[Node] = []
        counter = self.load.counter
        since = 0.0 if counter is None else counter()
        # The only operator that is queued, as most often: it needs no queue.
        only: Node | None = None
        while only is not None or queue:
            node = heapq.heappop(queue)[2] if only is None else only
            only = None
            node.queued = False
            try:
                if node.fault is not None:
                    raise node.fault
                node.flush()
                added, removed = len(node.added), len(node.removed)
                if added or removed:
                    node.meter.take(added + removed)
            except Exception as error:
                self.faults[node] = error
                node.added, node.removed, node.fault = [], [], None
                added = removed = 0
            if added or removed:
                changed.append(node)
                counters = node.counters
                counters.added += added
                counters.removed += removed
                if counters.added >= node.look:
                    self._look(node)
                for consumer in node.concerned:
                    if consumer.queued:
                        continue
                    consumer.queued = True
                    if only is None and not queue:
                        only = consumer
                        continue
                    if only is not None:
                        heapq.heappush(queue, (only.depth, only.number, only))
                        only = None
                    heapq.heappush(queue, (consumer.depth, consumer.number, consumer))
            if counter is not None:
                now = counter()
                self.load.took(node, since, now)
                node.counters.seconds += now - since
                since = now
        try:
            for observer in self.observers:
                observer(changed)
            listeners = self._listeners
            for node in changed:
                if node in listeners:
                    try:
                        for listener in listeners[node]:
                            listener(node.added, node.removed)
                    except Exception as error:
                        self.faults[node] = error
        finally:
            for node in changed:
                node.added = []
                node.removed = []
            self.budget.end()

    def _look(self, node: Node) -> None:
        """Break the operator or consumers of it that keep too many rows."""
        node.look = self.budget.next_look(node.counters.added)
        for each in (node, *node.consumers):
            if each.fault is None:
                each.fault = self.budget.kept(each.size())
                if each.fault is not None and not each.queued:
                    self.wake(each)

    def nodes(self) -> Iterable[Node]:
        """The operators, those that read indexes first."""
        return sorted(self._nodes.values(), key=lambda node: (node.depth, node.number))

    def close(self) -> None:
        for _, dispatcher in self._dispatchers.values():
            dispatcher.close()
        self._dispatchers.clear()

    def wake(self, node: Node) -> None:
        """Queue an operator that is not queued yet for the instant at work."""
        node.queued = True
        heapq.heappush(self._queue, (node.depth, node.number, node))
