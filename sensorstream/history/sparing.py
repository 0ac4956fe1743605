"""Effects that PostgreSQL does not take whole: which of them it takes.

A value that it can never store must not stop the writer: what does not hold that value is stored,
and an alert names what is not. The choice follows from the effects and the database alone, so a
replay of the journal comes to the same one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any, Final, TypeAlias

from sensorstream.errors import HistoryError, Unstorable
from sensorstream.journal.records import Effects, MessageStatus, Settled
from sensorstream.model.events import Alert, Cleared, Departure, Ended

_LOG = logging.getLogger(__name__)
_TRIALS: Final = 10_000
"""The most trials for one group: what is undecided then is left out."""
_NAMED: Final = 10
"""Parts that an alert names, of all that are not stored."""
_TEXTS: Final = "statuses"
_PARTS: Final = tuple(
    each.name
    for each in fields(Effects)
    if str(each.type).startswith("tuple[") and each.name != _TEXTS
)

_Part: TypeAlias = tuple[str, int]
"""A field of :class:`.Effects`, and a place in it."""
Refuses: TypeAlias = Callable[[Effects], Unstorable | None]


def spared(effects: Effects, refuses: Refuses) -> Effects:
    """The effects without those that are refused, with an alert that says so.

    Every entry keeps its status; its texts are left out if they are what is refused.

    Args:
        effects: of a group, which are refused.
        refuses: tries to store effects, undoes that, and says why they are refused; None: they
            are not.

    Raises:
        HistoryError: even effects without any of the parts are refused: it is not for their values.
    """
    if error := refuses(_only(effects, [])):
        raise HistoryError(str(error)) from error
    lost: dict[_Part, Unstorable] = {}
    trials = 0

    def taken(parts: Sequence[_Part]) -> list[_Part]:
        nonlocal trials
        if not parts:
            return []
        trials += 1
        error = refuses(_only(effects, parts))
        if error is None:
            return list(parts)
        if len(parts) == 1 or trials >= _TRIALS:
            lost.update(dict.fromkeys(parts, error))
            return []
        middle = len(parts) // 2
        return taken(parts[:middle]) + taken(parts[middle:])

    kept = taken([(name, n) for name in (*_PARTS, _TEXTS) for n in range(len(_of(effects, name)))])
    chosen = _only(effects, kept)
    if kept and (error := refuses(chosen)):
        # Each of them is taken, and all together are not.
        lost |= dict.fromkeys(kept, error)
        chosen = _only(effects, [])
    if not lost:
        return effects
    _LOG.error("%s", _alert(effects, lost, quoted=True).text)
    # What PostgreSQL says of a value may quote it.
    for quoted in (True, False):
        alert = _alert(effects, lost, quoted=quoted)
        told = replace(chosen, alerts=(*chosen.alerts, alert))
        if refuses(told) is None:
            return told
    return chosen


def _of(effects: Effects, name: str) -> Sequence[object]:
    found: Sequence[object] = getattr(effects, name)
    return found


def _only(effects: Effects, parts: Sequence[_Part]) -> Effects:
    """The effects with some of their parts, in order; what became of each entry is kept."""
    chosen = set(parts)
    kept: dict[str, Any] = {
        name: tuple(each for n, each in enumerate(_of(effects, name)) if (name, n) in chosen)
        for name in _PARTS
    }
    kept |= {
        "settled": tuple(
            each if ("settled", n) in chosen else Settled(each.message, each.status)
            for n, each in enumerate(effects.settled)
        ),
        "statuses": tuple(
            each
            if (_TEXTS, n) in chosen
            else MessageStatus(each.seq, each.status, degraded=each.degraded)
            for n, each in enumerate(effects.statuses)
        ),
    }
    return replace(effects, **kept)


def _alert(effects: Effects, lost: dict[_Part, Unstorable], *, quoted: bool) -> Alert:
    first, last = effects.statuses[0].seq, effects.statuses[-1].seq
    entries = f"entry {first}" if first == last else f"entries {first} to {last}"
    named = [
        _name(effects, each) + (f" ({lost[each]!s:.200})" if quoted else "")
        for each in sorted(lost)[:_NAMED]
    ]
    more = f"; and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    times = chain((each.time for each in effects.alerts), (each.valid_to for each in effects.ended))
    return Alert(
        id=f"m{last}-unstorable",
        rule="",
        kind="unstorable-effects",
        severity="critical",
        text=f"PostgreSQL takes not all of what {entries} did; lost: {'; '.join(named)}{more}",
        key="history",
        time=max((each for each in times if abs(each) < 2**63), default=0),
        message=f"m{last}",
    )


def _name(effects: Effects, part: _Part) -> str:
    name, place = part
    match _of(effects, name)[place]:
        case Alert(id=id_, rule=rule):
            return f"the alert {id_}" + (f" of the rule {rule:.80}" if rule else "")
        case Departure(individual=one):
            return f"the stay {one.stay} of {one.name!s:.80}"
        case Ended(triple=(subject, predicate, _)):
            return f"a statement of <{predicate:.80}> about {subject!s:.80}"
        case Cleared(rule=rule, kind=kind):
            return f"the end of an alert of {rule or kind:.80}"
        case MessageStatus(seq=seq):
            return f"the report of entry {seq}"
        case Settled(message=message):
            return f"the report of the message {message}"
        case _:
            return f"one of the {name}"
