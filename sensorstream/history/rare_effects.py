"""Writes those effects of a group that few groups have, in the writer's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from psycopg2 import extensions
from psycopg2.extras import execute_values

from sensorstream.alerts.cloudevents import report_json
from sensorstream.errors import HistoryError
from sensorstream.history.rows import contradiction_of, json_of, text_of
from sensorstream.journal.records import Effects, OntologyVersion
from sensorstream.model.events import Ended
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Timeline


def explain(cursor: extensions.cursor, effects: Effects) -> NoReturn:
    """Say why effects cannot be stored.

    Raises:
        HistoryError: a group does not begin after the watermark, or has not all entries up to its
            own.
    """
    cursor.execute(
        "select watermark, array(select seq from store.messages where seq = any(%s)), "
        "(select min(seq) from store.messages where seq > watermark and seq <= %s "
        "and status is null and seq <> all(%s)) from store.progress",
        (named := [each.seq for each in effects.statuses], effects.watermark, named),
    )
    row = cursor.fetchone()
    assert row is not None
    watermark, there, left = row
    if any(each <= watermark for each in named):
        raise HistoryError(
            f"effects up to message {effects.watermark} begin at or below the watermark "
            f"{watermark}: part of them is stored already"
        )
    if missing := set(named) - set(there):
        raise HistoryError(f"effects of messages that are not in the journal: {sorted(missing)}")
    raise HistoryError(f"the watermark would pass message {left}, which has no effects")


def revoke(
    cursor: extensions.cursor, revoked: Sequence[Ended], numbers: Mapping[Term, int]
) -> None:
    """Delete intervals that a late update has proved wrong."""
    execute_values(
        cursor,
        "delete from store.statements s using (values %s) as v "
        "(subject, predicate, object, valid_from, valid_to, stay, inferred) "
        "where s.subject = v.subject and s.predicate = v.predicate and s.object = v.object "
        "and s.valid_from = v.valid_from and s.valid_to = v.valid_to and s.stay = v.stay "
        "and s.inferred = v.inferred",
        [
            (
                *(numbers[term] for term in each.triple),
                each.valid_from,
                each.valid_to,
                each.stay,
                each.inferred,
            )
            for each in revoked
        ],
        template="(%s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s)",
    )


def record_ontologies(cursor: extensions.cursor, versions: Sequence[OntologyVersion]) -> None:
    """Write down ontologies that were put in force."""
    if versions:
        execute_values(
            cursor,
            "insert into store.ontologies (seq, valid_from, digest, content, media_type) values %s",
            [
                (each.seq, each.valid_from, each.digest, each.content, each.media_type)
                for each in versions
            ],
        )


def queue_reports(cursor: extensions.cursor, effects: Effects, timeline: Timeline) -> bool:
    """Tell each report whose query an enabled webhook names now, once for all of them.

    Returns:
        Whether there are any.
    """
    # Locked, or one might name a query meanwhile and have its place after these reports.
    cursor.execute("select last from store.event_head for update")
    cursor.execute(
        "select distinct q from store.webhooks, unnest(queries) as q "
        "where disabled_at is null and q = any(%s)",
        (list({each.report.query for each in effects.reports}),),
    )
    asked = {row[0] for row in cursor.fetchall()}
    told = [each for each in effects.reports if each.report.query in asked]
    if not told:
        return False
    cursor.execute(
        "update store.event_head set last = last + %s returning last - %s", (len(told), len(told))
    )
    row = cursor.fetchone()
    assert row is not None
    at = effects.raised_at
    execute_values(
        cursor,
        "insert into store.events "
        "(seq, report_id, report_query, report_data, raised_at, due_at) values %s",
        [
            (seq, each.id, each.report.query, report_json(each, timeline), at, at)
            for seq, each in enumerate(told, row[0] + 1)
        ],
    )
    return True


def settle_held(cursor: extensions.cursor, effects: Effects) -> None:
    """Say what became of held messages; one whose entry retention has deleted is passed over."""
    if effects.settled:
        execute_values(
            cursor,
            "update store.messages m set status = v.status, reason = coalesce(v.reason, m.reason), "
            "contradiction = v.contradiction, "
            "facts = m.facts || jsonb_build_object('settled', v.facts) "
            "from (values %s) as v (id, status, reason, contradiction, facts) where m.id = v.id",
            [
                (
                    each.message,
                    each.status.value,
                    None if each.reason is None else text_of(each.reason),
                    contradiction_of(each.contradiction),
                    json_of(each.facts),
                )
                for each in effects.settled
            ],
            template="(%s::text, %s::text, %s::text, %s::jsonb, %s::jsonb)",
        )
