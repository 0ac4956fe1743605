"""The content of one moment: background, what happens, and what follows by Datalog."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sensorstream.errors import InternalFault, NotIncremental, ProgramError, UnsupportedQuery
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.budget import Budget
from sensorstream.network.build import build
from sensorstream.network.graph_components import reached
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.query_sources import INSTANT, Knowledge, Sources
from sensorstream.network.recursion.derivation_program import DerivationProgram
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.rule_strata import stratified
from sensorstream.network.recursion.triple_kinds import KindIndex, TriplesRead, reads, written
from sensorstream.network.rows import Row, net
from sensorstream.network.selection.event_store import Wanted
from sensorstream.sparql.algebra import BGP, Pattern
from sensorstream.sparql.dotr.dotr_syntax import DatalogClause


class Channel:
    """The events of one selector at the moment at work.

    ``standing`` are the solutions that hold at every moment; ``stirred`` is called at changes.
    """

    def __init__(self, node: Node, stirred: Callable[[Channel], None]) -> None:
        self.node = node
        self.standing = dict[Row, int](net(node.rows(), ()))
        self.wanted: list[Wanted] = []
        """Tests of which a standing solution must pass at least one."""
        self._stirred = stirred
        self._added: list[Row] = []
        self._removed: list[Row] = []

    def changed(self, added: list[Row], removed: list[Row]) -> None:
        self._added += added
        self._removed += removed
        self._stirred(self)

    def rows(self) -> list[Row]:
        """The solutions of this moment, each once."""
        if not self.standing and not self._removed:
            return list(dict.fromkeys(self._added))
        counts = dict(self.standing)
        for row, number in net(self._added, self._removed).items():
            counts[row] = counts.get(row, 0) + number
        return [row for row, number in counts.items() if number > 0]

    def trim(self) -> None:
        """Remove standing solutions that no rule wants."""
        self.standing = {
            row: number
            for row, number in self.standing.items()
            if any(wants(row) for wants in self.wanted)
        }

    def end(self) -> None:
        """Forget the changes, as the moment is over."""
        self._added.clear()
        self._removed.clear()


class InstantGraph:
    """The graph of each moment in turn, for selectors that see the same Datalog rules.

    It holds the background triples that a selector or a rule body may match. What follows from the
    background alone is derived once. A moment costs its triples and what follows from them.
    """

    def __init__(
        self,
        clauses: Sequence[DatalogClause],
        selectors: Mapping[Plan, Pattern],
        knowledge: Knowledge,
        budget: Budget,
    ) -> None:
        """Derive what follows from the background; raises Overrun beyond the budget."""
        kinds = {read.kind for each in selectors.values() for read in reads(each)}
        kinds |= {read.kind for each in clauses for read in reads(each.body)}
        self._kb = KnowledgeBase()
        self.predicates = {each.predicate for each in kinds}
        """The properties of triples that make a difference here; None: any may."""
        for predicate in (None,) if None in self.predicates else self.predicates:
            self._kb.add(Origin.STATIC, knowledge.match(None, predicate, None))
        facts = [each for each in clauses if is_fact(each)]
        # A fact has no variables.
        self._kb.add(Origin.STATIC, (head.parts for each in facts for head in each.head))  # type: ignore[misc]
        rules = derivation_rules(clauses)
        self._program = DerivationProgram(self._kb, Origin.INFERRED, rules, self._build, budget)
        self._network = Network(budget=budget)
        self._derives = bool(rules)
        self._derive(0)
        indexes = {INSTANT: self._kb.index}
        self.stirred: dict[Channel, None] = {}
        """The channels with a change at this moment."""
        self.channels = {
            plan: Channel(build(plan, self._network, indexes), self._stir) for plan in selectors
        }
        for each in self.channels.values():
            self._network.listen(each.node, each.changed)
        self._said: list[Triple] = []

    def say(self, triples: Iterable[Triple]) -> None:
        """Add triples to the moment at work."""
        marks = self._kb.marks
        window = int(Origin.WINDOW)
        new = [each for each in dict.fromkeys(triples) if not marks(each) & window]
        self._kb.apply(Origin.WINDOW, Delta(0, added=tuple(new)))
        self._said += new
        self._settle()

    def end(self) -> None:
        """End the moment: only the background is left."""
        self._kb.apply(Origin.WINDOW, Delta(0, removed=tuple(self._said)))
        self._said = []
        self._settle()
        for each in self.stirred:
            each.end()
        self.stirred.clear()

    def _stir(self, channel: Channel) -> None:
        self.stirred[channel] = None

    def close(self) -> None:
        self._network.close()

    def _settle(self) -> None:
        self._derive(0)
        self._network.settle()
        if self._network.faults:
            raise next(iter(self._network.faults.values()))

    def _derive(self, time: int) -> None:
        if self._derives:
            self._program.settle(time)
            for name, error in self._program.faults.items():
                raise InternalFault(f"{name}: {error}")

    def _build(self, network: Network, body: Pattern) -> Node:
        plan = plan_in_step(body, Sources(INSTANT), None)
        return build(plan, network, {INSTANT: self._kb.index})


def derivation_rules(clauses: Iterable[DatalogClause]) -> list[DerivationRule]:
    """The Datalog rules that derive something; facts hold anyway."""
    return [
        DerivationRule(f"Datalog {each.position}", each.head, each.body)
        for each in clauses
        if not is_fact(each)
    ]


def is_fact(clause: DatalogClause) -> bool:
    """Whether a Datalog rule has no body."""
    return clause.body == BGP(())


def relevant(clauses: Sequence[DatalogClause], kinds: Iterable[TriplesRead]) -> list[DatalogClause]:
    """The Datalog rules that may help to derive a triple of some kinds, in their order."""
    writers = KindIndex[int]()
    for number, clause in enumerate(clauses):
        for each in clause.head:
            writers.add(written(each), number)

    def writing(asked: Iterable[TriplesRead]) -> Iterator[int]:
        return (number for kind in asked for number in writers.meeting(kind))

    found = reached(writing(kinds), lambda n: writing(e.kind for e in reads(clauses[n].body)))
    return [clauses[number] for number in sorted(found)]


def check_clauses(wanted: Sequence[DatalogClause]) -> None:
    """Check the Datalog rules that contribute to selectors.

    Raises UnsupportedQuery if a body cannot be kept in step, or a rule needs through ``not`` what
    it helps to derive; at the place of the first rule that makes it so.
    """
    wanted = [each for each in wanted if not is_fact(each)]
    for each in wanted:
        try:
            plan_in_step(each.body, Sources(INSTANT))
        except NotIncremental as error:
            raise UnsupportedQuery(
                f"the Datalog rule cannot be kept in step: {error.message}", position=each.position
            ) from None
        except UnsupportedQuery as error:
            raise UnsupportedQuery(error.message, position=each.position) from None
    if _fault(wanted) is None:
        return
    # More rules never remove a fault: the shortest prefix with a fault ends with its rule.
    first = bisect_left(range(1, len(wanted)), True, key=lambda n: _fault(wanted[:n]) is not None)
    fault = _fault(wanted[: first + 1])
    assert fault is not None
    raise UnsupportedQuery(fault.message, position=wanted[first].position) from None


def _fault(clauses: Sequence[DatalogClause]) -> ProgramError | None:
    try:
        stratified(derivation_rules(clauses))
    except ProgramError as error:
        return error
    return None
