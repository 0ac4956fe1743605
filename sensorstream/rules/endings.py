"""The end of what a rule told of: its alerts are cleared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from sensorstream.language import syntax
from sensorstream.rules.effects import Run
from sensorstream.rules.templates import Text, compile_parts, shown
from sensorstream.rules.timers import SolutionKey
from sensorstream.rules.triple_patterns import Var


@dataclass(frozen=True, slots=True)
class Endings:
    """Clears the alerts that a rule raised for a solution, as far as their keys tell of which.

    ``keys`` are the keys of its alerts; one with other variables than those of the trigger, or with
    ``{new}``, is left out: it cannot be made again.
    """

    rule: str
    keys: tuple[Text, ...]

    def __call__(
        self,
        run: Run,
        ended: Iterable[SolutionKey],
        goes_on: Callable[[str], bool],
        fired: Collection[SolutionKey] = (),
    ) -> None:
        """Clear what was told of solutions that have ended.

        Args:
            run: the message at hand.
            ended: what has ended; it had fired.
            goes_on: whether one that has fired and goes on has this key: it is the same alert.
            fired: what fires at this moment, and is cleared when that is done.
        """
        for solution in ended:
            for key in dict.fromkeys(self.texts((solution,))):
                if goes_on(key):
                    continue
                if solution in fired:
                    run.endings.append((self.rule, key))
                else:
                    run.clear(self.rule, key)

    def texts(self, solutions: Iterable[SolutionKey]) -> Iterator[str]:
        """The keys of the alerts that tell of some solutions."""
        for solution in solutions:
            values = dict(solution)
            for text in self.keys:
                yield "".join(
                    (shown(values[piece]) if piece in values else "")
                    if isinstance(piece, Var)
                    else str(piece)
                    for piece in text.pieces
                )


def endings_of(rule: syntax.SemanticRule, remembered: Collection[str]) -> Endings:
    """The endings of a rule that remembers the values of some variables."""
    keys: list[Text] = []
    for action in rule.actions:
        if isinstance(action, syntax.AlertAction):
            parts = (action.text if action.key is None else action.key).parts
            holes = [each for each in parts if isinstance(each, syntax.Hole)]
            if all(each.text.removeprefix("?") in remembered for each in holes):
                keys.append(compile_parts(parts, remembered))
    return Endings(rule.name, tuple(keys))
