"""Alembic's way into our tables; run by :func:`sensorstream.history.migrations.migrate`."""

from alembic import context

from sensorstream.history.tables import STORE, metadata


def _ours(name: str | None, kind: str, parents: object) -> bool:
    """Other people's schemas in the same database are none of our business."""
    return kind != "schema" or name == STORE


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table_schema=STORE,
    include_schemas=True,
    include_name=_ours,
)
with context.begin_transaction():
    context.run_migrations()
