"""Rows of the journal as bytes: how they travel through Spark, and are kept in its state.

The bytes are a pickle, as all that PySpark itself passes between the processes of a query. They
are read only by the processes of the query that wrote them, or of its next run.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Final

from sensorstream.history.journal_rows import JournalRow

PROTOCOL: Final = 5


def pack(rows: Sequence[JournalRow]) -> bytes:
    """The rows, in order; O(size)."""
    return pickle.dumps(rows, PROTOCOL)


def unpack(content: bytes) -> Sequence[JournalRow]:
    """What :func:`pack` was given."""
    rows: Sequence[JournalRow] = pickle.loads(content)
    return rows
