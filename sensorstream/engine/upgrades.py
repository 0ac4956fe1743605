"""Checkpoints of older versions: each step makes the data of the next version.

Versions 1 and 2 wrote values by position. Step n leads from version n to n + 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

_INDIVIDUAL: Final = ("name", "stay", "entered", "time", "arrival", "message", "statements")
_EVENT: Final = ("triples", "time", "message", "replaces", "source")
_PANE: Final = ("key", "entered", "boundary", "names", "pending")
_WINDOW: Final = ("closes", "computed", "arrived", "content", "waiting")
_ELEMENT: Final = ("time", "end", "triples")
_SHAPE: Final = (
    *("stream", "by_time", "range", "step", "individuals", "instances_of", "origin"),
    *("start", "end"),
)
_REORDER: Final = ("frontier", "released", "latest", "now", "arrivals")
_LOAD: Final = ("level", "at", "active", "shed", "summaries", "ends", "entered")


def _with_panes(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had one window without partitions: one pane, owners by the statements."""
    counters = dict(data["counters"])
    entered, boundary = counters.pop("entered"), counters.pop("boundary")
    owners = [
        [statement[0], individual[0]]
        for individual in data["individuals"]
        for statement in individual[6]
        if statement[0].startswith("_:") and statement[0] != individual[0]
    ]
    names = [individual[0] for individual in data["individuals"]]
    window = {
        "counters": counters,
        "individuals": data["individuals"],
        "owners": owners,
        "panes": [[None, entered, boundary, names, data["pending"]]],
        "partition": None,
        "ages": [],
    }
    return {**data, "version": 2, "window": window}


def _by_name(data: dict[str, Any]) -> dict[str, Any]:
    """Version 2 wrote the fields of values by position, predicates as plain text."""
    memory, window = data["memory"], data["window"]
    quiet = [[rule, key] for rule, key, _ in memory["quiet"]]
    state: dict[str, Any] = {
        "memory": {
            "quiet": [quiet, [until for *_, until in memory["quiet"]]],
            "ticks": memory["ticks"],
        },
        "notices": {"counts": data["notices"]},
        "archived": data.get("archived", 0),
        "degraded": data.get("degraded", ""),
        "window": {
            "counters": window["counters"],
            "individuals": _rows(_INDIVIDUAL, map(_individual, window["individuals"])),
            "owners": [[node for node, _ in window["owners"]], [n for _, n in window["owners"]]],
            "panes": _rows(_PANE, ([*each[:4], _events(each[4])] for each in window["panes"])),
            "partition": _partition(window["partition"]),
            "ages": [[_triple(each) for each in window["ages"]], [a[3:] for a in window["ages"]]],
        },
    }
    if "held" in data:
        state["held"] = _held(data["held"])
    if "load" in data:
        state["load"] = _load(data["load"])
    if data.get("queries"):
        state["queries"] = _queries(data["queries"])
    return {"version": 3, "state": state}


def _rows(names: Sequence[str], rows: Any) -> dict[str, Any]:
    return {"fields": list(names), "rows": list(rows)}


def _iri(text: str | None) -> str | None:
    return None if text is None else f"<{text}>"


def _triple(data: Sequence[str]) -> list[str]:
    return [data[0], f"<{data[1]}>", data[2]]


def _individual(data: list[Any]) -> list[Any]:
    said = _rows(("message", "time"), (each[3:] for each in data[6]))
    return [*data[:6], [[_triple(each) for each in data[6]], said]]


def _events(events: Sequence[list[Any]]) -> dict[str, Any]:
    return _rows(_EVENT, map(_event, events))


def _event(data: list[Any]) -> list[Any]:
    triples, time, message, replaces, *source = data
    pairs = [[name, f"<{predicate}>"] for name, predicate in replaces]
    return [[_triple(each) for each in triples], time, message, pairs, *(source or [""])]


def _partition(data: list[Any] | None) -> dict[str, Any] | None:
    return None if data is None else {"property": _iri(data[0])}


