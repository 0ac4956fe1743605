"""Notes on queries before they run: valid queries that are probably not what was meant."""

from sensorstream.analysis.note import Known, Note
from sensorstream.analysis.notes import query_notes
from sensorstream.analysis.over_time import rules_notes

__all__ = ["Known", "Note", "query_notes", "rules_notes"]
