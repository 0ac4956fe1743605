"""The requirements of OGC 18-088 for reading, as requests and what they answer.

The names are those of the standard, below http://www.opengis.net/spec/iot_sensing/1.1/req/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.exceptions import HTTPException

from sensorstream.errors import QueryError
from tests.server.sensorthings.naive import HOST, PREFIXES, Ask, E, asking, get, loaded
from tests.w3c.page_tables import counted, reasons

DATA: Final = (
    PREFIXES
    + """
:mast a sosa:Platform ; rdfs:label "Mast" ; rdfs:comment "on the hill" ; sosa:hosts :s1, :s2 ;
  geo:hasGeometry [ geo:asWKT "POINT(26.1 44.4)"^^geo:wktLiteral ] .
:buoy a sosa:Platform ; rdfs:label "Buoy" ; wgs:lat 44.5 ; wgs:long 26.25 .
:s3 sosa:isHostedBy :buoy .
:s1 a sosa:Sensor ; rdfs:label "Thermometer" ; sosa:observes :temperature .
:s2 sosa:observes :humidity .
:temperature a sosa:ObservableProperty ; rdfs:label "temperature" ; qudt:hasUnit :degree .
:degree rdfs:label "degree Celsius" ; qudt:symbol "°C" .
:hill a sosa:FeatureOfInterest ; rdfs:label "hill" ;
  geo:hasGeometry [
    geo:asGeoJSON '{"type": "Point", "coordinates": [26, 44]}'^^geo:geoJSONLiteral ] .
"""
    + "".join(
        f":o{n} a sosa:Observation ; sosa:madeBySensor :s{s} ; sosa:observedProperty :{p} ; "
        f"{told} ; sosa:hasFeatureOfInterest :hill ; "
        f'sosa:resultTime "2024-02-0{n}T1{n}:30:0{n}{zone}"^^xsd:dateTime .\n'
        for n, s, p, told, zone in (
            (1, 1, "temperature", "sosa:hasSimpleResult 20.5", "Z"),
            (2, 1, "temperature", "sosa:hasResult [ qudt:numericValue 21.0 ]", "Z"),
            (3, 2, "humidity", "sosa:hasSimpleResult 60", "Z"),
            (4, 2, "humidity", 'sosa:hasSimpleResult "  Dry "', "+02:00"),
            (5, 3, "waves", "sosa:hasSimpleResult true", "Z"),
            (6, 3, "waves", "rdfs:comment 'none'", "Z"),
        )
    )
    + """
:o6 sosa:phenomenonTime [ a time:Interval ;
  time:hasBeginning [ time:inXSDDateTimeStamp "2024-02-06T10:00:00Z"^^xsd:dateTimeStamp ] ;
  time:hasEnd [ time:inXSDDateTimeStamp "2024-02-06T11:00:00Z"^^xsd:dateTimeStamp ] ] .
