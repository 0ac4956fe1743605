"""The reading of PostgreSQL by the server: messages of the journal, alerts, statements.

The last values are read one property after the other, from the newest statements of each
individual: the cost does not grow with its past, and no further index or table is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, cast
from xml.sax.saxutils import escape

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Executable,
    Row,
    Select,
    and_,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    update,
)

from sensorstream.alerts.alert_records import LoggedDelivery, RaisedAlert
from sensorstream.errors import (
    Contradiction,
    QueryError,
    RefusedByShapes,
    UnknownAlert,
    UnknownMessage,
)
from sensorstream.history.asked_records import (
    COUNTED,
    EVERY,
    NOT_WHOLE,
    RECENT,
    SEARCHED,
    SEARCHED_BYTES,
    Behind,
    Choice,
    ClassMember,
    CountedMessages,
    KeptMessage,
    Latest,
    Left,
    QuarantineChoice,
    Quarantined,
)
from sensorstream.history.database import limited, record, rows_of
from sensorstream.history.incidents import ALERT, raised_alert
from sensorstream.history.store_rows import decoded
from sensorstream.history.tables import messages, progress
from sensorstream.history.term_dictionary import TermKind, term_of
from sensorstream.history.webhook_store import OF_ALERTS, logged_deliveries
from sensorstream.journal.message import TakeMessage, origin_of_replay, replay_of
from sensorstream.journal.records import number_of_message
from sensorstream.model import rdf
from sensorstream.model.events import Evidence, Provenance, Status
from sensorstream.model.terms import IRI, BlankNode, Subject
from sensorstream.model.timeline import Instant

_INDEXED: Final = 200
_INDEXED_SOURCE: Final[ColumnElement[str]] = func.left(messages.c.source, _INDEXED)
"""The part of sources that is in their index."""
_JOURNAL: Final = "cannot read the journal"
_MOST_VALUES: Final = 100_000
_Query: TypeAlias = Select[*tuple[Any, ...]]
_replays: Final = messages.alias()


class PostgresReader:
    """Messages, alerts and statements of a store. Safe to use from several threads.

    All methods raise :class:`.HistoryError` when the store fails, or exceeds its time limit.
    """

    def __init__(self, database: Engine, timeout: float = 30.0) -> None:
        """``timeout``: seconds that a statement may take."""
        self._database = database
        self._timeout = timeout

    def _limited(self, doing: str) -> AbstractContextManager[Connection]:
        return limited(self._database, doing, self._timeout)

    def _rows(
        self, doing: str, query: Executable, values: Mapping[str, object] | None = None
    ) -> Sequence[Row[*tuple[Any, ...]]]:
        return rows_of(self._database, doing, query, values)

    def _one(self, query: _Query, name: str) -> Row[*tuple[Any, ...]]:
        for row in self._rows(_JOURNAL, query.where(messages.c.seq == _number(name))):
            return row
        raise UnknownMessage(f"the journal has no message '{name}': expected an id such as m42")

    def _alerts(self, where: str, values: Mapping[str, object]) -> list[RaisedAlert]:
        query = text(f"select {ALERT} from store.alerts a where {where}")
        return [raised_alert(row) for row in self._rows("cannot read the alerts", query, values)]

    def quarantined(self, limit: int, chosen: QuarantineChoice = EVERY) -> list[Quarantined]:
        """Up to ``limit`` messages, newest first, without those replayed or dismissed."""
        columns = [messages.c[each.name] for each in fields(Quarantined) if each.name != "code"]
        query = _of(select(*columns, _CODE.label("code")), chosen)
        query = query.order_by(messages.c.seq.desc()).limit(limit)
        with self._limited("cannot read the quarantine") as connection:
            return [
                record(
                    Quarantined,
                    row,
                    reason=row.reason or "",
                    content=bytes(row.content),
                    contradiction=_contradiction_of(row.contradiction),
                    code=row.code or "",
                )
                for row in connection.execute(query)
            ]

    def choose(self, chosen: QuarantineChoice, limit: int) -> Choice:
        """Up to ``limit`` of the chosen messages, and the number of all."""
        columns = messages.c
        counting = _of(select(func.count(), func.max(columns.seq)), chosen)
        query = _of(select(columns.seq, columns.id, columns.source), chosen)
        with self._limited("cannot read the quarantine") as connection:
            count, newest = connection.execute(counting).one()
            rows = connection.execute(query.order_by(columns.seq).limit(limit))
            return Choice(tuple((row.seq, row.id, row.source) for row in rows), count, newest or 0)

    def dismiss(self, chosen: QuarantineChoice, limit: int, now: datetime) -> tuple[int, int]:
        """Take up to ``limit`` messages out of quarantine, oldest first; the journal keeps them.

        Returns the number taken out, and the number of chosen ones that are left.
        """
        columns = messages.c
        first = _of(select(columns.seq), chosen).order_by(columns.seq).limit(limit)
        change = update(messages).where(columns.seq.in_(first)).values(dismissed_at=now)
        with self._limited("cannot write the quarantine") as connection:
            count = connection.execute(_of(select(func.count()), chosen)).scalar_one()
            gone = connection.execute(change).rowcount
        return gone, max(0, count - gone)

    def keep_contradiction(self, id_: str, reason: str, found: Contradiction) -> None:
        """Store the contradiction that was found for a refused message."""
        change = update(messages).where(messages.c.id == id_)
        with self._limited("cannot write the quarantine") as connection:
            connection.execute(change.values(reason=reason, contradiction=asdict(found)))

    def kept_by_origins(self, origins: Collection[str]) -> dict[str, tuple[KeptMessage, bytes]]:
        """The newest message of each origin in the journal, and the SHA-256 of its content."""
        columns = messages.c
        query = (
            _KEPT.add_columns(func.sha256(columns.content).label("digest"))
            .where(columns.origin.in_(list(origins)))
            .order_by(columns.seq)
        )
        rows = self._rows(_JOURNAL, query)
        return {row.origin: (_kept(row), bytes(row.digest)) for row in rows}

    def kept_message(self, name: str) -> KeptMessage:
        """The message with an id; raises UnknownMessage if the journal has none."""
        return _kept(self._one(_KEPT, name))

    def replay_of_message(self, name: str) -> str | None:
        """The id of the message that replaced a quarantined one; None: there is none."""
        query = select(messages.c.id).where(messages.c.origin == origin_of_replay(name))
        return next((row.id for row in self._rows(_JOURNAL, query.limit(1))), None)

    def content_of_message(self, name: str) -> bytes:
        """The original content of a message; raises UnknownMessage if there is none."""
        query = select(messages.c.content).where(messages.c.kind == TakeMessage.kind)
        return bytes(self._one(query, name).content)

    def kept_messages(
        self, chosen: QuarantineChoice, limit: int
    ) -> tuple[list[KeptMessage], int | None]:
        """Up to ``limit`` messages, newest first, and the ``seq`` before which others may be.

        Words are looked for in the newest :data:`SEARCHED` messages, and :data:`SEARCHED_BYTES`
        bytes, of those chosen by the rest.
        """
        rest = None
        with self._limited(_JOURNAL) as connection:
            if chosen.words:
                chosen, rest = _within_reach(connection, chosen, SEARCHED)
            rows = connection.execute(_newest(_KEPT, chosen).limit(limit))
            found = [_kept(row) for row in rows]
        return found, found[-1].seq if len(found) == limit else rest

    def count_messages(self, chosen: QuarantineChoice, most: int) -> CountedMessages:
        """The numbers of chosen messages, in about ``most`` parts of the time.

        Only the newest :data:`COUNTED` are looked at; with words as many as a search looks at.
        """
        columns = messages.c
        at = func.floor(func.extract("epoch", columns.received_at))
        looked, oldest = SEARCHED if chosen.words else COUNTED, None
        with self._limited(_JOURNAL) as connection:
            chosen, rest = _within_reach(connection, chosen, looked)
            there = _whole(select(func.min(at), func.max(at)), replace(chosen, words=None))
            first, last = connection.execute(there).one()
            if first is None:
                return CountedMessages(1, (), None)
            if rest is not None:
                oldest = datetime.fromtimestamp(int(first), UTC)
            begin = chosen.since.timestamp() if chosen.since and rest is None else float(first)
            end = chosen.until.timestamp() if chosen.until else float(last) + 1
            width = next((each for each in _ROUND if each >= (end - begin) / most), _ROUND[-1])
            part = func.floor(at / width).label("part")
            query = select(part, columns.status, func.count()).group_by(part, columns.status)
            rows = connection.execute(_whole(query, chosen).order_by(part)).all()
        counts = ((int(at), status and Status(status), count) for at, status, count in rows)
        return CountedMessages(width, tuple(counts), oldest)

    def left_for_history(self, message: KeptMessage, names: Collection[str]) -> Left:
        """The traces of a message in history about some individuals."""
        told = {"names": [each.removeprefix("_:") for each in names], "seq": message.seq}
        with self._limited("cannot read the statements") as connection:
            row = connection.execute(_LEFT, told).one()
        return record(Left, row)

    def alerts_before(self, limit: int, seq: int | None = None) -> list[RaisedAlert]:
        """Up to ``limit`` alerts, newest first, with a number below ``seq``."""
        values = {"before": seq, "limit": limit}
        where = f"a.seq < coalesce(:before, {2**63 - 1}) order by a.seq desc limit :limit"
        return self._alerts(where, values)

    def alerts_after(self, limit: int, seq: int) -> list[RaisedAlert]:
        """Up to ``limit`` alerts, oldest first, with a number above ``seq``."""
        values = {"after": seq, "limit": limit}
        return self._alerts("a.seq > :after order by a.seq limit :limit", values)

    def alerts_named(self, ids: Collection[str]) -> list[RaisedAlert]:
        """The alerts with some ids, oldest first."""
        where = "a.id = any(cast(:ids as text[])) order by a.seq"
        return self._alerts(where, {"ids": list(ids)})

    def alerts_of_rules(self, start: Instant | None, end: Instant | None) -> list[RaisedAlert]:
        """The alerts of rules whose time is in ``[start, end)``, oldest first; None: no bound."""
        where = (
            "a.kind = 'rule' and a.time >= coalesce(:start, a.time) "
            "and (cast(:end as bigint) is null or a.time < :end) order by a.seq"
        )
        return self._alerts(where, {"start": start, "end": end})

    def evidence_of_alert(self, id_: str) -> tuple[RaisedAlert, Evidence | None]:
        """An alert with the evidence of its rule; None: the system raised it.

        Raises UnknownAlert if there is no alert with this id.
        """
        for found in self._rows("cannot read an alert", _EVIDENCE, {"id": id_}):
            told = None if found.evidence is None else decoded(found.evidence)
            return raised_alert(found), told
        raise UnknownAlert(f"there is no alert '{id_[:60]}': expected the 'id' of one in the list")

    def messages_behind(
        self, id_: str, limit: int, after: int = 0
    ) -> tuple[RaisedAlert, list[Behind]]:
        """An alert and up to ``limit`` messages behind it, in order, with numbers above ``after``.

        They are those that said, or caused, what the alert's rule matched. An alert of the system
        has the message that raised it. Raises UnknownAlert if there is no alert with this id.
        """
        raised, _ = self.evidence_of_alert(id_)
        numbers = sorted(map(number_of_message, raised.alert.messages or [raised.alert.message]))
        wanted = [each for each in numbers if each > after][:limit]
        rows = self._rows("cannot read the messages of an alert", _BEHIND, {"seqs": wanted})
        there = {
            row.seq: Behind(row.seq, row.source, row.received_at, bytes(row.content))
            for row in rows
        }
        return raised, [there.get(seq, Behind(seq, None, None, None)) for seq in wanted]

    def deliveries_of_alerts(self, ids: Collection[str]) -> list[LoggedDelivery]:
        """The deliveries of some alerts to webhooks, oldest first."""
        return logged_deliveries(self._database, OF_ALERTS, {"ids": list(ids)})

    def latest_values(self, names: Collection[Subject]) -> dict[Subject, list[Latest]]:
        """The last values of each property of some individuals, as far as they are in history.

        Several values of a property that ended at the same instant are all included. A property
        without a value among the newest :data:`RECENT` statements of its individual is left out.
        Raises QueryError if there are more than 100,000 values.
        """
        found: dict[Subject, list[Latest]] = {}
        kinds = [TermKind.BLANK if isinstance(each, BlankNode) else TermKind.IRI for each in names]
        told = {
            "names": [each.removeprefix("_:") for each in names],
            "kinds": [each.value for each in kinds],
            "recent": RECENT,
            "most": _MOST_VALUES + 1,
        }
        with self._limited("cannot read the latest values") as connection:
            rows = connection.execute(_LATEST, told).all()
        if len(rows) > _MOST_VALUES:
            raise QueryError(
                f"there are more than {_MOST_VALUES} values: ask for fewer individuals"
            )
        for name, kind, predicate, *value, valid_from, valid_to, message, inferred in rows:
            subject = cast(Subject, term_of(kind, name))
            triple = (subject, IRI(predicate), term_of(*value))
            said = Provenance(f"m{message}", valid_from)
            found.setdefault(subject, []).append(Latest(triple, said, valid_to, inferred))
        return found

    def last_members(
        self, name: IRI, before: tuple[Instant, int], limit: int
    ) -> Sequence[ClassMember]:
        """The individuals that had a class, the latest first.

        Only those after ``before``, by ``valid_to`` and ``number``, in that order.
        """
        told = {"class": name, "valid_to": before[0], "number": before[1], "limit": limit}
        with self._limited("cannot read the members of a class") as connection:
            rows = connection.execute(_MEMBERS, told).all()
        return [
            ClassMember(valid_to, number, cast(Subject, term_of(kind, label)))
            for valid_to, number, kind, label in rows
        ]


def _of_source(name: str) -> ColumnElement[bool]:
    """The condition that a message is of a source.

    It is a range, so that a question ordered by :data:`_INDEXED_SOURCE` first uses the index of
    sources: with an equality the planner would rather read the whole journal.
    """
    name = name.replace("\0", "\ufffd")
    start = name[:_INDEXED]
    return and_(start <= _INDEXED_SOURCE, start >= _INDEXED_SOURCE, messages.c.source == name)


def _contradiction_of(data: Mapping[str, Any] | None) -> Contradiction | None:
    """The contradiction from its form in the journal."""
    if data is None:
        return None
    return Contradiction(tuple(data["triples"]), tuple(data["axioms"]), data["limits"])


_CODE: Final[ColumnElement[str]] = func.coalesce(
    messages.c.facts["settled"]["error"]["code"].astext, messages.c.facts["error"]["code"].astext
)


def _of(query: _Query, chosen: QuarantineChoice) -> _Query:
    columns = messages.c
    query = query.where(
        columns.kind == TakeMessage.kind,
        columns.status.in_([each.value for each in NOT_WHOLE]),
        columns.dismissed_at.is_(None),
        _CODE.is_distinct_from(RefusedByShapes.code),
        ~exists().where(_replays.c.origin == literal(origin_of_replay("")).concat(columns.id)),
    )
    return _narrowed(query, chosen)


def _whole(query: _Query, chosen: QuarantineChoice) -> _Query:
    """The query of all chosen messages of the journal."""
    columns, query = messages.c, query.where(messages.c.kind == TakeMessage.kind)
    if chosen.status == Status.JOURNALLED.value:
        # These are the last messages alone, without an index.
        stored = select(progress.c.watermark).scalar_subquery()
        query = query.where(columns.status.is_(None), columns.seq > func.coalesce(stored, 0))
        chosen = replace(chosen, status=None)
    return _narrowed(query, chosen)


def _newest(query: _Query, chosen: QuarantineChoice) -> _Query:
    if chosen.source is not None:
        query = query.order_by(_INDEXED_SOURCE.desc())
    return _whole(query, chosen).order_by(messages.c.seq.desc())


def _within_reach(
    connection: Connection, chosen: QuarantineChoice, most: int
) -> tuple[QuarantineChoice, int | None]:
    """The choice of the newest messages that may be looked at, and the ``seq`` of the oldest of
    them; None: these are all.
    """
    seq, size = messages.c.seq, func.length(messages.c.content)
    newer = func.sum(size).over(order_by=seq.desc()) - size
    query = select(seq, newer.label("newer") if chosen.words else literal(0).label("newer"))
    found = _newest(query, replace(chosen, words=None)).limit(most).subquery()
    near = found.c.newer < SEARCHED_BYTES
    told = select(func.count(), func.count().filter(near), func.min(found.c.seq).filter(near))
    there, looked, last = connection.execute(told).one()
    if looked == there < most:
        return chosen, None
    return replace(chosen, after=last - 1), last


_ROUND: Final = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200),
    *(86_400, 172_800, 604_800, 2_592_000, 31_536_000),
)


_CONTENT: Final = func.encode(messages.c.content, "escape").collate("C")
"""The content as text: a byte that is no ASCII character is three octal digits."""


def _has_words(words: Sequence[str]) -> ColumnElement[bool]:
    """The condition that a message has each word in its content, as it is or escaped for XML."""
    told = [[_bytes(each) for each in (word, escape(word))] for word in words]
    return and_(*(or_(*(_CONTENT.icontains(e, autoescape=True) for e in each)) for each in told))


def _bytes(word: str) -> str:
    """The bytes of a word, as PostgreSQL's ``encode`` writes them."""
    return "".join(
        f"\\{each:03o}" if each > 127 or not each else "\\\\" if each == 92 else chr(each)
        for each in word.encode()
    )


