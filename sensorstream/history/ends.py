"""What individuals had when they left, beside each stay: the classes, and the values.

A stay had a statement at its end if ``store.statements`` says so: of its individual, of this stay,
and ending with it. Views that looked there for each stay would be slow, and PostgreSQL takes a
maximum from an index only where a question reads one table. So a trigger, ``store.tell_end``, puts
what is said beside each stay that is stored, after its statements.
"""

from __future__ import annotations

from collections.abc import Collection

from psycopg2 import extensions


def tell_ends(cursor: extensions.cursor, stays: Collection[int]) -> None:
    """Tell anew what stays had, as their statements have changed; others may be among them.

    Args:
        cursor: of a transaction that has locked the row of ``store.progress``.
        stays: their numbers.
    """
    cursor.execute("update store.stays set class_set = null where stay = any(%s)", (list(stays),))