"""
)
"""SOSA data in most of the ways in which it is written."""


@dataclass(frozen=True)
class Case:
    """A request, and what ``shown`` makes of its answer; a number is a status of HTTP."""

    requirement: str
    path: str
    options: Sequence[tuple[str, str]]
    expected: Any
    shown: Callable[[Any], Any] = lambda found: found


def _ids(found: Any) -> Any:
    """The last parts of the ids, with a mark for each next page; a status as it is."""
    if isinstance(found, int):
        return found
    listed = found.get("value", [found])
    return " ".join(
        "|".join(part.removeprefix(E) for part in each["@iot.id"].split("|")) for each in listed
    )


def _names(found: Any) -> Any:
    return sorted(found if "@iot.id" in found else found["value"][0])


def _member(name: str) -> Callable[[Any], Any]:
    return lambda found: found.get(name, "missing") if isinstance(found, dict) else found


def _each(name: str) -> Callable[[Any], Any]:
    return lambda found: [each.get(name) for each in found["value"]]


_CLASSES: Final = {
    "Things": "thing",
    "Locations": "location",
    "HistoricalLocations": "historical-location",
    "Datastreams": "datastream",
    "Sensors": "sensor",
    "ObservedProperties": "observed-property",
    "Observations": "observation",
    "FeaturesOfInterest": "feature-of-interest",
}


def _entity(name: str, properties: str, links: str) -> Iterator[Case]:
    control = ["@iot.id", "@iot.selfLink"]
    told = [*control, *properties.split(), *(f"{e}@iot.navigationLink" for e in links.split())]
    yield Case(f"datamodel/{_CLASSES[name]}", name, (), sorted(told), _names)


def _filters(requirement: str, found: str | int, *texts: str) -> Iterator[Case]:
    for each in texts:
        yield Case(f"request-data/{requirement}", "Observations", (("$filter", each),), found, _ids)


_MAST: Final = f"Things('{E}mast')"
_STREAM: Final = f"Datastreams('{E}s1|{E}temperature')"
_FIRST: Final = f"Observations('{E}o1')"
_PATH: Final = "resource-path/resource-path-to-entities"


def _datamodel() -> Iterator[Case]:
    yield from _entity("Things", "name description", "Locations HistoricalLocations Datastreams")
    yield from _entity(
        "Locations", "name description encodingType location", "Things HistoricalLocations"
    )
    yield from _entity(
        "Datastreams",
        "name description observationType unitOfMeasurement",
        "Thing Sensor ObservedProperty Observations",
    )
    yield from _entity("Sensors", "name description encodingType metadata", "Datastreams")
    yield from _entity("ObservedProperties", "name description definition", "Datastreams")
    yield from _entity(
        "Observations", "phenomenonTime resultTime result", "Datastream FeatureOfInterest"
    )
    yield from _entity(
        "FeaturesOfInterest", "name description encodingType feature", "Observations"
    )
    yield Case("datamodel/historical-location", "HistoricalLocations", (), {"value": []})
    place = {"type": "Point", "coordinates": [26.1, 44.4]}
    yield Case("datamodel/location", f"Locations('{E}mast')", (), place, _member("location"))
    place = {"type": "Point", "coordinates": [26.25, 44.5]}
    yield Case("datamodel/location", f"Locations('{E}buoy')", (), place, _member("location"))
    place = {"type": "Point", "coordinates": [26.0, 44.0]}
    path = f"FeaturesOfInterest('{E}hill')"
    yield Case("datamodel/feature-of-interest", path, (), place, _member("feature"))
    unit = {"name": "degree Celsius", "symbol": "°C", "definition": f"{E}degree"}
    yield Case("datamodel/datastream", _STREAM, (), unit, _member("unitOfMeasurement"))
    told = [20.5, 21, 60, "  Dry ", True, None]
    yield Case("datamodel/observation", "Observations", (), told, _each("result"))
    interval = "2024-02-06T10:00:00Z/2024-02-06T11:00:00Z"
    path = f"Observations('{E}o6')"
    yield Case("datamodel/observation", path, (), interval, _member("phenomenonTime"))


def _paths() -> Iterator[Case]:
    for path, found in (
        (_MAST, "mast"),
        (f"{_MAST}/Datastreams", "s1|temperature s2|humidity"),
        (f"{_MAST}/Locations", "mast"),
        (f"Locations('{E}mast')/Things", "mast"),
        (f"{_MAST}/HistoricalLocations", ""),
        (f"{_STREAM}/Thing", "mast"),
        (f"Datastreams('{E}s3|{E}waves')/Thing", "buoy"),
        (f"{_STREAM}/Sensor", "s1"),
        (f"{_STREAM}/ObservedProperty", "temperature"),
        (f"{_STREAM}/Observations", "o1 o2"),
        (f"{_FIRST}/Datastream", "s1|temperature"),
        (f"{_FIRST}/Datastream/Thing/Datastreams", "s1|temperature s2|humidity"),
        (f"{_FIRST}/FeatureOfInterest/Observations", "o1 o2 o3 o4 o5 o6"),
        (f"Sensors('{E}s3')/Datastreams", "s3|waves"),
        (f"ObservedProperties('{E}humidity')/Datastreams", "s2|humidity"),
        (f"{_MAST}/{_STREAM}/Observations", "o1 o2"),
        (f"{_MAST}/{_STREAM}/{_FIRST}", "o1"),
        (f"{_MAST}/Datastreams('{E}s3|{E}waves')", 404),
        (f"{_MAST}/Datastreams('{E}s3|{E}waves')/Observations", 404),
        (f"Datastreams('{E}s2|{E}temperature')/Sensor", 404),
        (f"Things('{E}nowhere')", 404),
        (f"Things('{E}nowhere')/Datastreams", 404),
        (f"Datastreams('{E}s1')", 404),
        ("Things(1)", 404),
        ("Rockets", 404),
        (f"{_MAST}/Rockets('a')", 404),
        (f"{_MAST}/Rockets", 400),
        ("Things/name", 400),
        ("Things(", 400),
    ):
        yield Case(_PATH, path, (), found, _ids)
    for path, answer in (
        (f"{_MAST}/name", {"name": "Mast"}),
        (f"{_MAST}/id", {"id": f"{E}mast"}),
        (f"{_FIRST}/result", {"result": 20.5}),
        (f"{_STREAM}/unitOfMeasurement/symbol", {"symbol": "°C"}),
        (f"Observations('{E}o6')/result", None),
        (f"Observations('{E}o6')/result/$value", None),
        (f"{_FIRST}/Datastream/Sensor/name", {"name": "Thermometer"}),
    ):
        yield Case(_PATH, path, (), answer)
    for path, text in ((f"{_MAST}/name", "Mast"), (f"{_FIRST}/result", "20.5")):
        yield Case(_PATH, f"{path}/$value", (), text)
    link = {"@iot.selfLink": f"{HOST}/Things('http%3A%2F%2Fexample.org%2Fmast')"}
    yield Case(_PATH, f"{_STREAM}/Thing/$ref", (), link)
    yield Case(_PATH, f"Locations('{E}mast')/Things/$ref", (), {"value": [link]})


def _options() -> Iterator[Case]:
    told: tuple[tuple[str, tuple[tuple[str, str], ...], Any, Callable[[Any], Any]], ...] = (
        ("top", (("$top", "2"),), "o1 o2", _ids),
        ("top", (("$top", "0"),), "", _ids),
        ("skip", (("$skip", "4"),), "o5 o6", _ids),
        ("skip", (("$skip", "9"),), "", _ids),
        ("count", (("$count", "true"), ("$top", "1")), 6, _member("@iot.count")),
        ("count", (("$count", "false"),), "missing", _member("@iot.count")),
        (
            "pagination",
            (("$top", "2"), ("$skip", "1"), ("$select", "result")),
            f"{HOST}/Observations?$top=2&$select=result&$skip=3",
            _member("@iot.nextLink"),
        ),
        ("pagination", (("$top", "6"),), "missing", _member("@iot.nextLink")),
        ("orderby", (("$orderby", "resultTime desc"),), "o6 o5 o4 o3 o2 o1", _ids),
        ("orderby", (("$orderby", "Datastream/id desc,id"),), "o5 o6 o3 o4 o1 o2", _ids),
        ("orderby", (("$orderby", "phenomenonTime"), ("$top", "1")), "o1", _ids),
        ("select", (("$select", "result"), ("$top", "1")), [{"result": 20.5}], _member("value")),
        ("select", (("$select", "@iot.id"), ("$top", "2")), "o1 o2", _ids),
        ("query-status-code", (("$select", "rocket"),), 400, _ids),
        ("query-status-code", (("$filter", "rocket eq 1"),), 400, _ids),
        ("query-status-code", (("$filter", "result gt"),), 400, _ids),
        ("query-status-code", (("$filter", "result eq 'a"),), 400, _ids),
        ("query-status-code", (("$filter", "(" * 60 + "true" + ")" * 60),), 400, _ids),
        ("query-status-code", (("$expand", "Rocket"),), 400, _ids),
        ("query-status-code", (("$expand", "Datastream/Observations/" * 30 + "a"),), 400, _ids),
        ("query-status-code", (("$expand", "Datastream($expand=" * 60),), 400, _ids),
        ("query-status-code", (("$expand", "Datastream($select=name"),), 400, _ids),
        ("query-status-code", (("$expand", "Datastream($top=1;$top=2)"),), 400, _ids),
        ("query-status-code", (("$filter", "Datastream/" * 60 + "id eq 1"),), 400, _ids),
        ("query-status-code", (("$filter", " add ".join(["result"] * 120)),), 400, _ids),
        ("query-status-code", (("$filter", "name eq 1"),), 400, _ids),
        ("query-status-code", (("$top", "-1"),), 400, _ids),
        ("query-status-code", (("$skip", "a"),), 400, _ids),
        ("query-status-code", (("$count", "1"),), 400, _ids),
        ("query-status-code", (("$rocket", "1"),), 400, _ids),
        ("query-status-code", (("$top", "1"), ("$top", "2")), 400, _ids),
    )
    for name, options, expected, shown in told:
        yield Case(f"request-data/{name}", "Observations", options, expected, shown)
    inner = "Datastreams($filter=name eq 'temperature by Thermometer';$select=name"
    wanted = [
        {
            "name": "temperature by Thermometer",
            "Observations": [{"result": 21}],
            "Observations@iot.nextLink": f"{HOST}/Datastreams('"
            "http%3A%2F%2Fexample.org%2Fs1%7Chttp%3A%2F%2Fexample.org%2Ftemperature"
            "')/Observations?$top=1&$orderby=result%20desc&$select=result&$skip=1",
        }
    ]
    text = f"{inner};$expand=Observations($top=1;$orderby=result desc;$select=result))"
    yield Case("request-data/expand", _MAST, (("$expand", text),), wanted, _member("Datastreams"))
    for text in ("Datastream/Sensor", "Datastream($expand=Sensor)"):
        yield Case(
            "request-data/expand",
            _FIRST,
            (("$expand", text), ("$select", "Datastream")),
            "Thermometer",
            lambda found: found["Datastream"]["Sensor"]["name"],
        )
    yield Case(
        "request-data/expand",
        f"Datastreams('{E}s2|{E}humidity')",
        (
            (
                "$expand",
                "Observations($count=true;$top=1;$filter=resultTime gt 2024-02-03T00:00:00Z)",
            ),
        ),
        2,
        _member("Observations@iot.count"),
    )


_OPERATIONS: Final = "built-in-filter-operations"
_FUNCTIONS: Final = "built-in-query-functions"


def _conditions() -> Iterator[Case]:
    yield from _filters(
        _OPERATIONS,
        "o1",
        "result eq 20.5",
        "result lt 21",
        "result le 20.5",
        "result ne 21 and result lt 60",
        "result gt 20 and result lt 21",
        "not (result ge 21)",
        "result eq 20.5 or false",
        "result add 1 eq 21.5",
        "result sub 0.5 eq 20",
        "result mul 2 eq 41",
        "result div 2 eq 10.25",
        "result mod 10 eq 0.5",
        "-result mod 10 eq -0.5",
        "(result add 1) mul 2 eq 43",
        "result add 1 mul 2 eq 22.5",
        "resultTime lt 2024-02-02T00:00:00Z",
        "resultTime le 2024-02-01T13:30:01+02:00",
        f"id eq '{E}o1'",
        f"@iot.id eq '{E}o1'",
    )
    yield from _filters(_OPERATIONS, "o6", "result eq null", "not (result ne null)")
    yield from _filters(_OPERATIONS, "o5", "result eq true")
    yield from _filters(_OPERATIONS, "o5 o6", "Datastream/Thing/name eq 'Buoy'")
    yield from _filters("filter", "o1 o2", f"Datastream/id eq '{E}s1|{E}temperature'")
    yield from _filters("filter", "o1 o2", "Datastream/unitOfMeasurement/symbol eq '°C'")
    yield from _filters(
        _FUNCTIONS,
        "o4",
        "substringof('Dry', result)",
        "contains(result, 'Dry')",
        "endswith(result, 'ry ')",
        "startswith(result, '  D')",
        "length(result) eq 6",
        "indexof(result, 'Dry') eq 2",
        "substring(result, 2) eq 'Dry '",
        "substring(result, 2, 3) eq 'Dry'",
        "tolower(result) eq '  dry '",
        "toupper(result) eq '  DRY '",
        "trim(result) eq 'Dry'",
        "concat(concat(result, ', '), 'cold') eq '  Dry , cold'",
        "day(resultTime) eq 4",
        "minute(resultTime) eq 30 and second(resultTime) eq 4",
        "hour(resultTime) eq 14",
        "date(resultTime) eq 2024-02-04",
        "time(resultTime) eq 14:30:04",
        "totaloffsetminutes(resultTime) eq 120",
    )
    yield from _filters(
        _FUNCTIONS,
        "o1 o2 o3 o4 o5 o6",
        "year(resultTime) eq 2024",
        "month(resultTime) eq 2",
        "fractionalseconds(resultTime) eq 0",
        "resultTime lt now()",
        "resultTime gt mindatetime() and resultTime lt maxdatetime()",
    )
    yield from _filters(
        _FUNCTIONS, "o1", "floor(result) eq 20", "ceiling(result add -0.25) eq 21 and result lt 21"
    )
    yield from _filters(_FUNCTIONS, "o3", "round(result sub 0.25) eq 60")
    yield from _filters(_FUNCTIONS, 400, "length() eq 1", "substringof('a') eq true")


CASES: Final = (*_datamodel(), *_paths(), *_options(), *_conditions())

_COLUMNS: Final = ("requests", "as required", "not as required")
_SECTION: Final = """
## SensorThings