def _narrowed(query: _Query, chosen: QuarantineChoice) -> _Query:
    columns = messages.c
    tests = {
        "words": _has_words,
        "status": columns.status.__eq__,
        "code": _CODE.__eq__,
        "source": _of_source,
        "since": columns.received_at.__ge__,
        "until": columns.received_at.__lt__,
        "after": columns.seq.__gt__,
        "before": columns.seq.__lt__,
    }
    for name, test in tests.items():
        value = getattr(chosen, name)
        if value is not None:
            query = query.where(test(value))
    return query


_LEFT: Final = text(
    """
    select count(*) filter (where not s.inferred) as asserted,
      count(*) filter (where s.inferred) as inferred, max(y.expired_at) as at
    from store.terms t join store.statements s on s.subject = t.id
    left join store.stays y on y.stay = s.stay
    where t.text = any(:names) and t.kind < 2 and s.message = :seq
    """
)


def _number(name: str) -> int:
    digits = name.removeprefix("m")
    known = name.startswith("m") and digits.isascii() and digits.isdigit() and len(digits) < 19
    return int(digits) if known else 0


def _kept(row: Row[*tuple[Any, ...]]) -> KeptMessage:
    return record(
        KeptMessage,
        row,
        status=None if row.status is None else Status(row.status),
        reason=row.reason or "",
        contradiction=_contradiction_of(row.contradiction),
        replay_of=replay_of(row.origin or ""),
    )


