"""Whether the Datalog rules of a text have a meaning, before any of them is built."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from sensorstream.dotr.syntax import Clause
from sensorstream.errors import NotIncremental, ProgramError, UnsupportedQuery
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.recursion.strata import stratified
from sensorstream.network.selection.graph import derivation_rules, is_fact
from sensorstream.network.sources import INSTANT, Sources


def check_clauses(wanted: Sequence[Clause]) -> None:
    """Check the Datalog rules that contribute to selectors.

    Raises:
        UnsupportedQuery: a body cannot be kept in step, or a rule needs through ``not`` what it
            helps to derive; at the place of the first rule that is one too many.
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
    # A rule more never makes a program better: the shortest beginning with a fault ends there.
    first = bisect_left(range(1, len(wanted)), True, key=lambda n: _fault(wanted[:n]) is not None)
    fault = _fault(wanted[: first + 1])
    assert fault is not None
    raise UnsupportedQuery(fault.message, position=wanted[first].position) from None


def _fault(clauses: Sequence[Clause]) -> ProgramError | None:
    try:
        stratified(derivation_rules(clauses))
    except ProgramError as error:
        return error
    return None
