"""The process of a :class:`.Transformer`."""

from __future__ import annotations

import json
from collections.abc import Callable

from lxml import etree

from sensorstream.mapping.stylesheet import Failure, output_of, read_stylesheet
from sensorstream.mapping.transformer import MOST_OUTPUT, OUTPUT
from sensorstream.mapping.worker_process import serve


def prepare(given: list[bytes]) -> Callable[[bytes], bytes]:
    """The stylesheet as a function of documents; given are the name of its file, and its text."""
    file, content = given
    transform = read_stylesheet(content, file.decode()).transform

    def answer(document: bytes) -> bytes:
        try:
            found = output_of(transform, etree.fromstring(document))
        except MemoryError:
            found = Failure("it takes too much memory", None)
        if isinstance(found, bytes) and len(found) > MOST_OUTPUT:
            found = Failure(f"its output is larger than {MOST_OUTPUT >> 20} MiB", None)
        if isinstance(found, bytes):
            return OUTPUT + found
        return b"-" + json.dumps([found.reason, found.line]).encode()

    return answer


if __name__ == "__main__":
    serve(prepare)
