"""Erases an individual from everything that is kept: journal, history, alerts, archive.

The archive's files are first written again without its rows. Then one transaction deletes its rows
in PostgreSQL and puts the new files in the place of the old ones, which are deleted afterwards. A
kill before the end of that transaction changes nothing; the next run deletes the spare files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from sensorstream.alerts.alert_records import text_of_pattern
from sensorstream.archive.archive_files import (
    archived,
    check_file,
    flush_and_name,
    part_name,
    pattern,
)
from sensorstream.archive.archive_moves import Say, sweep
from sensorstream.archive.manifest import ArchivePart, State, begin, opened_archive, parts, record
from sensorstream.archive.parquet_layout import STATEMENTS, STAYS, TABLES
from sensorstream.engine.checkpoint import text_of
from sensorstream.errors import ArchiveError, HistoryError, OntologyError
from sensorstream.history.database import connect, one_value, opened
from sensorstream.history.effects_store import tell_ends
from sensorstream.history.store import PostgresStore
from sensorstream.history.term_dictionary import TermKey, TermKind, look_up
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.events import Message
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.reasoning.ontology import parse_accepted

if TYPE_CHECKING:
    from psycopg2 import extensions

KEPT: Final = "ontologies and rules that name it, kept"
"""Things that are counted, but not erased."""
_NEEDED: Final = frozenset({PutOntology.kind, PutRules.kind})
"""Kinds of entries that say what is in force: a restart needs them."""
_NO_TERM: Final = 0


def erase(
    url: str,
    folder: Path,
    name: IRI,
    timeline: Timeline,
    mapped: Callable[[Message], bool],
    *,
    dry: bool = False,
    say: Say = lambda _: None,
) -> dict[str, int]:
    """Erase an individual; no server may run. Returns the number of rows of each place that named
    it.

    Its stays and their statements go, with those of the blank nodes that it owned; the statements
    of others with it as object; the messages that told any of these or that name it; the alerts and
    deliveries that these messages raised or that name it, with what people said of them; the
    outcomes of other messages that name it; and the terms that nothing has any more. A message that
    names others too goes as a whole; what it said of them stays in history. Ontologies and rules
    that name it stay and are only counted: they are no data of the individual, and a restart needs
    them. ``mapped`` tells whether the mapping rules make a statement about it of a message, for
    messages whose statements are not in history. ``dry``: count only. ``say`` is told each step.

    Raises:
        HistoryError: a server runs, the database failed, the engines run on Spark, or the
            individual is still in the window or in the part of the journal that a restart needs.
        ArchiveError: a file cannot be read or written. Nothing was erased.
    """
    # First, since a server may run, which is not what stands in the way.
    with opened(url, "cannot erase") as cursor:
        _check_runner(cursor)
    with (
        PostgresStore.open(url, timeline) as store,
        opened_archive(url, "cannot erase", "sensorstream erase") as connection,
    ):
        sweep(connection, folder)
        old = _checkpoints(store, name)
        with connection, connection.cursor() as cursor:
            before = parts(cursor, State.ARCHIVED)
        say("reading the archive")
        held = _Held.read(before, folder, name)
        say("reading history and journal")
        with connection, connection.cursor() as cursor:
            _mark(cursor, name, held, mapped, store)
            counts = {place: int(one_value(cursor, query)) for place, query in _PLACES.items()}
            counts |= {
                "archived statements": sum(each[0] for each in held.rows.values()),
                "archived stays": sum(each[1] for each in held.rows.values()),
                "checkpoints": len(old),
                KEPT: _in_force(cursor, name, store),
            }
            if dry:
                connection.rollback()
                return counts
            new = _rewrite(url, folder, held, say)
            say("erasing")
            _mark_terms(cursor, [each for each in before if each.id not in held.rows], new, folder)
            erase_told(cursor)
            _delete(cursor)
            _mend(cursor)
            for replaced, after in new:
                record(cursor, replace(replaced, state=State.DELETED))
                record(cursor, after)
            cursor.execute("delete from store.checkpoints where seq = any(%s)", (old,))
        sweep(connection, folder)
    return counts


def _check_runner(cursor: extensions.cursor) -> None:
    if one_value(cursor, "select runner ->> 'kind' from store.pipeline") == "spark":
        raise HistoryError(
            "the engines of this history run on Spark, and what their windows hold is in "
            "pipeline.folder, where nothing can be erased: erase works for a server's own engine"
        )


def _checkpoints(store: PostgresStore, name: IRI) -> list[int]:
    """The numbers of the checkpoints that name the individual; raises HistoryError if the newest
    does, or the journal goes on after it.
    """
    kept = store.checkpoints()
    if store.last_seq() > (kept[0][0] if kept else 0):
        raise HistoryError(
            "the last run of the server did not end cleanly, so a restart needs the journal: start "
            "the server and stop it, then erase"
        )
    found = [seq for seq, content in kept if names(text_of(content), name)]
    if kept and kept[0][0] in found:
        raise HistoryError(
            f"<{name}> is still in the window, or a continuous query or a rule remembers it: it "
            "can be erased when it has left"
        )
    return found


@frozen
class _Held:
    """The individual's rows in the archive: rows by part, stays and messages."""

    name: IRI
    archived: Sequence[ArchivePart]
    rows: Mapping[int, tuple[int, int]]
    stays: Sequence[int]
    messages: Sequence[int]

    @classmethod
    def read(cls, archived: Sequence[ArchivePart], folder: Path, name: IRI) -> _Held:
        stays: set[int] = set()
        messages: set[int] = set()
        with closing(duckdb.connect(":memory:")) as connection:
            for part in archived:
                query = "select stay, message from read_parquet($1) where name = $2"
                for stay, message in _all(connection, query, part.file(folder, STAYS), name):
                    stays.add(stay)
                    messages.add(message)
            found = cls(name, archived, {}, sorted(stays), [])
            rows = {}
            for part in archived:
                query = f"select message from read_parquet($1) where {found.statements}"
                told = _all(connection, query, part.file(folder, STATEMENTS))
                messages |= {message for (message,) in told}
                query = f"select stay from read_parquet($1) where {found.stayed}"
                stayed = _all(connection, query, part.file(folder, STAYS))
                if told or stayed:
                    rows[part.id] = (len(told), len(stayed))
        return replace(found, rows=rows, messages=sorted(messages))

    @property
    def statements(self) -> str:
        """The condition of its statements, for DuckDB."""
        name = _quoted(self.name)
        return (
            f"(subject = {name} or (object = {name} and kind = 'iri') or stay in ({self._stays}))"
        )

    @property
    def stayed(self) -> str:
        """The condition of its stays, for DuckDB."""
        return f"(name = {_quoted(self.name)})"

    @property
    def _stays(self) -> str:
        return ", ".join(map(str, self.stays)) or "null"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _all(
    connection: duckdb.DuckDBPyConnection, query: str, path: Path, *more: object
) -> list[tuple[int, ...]]:
    try:
        return connection.execute(query, [pattern(path), *more]).fetchall()
    except duckdb.Error as error:
        raise ArchiveError(f"cannot read {path}: {error}") from error


