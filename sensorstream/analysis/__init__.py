"""What can be said of a query before it runs: it is valid, but hardly what was meant."""

from sensorstream.analysis.note import Known, Note
from sensorstream.analysis.notes import query_notes, update_notes

__all__ = ["Known", "Note", "query_notes", "update_notes"]
