"""Blank nodes that rules make, one for each solution."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

from sensorstream.errors import Overrun
from sensorstream.model.terms import BlankNode, Term

DEEPEST: Final = 8
"""How often a node may be made of one that was made of another one, and so on."""
_MADE: Final = re.compile(r"_:made(\d+)-")


def made_node(key: Term | None, *parts: Term | None) -> BlankNode:
    """The node for a key and some terms, each of which may be missing.

    Its label tells in how many steps nodes were made of nodes for it. Nodes of messages and of
    ontologies have labels of another form.

    Raises:
        Overrun: it would be made of nodes in more than :data:`DEEPEST` steps.
    """
    depth = 1
    for part in parts:
        if part is not None and (made := _MADE.match(part)):
            depth = max(depth, int(made[1]) + 1)
    if depth > DEEPEST:
        raise Overrun(
            f"nodes that are made of nodes, and so on, in more than {DEEPEST} steps: expected "
            "a body that the nodes which rules make do not fit, e.g. with FILTER(!isBlank(?x))"
        )
    text = repr([part if part is None else str(part) for part in (key, *parts)])
    return BlankNode(f"_:made{depth}-{blake2b(text.encode(), digest_size=12).hexdigest()}")