def _mark(
    cursor: extensions.cursor,
    name: IRI,
    held: _Held,
    mapped: Callable[[Message], bool],
    store: PostgresStore,
) -> None:
    """Put the rows that are to go into temporary tables: stays, messages, alerts, terms."""
    key = TermKey(TermKind.IRI, name)
    number = look_up(cursor, [key]).get(key, _NO_TERM)
    cursor.execute(
        "create temporary table gone_stays on commit drop as "
        "select stay from store.stays where name = %(name)s "
        "union select unnest(%(stays)s::bigint[]);"
        "create temporary table gone_statements on commit drop as "
        "select tableoid as partition, ctid as place, * from store.statements "
        "where subject = %(name)s or object = %(name)s or stay in (select stay from gone_stays);"
        "create temporary table gone_messages on commit drop as "
        "select message as seq from gone_statements union "
        "select message from store.stays where name = %(name)s union "
        "select unnest(%(messages)s::bigint[])",
        {"name": number, "stays": list(held.stays), "messages": list(held.messages)},
    )
    cursor.execute("select seq from gone_messages")
    known = {seq for (seq,) in cursor.fetchall()}
    more = [
        each.seq
        for each in store.replay(0)
        if each.seq not in known
        and (
            names(each.message.content.decode("utf-8", "replace"), name)
            or (each.kind == "message" and mapped(each.message))
        )
        and each.kind not in _NEEDED
    ]
    cursor.execute("insert into gone_messages select unnest(%s::bigint[])", (more,))
    last = "seq = (select max(seq) from store.messages)"
    if one_value(cursor, f"select exists (select from gone_messages where {last})"):
        raise HistoryError(
            "the last entry of the journal names it, and its number says where to go on counting: "
            "erase after the next message"
        )
    mark_told(cursor, name)


