"""What an individual is linked with, as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.links import go
from sensorstream.console.names import local_name


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one individual to another."""

    source: str
    property: str
    target: str


def draw_neighbours(centre: str, found: Sequence[Link]) -> None:
    """A graph of links; a click on a node leads to its page."""
    names = dict.fromkeys([centre, *(iri for each in found for iri in (each.source, each.target))])
    nodes = [
        {
            "id": iri,
            "name": local_name(iri),
            "symbolSize": 34 if iri == centre else 20,
            "itemStyle": {"color": "#1f5f8b" if iri == centre else "#7fa8c4"},
        }
        for iri in names
    ]
    edges: list[dict[str, Any]] = [
        {
            "source": each.source,
            "target": each.target,
            "value": local_name(each.property),
            "label": {"show": True, "formatter": "{c}", "fontSize": 10},
        }
        for each in found
    ]
    chart = ui.echart(
        {
            "animation": False,
            "tooltip": {},
            "series": [
                {
                    "type": "graph",
                    "layout": "force",
                    "roam": True,
                    "force": {"repulsion": 250, "edgeLength": 110},
                    "edgeSymbol": ["none", "arrow"],
                    "label": {"show": True, "position": "right"},
                    "data": nodes,
                    "links": edges,
                }
            ],
        },
        on_point_click=lambda event: _open(event.data),
        renderer="svg",
    ).classes("graph")
    chart.props('role=img aria-label="Neighbours"')


def _open(data: object) -> None:
    if isinstance(data, dict) and "id" in data:
        go(places.individual(str(data["id"])))