_KEPT: Final[Select[*tuple[Any, ...]]] = select(
    *(each for each in messages.c if each is not messages.c.content),
    func.length(messages.c.content).label("size"),
).where(messages.c.kind == TakeMessage.kind)

_EVIDENCE: Final = text(f"select {ALERT}, a.evidence from store.alerts a where a.id = :id")
_BEHIND: Final = text(
    "select seq, source, received_at, content from store.messages "
    "where seq = any(cast(:seqs as bigint[]))"
)

_NUMBER: Final = (
    "(select id from store.terms where text = {text} and kind = {kind} "
    "and datatype is null and language is null limit 1)"
)
_TYPE: Final = _NUMBER.format(text=f"'{rdf.TYPE}'", kind=0)
_LATEST: Final = text(
    f"""
select n.name, n.kind, p.text, o.kind, o.text, o.datatype, o.language,
  s.valid_from, s.valid_to, s.message, s.inferred
from (
  select a.name, a.kind, {_NUMBER.format(text="a.name", kind="a.kind")} as subject
  from unnest(cast(:names as text[]), cast(:kinds as smallint[])) as a (name, kind)
) as n
cross join lateral (
  select *, max(valid_to) over (partition by predicate) as last from (
    select predicate, object, valid_from, valid_to, message, inferred from store.statements
    where subject = n.subject order by valid_to desc limit :recent
  ) as recent
) as s
join store.terms as p on p.id = s.predicate
join store.terms as o on o.id = s.object
where s.valid_to = s.last
order by n.name, p.text, o.text, s.inferred
limit :most
"""
)
# Newest partition first. The rows of earlier stays are skipped: one look into the index each.
_MEMBERS: Final = text(
    f"""
select found.valid_to, found.subject, n.kind, n.text from (
  select distinct s.valid_to, s.subject from store.statements as s
  where s.predicate = {_TYPE} and s.object = {_NUMBER.format(text=":class", kind=0)}
  and s.valid_to <= :valid_to and (s.valid_to < :valid_to or s.subject < :number)
  and not exists (
    select 1 from store.statements as l where l.subject = s.subject
    and l.predicate = s.predicate and l.object = s.object and l.valid_to > s.valid_to
  )
  order by s.valid_to desc, s.subject desc limit :limit
) as found join store.terms as n on n.id = found.subject
order by found.valid_to desc, found.subject desc
"""
)
