"""The classes that individuals had when they left: one number a stay.

A stay had a class at its end if a statement of ``store.statements`` says so: of its individual, of
this stay, and ending with it. Views that looked there for each stay would be slow, and PostgreSQL's
planner takes the three conditions to be independent and expects next to no rows. So each stay has
the number of a row of ``store.class_sets``.

All calls belong to a transaction that has locked the row of ``store.progress``, so that no set gets
two numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from psycopg2 import extensions
from psycopg2.extras import execute_values

from sensorstream.model.vocabulary import RDF_TYPE

# The planner learns of the first sets at once, of later ones from autovacuum.
ANALYZED: Final = 1000

CLASSES: Final = f"""
cross join lateral (
    select coalesce(array_agg(distinct t.object order by t.object), '{{{{}}}}') as classes
    from store.statements t
    where t.stay = i.stay and t.subject = i.name and t.valid_to = i.expired_at
    and t.predicate = (select id from store.terms where text = '{RDF_TYPE}' and kind = 0)
    {{within}}
) c
"""
"""The classes of stays ``i`` (stay, name, expired_at), as a join to them.

``within`` may be a further condition on ``t``.
"""

_FIND: Final = f"""
select i.stay, c.classes, s.id
from unnest(%s::bigint[], %s::bigint[], %s::bigint[]) as i (stay, name, expired_at)
{CLASSES.format(within="")}
left join store.class_sets s on s.classes = c.classes
"""


def class_sets(
    cursor: extensions.cursor, stays: Sequence[tuple[int, int, int]]
) -> Mapping[int, int]:
    """The number of each stay's set of classes, by what ``store.statements`` says.

    Args:
        cursor: of the transaction; a set that is not there yet is stored.
        stays: the number of a stay, of its individual's name, and when it ended.
    """
    if not stays:
        return {}
    cursor.execute(_FIND, tuple(map(list, zip(*stays, strict=True))))
    found = [(stay, tuple(classes), number) for stay, classes, number in cursor.fetchall()]
    numbers = {classes: number for _, classes, number in found if number is not None}
    new = {classes for _, classes, _ in found} - numbers.keys()
    if new:
        rows = execute_values(
            cursor,
            "insert into store.class_sets (classes) values %s returning classes, id",
            [(list(classes),) for classes in sorted(new)],
            template="(%s::bigint[])",
            fetch=True,
        )
        added = {tuple(classes): number for classes, number in rows}
        if min(added.values()) <= ANALYZED:
            cursor.execute("analyze store.class_sets")
        numbers |= added
    return {stay: numbers[classes] for stay, classes, _ in found}


def mend_class_sets(cursor: extensions.cursor, stays: Collection[int]) -> None:
    """Make the sets of stays right whose statements have changed; others may be among them."""
    cursor.execute(
        "select stay, name, expired_at from store.stays where stay = any(%s)", (list(stays),)
    )
    found = class_sets(cursor, cursor.fetchall())
    if found:
        cursor.execute(
            "update store.stays i set class_set = v.class_set "
            "from unnest(%s::bigint[], %s::integer[]) as v (stay, class_set) "
            "where i.stay = v.stay and i.class_set <> v.class_set",
            (list(found), list(found.values())),
        )
