"""Documents that carry several messages: each becomes a document of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import cast

from lxml import etree

from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.document import Element
from sensorstream.mapping.plan import Split


def compile_split(files: Iterable[RuleFile]) -> Split | None:
    """What ``message each`` declares; None if nothing does.

    The first declaration that finds elements says what the messages of a document are. Each is
    copied, with the namespaces in scope and its lines, so that the paths of rules begin at it
    as they do in a document with one message.
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
            # The check saw to it that the path finds nodes.
            found = cast(list[object], path(root))
            if elements := [node for node in found if isinstance(node, Element)]:
                return [deepcopy(element) for element in elements]
        return ()

    return split
