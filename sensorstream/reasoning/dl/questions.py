"""Asks the reasoner's process about islands, with as few requests as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.islands import Island
from sensorstream.reasoning.dl.memo import Answer, Memo, Shape
from sensorstream.reasoning.dl.process import Worker
from sensorstream.reasoning.dl.protocol import IslandFacts
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.dl.twins import folded
from sensorstream.reasoning.dl.value_classes import ValueClasses

# The time limit is per exchange, so a large change is split: into questions about so many
# individuals, or about one island.
_AT_ONCE: Final = 64
_Question: TypeAlias = tuple[int, IslandFacts]
"""The number of an island, and what is asked about it."""


class Questions:
    """The entailments about the members of islands, from the process or from the cache."""

    __slots__ = ("_classes", "_probes", "_worker", "memo")

    def __init__(self, terminology: Terminology, worker: Worker, remembered: int) -> None:
        classes = ValueClasses(
            Axioms(terminology.axioms),
            terminology.schema.object_properties,
            terminology.datatypes,
        )
        self.memo = Memo(classes, remembered)
        self._classes = classes
        self._probes = terminology.probes
        self._worker = worker

    def ask(self, islands: Sequence[Island]) -> list[Answer]:
        """The answer about each island.

        Raises:
            ReasonerError: the process failed.
        """
        answers: list[Answer] = [None] * len(islands)
        open_: dict[int, Shape | None] = {}
        folds = [folded(island.facts, self._classes) for island in islands]
        asked_of = [
            island.facts if fold is None else fold.facts
            for island, fold in zip(islands, folds, strict=True)
        ]
        for number, facts in enumerate(asked_of):
            shape = self.memo.shape(facts)
            known = self.memo.look_up(shape)
            if known is None:
                open_[number] = shape
            else:
                (answers[number],) = known
        asked = self._exchange([asked_of[number] for number in open_])
        for (number, shape), answer in zip(open_.items(), asked, strict=True):
            answers[number] = answer
            if shape is not None:
                self.memo.store(shape, answer)
        return [
            answer if fold is None else fold.unfolded(answer)
            for answer, fold in zip(answers, folds, strict=True)
        ]

    def _exchange(self, islands: Sequence[IslandFacts]) -> list[Answer]:
        questions = [(n, each) for n, f in enumerate(islands) for each in self._probes.questions(f)]
        told: list[list[list[list[str]]] | None] = [[] for _ in islands]
        for part in _parts(questions):
            answers = self._worker.ask([facts for _, facts in part])
            for (number, _), answer in zip(part, answers, strict=True):
                so_far = told[number]
                if answer is None or so_far is None:
                    told[number] = None
                else:
                    so_far.append(answer)
        return [
            None if answer is None else self._probes.read(answer, facts)
            for answer, facts in zip(told, islands, strict=True)
        ]


def _parts(questions: Sequence[_Question]) -> Iterator[list[_Question]]:
    """Questions that are asked at once, in their order."""
    part: list[_Question] = []
    size = 0
    for each in questions:
        members = len(each[1].names)
        if part and size + members > _AT_ONCE:
            yield part
            part, size = [], 0
        part.append(each)
        size += members
    if part:
        yield part
