"""A trial for axioms of which no rules are made, because the upper bound would be too large.

Limits, choices and functional properties can make many individuals of the upper bound the same, or
find a great many ways to take some of them. A trial finds the axioms by which that happens: it
derives both bounds of the ontology's own individuals and of random ones, with few rows for each
change. An axiom that needs more is treated as one that can have no rules: the reasoner is asked
about the individuals that it concerns (docs/use/reasoning.md, "Axioms without rules"). The
entailments are the same; messages do not change the decision.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count, islice
from random import Random
from typing import Final, NamedTuple

from sensorstream.errors import TermError, TooCostly
from sensorstream.model import owl, rdf
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.model.vocabulary import CONTRADICTION, OWL
from sensorstream.network.budget import Budget, Limits
from sensorstream.network.graph_components import reached
from sensorstream.reasoning.dl.axioms import AT_MOST, Axioms, name_of
from sensorstream.reasoning.dl.gap.bounds_pair import TIMES, BoundsPair
from sensorstream.reasoning.dl.gap.fact_components import Components
from sensorstream.reasoning.dl.terminology import Terminology

_LOG = logging.getLogger(__name__)
_ROWS: Final = 50_000
"""Rows of a change; about as long as a question to the reasoner."""
_ROWS_OF_AN_AXIOM: Final = 100
"""More rows for each triple of the axioms, for what follows from them alone."""
_ROWS_TOLD: Final = 1_000
"""More rows for each assertion about the ontology's own individuals."""
_TRIES: Final = 4
"""After so many trials all axioms with a choice are left out, so that a start ends."""
_TOLD: Final = 2_000
"""Assertions about the ontology's own individuals that the trial looks at."""
_SHOWN: Final = 5
_MESSAGES: Final = 40
_WINDOW: Final = 8
_AT_A_HUB: Final = 24
"""Individuals that are linked to one, all in the same way."""
_ROWS_AT_A_HUB: Final = 8_000
"""Rows of the last of them; what grows with their square or faster needs more."""
_HUBS: Final = 120
"""Ways to be linked to one that are tried."""
_ALIKE: Final = 4
"""Axioms that have made at least one of so many parts of what the first has made go with it."""
_NAME: Final = "urn:sensorstream:trial:"
_FUNCTIONAL: Final = {
    f"{OWL}FunctionalProperty": True,
    f"{OWL}InverseFunctionalProperty": False,
}
"""Properties with at most one individual: at the object's end (True), or the subject's."""
_HUB: Final = IRI(f"{_NAME}hub")


class AxiomTrial:
    """A trial that decides once for an ontology."""

    def __init__(self, terminology: Terminology) -> None:
        self._terminology = terminology
        self._left_out: frozenset[str] | None = None

    @property
    def left_out(self) -> frozenset[str]:
        """The names of the rules that are not made; none before the first :meth:`pair`."""
        return self._left_out or frozenset()

    def pair(self, told: Sequence[Triple], budget: Budget) -> BoundsPair:
        """Both bounds, without assertions; ``told`` are those about the ontology's individuals."""
        left_out = self.left_out
        told = told[:_TOLD]
        more = _ROWS + _ROWS_OF_AN_AXIOM * len(self._terminology.stated)
        for tries in count(1):
            pair = BoundsPair(self._terminology, budget, left_out)
            if self._left_out is not None or not pair.choices:
                pair.begin()
                break
            try:
                pair.begin(more)
                _try_out(pair, self._terminology.schema, told)
                _try_hubs(pair, self._terminology)
                break
            except TooCostly as error:
                left_out |= _more(error, pair.choices, at_once=tries >= _TRIES)
        self._left_out = left_out
        return pair


def _more(error: TooCostly, choices: frozenset[str], *, at_once: bool) -> frozenset[str]:
    """Axioms to leave out, after rules have found too much; ``at_once``: all of the ``choices``.
    Axioms without a choice only pass on the results of those with one. If no single ones are the
    cause (values that exist, facts that depend on each other), all go.
    """
    made = {name: each for name, each in error.rules.items() if name in choices}
    most = max(made.values(), default=0)
    more = frozenset(name for name, each in made.items() if 0 < most <= _ALIKE * each)
    if at_once or not more:
        more = choices
    shown = ", ".join(sorted(more)[:_SHOWN])
    _LOG.info("rules would find too much: %d axioms are left to the reasoner: %s", len(more), shown)
    return more


def _try_out(pair: BoundsPair, schema: Schema, told: Sequence[Triple]) -> None:
    """Derive the bounds of the told and of random individuals, and remove them again.

    Raises:
        TooCostly: rules find too much.
    """
    tried = _Tried(pair)
    known = tried.change(told, ())
    window: deque[Sequence[Triple]] = deque()
    for message in islice(_messages(schema), _MESSAGES):
        gone = window.popleft() if len(window) == _WINDOW else ()
        tried.change((), gone)
        if tried.change(message, ()):
            window.append(message)
    for message in window:
        tried.change((), message)
    if known:
        tried.change((), told)


