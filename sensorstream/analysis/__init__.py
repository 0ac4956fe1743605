"""Notes on queries before they run: valid queries that are probably not what was meant."""

from sensorstream.analysis.all_notes import query_notes
from sensorstream.analysis.note import Note, QueryContext
from sensorstream.analysis.rule_notes_over_time import rules_notes

__all__ = ["Note", "QueryContext", "query_notes", "rules_notes"]
