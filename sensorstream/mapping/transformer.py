"""The run of a stylesheet in a process of its own, with limits of time, memory and output."""

from __future__ import annotations

import json
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final

from lxml import etree

from sensorstream.mapping.document_worker import DocumentWorker, serve
from sensorstream.mapping.stylesheet import StylesheetFailure, output_of, read_stylesheet
from sensorstream.mapping.xml_document import Element

_OUTPUT: Final = b"+"
"""The sign before an output; a failure has another one."""
_MOST_OUTPUT: Final = 64 << 20
"""Bytes that a stylesheet may make of a message."""


class Transformer:
    """A stylesheet, which may take ``seconds`` for a message and its parts. Thread-safe."""

    def __init__(self, content: bytes, file: str, seconds: float) -> None:
        self._worker = DocumentWorker(
            __name__,
            (file.encode(), content),
            f"stylesheet {file}",
            seconds,
            "limits.transform_seconds",
        )

    def transform(
        self, root: Element, message: str, *, again: bool = False
    ) -> bytes | StylesheetFailure:
        """The output of the stylesheet for a document; ``message`` and ``again`` are those of
        :meth:`.DocumentWorker.ask`.

        Raises:
            Overrun: it takes too long, or makes too much.
        """
        document = etree.tostring(root, with_tail=False)
        answer = self._worker.ask(document, message, again=again)
        return answer[1:] if answer[:1] == _OUTPUT else StylesheetFailure(*json.loads(answer[1:]))


def main(owner: Connection) -> None:
    """The process of a :class:`Transformer`."""
    serve(owner, _prepare)


def _prepare(given: list[bytes]) -> Callable[[bytes], bytes]:
    """The stylesheet as a function of documents; ``given`` are its file's name and its text."""
    file, content = given
    transform = read_stylesheet(content, file.decode()).transform

    def answer(document: bytes) -> bytes:
        try:
            found = output_of(transform, etree.fromstring(document))
        except MemoryError:
            found = StylesheetFailure("it takes too much memory", None)
        if isinstance(found, bytes) and len(found) > _MOST_OUTPUT:
            found = StylesheetFailure(f"its output is larger than {_MOST_OUTPUT >> 20} MiB", None)
        if isinstance(found, bytes):
            return _OUTPUT + found
        return b"-" + json.dumps([found.reason, found.line]).encode()

    return answer
