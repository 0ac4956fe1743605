"""Documents with several messages: each is mapped at its place, as if it came alone in there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from lxml import etree

from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.document import Element
from sensorstream.mapping.plan import Split


def compile_split(files: Iterable[RuleFile]) -> Split | None:
    """The declarations ``message each``; None if there are none.

    The first declaration that finds elements defines the messages of a document.
    """
    paths = tuple(
        etree.XPath(part.xpath.text, namespaces=file.namespace_map or None)
        for file in files
        for part in file.parts
    )
    if not paths:
        return None

    def split(root: Element) -> Sequence[Element]:
        for path in paths:
            # The check has verified that the path finds nodes.
            found = cast(list[object], path(root))
            if elements := [node for node in found if isinstance(node, Element)]:
                return elements
        return ()

    return split
