"""An engine for recorded events, built from files and words, without settings.

``sensorstream run`` and ``explain``, notebooks and programs use it. It is the engine of the server
with other parameters: all events of one time are reported together, gaps have no bound, events
later than the lateness are left out, and replies of messages that waited are returned, too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from sensorstream.app.control.engine_settings import window_spec
from sensorstream.app.control.file_faults import check_without_history
from sensorstream.app.control.mapping_files import MappingFiles, is_rule_file, read_reference
from sensorstream.app.control.wiring import read_rules, with_state_rules
from sensorstream.client.results import QueryGraph, Results
from sensorstream.engine.engine import Engine
from sensorstream.engine.engine_queries import QueryTerms
from sensorstream.engine.engine_state import Parts
from sensorstream.engine.message_reading import Arrived, Mapper, UnmappedMessage
from sensorstream.engine.reorder import Disorder
from sensorstream.errors import SettingsError, TermError, UnknownQuery
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.mapping.mapping_compiler import compile_mapping
from sensorstream.mapping.mapping_plan import MappingPlan
from sensorstream.mapping.xml_document import encoded
from sensorstream.model.events import Event, Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Instant, Timeline, seconds
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC, make_reasoner, rule_set_of
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_compiler import compile_rules
from sensorstream.rules.rule_notes import check_classes_named
from sensorstream.settings.settings import RuleSettings, WindowSettings
from sensorstream.streams.background_graphs import Background
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.event_lines import EventLines
from sensorstream.streams.operator_graph import graph_data
from sensorstream.streams.report_data import bindings
from sensorstream.window.window import make_window
from sensorstream.window.window_spec import WindowMove, WindowSpec, WindowUnitKind

NO_WINDOW: Final = "none"
_WINDOW: Final = re.compile(
    r"(?P<kind>sliding|tumbling|filling)\s+"
    r"(?:(?P<length>P\S+)|(?P<count>[0-9]+)\s+(?P<unit>individuals|triples|time))|landmark"
)


def build_engine(
    *,
    static: Sequence[str | Path] | Background = (),
    rules: Sequence[str | Path] = (),
    window: str = NO_WINDOW,
    profile: str = "plain",
    lateness: str = "0",
    line: str = "datetime",
) -> Engine:
    """An engine with an empty window, its reasoner started; close it after use.

    Args:
        static: RDF files in any format, the static graph of the knowledge base; GRAPH matches
            each of them, and each named graph in them.
        rules: files of semantic rules, which react to what enters the window.
        window: what the knowledge base keeps of the events, in words: ``none``, ``landmark``
            (everything), ``sliding 1000 individuals``, ``filling 500 triples``,
            ``tumbling PT1M``; on the integer line ``tumbling 60 time``.
        profile: what is inferred: ``none``, ``plain``, ``hermit``, ``pellet``, or rule sets with
            commas between them: ``owl2rl``, files (``.ru``, ``.dlog``).
        lateness: how late events may be, in seconds or as a duration (``PT5S``); on the integer
            line a whole number.
        line: how times are written, ``datetime``, ``integer`` or, of events, ``seconds``.

    Raises:
        BackgroundError: a static file cannot be read.
        OntologyError: HermiT or Pellet cannot use the static files.
        LanguageError: a rule cannot be read or compiled, or asks the history.
        SettingsError: window, profile, lateness or line cannot be read, a rule file cannot be
            read, or there are rules without a window.
        ReasonerError: the reasoner does not start.
    """
    timeline = read_line(line)
    spec = read_window(window, timeline)
    files = _files_of_rules(rules, spec)
    # How fast a record is read says nothing of its sources: none of them falls silent.
    disorder = Disorder(
        read_lateness(lateness, timeline), {}, idle=sys.maxsize, max_held=sys.maxsize
    )
    background = static if isinstance(static, Background) else read_background(static)
    ontology = _ontology(background, profile)
    rule_set = rule_set_of(profile)
    if rule_set is not None and rule_set.state_rules and spec is None:
        raise SettingsError(
            f"{rule_set.state_rules[0].file}: rules that delete act on the window of the knowledge "
            "base, but there is no window: expected one, such as 'landmark'"
        )
    rules_read = with_state_rules(read_rules(files), rule_set)
    compiled = compile_rules(rules_read, ontology.schema, timeline)
    check_without_history(compiled)
    if profile in DESCRIPTION_LOGIC:
        check_classes_named(rules_read)
    reasoner = make_reasoner(profile, ontology, rule_set=rule_set)
    knowledge = KnowledgeBase()
    knowledge.add(Origin.STATIC, ontology.triples)
    try:
        parts = Parts(
            knowledge=knowledge,
            window=None if spec is None else make_window(spec),
            reasoner=reasoner,
            rules=compiled,
            evaluator=ConditionEvaluator(knowledge),
            max_rounds=RuleSettings().max_rounds,
            timeline=timeline,
            disorder=disorder,
            queries=QueryTerms(longest_gap=None, graphs=background.graphs()),
            answers=False,
        )
        return Engine(parts)
    except BaseException:
        reasoner.close()
        raise


def _files_of_rules(rules: Sequence[str | Path], window: WindowSpec | None) -> list[Path]:
    files = [Path(each) for each in rules]
    for file in files:
        if not is_rule_file(file):
            raise SettingsError(f"{file}: expected a file of rules, named *.rules")
    if files and window is None:
        raise SettingsError(
            "semantic rules react to what enters the window of the knowledge base, but there is "
            "no window: expected a window, such as 'landmark' or 'sliding 1000 individuals'"
        )
    return files


def parse_mapping(
    *files: str | Path,
    static: Sequence[str | Path] | Background = (),
    line: str = "datetime",
    functions: Sequence[str | Path] = (),
) -> MappingPlan:
    """Parse and compile mapping rules: ``*.rules``, RML (``*.ttl``) or XSLT.

    Args:
        files: in the order in which their rules are applied; semantic rules are ignored.
        static: RDF files with the classes and properties that the rules use.
        line: how times are written, ``datetime`` or ``integer``.
        functions: Python files whose functions the rules may call.

    Raises:
        LanguageError: a rule or function cannot be read or compiled, or a rule uses a class or
            property that the static files do not declare.
        SettingsError: a file cannot be read.
        BackgroundError: a static file cannot be read.
    """
    timeline, paths = read_line(line), [Path(each) for each in files]
    background = static if isinstance(static, Background) else read_background(static)
    triples = tuple(background.triples())
    schema = Schema.of(triples)
    parsed = read_rules(paths)
    reference = read_reference(parsed, triples, [Path(each) for each in functions])
    plan = compile_mapping(parsed, schema, timeline, reference)
    others = MappingFiles(paths, schema, timeline, library=reference.library_of(""))
    return others.added_to(plan, parsed)


def recorded_events(lines: EventLines, source: Iterable[str]) -> Iterator[Event]:
    """The events of a file's lines, named ``e1``, ``e2`` … in their order.

    Raises:
        EventError: a line is not an event.
    """
    for number, event in enumerate(lines.read(source), 1):
        yield Event(event.triples, event.time, f"e{number}", stream=event.stream, end=event.end)


def read_background(files: Sequence[str | Path]) -> Background:
    """RDF files as graphs.

    Raises:
        BackgroundError: a file cannot be read.
    """
    background = Background()
    background.read([Path(each) for each in files])
    return background


def read_line(text: str) -> Timeline:
    """A time line by its name.

    Raises:
        SettingsError: there is no time line of that name.
    """
    try:
        return Timeline(text)
    except ValueError:
        raise SettingsError(
            f"'{text}': expected the time line datetime, integer or seconds"
        ) from None


def read_lateness(text: str, timeline: Timeline) -> int:
    """A lateness as a length of the time line.

    Raises:
        SettingsError: it is not a length of the time line.
    """
    written = text.strip()
    try:
        if timeline is not Timeline.INTEGER and not written.upper().startswith("P"):
            length = seconds(Decimal(written))
        else:
            length = timeline.span(written)
    except (TermError, InvalidOperation):
        length = -1
    if length < 0:
        expected = "seconds, or a duration such as PT5S"
        if timeline is Timeline.INTEGER:
            expected = "a whole number, 0 or above"
        raise SettingsError(f"'{text}' is not a lateness: expected {expected}")
    return length


def read_window(text: str, timeline: Timeline = Timeline.DATETIME) -> WindowSpec | None:
    """Parse a window in words: its kind, its size, and what the size counts; None for ``none``.
    ``sliding 1000 individuals``, ``filling 500 triples``, ``tumbling PT1M``, ``landmark``.

    Raises:
        SettingsError: the words do not describe a window.
    """
    if text.strip() == NO_WINDOW:
        return None
    found = _WINDOW.fullmatch(text.strip())
    if found is None:
        raise SettingsError(
            f"'{text}' is not a window: expected e.g. 'sliding 1000 individuals', "
            "'filling 500 triples', 'tumbling PT1M', 'landmark' or 'none'"
        )
    if found["kind"] is None:
        return WindowSpec(WindowMove.LANDMARK, WindowUnitKind.INDIVIDUALS)
    unit = found["unit"] or WindowUnitKind.TIME.value
    size = found["length"] or found["count"]
    return window_spec(WindowSettings(kind=found["kind"], size=size, unit=unit), timeline)


def _ontology(background: Background, profile: str) -> Ontology:
    files = tuple(background.files)
    if profile in ("hermit", "pellet"):
        # These profiles need a complete and consistent ontology; plain data may be neither.
        return load_ontology(files)
    triples = tuple(background.triples())
    return Ontology(files, triples, Schema.of(triples))


def map_message(
    mapping: MappingPlan,
    message: bytes | str,
    *,
    id: str = "m1",
    received: Instant = 0,
    source: str = "",
) -> Arrived | UnmappedMessage:
    """The events that mapping rules make of an XML message, for :meth:`.Engine.take`.

    Args:
        mapping: a result of :func:`.parse_mapping`.
        message: the document.
        id: names the message in outcomes and in new names that rules make; must be unique.
        received: the time of the message if it does not contain a time.
        source: the stream it belongs to.

    Returns:
        The events; or an :class:`.UnmappedMessage` with the reason why no rule matched.
    """
    content = encoded(message) if isinstance(message, str) else message
    return Mapper(mapping).map(Message(id, content, received, source))


def read_events(file: str | Path) -> Iterator[Event]:
    """The events of a file of JSON Lines, in its order.

    Raises:
        EventError: a line is not an event.
    """
    with Path(file).open(encoding="utf-8") as lines:
        yield from recorded_events(EventLines(str(file)), lines)


def result_of(engine: Engine, name: str) -> Results:
    """The whole result of a SELECT query as it is now.

    Raises:
        UnknownQuery: the engine has no query of that name.
    """
    running = _running(engine, name)
    rows = [bindings(running.variables, row) for row in running.result()]
    return Results.of_bindings(running.variables, rows)


def graph_of(engine: Engine, name: str) -> QueryGraph:
    """The operators of a continuous query with their counters; raises as :func:`result_of`."""
    return QueryGraph(graph_data(_running(engine, name), lambda instant: instant))


def _running(engine: Engine, name: str) -> ContinuousQuery:
    running = engine.queries.processor.queries.get(name)
    if running is None:
        raise UnknownQuery(f"there is no query '{name}'")
    return running