def _in_force(cursor: extensions.cursor, name: IRI, store: PostgresStore) -> int:
    """The number of ontologies and rules, ever put in force, that name the individual."""
    cursor.execute("select seq, content, media_type from store.ontologies")
    texts = {seq: (bytes(content), kind) for seq, content, kind in cursor.fetchall()}
    rules = 0
    for each in store.replay(0):
        if each.kind == PutOntology.kind:
            put = PutOntology.decode(each.message.content, each.message.source)
            texts[each.seq] = put.content, put.media_type
        elif each.kind == PutRules.kind:
            rules += names(each.message.content.decode("utf-8", "replace"), name)
    return rules + sum(_is_in(content, kind, name) for content, kind in texts.values())


def _is_in(content: bytes, media_type: str, name: IRI) -> bool:
    try:
        triples = parse_accepted(content, media_type).triples
    except OntologyError:
        # It was refused when it was put, or written for an earlier reader.
        return names(content.decode("utf-8", "replace"), name)
    return any(name in triple for triple in triples)


_PLACES: Final[Mapping[str, str]] = {
    "statements": "select count(*) from gone_statements",
    "stays": "select count(*) from store.stays where stay in (select stay from gone_stays)",
    "messages": "select count(*) from store.messages where seq in (select seq from gone_messages)",
    "alerts": "select count(*) from store.alerts where id in (select id from gone_alerts)",
    "open and cleared alerts": "select count(*) from gone_incidents",
    "silences": "select count(*) from gone_silences",
    "outcomes of other messages": "select count(*) from gone_outcomes",
    "deliveries": "select count(*) from store.outbox where event in (select seq from gone_events)",
}


def _mark_terms(
    cursor: extensions.cursor,
    untouched: Sequence[ArchivePart],
    rewritten: Sequence[tuple[ArchivePart, ArchivePart]],
    folder: Path,
) -> None:
    """Put the terms that may go into a temporary table: none that the archive still has."""
    cursor.execute(
        "create temporary table gone_terms on commit drop as "
        "select subject as id from gone_statements union select object from gone_statements union "
        "select name from store.stays where stay in (select stay from gone_stays)"
    )
    cursor.execute("select id from gone_terms")
    numbers = [number for (number,) in cursor.fetchall()]
    kept: set[int] = set()
    with closing(duckdb.connect(":memory:")) as connection:
        for part in (*untouched, *(after for _, after in rewritten)):
            for table in TABLES:
                for column in table.ids.values():
                    query = (
                        f"select distinct {column} from read_parquet($1) "
                        f"where {column} in (select unnest($2::bigint[]))"
                    )
                    found = _all(connection, query, part.file(folder, table), numbers)
                    kept |= {number for (number,) in found}
    cursor.execute("delete from gone_terms where id = any(%s)", (list(kept),))


def _delete(cursor: extensions.cursor) -> None:
    cursor.execute(
        "delete from store.statements s using gone_statements g "
        "where s.tableoid = g.partition and s.ctid = g.place;"
        "delete from store.stays where stay in (select stay from gone_stays);"
        "delete from store.messages where seq in (select seq from gone_messages);"
        "delete from store.terms t using gone_terms g where t.id = g.id "
        "and not exists (select from store.statements s where s.subject = t.id) "
        "and not exists (select from store.statements s where s.object = t.id) "
        "and not exists (select from store.statements s where s.predicate = t.id) "
        "and not exists (select from store.stays s where s.name = t.id) "
        "and not exists (select from store.vocabulary v where v.term = t.id)"
    )