def _held(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "sources": {name: {"front": front, "at": at} for name, front, at in data["sources"]},
        "held": _rows(
            ("time", "arrival", "item"),
            ([time, arrival, _arrived(rest)] for time, arrival, *rest in data["held"]),
        ),
        **dict(zip(_REORDER, data["numbers"], strict=True)),
    }


def _arrived(data: list[Any]) -> dict[str, Any]:
    (name, received, source), matched, events, individuals, warnings = data
    return {
        "message": {"id": name, "content": "", "received": received, "source": source},
        "mapped": {
            "matched": matched,
            "events": _events(events),
            "individuals": individuals,
            "warnings": warnings,
        },
    }


def _load(data: list[Any]) -> dict[str, Any]:
    found = dict(zip(_LOAD, data, strict=False))
    if "entered" in found:
        names, ends = found["entered"]
        found["entered"] = {"names": names, "ends": ends}
    summaries = found["summaries"]
    found["summaries"] = [
        [_iri(about) for about, _ in summaries],
        _rows(("count", "start", "end", "numbers"), (_summary(each) for _, each in summaries)),
    ]
    return found


def _summary(data: list[Any]) -> list[Any]:
    numbers = _rows(("count", "least", "greatest", "total"), (each[1:] for each in data[3]))
    return [*data[:3], [[_iri(each[0]) for each in data[3]], numbers]]


def _queries(data: dict[str, Any]) -> dict[str, Any]:
    processor, moved = data["processor"], data["moved"]
    return {
        "processor": {
            "now": processor["now"],
            "counts": processor["counts"],
            "queries": [[name, text, _query(each)] for name, text, each in processor["queries"]],
            "streams": _streams(processor["windows"]),
        },
        "registered": _rows(("name", "entry", "reports"), data["registered"]),
        "moved": moved and {"time": moved[0], "received": moved[1]},
    }


def _query(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "pending": data.get("waits", False)}


def _streams(windows: Sequence[tuple[list[Any], list[Any]]]) -> list[list[Any]]:
    """Version 2 stored each window by itself; those of one tick now share what the widest has."""
    streams: dict[str, list[Any]] = {}
    for shape_data, window in windows:
        shape = _shape(shape_data)
        stepped = shape["step"] is not None
        tick = {
            "stream": shape["stream"],
            "step": shape["step"],
            "by_time": shape["by_time"] and stepped,
            "origin": shape["origin"] if shape["by_time"] and stepped else 0,
            "start": shape["start"],
            "end": shape["end"],
            "alone": shape if shape["individuals"] else None,
        }
        state = dict(zip(_WINDOW, _window(window), strict=True))
        known = streams.setdefault(json.dumps(tick), [tick, state])[1]
        if len(state["content"]["rows"]) > len(known["content"]["rows"]):
            known["content"] = state["content"]
    return list(streams.values())


def _shape(data: list[Any]) -> dict[str, Any]:
    found = dict(zip(_SHAPE, data, strict=True))
    return {
        **found,
        "stream": _iri(found["stream"]),
        "instances_of": _iri(found["instances_of"]),
    }


def _window(data: list[Any]) -> list[Any]:
    *numbers, content, waiting = data
    return [
        *numbers,
        *(
            _rows(_ELEMENT, ([time, time, [_triple(t) for t in said]] for time, said in each))
            for each in (content, waiting)
        ),
    ]


def _with_due(data: dict[str, Any]) -> dict[str, Any]:
    """Version 3 did not say when each solution of a rule that waits is due: they begin anew."""
    state = data["state"]
    kept = {name: each for name, each in state["memory"].items() if name in ("quiet", "ticks")}
    return {"version": 4, "state": {**state, "memory": kept}}


UPGRADES: Final[tuple[Callable[[dict[str, Any]], dict[str, Any]], ...]] = (
    _with_panes,
    _by_name,
    _with_due,
)
