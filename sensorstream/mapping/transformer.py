"""Runs a stylesheet in a process of its own, with limits of time, memory and output."""

from __future__ import annotations

import json
from typing import Final

from lxml import etree

from sensorstream.mapping.document import Element
from sensorstream.mapping.stylesheet import Failure
from sensorstream.mapping.worker import Worker

OUTPUT: Final = b"+"
"""Before an output; a failure has another sign before it."""
MOST_OUTPUT: Final = 64 << 20
"""Bytes that a stylesheet may make of a message."""
_PROCESS: Final = "sensorstream.mapping.transformer_process"


class Transformer:
    """One stylesheet, which may take ``seconds`` for a message, its parts together. Thread-safe."""

    def __init__(self, content: bytes, file: str, seconds: float) -> None:
        self._worker = Worker(
            _PROCESS,
            (file.encode(), content),
            f"stylesheet {file}",
            seconds,
            "limits.transform_seconds",
        )

    def transform(self, root: Element, message: str, *, again: bool = False) -> bytes | Failure:
        """What the stylesheet makes of a document.

        ``message`` and ``again`` are those of :meth:`.Worker.ask`.

        Raises:
            Overrun: it takes too long, or makes too much.
        """
        document = etree.tostring(root, with_tail=False)
        answer = self._worker.ask(document, message, again=again)
        return answer[1:] if answer[:1] == OUTPUT else Failure(*json.loads(answer[1:]))
