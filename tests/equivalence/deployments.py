"""What the examples, stories and shipped rules make of messages."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from tests.equivalence.canonical import CHECKOUT, SHARED, quads_text
from tests.equivalence.items import Item, Tools, absent
from tests.mapping.rml.suite import SUITE, rml_cases, run_case

EXAMPLES: Final = CHECKOUT / "examples"
OF_SETTINGS: Final = ("transit", "warnings", "observations")
_QUERIES: Final = {
    "stocks": ("stocks", 120),
    "delivery": ("delivery", 80),
    "tsunami": ("buoys", 300),
}
"""Examples with settings and queries: what simulates their messages, and how many."""
_LINES: Final = 100
_SHIPPED: Final = {"tracking": ("tracker", "integer"), "city": ("city", "datetime")}


def stories(tools: Tools) -> Iterator[Item]:
    """Each story of the examples and documents."""
    places = {each: ["-c", EXAMPLES / each / "sensorstream.toml"] for each in OF_SETTINGS}
    for page in sorted((CHECKOUT / "docs").rglob("*.md")):
        if "```story" in page.read_text("utf-8"):
            places[page.name] = [page]
    for name, arguments in places.items():
        told, _, _ = tools.command(["test", *arguments, "--json"]).partition("\n\nexit code")
        try:
            found = json.loads(told.partition("\n\n")[0])["stories"]
        except ValueError:
            yield Item(name, partial(str, told))
            continue
        yield from (Item(f"{name}/{n}", partial(json.dumps, each)) for n, each in enumerate(found))


def examples(tools: Tools) -> Iterator[Item]:
    """What becomes of each message: of each example, and with the rules that are shipped."""
    runs: dict[str, Sequence[object]] = {}
    for name in OF_SETTINGS:
        config = ["-c", EXAMPLES / name / "sensorstream.toml"]
        runs[name] = [*config, "--messages", EXAMPLES / name / "messages"]
    for name, (simulation, count) in _QUERIES.items():
        queries = [f"--query={each}" for each in sorted((EXAMPLES / name).glob("*.rq"))]
        config = ["-c", EXAMPLES / name / "sensorstream.toml"]
        runs[name] = [*config, *queries, "--messages", _simulated(tools, simulation, count)]
    fire = EXAMPLES / "fire"
    rules = [f"--rules={fire / each}" for each in ("rooms.dlog", "fire.dotr")]
    files = [f"--mapping={fire / 'fire.rules'}", f"--static={fire / 'building.ttl'}", *rules]
    runs["fire"] = [*files, "--messages", _simulated(tools, "fires", 80)]
    for name, (simulation, line) in _SHIPPED.items():
        config = ["-c", shipped(tools, name, line)]
        runs[name] = [*config, "--messages", _simulated(tools, simulation, 60)]
    runs |= _of_events(tools)
    for name, arguments in runs.items():
        size = _LINES if "--events" in arguments else 1
        told = tools.command(["run", *arguments, *(() if size > 1 else ("--json",))]).splitlines()
        if size > 1:
            # Those of one time come in any order.
            told.sort()
        for begin in range(0, len(told), size):
            yield Item(f"{name}/{begin}", partial("\n".join, told[begin : begin + size]))
    yield from absent("citybench", SHARED / "data" / "citybench")


def shipped(tools: Tools, name: str, line: str) -> Path:
    """Settings of a deployment that has the rules and the ontology of a name."""
    config = tools.new_folder() / "sensorstream.toml"
    config.write_text(
        f"[time]\nline = '{line}'\n[ontology]\nfiles = ['{CHECKOUT}/ontologies/{name}.ttl']\n"
        f"[rules]\nfiles = ['{CHECKOUT}/mapping_rules/{name}.rules']\n[window]\nsize = '10'\n"
    )
    return config


def _simulated(tools: Tools, simulation: str, count: int) -> Path:
    folder = tools.new_folder()
    tools.command(["simulate", simulation, "--count", count, "--out", folder])
    return folder


def _of_events(tools: Tools) -> Iterator[tuple[str, Sequence[object]]]:
    """Examples whose script makes events of messages or recordings."""
    folder = tools.new_folder()
    auctions, city = EXAMPLES / "auctions", EXAMPLES / "citybench"
    _script(auctions / "prepare.py", _simulated(tools, "auctions", 120), folder / "out.jsonl")
    yield "auctions", ["--query", auctions / "figure-6.rq", "--events", folder / "out.jsonl"]
    recorded = SHARED / "data" / "citybench"
    if recorded.exists():
        _script(city / "prepare.py", recorded, folder, "--to", "2014-08-01T10:00")
        static = [f"--static={each}" for each in sorted(folder.glob("*.n3"))]
        for query in sorted(city.glob("Q*")):
            what = "--query" if query.suffix == ".rq" else "--rules"
            events = ["--events", folder / "events.jsonl"]
            yield f"citybench-{query.name}", [what, query, *static, *events]


def _script(file: Path, *arguments: object) -> None:
    with _arguments([str(each) for each in (file, *arguments)]):
        runpy.run_path(str(file), run_name="__main__")


@contextmanager
def _arguments(given: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, given
    try:
        yield
    finally:
        sys.argv = before


def mapping(tools: Tools) -> Iterator[Item]:
    """The statements that mapping rules make of each message, and those of the suite of RML."""
    yield from absent("rml", SUITE)
    for case in rml_cases():
        yield Item(f"rml/{case.name}", lambda case=case: _of_quads(run_case(case)))  # type: ignore[misc]
    streams = {name: (_simulated(tools, *given), name) for name, given in _QUERIES.items()}
    for name in OF_SETTINGS:
        streams[name] = (EXAMPLES / name / "messages", name)
    for name, (folder, example) in streams.items():
        config = EXAMPLES / example / "sensorstream.toml"
        for file in sorted(folder.glob("*.xml"))[:40]:
            yield Item(f"{name}/{file.name}", partial(_mapped, tools, config, file))
    for name, (simulation, line) in _SHIPPED.items():
        config = shipped(tools, name, line)
        for file in sorted(_simulated(tools, simulation, 40).glob("*.xml")):
            yield Item(f"{name}/{file.name}", partial(_mapped, tools, config, file))


def _mapped(tools: Tools, config: Path, file: Path) -> str:
    told = tools.command(["map", "-c", config, "--json", file])
    found, _, rest = told.partition("\n\n")
    parts = [json.loads(found)] if found.startswith("[") else [[]]
    texts = [quads_text(ox.parse(each.pop("turtle") or "", ox.RdfFormat.TRIG)) for each in parts[0]]
    return "\n".join([*texts, json.dumps(parts[0]), rest])


def _of_quads(nquads: str) -> str:
    return quads_text(ox.parse(nquads, ox.RdfFormat.N_QUADS))