def _mend(cursor: extensions.cursor) -> None:
    """Let no stay, and no set of classes, name what was erased."""
    cursor.execute("update store.progress set removals = removals + 1")
    cursor.execute("select distinct stay from gone_statements")
    tell_ends(cursor, [stay for (stay,) in cursor.fetchall()])
    cursor.execute(
        "delete from store.class_sets s "
        "where not exists (select from store.stays i where i.class_set = s.id)"
    )


def _rewrite(
    url: str, folder: Path, held: _Held, say: Say
) -> Sequence[tuple[ArchivePart, ArchivePart]]:
    """Rewrite the files that name the individual, without it; returns parts and successors."""
    made = []
    with closing(connect(url)) as connection, closing(duckdb.connect(":memory:")) as reader:
        for part in held.archived:
            if part.id not in held.rows:
                continue
            say(f"{part.name}: writing again")
            with connection, connection.cursor() as cursor:
                new = begin(cursor, part.name, part.ended_from, part.ended_before)
            rows = {}
            conditions = (held.statements, held.stayed)
            for table, condition, fewer in zip(TABLES, conditions, held.rows[part.id], strict=True):
                source, target = check_file(part, folder, table), new.file(folder, table)
                _copy_without(reader, source, target, condition)
                rows[table] = part.rows(table) - fewer
                left = _all(reader, "select count(*) from read_parquet($1)", target)
                if left != [(rows[table],)]:
                    raise ArchiveError(f"{target} does not hold what it should: check the disk")
            made.append((part, archived(new, folder, rows)))
    return made


def _copy_without(
    connection: duckdb.DuckDBPyConnection, source: Path, target: Path, condition: str
) -> None:
    part = part_name(target)
    try:
        connection.execute(
            f"copy (select * from read_parquet({_quoted(pattern(source))}) "
            f"where {condition} is not true) "
            f"to {_quoted(str(part))} (format parquet, compression zstd)"
        )
    except duckdb.Error as error:
        raise ArchiveError(f"cannot write {target}: {error}") from error
    flush_and_name(part, target)


GONE_ALERTS: Final = "gone_alerts"
GONE_EVENTS: Final = "gone_events"


def names(text: str, name: str) -> bool:
    """Whether a text names an IRI, and not only a longer one that begins like it."""
    return re.search(rf"{re.escape(name)}(?![\w/#?=&%~:@-]|\.\w)", text) is not None


def mark_told(cursor: extensions.cursor, name: str) -> None:
    """Mark rows that name an individual, and all that the ``gone_messages`` have raised.

    An open alert goes as a whole if its key or a comment names it; else only some of its alerts go.
    """
    _alerts(cursor, name)
    _incidents(cursor, name)
    cursor.execute("select id, rule, key, comment from store.silences")
    silences = (
        (id_, f"{text_of_pattern(rule)}\n{text_of_pattern(key)}\n{comment}")
        for id_, rule, key, comment in cursor.fetchall()
    )
    _mark_ids(cursor, "gone_silences", "bigint", _named(silences, name))
    cursor.execute(
        "select seq, told from (select seq, coalesce(report_data, group_data) as told "
        "  from store.events) e where strpos(told, %s) > 0",
        (name,),
    )
    _mark_ids(cursor, GONE_EVENTS, "bigint", _named(cursor.fetchall(), name))
    cursor.execute(
        "insert into gone_events "
        "select e.seq from store.events e join gone_alerts a on a.id = e.alert_id union "
        "select e.seq from store.events e join store.alert_changes c on c.seq = e.change "
        "join gone_incidents i on i.id = c.incident"
    )
    # Of messages that stay: a reply, a warning or a contradiction may name the individual.
    cursor.execute(
        "select seq, told from (select seq, "
        "  concat_ws(E'\\n', reason, contradiction::text, facts::text) as told "
        "  from store.messages) m "
        "where strpos(told, %s) > 0 and seq not in (select seq from gone_messages)",
        (name,),
    )
    _mark_ids(cursor, "gone_outcomes", "bigint", _named(cursor.fetchall(), name))


