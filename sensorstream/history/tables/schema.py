"""Schema ``store``, of which all tables are, and what several of them need."""

from __future__ import annotations

from typing import Final

from sqlalchemy import DateTime, MetaData

STORE: Final = "store"

metadata: Final = MetaData(
    schema=STORE,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "ix": "%(table_name)s_%(column_0_name)s_idx",
    },
)
MOMENT: Final = DateTime(timezone=True)
FINE: Final = {"pages_per_range": 32}
"""Of BRIN indexes: some 3,000 statements an entry."""
