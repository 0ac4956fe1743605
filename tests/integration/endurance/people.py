"""Those who see to alerts while the server fails, and what must be left of it.

- **What was answered is there, once.** An acknowledgement, an end, a comment, a silence whose
  request was answered; without an answer it is there once or not at all.
- **An open alert counts its alerts.** Each alert belongs to one; each was acknowledged, escalated
  and cleared once at the most.
- **Receivers are told of each change once**, and of each alert that no silence is about.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

import httpx

from tests.databases import execute
from tests.integration.endurance.witness import Witness

SILENCED: Final = "7"
"""Alerts whose keys end so may be silenced."""
_SILENCES: Final = 20


class People:
    """One who does something with some alert at each step; owned by one thread."""

    def __init__(self, client: httpx.Client, witness: Witness, dice: random.Random) -> None:
        self._client = client
        self._witness = witness
        self._dice = dice
        self._numbers = count(1)
        self._works: Sequence[Callable[[str], None]] = (self._comment, self._end, self._silence)

    def step(self) -> None:
        """Do one thing; a server that is away is left alone.

        Raises:
            httpx.HTTPStatusError: the server refuses what it should take.
        """
        try:
            answer = self._client.get("/alerts", params={"state": "open", "limit": "20"})
            if answer.status_code != 200:
                return
            found = answer.json()["alerts"]
            if found:
                self._dice.choice(self._works)(self._dice.choice(found)["id"])
        except httpx.TransportError:
            return

    def _comment(self, alert: str) -> None:
        text = f"comment {next(self._numbers)}"
        if self._post(f"/alerts/{alert}/comment", {"text": text}):
            self._note((alert, "commented", text))

    def _end(self, alert: str) -> None:
        what, done = self._dice.choice((("acknowledge", "acknowledged"), ("clear", "cleared")))
        if self._post(f"/alerts/{alert}/{what}", {"text": "by people"}):
            self._note((alert, done, "by people"))

    def _silence(self, _alert: str) -> None:
        number = next(self._numbers)
        if number > _SILENCES:
            return
        body = {
            "key": f"*{SILENCED}",
            "ends_at": "2100-01-01T00:00:00Z",
            "comment": f"silence {number}",
        }
        if self._post("/silences", body):
            self._note(("", "silenced", body["comment"]))

    def _post(self, path: str, body: Mapping[str, str]) -> bool:
        """Whether it was answered that it is done."""
        answer = self._client.post(path, json=body)
        # 409: it was cleared meanwhile, or by a request that got no answer.
        if answer.status_code not in (409, 503):
            answer.raise_for_status()
        return answer.is_success

    def _note(self, done: tuple[str, str, str]) -> None:
        with self._witness.lock:
            self._witness.seen_to.add(done)


def compare_people(url: str, witness: Witness) -> Mapping[str, dict[str, Any]]:
    """Compare what is kept of the alerts with what was answered; the changes, by their ids.

    Raises:
        AssertionError: something is lost, or twice.
    """
    changes = _rows(
        url,
        "select incident || '.' || seq, incident, change, text, severity, count "
        "from store.alert_changes order by seq",
    )
    kept = [(incident, change, text) for _, incident, change, text, _, _ in changes]
    silences = [
        ("", "silenced", text) for (text,) in _rows(url, "select comment from store.silences")
    ]
    _each_once([each for each in kept if each[1] == "commented"], "comments")
    _each_once(silences, "silences")
    ends = [each[:2] for each in kept if each[1] in ("acknowledged", "cleared", "escalated")]
    _each_once(ends, "ends")
    # Who ends what has just ended by itself is told that it has, and is not written down.
    ended = {each[:2] for each in kept}
    lost = {
        each
        for each in witness.seen_to - {*kept, *silences}
        if each[1] not in ("acknowledged", "cleared") or each[:2] not in ended
    }
    assert not lost, (
        f"{len(lost)} answered changes of alerts are lost, such as {min(lost)}: "
        f"there are {[each for each in kept if each[0] == min(lost)[0]]}"
    )
    wrong = _rows(
        url,
        "select i.id, i.count, count(a.id) from store.incidents i "
        "left join store.alerts a on a.incident = i.id group by i.id having i.count <> count(a.id)",
    )
    assert not wrong, f"open alerts that count wrongly: {wrong[:3]}"
    alone = _rows(url, "select id from store.alerts where incident is null")
    assert not alone, f"alerts that belong to none: {alone[:3]}"
    return {
        id_: {"change": change, "text": text, "severity": severity, "count": count}
        for id_, _, change, text, severity, count in changes
        if change != "raised"
    }


def _each_once(done: Sequence[tuple[str, ...]], what: str) -> None:
    twice = [each for each, count in Counter(done).items() if count > 1]
    assert not twice, f"{what} of alerts are twice: {twice[:3]}"


def _rows(url: str, query: str) -> list[tuple[Any, ...]]:
    return execute(url, query)
