"""What each stay has beside it, looked up in the plainest way."""

from __future__ import annotations

from sensorstream.model import rdf
from tests.databases import execute

_SAID = f"""
    select i.stay, count(distinct t.predicate) filter (where p.text <> '{rdf.TYPE}') < count(*)
            filter (where p.text <> '{rdf.TYPE}') as several,
        array_agg(t.object order by t.object) filter (where p.text = '{rdf.TYPE}') as classes,
        array_agg(t.predicate order by t.predicate, t.object)
            filter (where p.text <> '{rdf.TYPE}') as properties,
        array_agg(t.object order by t.predicate, t.object)
            filter (where p.text <> '{rdf.TYPE}') as objects,
        array_agg(t.number order by t.predicate, t.object)
            filter (where p.text <> '{rdf.TYPE}') as numbers
    from store.stays i left join (
        select distinct stay, subject, valid_to, predicate, object, number from store.statements
    ) t on t.stay = i.stay and t.subject = i.name and t.valid_to = i.expired_at
    left join store.terms p on p.id = t.predicate
    group by i.stay
"""


def stays_told_wrong(url: str) -> tuple[int, list[tuple[object, ...]]]:
    """How many stays have a class, and those that have other things beside them.

    Also the triples of which several rows say that they are the first.
    """
    found = execute(
        url,
        "select said.classes, row(n.text, coalesce(said.classes, '{}'), "
        "coalesce(said.properties, '{}'), coalesce(said.objects, '{}'), "
        "coalesce(said.numbers, '{}'), said.several)::text, "
        "row(i.iri, s.classes, i.properties, i.objects, i.numbers, i.several)::text "
        "from store.stays i left join store.class_sets s on s.id = i.class_set "
        f"left join store.terms n on n.id = i.name join ({_SAID}) said on said.stay = i.stay",
    )
    repeated = execute(
        url,
        "select subject, predicate, object from store.statements where not again "
        "group by 1, 2, 3 having count(*) > 1",
    )
    wrong = [*repeated, *(row for row in found if row[1] != row[2])]
    return sum(bool(row[0]) for row in found), wrong