[SensorThings API 1.1](../use/http-api.md#sensorthings) (OGC 18-088), read side: the requirements of
its data model, of paths and of requests, as requests with the answers that the text asks for. The
requests are ours: OGC's own suite has not been run.
"""
_NOT: Final = {
    "datamodel/historical-location": "always empty: SOSA has nothing like them",
    "create-update-delete, batch-request, multi-datastream, data-array, mqtt": "not there",
}


def fault_of(ask: Ask, case: Case) -> str | None:
    """The difference between an answer and what is required; None if there is none."""
    found: Any
    try:
        found = get(ask, case.path, case.options)
    except HTTPException as error:
        found = error.status_code
    except QueryError:
        found = 400
    shown = case.shown(found)
    if shown == case.expected:
        return None
    return f"{case.path} {case.options}: {shown}, not {case.expected}"


def failed_requests() -> Mapping[str, str | None]:
    """The fault of each case, by its requirement and number."""
    ask = asking(loaded(DATA))
    return {f"{each.requirement}, {n}": fault_of(ask, each) for n, each in enumerate(CASES)}


def sensorthings_section(failed: Mapping[str, str | None]) -> Iterator[str]:
    """The lines of the section; ``failed`` as of :func:`failed_requests`."""
    yield _SECTION
    rows = (
        (name.rpartition(",")[0], (_COLUMNS[0], _COLUMNS[1 + (fault is not None)]))
        for name, fault in failed.items()
    )
    yield from counted("requirement", _COLUMNS, rows)
    yield from ("", *reasons("not as required", _NOT), "")
