"""The base tables, in schema ``store``; Alembic's migrations make exactly these tables.

Users read the views of schema ``history`` instead (:mod:`sensorstream.history.views`). Every RDF
term stands once, in ``terms``; statements and stays refer to it by its number. Times of the time
line are ``bigint`` instants, as the engine counts them.
"""

# All of them, for the tables that metadata knows are those of the modules that were imported.
from sensorstream.history.tables import access, alerts, journal, receivers, statements
from sensorstream.history.tables.schema import STORE, metadata

__all__ = ["STORE", "access", "alerts", "journal", "metadata", "receivers", "statements"]
