"""The operators of a query as data that people and machines can draw, and as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sensorstream.kb.occurrences import WindowScope
from sensorstream.model.timeline import Instant
from sensorstream.network.node import Node, operators
from sensorstream.network.plan.plan_text import plan_lines
from sensorstream.network.rows import shown
from sensorstream.sparql.algebra import ReportKind
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.stream_window import StreamWindow


def graph_data(query: ContinuousQuery, time: Callable[[Instant], object]) -> dict[str, Any]:
    """Nodes and edges with counters; O(operators), and what counting their memories costs.

    ``time`` writes instants. An edge leads from an operator to the one that it feeds. ``added``
    and ``removed`` are the solutions that an operator has given out since it was made, for all
    queries that share it; ``memory`` the rows it keeps; ``users`` how many use it; ``seconds`` its
    time of work since then. A window ``feeds`` the operators that read it. ``plan`` are lines for
    people.
    """

    def written(instant: Instant | None) -> object:
        return None if instant is None else time(instant)

    nodes = sorted(operators(query.root), key=lambda node: (node.depth, node.number))
    return {
        "query": query.name,
        "root": query.root.number,
        "report": schedule_text(query),
        "reports": query.reports,
        "last_report": written(query.last_report),
        "next_report": written(query.next_report),
        "anew": query.reason or None,
        "plan": list(plan_lines(query.plan)),
        "windows": [
            {
                "window": window_text(window),
                "triples": window.size(),
                "moves": written(window.moves),
                "feeds": [node.number for node in nodes if _reads(node, window)],
            }
            for window in query.windows
        ],
        "nodes": [
            {
                "id": node.number,
                "operator": node.describe(),
                "depth": node.depth,
                "variables": list(shown(node.variables)),
                "added": node.counters.added,
                "removed": node.counters.removed,
                "memory": node.size(),
                "users": node.users,
                "seconds": round(node.counters.seconds, 6),
            }
            for node in nodes
        ],
        "edges": [
            {"from": source.number, "to": node.number} for node in nodes for source in node.inputs
        ],
    }


def _reads(node: Node, window: StreamWindow) -> bool:
    content = window.graph
    own = (content, content.occurrences) if isinstance(content, WindowScope) else (content,)
    return any(read is each for read in node.graphs for each in own)


def schedule_text(query: ContinuousQuery) -> str:
    """The schedule and content of reports, as text; lengths are in units of the time line."""
    schedule = query.schedule
    when = {
        ReportKind.CHANGE: "at every change",
        ReportKind.INSTANT: "after all events of one time",
        ReportKind.WINDOW_CLOSE: "when a window has moved",
        ReportKind.PERIOD: f"every {schedule.period} units of time",
        ReportKind.TRIPLES: f"every {schedule.triples} triples",
    }[schedule.kind]
    return f"{schedule.relation.value if schedule.relation else 'additions and removals'} {when}"


def window_text(window: StreamWindow) -> str:
    """The extent of a window, as text; lengths are in units of the time line."""
    shape = window.shape
    of = "individuals" if shape.individuals else "triples"
    unit = "units of time" if shape.by_time else of
    parts = [f"all since the start, {of}" if shape.range is None else f"last {shape.range} {unit}"]
    if shape.by_time and shape.range is not None and shape.individuals:
        parts.append("whole individuals")
    if shape.instances_of is not None:
        parts.append(f"of <{shape.instances_of}>")
    if shape.step is not None:
        parts.append(f"step {shape.step} from {shape.origin}")
    parts.append("all streams" if shape.stream is None else f"stream <{shape.stream}>")
    return ", ".join(parts)


def tree(data: Mapping[str, Any]) -> Iterator[str]:
    """The data of :func:`graph_data` as lines, with each operator above its sources."""
    yield f"{data['query']}: {data['report']}"
    if data["anew"]:
        yield f"  evaluated anew at every change: {data['anew']}"
    told = data["next_report"]
    yield f"  {data['reports']} reports" + ("" if told is None else f", the next at {told}")
    for window in data["windows"]:
        moves = "" if window["moves"] is None else f", moves at {window['moves']}"
        yield f"  window: {window['window']}: {window['triples']} triples{moves}"
    nodes = {node["id"]: node for node in data["nodes"]}
    feeds: dict[int, list[int]] = {}
    for edge in data["edges"]:
        feeds.setdefault(edge["to"], []).append(edge["from"])
    queue, shown = [(data["root"], 1)], set[int]()
    while queue:
        number, level = queue.pop()
        node = nodes[number]
        indent = "  " * level
        if number in shown:
            yield f"{indent}{node['operator']}  [{number}, see above]"
            continue
        shown.add(number)
        counts = f"+{node['added']} -{node['removed']}"
        memory = f", {node['memory']} rows kept" if node["memory"] else ""
        shared = f", {node['users']} users" if node["users"] > 1 else ""
        yield f"{indent}{node['operator']}  [{number}: {counts}{memory}{shared}]"
        queue.extend((source, level + 1) for source in reversed(feeds.get(number, [])))
