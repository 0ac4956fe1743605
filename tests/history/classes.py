"""What each stay has beside it, looked up in the plainest way."""

from __future__ import annotations

from contextlib import closing

import psycopg2

from sensorstream.model.vocabulary import RDF_TYPE

_SAID = f"""
    select i.stay, array_agg(distinct t.object order by t.object) filter (where t.object > 0)
    from store.stays i left join (
        select t.* from store.statements t join store.terms p on p.id = t.predicate
        where p.text = '{RDF_TYPE}'
    ) t on t.stay = i.stay and t.subject = i.name and t.valid_to = i.expired_at
    group by i.stay
"""


def stays_told_wrong(url: str) -> tuple[int, list[tuple[object, ...]]]:
    """How many stays have a class, and those whose set of classes or name is another."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "select i.stay, s.classes, said.classes, i.iri, n.text from store.stays i "
            "left join store.class_sets s on s.id = i.class_set "
            "left join store.terms n on n.id = i.name "
            f"join ({_SAID}) said (stay, classes) on said.stay = i.stay"
        )
        found = cursor.fetchall()
    wrong = [row for row in found if row[1] != (row[2] or []) or row[3] != row[4]]
    return sum(bool(row[2]) for row in found), wrong
