"""Semantic rules offline: from files and the words of an option to a knowledge base."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from sensorstream.app.mapping_files import is_rule_file
from sensorstream.app.window_settings import window_spec
from sensorstream.app.wiring import read_rules
from sensorstream.engine.reactions import Reactions
from sensorstream.errors import SettingsError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.kb.snapshot import Snapshot
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Timeline
from sensorstream.reasoning.schema_closure import SchemaClosure
from sensorstream.rules.compile import compile_rules
from sensorstream.rules.conditions import SnapshotEvaluator
from sensorstream.rules.continuous import NetworkEvaluator
from sensorstream.settings import RuleSettings, WindowSettings
from sensorstream.window.spec import Kind, Unit, WindowSpec
from sensorstream.window.window import make_window

_LINE: Final = Timeline.DATETIME
"""Event files are read on a line of microseconds."""
_WINDOW: Final = re.compile(
    r"(?P<kind>sliding|tumbling|filling)\s+"
    r"(?:(?P<length>P\S+)|(?P<count>[0-9]+)\s+(?P<unit>individuals|triples))|landmark"
)


def make_reactions(files: Sequence[Path], static: Iterable[Triple], window: str) -> Reactions:
    """The semantic rules of some files over static knowledge and an empty window.

    What follows by subclasses, domains and the like is inferred (the profile ``plain``).

    Raises:
        LanguageError: a rule cannot be read or compiled.
        SettingsError: a file cannot be read, or the window is none.
    """
    for file in files:
        if not is_rule_file(file):
            raise SettingsError(f"{file}: expected a file of rules, named *.rules")
    triples = tuple(static)
    schema = Schema.of(triples)
    knowledge = KnowledgeBase()
    knowledge.add(Origin.STATIC, triples)
    return Reactions(
        knowledge=knowledge,
        window=make_window(read_window(window)),
        reasoner=SchemaClosure(schema),
        rules=compile_rules(read_rules(files), schema, _LINE),
        evaluator=NetworkEvaluator(knowledge, SnapshotEvaluator(Snapshot(knowledge))),
        max_rounds=RuleSettings().max_rounds,
    )


def read_window(text: str) -> WindowSpec:
    """A window in words: its kind, its size, and what the size counts.

    ``sliding 1000 individuals``, ``filling 500 triples``, ``tumbling PT1M``, ``landmark``.

    Raises:
        SettingsError: the words say no window.
    """
    found = _WINDOW.fullmatch(text.strip())
    if found is None:
        raise SettingsError(
            f"'{text}' is no window: expected e.g. 'sliding 1000 individuals', "
            "'filling 500 triples', 'tumbling PT1M' or 'landmark'"
        )
    if found["kind"] is None:
        return WindowSpec(Kind.LANDMARK, Unit.INDIVIDUALS)
    unit = found["unit"] or Unit.TIME.value
    size = found["length"] or found["count"]
    return window_spec(WindowSettings(kind=found["kind"], size=size, unit=unit), _LINE)
