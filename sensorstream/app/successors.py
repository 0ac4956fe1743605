"""What is ready to take over: a reasoner, another ontology, other rules or rule sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from sensorstream.app.wiring import Deployment, reasoner_of
from sensorstream.engine.arrival import Mapper
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import ReasonerError
from sensorstream.journal.takeover import PutOntology
from sensorstream.kb.graph import Origin
from sensorstream.model.events import Message
from sensorstream.model.terms import Triple
from sensorstream.reasoning.dl.reasoner import ResilientReasoner
from sensorstream.reasoning.reasoner import Aside


@dataclass(frozen=True, slots=True)
class OntologyText:
    """An ontology as it was put: ``entry`` is the journal's id of the change."""

    content: bytes
    media_type: str
    entry: str


def ontology_text(message: Message) -> OntologyText:
    """The ontology that an entry of the journal has put."""
    entry = PutOntology.decode(message.content, message.source)
    return OntologyText(entry.content, entry.media_type, message.id)


class Present(Protocol):
    """What is in force, where a successor puts what it has; ``put`` as in :class:`.Exchange`."""

    mapper: Mapper
    deployment: Deployment
    put: OntologyText | None


class NewReasoner:
    """A reasoner that is prepared in parallel, until an entry of the journal puts it in force."""

    def __init__(self, engine: Engine, aside: Aside) -> None:
        self.aside = aside
        self._engine = engine

    def check(self) -> None:
        """Check that it works; individuals that contradict the ontology leave the window.

        Raises:
            ReasonerError: it failed.
        """
        reasoner = self.aside.reasoner
        if isinstance(reasoner, ResilientReasoner) and reasoner.degraded:
            raise ReasonerError(f"the new reasoner failed: {reasoner.degraded}")

    def take_over(self, message: Message) -> Outcome:
        """Put it in force; see :meth:`.Engine.readmit`."""
        return self._engine.readmit(message, self.aside)

    def close(self) -> None:
        """Stop a reasoner that has not taken over."""
        self.aside.reasoner.close()


class NewOntology(NewReasoner):
    """A reasoner with another ontology, and the mapping and rules compiled for it."""

    def __init__(
        self, engine: Engine, aside: Aside, present: Present, deployment: Deployment
    ) -> None:
        super().__init__(engine, aside)
        self._present = present
        self.deployment = deployment

    def check(self) -> None:
        """Check that the window is consistent with the ontology, and that the reasoner works.

        Raises:
            Inconsistent: the window contradicts it.
            ReasonerError: the reasoner failed.
        """
        self.aside.follow(self._engine.kb.triples(Origin.WINDOW))
        super().check()

    def take_over(self, message: Message) -> Outcome:
        """Put it in force; see :meth:`.Engine.adopt`."""
        new = self.deployment
        self._engine.adopt(self.aside, new.rules, new.filters, new.shedding, message.id)
        self._present.mapper.plan = new.mapping
        self._present.deployment = new
        self._present.put = ontology_text(message)
        # Since when it is in force: application time.
        return replace(self._engine.accepted(message), time=self._engine.window.now)


class NewRules:
    """Mapping and semantic rules that are compiled, until an entry puts them in force."""

    def __init__(
        self, engine: Engine, present: Present, deployment: Deployment, *, found: bool = False
    ) -> None:
        """``found``: a start has found them in the files of the settings; nobody has put them."""
        self._engine = engine
        self._present = present
        self._found = found
        self.deployment = deployment

    def follow(self, window: Iterable[Triple]) -> None:
        """Nothing that they conclude depends on the window."""

    def check(self) -> None:
        """Check that their conditions can be answered; nothing in the window depends on them.

        Raises:
            Overrun: to begin with them takes more than the limits.
        """
        self._engine.check_rules(self.deployment.rules)

    def take_over(self, message: Message) -> Outcome:
        """Put them in force; see :meth:`.Engine.adopt_rules`."""
        new = replace(self.deployment, put="" if self._found else message.id)
        self._engine.adopt_rules(new.rules, message.received)
        self._present.mapper.plan = new.mapping
        self._present.deployment = new
        return self._engine.accepted(message)

    def close(self) -> None:
        """There is nothing to stop."""


class NewRuleSets(NewRules):
    """Rules with other rule sets among them, and the reasoner of these."""

    def __init__(
        self,
        engine: Engine,
        present: Present,
        deployment: Deployment,
        aside: Aside,
        *,
        found: bool,
    ) -> None:
        super().__init__(engine, present, deployment, found=found)
        self._aside = aside

    def follow(self, window: Iterable[Triple]) -> None:
        """Derive what follows from the window.

        Raises:
            Inconsistent: a rule concludes a contradiction.
            Overrun: they make nodes of nodes without end.
        """
        self._aside.follow(window)

    def check(self) -> None:
        """Check that the window does not contradict them, either."""
        self.follow(self._engine.kb.triples(Origin.WINDOW))
        super().check()

    def take_over(self, message: Message) -> Outcome:
        """Put them in force; see :meth:`.Engine.adopt`."""
        now = self._present.deployment
        self._engine.adopt(self._aside, now.rules, now.filters, now.shedding, message.id)
        return super().take_over(message)

    def close(self) -> None:
        """Stop a reasoner that has not taken over."""
        self._aside.reasoner.close()


def aside_of(deployment: Deployment) -> Aside:
    """A new reasoner of a deployment beside the running one, with an empty window.

    Raises:
        OntologyError: the ontology cannot be used by the reasoner.
        ReasonerError: it does not start.
    """
    reasoner = reasoner_of(deployment)
    # A whole window is more than the one message that the limits are for (decision 043).
    reasoner.lifted = True
    try:
        return Aside(deployment.ontology.triples, reasoner)
    except BaseException:
        reasoner.close()
        raise
