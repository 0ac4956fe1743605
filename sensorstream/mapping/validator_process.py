"""The process that validates messages by an XML Schema."""

from __future__ import annotations

import json
from collections.abc import Callable

from sensorstream.mapping.document import parse_document
from sensorstream.mapping.xsd import SchemaFiles, compile_schema, violations

_MAX_DEPTH = 256
"""What libxml2 allows; the owner has looked at the depth."""


def prepare(given: list[bytes]) -> Callable[[bytes], bytes]:
    """The violations of documents; given are paths and texts in turn, that of the schema first."""
    paths, texts = given[::2], given[1::2]
    files = {path.decode(): text for path, text in zip(paths, texts, strict=True)}
    schema = compile_schema(SchemaFiles(next(iter(files)), files))

    def answer(content: bytes) -> bytes:
        document = parse_document(content, max_depth=_MAX_DEPTH)
        return json.dumps(violations(schema, document)).encode()

    return answer


if __name__ == "__main__":
    from sensorstream.mapping.worker_process import serve

    serve(prepare)
