"""The course of the demo: a tracker, a city, their alerts, their history, and all that on Spark."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.demo.output import DemoOutput, Receiver
from sensorstream.cli.demo.server_process import OwnedProcess, ServerProcess
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.cli.query_command import on_history, on_spark
from sensorstream.cli.send_command import Tally, deliver, numbered
from sensorstream.cli.simulation.city_messages import (
    MADE_UP,
    RECORDED,
    Observation,
    city_messages,
)
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE, tracker_messages
from sensorstream.clock import SystemClock
from sensorstream.console.page_visits import mean, read
from sensorstream.history.open_history import open_history
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import local_name
from sensorstream.settings.settings_file import load_settings

_Read = TypeVar("_Read")

_TRACKER_MESSAGES: Final = 120
_TRACKER_WINDOW: Final = 25
_CITY_WINDOW: Final = "PT20M"
_SPARK_PATIENCE: Final = 300.0
"""Seconds within which a pipeline must have started, and be done with a message."""
_PATIENCE: Final = 30.0
"""Seconds within which the last alert must have arrived."""

_INFERRED: Final = """\
SELECT ?class (COUNT(?individual) AS ?individuals)
WHERE { GRAPH <urn:sensorstream:inferred> { ?individual a ?class } }
GROUP BY ?class ORDER BY ?class"""

_HISTORY: Final = """\
SELECT made_by_sensor AS sensor, COUNT(*) AS observations,
       MIN(average_speed) AS slowest, MAX(vehicle_count) AS most_vehicles
FROM history.traffic_observation
GROUP BY made_by_sensor ORDER BY made_by_sensor"""

_WINDOW_AND_HISTORY: Final = """\
PREFIX : <http://sensorstream.example/city#>
PREFIX sosa: <http://www.w3.org/ns/sosa/>
SELECT ?sensor (COUNT(?o) AS ?observations) (MIN(?speed) AS ?slowest)
WHERE { ?o a :TrafficObservation ; sosa:madeBySensor ?sensor ; :averageSpeed ?speed }
GROUP BY ?sensor ORDER BY ?sensor"""

_CITY: Final = "http://sensorstream.example/city#"
_SHAPES: Final = """\
@prefix : <http://sensorstream.example/city#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
:Placed a sh:NodeShape ; sh:targetClass :PollutionSensor ;
  sh:property [ sh:path :latitude ; sh:minCount 1 ; sh:message "nobody knows where it is" ] ."""

_SEEN: Final = """\
PREFIX : <http://sensorstream.example/tracking#>
CONSTRUCT { [] :hasLabel ?half ; :hasName ?name }
WHERE { ?person :hasName ?name ; :hasXLocation ?x
  BIND(IF(?x < 320, "left", "right") AS ?half) BIND(getENDTIME() AS ?when) }"""
_CROWD: Final = """\
PREFIX : <http://sensorstream.example/tracking#>
SELECT ?half (COUNT(?name) AS ?faces) ALERT info "{?faces} faces in the {?half} half" KEY "{?half}"
WHERE { ?seen :hasLabel ?half ; :hasName ?name }
GROUP BY ?half HAVING (COUNT(?name) = 20)"""
_STAGE: Final = """
[[pipeline.stages]]
name = "halves"
from = ["seen"]
key = "http://sensorstream.example/tracking#hasLabel"
queries = ["crowd.rq"]
"""
_EDGE: Final = """\
prefix : <http://sensorstream.example/tracking#>
rule at-the-edge
on insert :Human as ?person
if select { SELECT ?name { ?person :hasName ?name ; :hasXLocation 0 } }
then alert info "face {?name} is at the edge" key "{?person}"
"""

_FENCE: Final = """\
PREFIX : <http://sensorstream.example/city#>
PREFIX geo: <http://www.opengis.net/ont/geosparql#>
PREFIX geof: <http://www.opengis.net/def/function/geosparql/>
SELECT ?sensor ALERT info "{?sensor} is in the harbour" KEY "{?sensor}"
WHERE { ?sensor :longitude ?x ; :latitude ?y
  BIND(STRDT(CONCAT("POINT(", STR(?x), " ", STR(?y), ")"), geo:wktLiteral) AS ?place)
  FILTER(geof:sfWithin(?place,
    "POLYGON((10.2 56.1, 10.3 56.1, 10.3 56.2, 10.2 56.1))"^^geo:wktLiteral))
}"""
_DRIVE: Final = (None, ("10.1", "56.15"), ("10.28", "56.14"), ("10.4", "56.15"), ("10.5", "56.15"))
"""Where a van with a sensor is, every five minutes; the third place is in the harbour."""

_ALERTS: Final = "SELECT rule, severity, text, key, time FROM history.alerts ORDER BY time, text"
# An action is named after its message's number in the journal, which also has the entry of the
# server's webhook.
_INDIVIDUALS: Final = """\
SELECT regexp_replace(iri, '-m[0-9]+-', '-m-'), class, time
FROM history.individuals ORDER BY 1, 2, 3"""

_CLASSES: Final = """\
SELECT class, COUNT(*) AS individuals
FROM history.individuals GROUP BY class ORDER BY class"""

_PHASES: Final = {
    "t_m": "reading the message, mapping rules",
    "t_w": "moving the window",
    "t_i": "inference",
    "t_s": "semantic rules",
}


@frozen
class RunningDeployment:
    """A running server, one of the demo's two."""

    name: str
    config: Path
    process: ServerProcess
    client: CommandClient