def erase_told(cursor: extensions.cursor) -> None:
    """Delete what is marked; nothing refers to it any more."""
    cursor.execute(
        "delete from store.deliveries where event in (select seq from gone_events);"
        "delete from store.events where seq in (select seq from gone_events);"
        "delete from store.silences where id in (select id from gone_silences);"
        "update store.messages set reason = null, contradiction = null, facts = null "
        "where seq in (select id from gone_outcomes);"
        "update store.alerts set evidence = null where id in (select id from gone_evidence);"
        "delete from store.incidents where id in (select id from gone_incidents);"
        # A label may be its name.
        "delete from store.alert_groups g where not exists "
        "(select from store.alert_group_members m where m.group_id = g.id);"
        "update store.alerts set incident = null "
        "where incident in (select id from gone_incidents);"
        "delete from store.alerts where id in (select id from gone_alerts);"
        "update store.alert_changes set text = '' where seq in (select id from gone_texts);"
        # The rest of the open alerts is as if the alerts that went had never been.
        "update store.incidents i set count = i.count - f.fewer, text = l.text, "
        "  severity = l.severity, last_time = l.time, last_at = l.raised_at, last_alert = l.id "
        "from fewer_alerts f cross join lateral ("
        "  select a.* from store.alerts a where a.incident = f.incident order by a.seq desc limit 1"
        ") l where i.id = f.incident"
    )


def _alerts(cursor: extensions.cursor, name: str) -> None:
    cursor.execute("select id, text || E'\\n' || key from store.alerts")
    _mark_ids(cursor, GONE_ALERTS, "text", _named(cursor.fetchall(), name))
    cursor.execute(
        "insert into gone_alerts select a.id from store.alerts a "
        "join gone_messages g on a.message_id = 'm' || g.seq "
        "where a.id not in (select id from gone_alerts)"
    )
    cursor.execute("select id, evidence from store.alerts where strpos(evidence, %s) > 0", (name,))
    _mark_ids(cursor, "gone_evidence", "text", _named(cursor.fetchall(), name))


def _incidents(cursor: extensions.cursor, name: str) -> None:
    cursor.execute(
        "select id, concat_ws(E'\\n', key, assignee, (select string_agg(c.text, E'\\n') "
        "  from store.alert_changes c where c.incident = i.id and c.change <> 'raised')) "
        "from store.incidents i"
    )
    _mark_ids(cursor, "gone_incidents", "text", _named(cursor.fetchall(), name))
    cursor.execute(
        "create temporary table fewer_alerts on commit drop as "
        "select incident, count(*) as fewer from store.alerts "
        "where id in (select id from gone_alerts) and incident is not null group by incident;"
        "insert into gone_incidents select f.incident from fewer_alerts f where not exists ("
        "  select from store.alerts a where a.incident = f.incident "
        "  and a.id not in (select id from gone_alerts)) "
        "and f.incident not in (select id from gone_incidents);"
        "delete from fewer_alerts where incident in (select id from gone_incidents)"
    )
    # Retention deleted its last alert before.
    cursor.execute(
        "select id, text from store.incidents where id not in "
        "(select incident from fewer_alerts union all select id from gone_incidents)"
    )
    cursor.execute(
        "insert into gone_incidents select unnest(%s::text[])", (_named(cursor.fetchall(), name),)
    )
    # A change has the text of its alert.
    cursor.execute(
        "select seq, text from store.alert_changes "
        "where incident not in (select id from gone_incidents)"
    )
    _mark_ids(cursor, "gone_texts", "bigint", _named(cursor.fetchall(), name))


def _named(texts: Iterable[tuple[object, str]], name: str) -> list[object]:
    return [id_ for id_, text in texts if names(text, name)]


def _mark_ids(cursor: extensions.cursor, table: str, kind: str, ids: list[object]) -> None:
    column = "seq" if table == GONE_EVENTS else "id"
    cursor.execute(
        f"create temporary table {table} on commit drop as select unnest(%s::{kind}[]) as {column}",
        (ids,),
    )