def _try_hubs(pair: BoundsPair, terminology: Terminology) -> None:
    """Derive the bounds of many individuals that are linked to one, in the ways of a stream.

    Raises:
        TooCostly: rules find more for each, the more there are.
    """
    budget = pair.budget
    axioms = Axioms(terminology.stated)
    for way in islice(ways(axioms, terminology.schema, pair.choices), _HUBS):
        come: list[Triple] = []
        try:
            for number in range(_AT_A_HUB):
                said = way.said(IRI(f"{_NAME}{number}"), _HUB)
                if way.hub is not None and not come:
                    said.append((_HUB, rdf.TYPE, way.hub))
                budget.end()
                with budget.within(Limits(_ROWS_AT_A_HUB)):
                    moved = pair.update(said, ())
                come += said
                if any(each[1] == CONTRADICTION for each in moved.least.added):
                    break
        except TooCostly:
            if TIMES * pair.visited_below(said, ()) <= _ROWS_AT_A_HUB:
                raise
        finally:
            with budget.lift():
                pair.update((), come)


class Way(NamedTuple):
    """A way in which individuals of a class are linked to one; ``outward``: that one has the links.
    ``hub`` is the class of that one; None: it is not said.
    """

    link: IRI
    kind: IRI | None
    outward: bool
    hub: IRI | None = None

    def said(self, one: IRI, hub: IRI) -> list[Triple]:
        """The triples about one of the linked individuals."""
        link: Triple = (hub, self.link, one) if self.outward else (one, self.link, hub)
        return [link] if self.kind is None else [link, (one, rdf.TYPE, self.kind)]


def ways(axioms: Axioms, schema: Schema, names: frozenset[str]) -> Iterator[Way]:
    """The ways that axioms speak of, with the classes that they name at that end; then again with
    each class of the hub that the same axiom names, as it may speak of these only. ``names`` are
    those of the axioms, as rules have them.
    """
    found: dict[tuple[IRI, bool], dict[IRI, None]] = {}
    one_of: dict[tuple[IRI, bool], dict[tuple[IRI, IRI], None]] = {}
    for triple in axioms.triples:
        if name_of(triple) not in names:
            continue
        nodes = reached((triple[0], triple[2]), lambda each: _parts_of(axioms, each))
        kinds = [each for each in nodes if isinstance(each, IRI) and each in schema.classes]
        for link in schema.object_properties.intersection(nodes):
            # The subject is the end that has the values; the classes of the other end follow.
            for outward in (False, True):
                ends = [each for each in kinds if (each == triple[0]) is not outward]
                found.setdefault((link, outward), {}).update(dict.fromkeys(ends))
                others = [each for each in kinds if each != triple[0]]
                both = [(one, hub) for one in ends for hub in others if one != hub]
                one_of.setdefault((link, outward), {}).update(dict.fromkeys(both))
    few = _few(axioms)
    for (link, outward), classes in sorted(found.items()):
        if (link, outward) not in few:
            for kind in classes or (None,):
                yield Way(link, kind, outward)
    for (link, outward), pairs in sorted(one_of.items()):
        if (link, outward) not in few:
            for kind, hub in pairs:
                yield Way(link, kind, outward, hub)


def _parts_of(axioms: Axioms, node: Term) -> list[Term]:
    """The parts of an expression; a name has none."""
    return [o for _, _, o in axioms.about(node)] if isinstance(node, BlankNode) else []


def _few(axioms: Axioms) -> set[tuple[Term, bool]]:
    """The properties, and directions, in which nobody is linked to many."""
    found: set[tuple[Term, bool]] = set()
    inverse: list[tuple[Term, Term]] = []
    for s, p, o in axioms.triples:
        if p in AT_MOST and (link := axioms.value(s, owl.ON_PROPERTY)) is not None:
            found.add((link, True))
        elif o in _FUNCTIONAL:
            found.add((s, _FUNCTIONAL[o]))
        elif p == owl.INVERSE_OF:
            inverse += [(s, o), (o, s)]
    return found | {
        (other, not outward) for link, outward in found for one, other in inverse if one == link
    }


class _Tried:
    """The bounds of a trial, and the components between them."""

    def __init__(self, pair: BoundsPair) -> None:
        self._pair = pair
        self._components = Components(pair, pair.is_open)
        self._components.renew(pair.held())

    def change(self, added: Sequence[Triple], removed: Sequence[Triple]) -> bool:
        """Follow a change; False: there is no model with it, and nothing has changed.

        Raises:
            TooCostly: the upper bound finds too much, and far more than the lower one.
        """
        rows = _ROWS + _ROWS_TOLD * len(added)
        try:
            return self._change(added, removed, rows)
        except TooCostly:
            needed = TIMES * self._pair.visited_below(added, removed)
            if needed <= rows:
                raise
            return self._change(added, removed, needed)

    def _change(self, added: Sequence[Triple], removed: Sequence[Triple], rows: int) -> bool:
        pair = self._pair
        pair.budget.end()
        with pair.budget.within(Limits(rows)):
            try:
                moved = pair.update(added, removed)
            except TermError:
                return False
            if any(each[1] == CONTRADICTION for each in moved.least.added):
                pair.update(removed, added)
                return False
            try:
                self._components.renew(moved)
            except TooCostly:
                pair.update(removed, added)
                raise
        return True


def _messages(schema: Schema) -> Iterator[Sequence[Triple]]:
    """Individuals of random classes, linked with earlier ones."""
    draw = Random(1)
    classes, links = sorted(schema.classes), sorted(schema.object_properties)
    for number in count():
        one = IRI(f"{_NAME}{number}")
        said: dict[Triple, None] = {}
        if classes:
            said[one, rdf.TYPE, draw.choice(classes)] = None
        for _ in range(draw.randint(0, 2) if links and number else 0):
            other = IRI(f"{_NAME}{draw.randrange(max(0, number - _WINDOW), number)}")
            said[one, draw.choice(links), other] = None
        yield tuple(said)
