"""What is needed to change the ontology or the rules of a running deployment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sensorstream.app.exchange import Exchange
from sensorstream.app.pipeline import Pipeline
from sensorstream.app.trials import Trials


@dataclass(frozen=True, slots=True)
class Live:
    """A running deployment; ``url`` is that of its database.

    ``check_here`` raises that the engines run elsewhere; see :class:`.Application`.
    """

    exchange: Exchange
    pipeline: Pipeline
    url: Callable[[], str]
    check_here: Callable[[str, str], None]
    trials: Trials
