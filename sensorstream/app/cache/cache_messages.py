"""A question to the cache, and what is said of its answer."""

from __future__ import annotations

from collections.abc import Sequence

from sensorstream.model.frozen import frozen


@frozen
class Formats:
    """The media type to answer each kind of query in; None: the client takes none of that kind."""

    solutions: str | None
    boolean: str | None
    graph: str | None


@frozen
class CacheQuestion:
    """A query as it came, with the graphs of the SPARQL Protocol; ``names_only``: it must not
    describe classes (:func:`.check_named`).
    """

    text: str
    formats: Formats
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    names_only: bool = False


@frozen
class Answered:
    """The end of an answer, all of which was sent; ``media_type`` None: nothing was, because the
    client takes none of ``offered``.
    """

    media_type: str | None
    offered: Sequence[str] = ()
