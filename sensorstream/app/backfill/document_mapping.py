"""Maps documents: what each says, and which cannot be taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import Final, TypeAlias

from sensorstream.app.backfill.xml_documents import Document, Refused
from sensorstream.app.control.wiring import Deployment, unpacked
from sensorstream.engine.message_reading import Mapper, UnmappedMessage
from sensorstream.model.events import Event, Message
from sensorstream.model.frozen import frozen

BATCH: Final = 100
"""The most documents of a group."""
_BATCH_BYTES: Final = 4 * 2**20


@frozen
class MappedDocument:
    """A document's events; its ``digest`` is the SHA-256 of its content."""

    name: str
    digest: bytes
    events: tuple[Event, ...]


Group: TypeAlias = Sequence[Document]
Results: TypeAlias = "list[MappedDocument | Refused]"


class DocumentMapper:
    """The mapping rules of a deployment; each process has its own."""

    def __init__(self, deployment: Deployment, source: str) -> None:
        limits = deployment.settings.server
        self._mapper = Mapper(
            deployment.mapping, limits.max_depth, max_bytes=limits.max_message_bytes
        )
        self._timeline = deployment.timeline
        self._source = source

    def map(self, document: Document) -> MappedDocument | Refused:
        """The events of a document, by default at the time when it was written."""
        digest = sha256(document.content).digest()
        # Labels of blank nodes begin with the message's id: they differ between documents.
        message = Message(
            f"f{digest.hex()}",
            document.content,
            self._timeline.of(document.modified),
            self._source,
        )
        found = self._mapper.map(message)
        if isinstance(found, UnmappedMessage):
            told = found.hint if found.error is None else str(found.error)
            return Refused(document.name, told if found.error else f"no rule matches: {told}")
        return MappedDocument(document.name, digest, found.mapped.events)


def batches(found: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in groups of bounded size."""
    batch: list[Document] = []
    size = 0
    for each in found:
        batch.append(each)
        size += len(each.content)
        if len(batch) == BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@cache
def _mapper(content: bytes, source: str) -> DocumentMapper:
    """The mapper of a process that maps for another, made once."""
    return DocumentMapper(unpacked(content), source)


def map_group(content: bytes, source: str, group: Group) -> Results:
    """The results of a group, in a process that got the deployment as by :func:`.shipped`."""
    mapper = _mapper(content, source)
    return [mapper.map(each) for each in group]
