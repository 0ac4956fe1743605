"""Observations of one sensor, under an axiom that leaves a choice, so that HermiT is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count, islice
from resource import RUSAGE_CHILDREN, getrusage
from typing import Final

from benchmarks.beside.turns import Pair, agree
from benchmarks.foreign.oracle import inferred_types
from benchmarks.foreign.streams import BASE, Stream
from benchmarks.one_axiom import cases

_MESSAGES: Final = 50


@contextmanager
def beside_owlready(axiom: str, size: int) -> Iterator[Pair]:
    """A message that replaces the oldest of so many, beside owlready2 on the whole window."""
    case = next(each for each in cases() if each.name == axiom)
    classes = case.ontology.schema.classes
    messages = map(case.message, count())
    with closing(Stream.opened(case.ontology, "hermit", size, timeout=60)) as stream:

        def take(messages_of_turn: int) -> float:
            begun = stream.cpu()
            for message in islice(messages, messages_of_turn):
                stream.take(message)
            return (stream.cpu() - begun) / messages_of_turn

        def theirs() -> float:
            before = getrusage(RUSAGE_CHILDREN)
            found = inferred_types(stream.triples(), stream.individuals(), "hermit", BASE, 300)
            after = getrusage(RUSAGE_CHILDREN)
            assert found is not None
            kinds = {(one, kind) for one, kind in found if kind in classes}
            agree("types", stream.types(classes), kinds)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        take(size)
        yield Pair(lambda: take(_MESSAGES), theirs)
