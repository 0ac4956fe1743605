"""The versions of rule files, queries, webhooks and the ontology.

Each change of one is an entry of the journal, and each accepted one is a version: the entry's id
names it. So nothing is kept beside the journal, and a replay meets the same versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from datetime import datetime
from typing import Final, TypeAlias

from sensorstream.app.control.mapping_files import type_of
from sensorstream.errors import ChangedMeanwhile, UnknownVersion
from sensorstream.history.journal_rows import journal_changes, record_of
from sensorstream.journal.entry import Entry
from sensorstream.journal.kinds import entry_of
from sensorstream.journal.registration import PutWebhook, RegisterQuery, RemoveQuery, RemoveWebhook
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.events import Status
from sensorstream.model.frozen import frozen

QUERY: Final = "application/sparql-query"
"""The media type of a query."""
DEFINITION: Final = "application/json"
"""The media type of a webhook's definition."""

Match: TypeAlias = Callable[[str | None], bool] | None
"""Whether a change is wanted, told the digest of what is there now, None if nothing is."""


@frozen
class TextVersion:
    """A text of a resource; ``text`` is None, and ``digest`` empty, where it was removed.
    ``change`` is the journal's id of the entry that put it, ``by`` who sent that, or ``settings``
    for the text before the first change; empty if that is not known.
    """

    change: str
    at: datetime
    by: str
    digest: str
    text: bytes | None
    media_type: str


def said_of(name: str, entry: Entry) -> tuple[bytes | None, str, str]:
    """The text that an entry gives the resource of a name, who sent it, and its media type."""
    match entry:
        case RegisterQuery(text=text, by=by):
            return text.encode(), by, QUERY
        case PutWebhook(definition=definition, by=by):
            return definition.text().encode(), by, DEFINITION
        case PutOntology(content, media_type, by):
            return content, by, media_type
        case PutRules(files, by):
            return files[name].encode() if name in files else None, by, type_of(name)
        case RemoveQuery(by=by) | RemoveWebhook(by=by):
            return None, by, ""
    raise ValueError(f"an entry of kind '{entry.kind}' is no version")


def digest_of(text: bytes | str) -> str:
    """The strong validator of a text: its ETag without the quotation marks."""
    content = text.encode() if isinstance(text, str) else text
    return hashlib.sha256(content).hexdigest()[:32]


def check_match(match: Match, text: bytes | str | None, what: str) -> None:
    """Check that a change is wanted.

    Raises:
        ChangedMeanwhile: ``match`` says no.
    """
    if match is not None and not match(None if text is None else digest_of(text)):
        raise ChangedMeanwhile(
            f"{what} is not the version that the request names any more: read it again"
        )


def _fine(_: str) -> None:
    """Accept any name."""


@frozen
class ResourceVersions:
    """The versions of all resources of one sort; the ontology, of which there is one, has no name.

    ``kinds`` are those of the entries that change them; see :func:`said_of`. ``by_source``: the
    source of an entry is the name; otherwise an entry may concern any of them. ``check`` raises
    that no resource can have a name, ``without`` that a name without versions never had one.
    ``what`` names a resource in an error. ``url`` is that of the database.
    """

    url: Callable[[], str]
    kinds: Collection[str]
    what: Callable[[str], str]
    by_source: bool = False
    check: Callable[[str], object] = _fine
    without: Callable[[str], object] = _fine

    def all(self, name: str = "") -> Iterator[TextVersion]:
        """The versions of a resource, oldest first.

        Raises:
            UnknownRules, UnknownQuery, UnknownWebhook: there has never been one of this name.
            QueryError: no query can have this name.
            HistoryError: the journal cannot be read.
        """
        self.check(name)
        found = self._read(name)
        first = next(found, None)
        if first is None:
            self.without(name)
            return
        yield first
        yield from found

    def one(self, change: str, name: str = "") -> TextVersion:
        """The version that a change has put.

        Raises:
            UnknownVersion: it has put none, or removed the resource.
            SensorStreamError: see :meth:`all`.
        """
        there = []
        for each in self.all(name):
            if each.text is not None:
                if each.change == change:
                    return each
                there.append(each.change)
        told = ", ".join(there[-20:]) or "none"
        raise UnknownVersion(f"{self.what(name)} has no version '{change[:60]}': there are {told}")

    def _read(self, name: str) -> Iterator[TextVersion]:
        last: bytes | None = None
        source = name if self.by_source else None
        with closing(journal_changes(self.url(), self.kinds, source)) as rows:
            for row in rows:
                record = record_of(row)
                if record.status in (Status.REJECTED, Status.SKIPPED):
                    continue
                text, by, media_type = said_of(name, entry_of(record))
                if text != last:
                    digest = "" if text is None else digest_of(text)
                    change, at = record.message.id, record.received_at
                    yield TextVersion(change, at, by, digest, text, media_type)
                last = text