class Scenario:
    """The demo, chapter by chapter. What it starts is stopped when ``stack`` closes."""

    def __init__(
        self,
        folder: Path,
        data: Path | None,
        stack: ExitStack,
        look_around: Callable[[], None] | None = None,
    ) -> None:
        """``data`` is a CityBench folder; without one the city is made up. ``look_around`` returns
        when the servers, which are left running for it, are to stop.
        """
        self._folder = folder
        self._data = data
        self._stack = stack
        self._look_around = look_around
        self._output = DemoOutput()

    def run(self) -> None:
        """Run everything; raises ClaimFailed for a missing effect, or another SensorStreamError."""
        tracking, city = self._start()
        receiver = self._register(tracking, city)
        self._track(tracking)
        end = self._observe(city)
        self._compare_alerts(receiver, (tracking, city))
        self._look_back(city)
        self._ask_window_and_history(city)
        self._drive(city, end)
        self._track_on_spark(tracking)
        self._measure((tracking, city))
        if self._look_around is not None:
            self._wait((tracking, city), self._look_around)
        self._stop((tracking, city))

    def _start(self) -> tuple[RunningDeployment, RunningDeployment]:
        out = self._output
        out.chapter("Two deployments start")
        out.say("A deployment is a folder: settings, an ontology, rules. Each gets a server with")
        out.say("a PostgreSQL of its own and the description logic reasoner HermiT beside it.")
        window: dict[str, object] = {"size": _CITY_WINDOW, "step": "PT5M"}
        differing: dict[str, dict[str, dict[str, object]]] = {
            "tracking": {"window": {"size": str(_TRACKER_WINDOW)}},
            "city": {"window": window, "shapes": {"files": ["shapes.ttl"]}},
        }
        started = []
        for name, sections in differing.items():
            # The demo's receiver of webhooks is on this machine.
            local: dict[str, object] = {"allow": ["127.0.0.1/32"]}
            given = {"webhooks": local, **sections}
            config = make_workspace(self._folder / name, TEMPLATES[name], given)
            if "shapes" in sections:
                (config.parent / "shapes.ttl").write_text(_SHAPES)
            process = self._stack.enter_context(ServerProcess(config))
            started.append((name, config, process))
        deployments = []
        with out.waiting("starting"):
            for name, config, process in started:
                client = self._stack.enter_context(CommandClient(process.url()))
                deployments.append(RunningDeployment(name, config, process, client))
        for each in deployments:
            out.expect(each.client.url, f"{each.name} listens on {each.client.url}")
        out.say("A browser shows a page there, while this runs.")
        tracking, city = deployments
        return tracking, city

    def _register(self, *deployments: RunningDeployment) -> Receiver:
        out = self._output
        out.chapter("A receiver registers for alerts")
        receiver = self._stack.enter_context(Receiver())
        for each in deployments:
            secret = each.client.add_webhook(receiver.url(each.name))["secret"]
            receiver.trust(secret)
        out.say("A small HTTP server registered a webhook at both deployments. It accepts only")
        out.say("what is signed with the secret it got in return (Standard Webhooks).")
        return receiver

    def _track(self, tracking: RunningDeployment) -> None:
        out, client = self._output, tracking.client
        out.chapter("A face tracker reports whom it sees, as in the SensorStream paper")
        out.say("This message goes in by SOAP:")
        out.quote(PAPER_MESSAGE.decode())
        answer = client.post_soap(PAPER_MESSAGE)
        out.expect(
            answer["matched"] == ["face-tracker"] and answer["individuals"],
            f"the rule face-tracker made of it {' '.join(answer['individuals'])}",
        )
        found = client.select(
            "PREFIX : <http://sensorstream.example/tracking#>\n"
            "SELECT ?class WHERE { GRAPH <urn:sensorstream:inferred> "
            "{ :human-2678 a ?class } } ORDER BY ?class"
        )
        classes = [local_name(each["class"]) for each in found]
        out.expect(
            {"Actor", "ConfidentDetection"} <= set(classes),
            f"HermiT infers that this human is also: {', '.join(classes)}",
        )
        # Later than the paper's message, because the individual seen longest ago leaves first.
        later = tracker_messages(_TRACKER_MESSAGES, start=2679)
        tally = self._send(client, later, _TRACKER_MESSAGES)
        out.expect(
            tally.expired >= _TRACKER_MESSAGES - _TRACKER_WINDOW,
            f"the window holds the latest {_TRACKER_WINDOW} individuals: "
            f"{tally.expired} older ones left it for history",
        )
        out.expect(tally.alerts, f"{tally.alerts} faces were uncertain, each raised an alert")
        actions = client.select(
            "PREFIX : <http://sensorstream.example/tracking#>\nSELECT ?x WHERE { ?x a :Action }"
        )
        out.expect(
            len(actions) == 1,
            "the paper's semantic rule keeps exactly one Action while there are humans",
        )

    def _observe(self, city: RunningDeployment) -> datetime:
        """Send a morning's observations; returns its end."""
        out, client = self._output, city.client
        if self._data is None:
            morning, origin = MADE_UP, "made up, from a fixed seed"
        else:
            morning, origin = RECORDED, "recorded in Aarhus, 2014 (CityBench)"
        out.chapter("A city's sensors report traffic, weather and air")
        out.say(f"The observations are {origin}; the window holds the last 20 minutes.")
        first = list(city_messages(self._data, start=morning.start, end=morning.jam))
        before = self._send(client, first, len(first))
        out.say(f"It is {morning.jam:%H:%M}. What does the reasoner infer beyond the messages?")
        out.quote(_INFERRED)
        found = client.select(_INFERRED)
        out.table(
            ["class", "individuals"],
            [[local_name(each["class"]), int(each["individuals"])] for each in found],
        )
        classes = {local_name(each["class"]) for each in found}
        out.expect(
            {"Congestion", "CongestedSensor", "HighOzone"} <= classes,
            "it found a congestion, the sensor that sees it, and high ozone",
        )
        rest = list(city_messages(self._data, start=morning.jam, end=morning.end))
        after = self._send(client, rest, len(rest))
        out.expect(
            after.expired,
            f"by {morning.end:%H:%M}, {before.expired + after.expired} individuals have expired",
        )
        out.expect(before.alerts + after.alerts, f"{before.alerts + after.alerts} alerts raised")
        return morning.end

    def _compare_alerts(self, receiver: Receiver, deployments: Sequence[RunningDeployment]) -> None:
        out = self._output
        out.chapter("The alerts arrive")
        raised = [alert for each in deployments for alert in each.client.alerts()]
        receiver.wait(len(raised), _PATIENCE)
        arrived = [event["data"]["text"] for event in receiver.events]
        one_of_each = {event["data"]["rule"]: event["data"] for event in receiver.events}
        for data in one_of_each.values():
            out.quote(f"{data['severity']}: {data['text']}")
        out.expect(
            sorted(arrived) == sorted(alert["text"] for alert in raised),
            f"the receiver got all {len(raised)} alerts as signed CloudEvents, each once",
        )
        out.expect(receiver.refused == 0, "every signature was right")

    def _look_back(self, city: RunningDeployment) -> None:
        out = self._output
        out.chapter("History answers SQL")
        classes = city.client.sql(_CLASSES)
        seen = {local_name(row[0]) for row in classes.rows}
        out.quote(_HISTORY)
        answer = city.client.sql(_HISTORY)
        out.table(list(answer.columns), _shortened(answer.rows))
        out.expect(answer.rows, "what left the window is in PostgreSQL, a table per class")
        out.expect("Congestion" in seen, "what was inferred went along, marked as inferred")
        out.say("The same SQL, in bulk, on Spark over the same history:")
        settings = load_settings(city.config)
        with out.waiting("starting Spark"), ExitStack() as stack:
            # Beside the running server.
            url = open_history(settings.history, stack)
            interactive = on_history(settings, url, _HISTORY)
            bulk = on_spark(settings, url, _HISTORY)
        out.expect(bulk == interactive, "Spark answers with the same rows")

    def _ask_window_and_history(self, city: RunningDeployment) -> None:
        out = self._output
        out.chapter("One SPARQL query over the window and history")
        out.quote(_WINDOW_AND_HISTORY)
        both, left, present = (
            city.client.select(_WINDOW_AND_HISTORY, on=on) for on in ("all", "history", "cache")
        )
        out.table(
            ["sensor", "observations", "slowest"],
            [[local_name(each["sensor"]), each["observations"], each["slowest"]] for each in both],
        )
        counts = {
            on: sum(int(each["observations"]) for each in rows)
            for on, rows in (("all", both), ("history", left), ("cache", present))
        }
        out.expect(
            counts["history"] and counts["cache"],
            f"{counts['history']} of the observations are in history, "
            f"{counts['cache']} still in the window",
        )
        out.expect(
            counts["all"] == counts["history"] + counts["cache"],
            f"one query saw all {counts['all']}, each once",
        )

    def _drive(self, city: RunningDeployment, start: datetime) -> None:
        out, client = self._output, city.client
        out.chapter("A shape is violated, and a fence is entered")
        out.say("The city's settings name a shape (SHACL) of air sensors:")
        out.quote(_SHAPES)
        out.say("A continuous query watches the harbour (GeoSPARQL):")
        out.quote(_FENCE)
        client.register(_FENCE, "harbour")
        out.say("A sensor on a van tells that it is there, then where it is, every five minutes.")
        for number, place in enumerate(_DRIVE):
            minute = start + timedelta(minutes=5 * number)
            client.send(Observation("pollution", "van", f"van-{number}", minute, (), place).xml())
        found = self._cleared(client, 2)
        rows: list[list[object]] = []
        for each in found:
            changes = client.alert_history(each["id"])["changes"]
            told = [e["time"] for e in changes if e["change"] in ("raised", "cleared")]
            rows.append([each["text"].replace(_CITY, ":"), *(e[11:16] for e in told)])
        rows.sort(key=lambda row: str(row[1]))
        out.table(["alert", "begins", "ends"], rows)
        minutes = [f"{start + timedelta(minutes=5 * each):%H:%M}" for each in range(len(_DRIVE))]
        (_, *violated), (_, *fenced) = rows
        out.expect(violated == minutes[:2], "the violation began and ended with the van's messages")
        out.expect(fenced == minutes[2:4], "the van entered the fence and left it")

    def _cleared(self, client: CommandClient, count: int) -> list[dict[str, Any]]:
        """The cleared alerts of queries, once there are so many."""
        counter = SystemClock().counter
        deadline = counter() + _PATIENCE
        while True:
            found = [e for e in client.alerts_in("cleared") if e["kind"] == "query"]
            if len(found) >= count or counter() > deadline:
                self._output.expect(len(found) == count, f"{count} alerts of queries have ended")
                return found
            time.sleep(0.2)

    def _track_on_spark(self, tracking: RunningDeployment) -> None:
        out = self._output
        out.chapter("The same messages through the pipeline on Spark")
        out.say(
            'The face tracker\'s deployment once more, with pipeline.runner = "spark": its server'
        )
        out.say("writes messages to the journal, `sensorstream stream` runs the engines on Spark.")
        config = make_workspace(
            self._folder / "tracking-on-spark",
            TEMPLATES["tracking"],
            {
                "window": {"size": str(_TRACKER_WINDOW)},
                "pipeline": {"runner": "spark", "key": "string(//Tracker/@type)"},
            },
        )
        (config.parent / "queries").mkdir(exist_ok=True)
        (config.parent / "queries" / "seen.rq").write_text(_SEEN)
        (config.parent / "crowd.rq").write_text(_CROWD)
        with config.open("a") as settings:
            settings.write(_STAGE)
        with ExitStack() as stack:
            process = stack.enter_context(ServerProcess(config))
            with out.waiting("starting"):
                client = stack.enter_context(CommandClient(process.url()))
            pipeline = stack.enter_context(OwnedProcess(config, "stream", "--quiet"))
            messages = [PAPER_MESSAGE, *tracker_messages(_TRACKER_MESSAGES, start=2679)]
            tally = self._send(client, messages, len(messages))
            out.expect(
                tally.journalled == len(messages), "the server answered 202 Accepted to each"
            )
            for what, query in (("alerts", _ALERTS), ("individuals", _INDIVIDUALS)):
                expected = tracking.client.sql(query).rows
                with out.waiting("on Spark"):
                    answer = partial(client.sql, query)
                    found = _within_patience(pipeline, answer, partial(_has, expected)).rows
                out.expect(
                    expected and found == expected,
                    f"the pipeline stored the same {len(found)} {what} as the server did",
                )
            self._ask_spark(tracking, client, pipeline)

    def _ask_spark(
        self, tracking: RunningDeployment, client: CommandClient, pipeline: OwnedProcess
    ) -> None:
        """Ask the window of the pipeline, change a rule while it runs, and use a second stage."""
        out = self._output
        out.say("Its windows are asked like those of a server:")
        out.quote(_INFERRED)
        expected, found = (each.select(_INFERRED) for each in (tracking.client, client))
        out.expect(expected and found == expected, "both windows give the same answer")
        out.say("A rule is put while it runs; every engine has it between the same two messages:")
        out.quote(_EDGE)
        client.put_rule_file("edge.rules", _EDGE)
        (there,) = tracker_messages(1, start=2800)
        client.send(re.sub(rb"x='\d+'", b"x='0'", there))

        def told(rule: str) -> list[str]:
            return sorted(each["text"] for each in client.alerts() if each["rule"] == rule)

        with out.waiting("on Spark"):
            edge = _within_patience(pipeline, lambda: told("at-the-edge"), bool)
        out.expect(edge == ["face 2800 is at the edge"], f"the next message alerts: {edge}")
        out.say("What engines say goes on to a stage with another key, the half of the picture:")
        out.quote(_SEEN)
        client.register(_SEEN, "seen")
        self._send(client, list(tracker_messages(60, start=2801)), 60)
        with out.waiting("on Spark"):
            crowds = _within_patience(pipeline, lambda: told("crowd"), lambda e: len(e) == 2)
        out.expect(
            crowds == ["20 faces in the left half", "20 faces in the right half"],
            f"the engine of each half has counted: {', '.join(crowds)}",
        )

    def _measure(self, deployments: Sequence[RunningDeployment]) -> None:
        out = self._output
        out.chapter("Where the time goes")
        out.say("Milliseconds per message by the phases of the paper (equation 10):")
        means = {each.name: _phases(each.client.metrics()) for each in deployments}
        rows: list[list[object]] = [
            [phase, what, *(f"{means[each.name][phase]:.2f}" for each in deployments)]
            for phase, what in _PHASES.items()
        ]
        totals = (f"{sum(means[each.name].values()):.2f}" for each in deployments)
        out.table(
            ["phase", "what", *(each.name for each in deployments)],
            [*rows, ["t_p", "all of them", *totals]],
        )

    def _wait(
        self, deployments: Sequence[RunningDeployment], look_around: Callable[[], None]
    ) -> None:
        out = self._output
        out.chapter("Both go on, for you to look around")
        for each in deployments:
            out.say(f"{each.name}: {each.client.url}")
        out.say("Ctrl-C ends them.")
        look_around()

    def _stop(self, deployments: Sequence[RunningDeployment]) -> None:
        out = self._output
        out.chapter("The servers stop")
        with out.waiting("stopping"):
            codes = [each.process.stop() for each in deployments]
        out.expect(codes == [0, 0], "both left cleanly on SIGTERM")

    def _send(self, client: CommandClient, messages: Iterable[bytes], total: int) -> Tally:
        tally = deliver(client, numbered(messages), total)
        rate = tally.sent / tally.seconds
        self._output.say(f"{total} messages sent by REST, {rate:.0f} a second, each on disk.")
        self._output.expect(tally.clean, "every message was taken in")
        return tally


def _has(rows: Sequence[Sequence[object]], answer: SqlResult) -> bool:
    return answer.rows == rows


def _within_patience(
    pipeline: OwnedProcess, read: Callable[[], _Read], enough: Callable[[_Read], bool]
) -> _Read:
    """Read until it is enough, or a pipeline that starts has had its time; the last result."""
    counter = SystemClock().counter
    deadline = counter() + _SPARK_PATIENCE
    while not enough(found := read()) and counter() < deadline:
        pipeline.check()
        time.sleep(0.2)
    return found


def _shortened(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    return [[local_name(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]


def _phases(metrics: str) -> dict[str, float]:
    """Mean milliseconds per message by phase, from a server's metrics."""
    now = read(metrics, 0.0)
    return {each: 1000 * (mean(None, now, "phase_seconds", phase=each) or 0.0) for each in _PHASES}
